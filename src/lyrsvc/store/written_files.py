"""The table ``written_files``: what we wrote, so that it is known as ours later.

A row is first ``intended``, in the transaction before the file is touched, and then
``written``. While it is intended the file on disk may be the old or the new one, and
both hashes are ours. Rows outlive items, inventory and libraries.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from lyrsvc.core.ptext import from_ptext, path_hash, to_ptext
from lyrsvc.core.sidecar import Kind
from lyrsvc.store.moments import to_db

if TYPE_CHECKING:
    from lyrsvc.store.engine import Row
    from lyrsvc.store.transaction import Tx


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnFile:
    """A file of ours; size and time are known once it is written."""

    path: Path
    kind: Kind
    sha256: str
    source: str = ""
    library_id: int | None = None
    size: int = 0
    mtime_ns: int = 0


def intend(
    tx: "Tx", file: OwnFile, *, item_id: int | None, now: datetime, on_disk: str = ""
) -> None:
    """Note a file that is about to be written.

    The hash before it stays ours until the write is confirmed; ``on_disk`` is the one
    that was seen there, which decides when an earlier write was never confirmed.
    """
    tx.run(
        """
        INSERT INTO written_files (path, path_hash, library_id, item_id, kind, source, sha256,
                                   prev_sha256, state, created_at, updated_at)
        VALUES (:path, :hash, :library, :item, :kind, :source, :sha256, '', 'intended', :now, :now)
        ON CONFLICT (path_hash) DO UPDATE
           SET library_id = :library, item_id = :item, kind = :kind, source = :source,
               prev_sha256 = CASE
                   WHEN written_files.sha256 = :sha256 THEN written_files.prev_sha256
                   WHEN written_files.state = 'written' THEN written_files.sha256
                   WHEN written_files.sha256 = :on_disk THEN written_files.sha256
                   ELSE written_files.prev_sha256 END,
               state = CASE
                   WHEN written_files.sha256 = :sha256 THEN written_files.state
                   ELSE 'intended' END,
               sha256 = :sha256, updated_at = :now
        """,
        **_row(file),
        item=item_id,
        on_disk=on_disk,
        now=to_db(now),
    )


def confirm(tx: "Tx", file: OwnFile, *, item_id: int | None, now: datetime) -> None:
    """Note a file that stands on disk as we wrote it."""
    tx.run(
        """
        INSERT INTO written_files (path, path_hash, library_id, item_id, kind, source, sha256,
                                   size, mtime_ns, state, written_at, created_at, updated_at)
        VALUES (:path, :hash, :library, :item, :kind, :source, :sha256,
                :size, :mtime, 'written', :now, :now, :now)
        ON CONFLICT (path_hash) DO UPDATE
           SET library_id = :library, item_id = :item, kind = :kind, source = :source,
               sha256 = :sha256, prev_sha256 = '', size = :size, mtime_ns = :mtime,
               state = 'written', written_at = :now, updated_at = :now
        """,
        **_row(file),
        size=file.size,
        mtime=file.mtime_ns,
        item=item_id,
        now=to_db(now),
    )


def forget(tx: "Tx", path: Path) -> None:
    """Drop the memory of a file that we removed."""
    tx.run("DELETE FROM written_files WHERE path_hash = :hash", hash=path_hash(os.fspath(path)))


def own_hashes(tx: "Tx", path: Path) -> frozenset[str]:
    """Give the hashes that make a file at this path ours."""
    row = tx.first(
        "SELECT sha256, prev_sha256, state FROM written_files WHERE path_hash = :hash",
        hash=path_hash(os.fspath(path)),
    )
    if row is None:
        return frozenset()
    hashes = {row["sha256"], row["prev_sha256"] if row["state"] == "intended" else ""}
    return frozenset(hashes - {""})


def owns(tx: "Tx", path: Path, sha256: str) -> bool:
    """Tell whether a file with this hash at this path is ours."""
    return sha256 in own_hashes(tx, path)


def recorded(tx: "Tx", path: Path) -> OwnFile | None:
    """Give what is remembered of a confirmed file; size and time save reading it again."""
    row = tx.first(
        "SELECT * FROM written_files WHERE path_hash = :hash AND state = 'written'",
        hash=path_hash(os.fspath(path)),
    )
    return _file(row) if row else None


def song_of(tx: "Tx", path: Path) -> "Row | None":
    """Give keys and length of the song that a file was written for, while its item is there."""
    return tx.first(
        """
        SELECT i.artist_key, i.title_key, i.duration_ms, i.low_confidence
          FROM written_files w JOIN work_items i ON i.id = w.item_id
         WHERE w.path_hash = :hash
        """,
        hash=path_hash(os.fspath(path)),
    )


def with_hash(tx: "Tx", sha256: str) -> list[OwnFile]:
    """Give the files that had this content, to recognise one that was moved."""
    rows = tx.all("SELECT * FROM written_files WHERE sha256 = :sha ORDER BY id", sha=sha256)
    return [_file(row) for row in rows]


def move(tx: "Tx", old: Path, new: Path, *, now: datetime) -> None:
    """Follow a file to another path; what was remembered of that path is over."""
    forget(tx, new)
    tx.run(
        """
        UPDATE written_files SET path = :path, path_hash = :new, updated_at = :now
         WHERE path_hash = :old
        """,
        path=to_ptext(os.fspath(new)),
        new=path_hash(os.fspath(new)),
        old=path_hash(os.fspath(old)),
        now=to_db(now),
    )


def forget_all(tx: "Tx", paths: Iterable[Path]) -> None:
    """Drop the memory of several files."""
    for path in paths:
        forget(tx, path)


def _row(file: OwnFile) -> "Row":
    return {
        "path": to_ptext(os.fspath(file.path)),
        "hash": path_hash(os.fspath(file.path)),
        "library": file.library_id,
        "kind": str(file.kind),
        "source": file.source,
        "sha256": file.sha256,
    }


def _file(row: "Row") -> OwnFile:
    return OwnFile(
        path=Path(from_ptext(row["path"])),
        kind=Kind(row["kind"]),
        sha256=row["sha256"],
        source=row["source"],
        library_id=row["library_id"],
        size=row["size"],
        mtime_ns=row["mtime_ns"],
    )
