"""The table ``scan_results``: the inventory, one row for each audio file.

A rescan reads the gate of a directory from ``ix_scan_gate`` alone and touches no
row that has not changed. Rows are written whole; the counts change with them.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from lyrsvc.store.counts import Tally
from lyrsvc.store.moments import to_db

if TYPE_CHECKING:
    from lyrsvc.store.engine import Row
    from lyrsvc.store.transaction import Tx

COLUMNS: Final = (
    "mtime_ns", "size", "inode", "reader_version", "enriched", "low_confidence", "artist",
    "artists", "title", "album", "album_artist", "artist_key", "alt_artist_key", "title_key",
    "album_key", "key_version", "isrc", "mbid", "duration_ms", "duration_bucket", "out_stem",
    "sidecar", "sidecar_class", "ours", "embedded", "status", "reason", "reason_text",
    "target_id", "missing_since_at",
)  # fmt: skip
"""What a scan writes of a row, beside where the file is."""

BASIS: Final = ("status", "target_id", "sidecar", "sidecar_class", "ours", "missing_since_at")
"""What somebody else may change meanwhile; a scan writes only what it based its decision on."""

GATE: Final = """
    SELECT name, mtime_ns, size, inode, sidecar, enriched, reader_version, key_version,
           missing_since_at, status, target_id, embedded, id
      FROM scan_results WHERE dir_id = :dir
"""
"""Answered by ``ix_scan_gate`` alone."""
_SETTINGS: Final = ", ".join(f"{name} = :{name}" for name in COLUMNS)
_PLACE: Final = ("library_id", "dir_id", "name")
_INSERTED: Final = (*_PLACE, *COLUMNS, "created_at", "updated_at")
_values: Final = itemgetter(*_PLACE, *COLUMNS)
_UPDATE: Final = f"""
    UPDATE scan_results SET {_SETTINGS}, updated_at = :now WHERE id = :id
"""  # noqa: S608 - the names are our own
_PLACED: Final = """
    SELECT s.*, d.rel_path, l.path AS root
      FROM scan_results s
      JOIN scan_dirs d ON d.id = s.dir_id
      JOIN libraries l ON l.id = s.library_id
     WHERE s.id = :id
"""


def gate_of(tx: "Tx", dir_id: int) -> dict[str, tuple[Any, ...]]:
    """Give what the gate compares of each row of a directory, by name.

    The order of the values is that of ``core.scan_decision.GateRow``.
    """
    rows = tx.tuples(GATE, dir=dir_id)
    return {row[0]: row[1:] for row in rows}


def get(tx: "Tx", row_id: int) -> "Row | None":
    """Give a whole row, with the directory it lies in and the root of its library."""
    return tx.first(_PLACED, id=row_id)


def has_own_files(tx: "Tx") -> bool:
    """Tell whether we ever wrote a file, so that one on disk may be ours."""
    return tx.first("SELECT id FROM written_files LIMIT 1") is not None


def present_below(tx: "Tx", dir_id: int) -> list[int]:
    """Give the rows of a directory and of all below it whose file was last seen there."""
    rows = tx.each(
        """
        WITH RECURSIVE below (id) AS (
            SELECT id FROM scan_dirs WHERE id = :dir
            UNION ALL
            SELECT d.id FROM scan_dirs d JOIN below b ON d.parent_id = b.id
        )
        SELECT s.id FROM below b JOIN scan_results s ON s.dir_id = b.id
         WHERE s.missing_since_at IS NULL
        """,
        dir=dir_id,
    )
    return [row["id"] for row in rows]


def insert_many(
    tx: "Tx", rows: Sequence[Mapping[str, Any]], tally: Tally, *, now: datetime
) -> None:
    """Write new rows down."""
    moments = (to_db(now),) * 2
    tx.insert_rows("scan_results", _INSERTED, [(*_values(row), *moments) for row in rows])
    for row in rows:
        count(tally, None, row)


def update(
    tx: "Tx", before: Mapping[str, Any], after: Mapping[str, Any], tally: Tally, *, now: datetime
) -> None:
    """Write a changed row down."""
    tx.run(_UPDATE, **{name: after[name] for name in COLUMNS}, id=before["id"], now=to_db(now))
    count(tally, before, after)


def is_as_it_was(tx: "Tx", basis: Mapping[str, Any]) -> bool:
    """Tell whether a row is still what a decision was based on."""
    now = tx.first(
        """
        SELECT status, target_id, sidecar, sidecar_class, ours, missing_since_at
          FROM scan_results WHERE id = :id
        """,
        id=basis["id"],
    )
    return now is not None and all(now[name] == basis[name] for name in BASIS)


def tie_stem(tx: "Tx", dir_id: int, out_stem: str, target_id: int) -> None:
    """Tie the waiting files of a stem that lost their target to another one."""
    tx.run(
        """
        UPDATE scan_results SET target_id = :target
         WHERE dir_id = :dir AND out_stem = :stem AND target_id IS NULL AND status = 'pending'
        """,
        dir=dir_id,
        stem=out_stem,
        target=target_id,
    )


def delete(tx: "Tx", row: Mapping[str, Any], tally: Tally) -> None:
    """Remove a row."""
    if tx.run("DELETE FROM scan_results WHERE id = :id", id=row["id"]):
        count(tally, row, None)


def rehouse(
    tx: "Tx", row_id: int, *, library_id: int, dir_id: int, name: str, now: datetime
) -> None:
    """Let a row stand for a file at another place."""
    tx.run(
        """
        UPDATE scan_results
           SET library_id = :library, dir_id = :dir, name = :name, updated_at = :now
         WHERE id = :id
        """,
        id=row_id,
        library=library_id,
        dir=dir_id,
        name=name,
        now=to_db(now),
    )


def count(tally: Tally, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> None:
    """Note what a change of one row does to the counts."""
    for row, difference in ((before, -1), (after, 1)):
        if row is None:
            continue
        if before is None or after is None or before["library_id"] != after["library_id"]:
            tally.add(f"files.{row['library_id']}", difference)
        for name in wanted_counts(row):
            tally.add(name, difference)


def wanted_counts(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Name the counts of wanted lyrics that a row is part of."""
    if row["missing_since_at"] is not None:
        return ()
    if row["sidecar_class"] == "":
        return "wanted_missing", f"missing.{row['library_id']}"
    return ("wanted_unsynced",) if row["sidecar_class"] == "txt" and row["ours"] else ()
