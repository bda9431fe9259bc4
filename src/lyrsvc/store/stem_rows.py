"""Rows of ``scan_results`` looked up by where a file is: for sidecars that are moved."""

import os
from typing import TYPE_CHECKING

from lyrsvc.core.ptext import to_ptext
from lyrsvc.store import scan_dirs

if TYPE_CHECKING:
    from lyrsvc.store.engine import Row
    from lyrsvc.store.transaction import Tx


def tags_of(tx: "Tx", library_id: int, rel_path: str) -> "dict[str, Row]":
    """Give what is known of the files of a directory, by name in its text form."""
    known = scan_dirs.find(tx, library_id, rel_path)
    if known is None:
        return {}
    rows = tx.all(
        """
        SELECT name, mtime_ns, size, inode, reader_version, enriched, low_confidence, status,
               artist, title, isrc, mbid
          FROM scan_results WHERE dir_id = :dir AND missing_since_at IS NULL
        """,
        dir=known[0],
    )
    return {row["name"]: row for row in rows}


def of_stem(tx: "Tx", library_id: int, rel_path: str, stem: str) -> "list[Row]":
    """Give the whole rows of the audio files of one stem, missing ones too."""
    known = scan_dirs.find(tx, library_id, rel_path)
    if known is None:
        return []
    return tx.all(
        """
        SELECT * FROM scan_results
         WHERE dir_id = :dir AND name >= :least AND name < :most AND out_stem = :stem
         ORDER BY id
        """,
        dir=known[0],
        stem=to_ptext(stem),
        least=f"{to_ptext(stem)}.",
        most=f"{to_ptext(stem)}/",  # the sign behind the dot: only names of the stem lie between
    )


def at_path(tx: "Tx", library_id: int, rel_path: str) -> "Row | None":
    """Give the whole row of one file, by its path below the root."""
    folder, name = os.path.split(rel_path)
    known = scan_dirs.find(tx, library_id, folder)
    if known is None:
        return None
    return tx.first(
        "SELECT * FROM scan_results WHERE dir_id = :dir AND name = :name",
        dir=known[0],
        name=to_ptext(name),
    )
