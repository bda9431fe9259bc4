"""Rows of ``scan_results`` whose file is gone: found, marked, moved on, forgotten."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from lyrsvc.core.relinking import FileFacts
from lyrsvc.store.counts import Tally
from lyrsvc.store.moments import to_db
from lyrsvc.store.scan_results import count

if TYPE_CHECKING:
    from lyrsvc.store.engine import Row
    from lyrsvc.store.transaction import Tx

_STAMPED: Final = ("title_key", "artist_key", "duration_bucket", "inode", "size", "mtime_ns")
_MARKS: Final = (*_STAMPED, "mbid", "isrc")


def facts_of(tx: "Tx", row_ids: Iterable[int]) -> list[FileFacts]:
    """Give what tells whether a file is another one renamed."""
    return [
        FileFacts(**row)
        for row_id in row_ids
        if (
            row := tx.first(
                """
                SELECT id AS row_id, inode, size, mtime_ns, mbid, isrc, duration_ms
                  FROM scan_results WHERE id = :id
                """,
                id=row_id,
            )
        )
    ]


def newest_row(tx: "Tx") -> int:
    """Give the largest row id there is."""
    return int(tx.value("SELECT max(id) FROM scan_results") or 0)


def new_rows(tx: "Tx", library_id: int, *, after: int) -> list[FileFacts]:
    """Give the facts of the rows of a library that came after another row."""
    rows = tx.each(
        """
        SELECT id AS row_id, inode, size, mtime_ns, mbid, isrc, duration_ms
          FROM scan_results WHERE id > :after AND library_id = :library
        """,
        after=after,
        library=library_id,
    )
    return [FileFacts(**row) for row in rows]


def has_rows(tx: "Tx", library_id: int) -> bool:
    """Tell whether anything is known of a library."""
    found = tx.first(
        "SELECT id FROM scan_results WHERE library_id = :library LIMIT 1", library=library_id
    )
    return found is not None


def namesakes(tx: "Tx", library_id: int, row: Mapping[str, Any]) -> "list[Row]":
    """Give rows that may stand for the same file, missing ones too: song and one mark agree.

    The sign before the library leaves the choice to ``ix_scan_keys``.
    """
    return tx.all(
        """
        SELECT s.id, d.rel_path, s.name
          FROM scan_results s JOIN scan_dirs d ON d.id = s.dir_id
         WHERE s.title_key = :title_key AND s.artist_key = :artist_key
           AND s.duration_bucket = :duration_bucket
           AND +s.library_id = :library
           AND ((s.inode = :inode AND s.size = :size AND s.mtime_ns = :mtime_ns)
                OR (s.mbid <> '' AND s.mbid = :mbid) OR (s.isrc <> '' AND s.isrc = :isrc))
         LIMIT 20
        """,
        **{name: row[name] for name in _MARKS},
        library=library_id,
    )


def same_files(tx: "Tx", library_id: int, row: Mapping[str, Any]) -> "list[Row]":
    """Give rows of the same song that were written of the very same file, missing ones too.

    The sign before the library leaves the choice to ``ix_scan_keys``.
    """
    return tx.all(
        """
        SELECT s.id, d.rel_path, s.name, s.mtime_ns, s.size, s.inode
          FROM scan_results s JOIN scan_dirs d ON d.id = s.dir_id
         WHERE s.title_key = :title_key AND s.artist_key = :artist_key
           AND s.duration_bucket = :duration_bucket
           AND +s.library_id = :library
           AND s.inode = :inode AND s.size = :size AND s.mtime_ns = :mtime_ns
         LIMIT 20
        """,
        **{name: row[name] for name in _STAMPED},
        library=library_id,
    )


def count_present(tx: "Tx", library_id: int, *, until: int) -> int:
    """Count the rows of a library, up to one, that are not missing."""
    found = tx.value(
        """
        SELECT count(*) FROM scan_results
         WHERE library_id = :library AND id <= :until AND missing_since_at IS NULL
        """,
        library=library_id,
        until=until,
    )
    return int(found)


def mark(tx: "Tx", row_ids: Sequence[int], *, now: datetime) -> "list[Row]":
    """Mark rows as missing; give those that were not yet, as they were."""
    marked: list[Row] = []
    for row_id in row_ids:
        row = tx.first(
            "SELECT * FROM scan_results WHERE id = :id AND missing_since_at IS NULL", id=row_id
        )
        if row is None:
            continue
        tx.run(
            "UPDATE scan_results SET missing_since_at = :now, updated_at = :now WHERE id = :id",
            id=row_id,
            now=to_db(now),
        )
        marked.append(row)
    return marked


def clear(tx: "Tx", row_id: int, tally: Tally, *, now: datetime) -> None:
    """Let a row whose file is back be missing no longer."""
    row = tx.first(
        "SELECT * FROM scan_results WHERE id = :id AND missing_since_at IS NOT NULL", id=row_id
    )
    if row is None:
        return
    tx.run(
        "UPDATE scan_results SET missing_since_at = NULL, updated_at = :now WHERE id = :id",
        id=row_id,
        now=to_db(now),
    )
    count(tally, row, {**row, "missing_since_at": None})


def of_target(tx: "Tx", target_id: int) -> "list[Row]":
    """Give the rows of the files that share a target, missing ones too, by name."""
    return tx.all("SELECT * FROM scan_results WHERE target_id = :id ORDER BY name", id=target_id)


def long_missing(
    tx: "Tx", library_id: int, *, before: datetime, after: int, limit: int
) -> "list[Row]":
    """Give rows that have been missing since before a moment, by id."""
    return tx.all(
        """
        SELECT s.*, d.rel_path
          FROM scan_results s JOIN scan_dirs d ON d.id = s.dir_id
         WHERE s.missing_since_at <= :before AND s.library_id = :library AND s.id > :after
         ORDER BY s.id LIMIT :limit
        """,
        before=to_db(before),
        library=library_id,
        after=after,
        limit=limit,
    )


def is_processing(tx: "Tx", target_id: int | None) -> bool:
    """Tell whether the item of a target is being worked on."""
    if target_id is None:
        return False
    return (
        tx.first(
            """
            SELECT i.id FROM work_targets t JOIN work_items i ON i.id = t.item_id
             WHERE t.id = :target AND i.status = 'processing'
            """,
            target=target_id,
        )
        is not None
    )


def share_target(tx: "Tx", target_id: int, *, but: int) -> bool:
    """Tell whether another file that is there needs the same sidecar."""
    return (
        tx.first(
            """
            SELECT id FROM scan_results
             WHERE target_id = :target AND id <> :but AND missing_since_at IS NULL
            """,
            target=target_id,
            but=but,
        )
        is not None
    )
