"""Rows of the inventory for listings: ``scan results`` and the JSON scan result.

``processing`` is not stored: a row shows it while the item that is to write its
sidecar is claimed. Rows come by id. A library with a status is one walk along
``ix_scan_list``; wider questions merge such walks and still stream.
"""

from collections.abc import Iterator
from heapq import merge
from itertools import islice
from typing import TYPE_CHECKING, Final

from lyrsvc.core.ptext import from_ptext
from lyrsvc.store.queue_listing import ENDINGS

if TYPE_CHECKING:
    from lyrsvc.store.engine import Row
    from lyrsvc.store.transaction import Tx

STORED_STATUSES: Final = ("pending", "done", "failed", "deferred", "unreadable")
WAITING: Final = frozenset(("pending", "failed", "deferred"))
"""Statuses of rows whose sidecar is still wanted; only these give way to ``processing``."""

# Left joins keep scan_results the outer loop, whose order is the listing's.
SELECT: Final = """
    SELECT s.id, s.library_id, l.name AS library_name, l.path AS root, d.rel_path, s.name,
           s.out_stem, s.artist, s.title, s.album, s.status, s.reason, s.isrc, s.mbid,
           s.duration_ms, s.sidecar_class, s.ours, t.item_id, i.status AS item_status
      FROM scan_results s
      LEFT JOIN libraries l ON l.id = s.library_id
      LEFT JOIN scan_dirs d ON d.id = s.dir_id
      LEFT JOIN work_targets t ON t.id = s.target_id
      LEFT JOIN work_items i ON i.id = t.item_id
"""
_EVERYTHING: Final = SELECT + "ORDER BY s.id"
_OF_ONE_STATUS: Final = (
    SELECT + "WHERE s.library_id = :library AND s.status = :status ORDER BY s.id"
)
_OF_ONE_ID: Final = SELECT + "WHERE s.id = :id"
_UNTAGGED: Final = """
    SELECT d.rel_path, s.name
      FROM scan_results s
      JOIN scan_dirs d ON d.id = s.dir_id
     WHERE s.library_id = :library AND s.status = 'unreadable' AND s.reason = 'no_metadata'
       AND s.missing_since_at IS NULL
     ORDER BY s.id
     LIMIT :limit
"""


def list_results(
    tx: "Tx", *, library_id: int | None = None, status: str | None = None, limit: int = 0
) -> "Iterator[Row]":
    """Give scan results in the JSON shape, by id; limit 0 gives all.

    ``library`` is the id, ``library_name`` comes along for tables, ``reason`` says why a
    status is not a better one; paths are as Python's file functions take them.
    """
    found = _rows(tx, library_id=library_id, status=status)
    results = ({**shown_result(row), "reason": row["reason"] or None} for row in found)
    wanted = (result for result in results if status in (None, result["status"]))
    yield from islice(wanted, limit or None)


def untagged_files(tx: "Tx", library_id: int, *, limit: int) -> list[str]:
    """Give the first files of a library whose tags and name tell no artist or title.

    Paths are below the library's root, as Python's file functions take them.
    """
    rows = tx.all(_UNTAGGED, library=library_id, limit=limit)
    return [from_ptext("/".join(filter(None, (row["rel_path"], row["name"])))) for row in rows]


def _rows(tx: "Tx", *, library_id: int | None, status: str | None) -> "Iterator[Row]":
    if status == "processing":
        return _claimed(tx, library_id)
    if library_id is None and status is None:
        return tx.each(_EVERYTHING)
    libraries = [library_id] if library_id is not None else _library_ids(tx)
    statuses = STORED_STATUSES if status is None else (status,)
    walks = [
        tx.each(_OF_ONE_STATUS, library=library, status=stored)
        for library in libraries
        for stored in statuses
    ]
    return walks[0] if len(walks) == 1 else merge(*walks, key=_id)


def _claimed(tx: "Tx", library_id: int | None) -> "Iterator[Row]":
    """Start from the few items that are claimed, not from the many rows."""
    found = tx.all(
        """
        SELECT s.id, s.library_id
          FROM work_items i
          JOIN work_targets t ON t.item_id = i.id
          JOIN scan_results s ON s.target_id = t.id
         WHERE i.status = 'processing'
         ORDER BY s.id
        """
    )
    for row in found:
        if library_id in (None, row["library_id"]):
            yield from tx.all(_OF_ONE_ID, id=row["id"])


def _library_ids(tx: "Tx") -> list[int]:
    return [row["id"] for row in tx.all("SELECT id FROM libraries ORDER BY id")]


def _id(row: "Row") -> int:
    number: int = row["id"]
    return number


def shown_result(row: "Row") -> "Row":
    """Give the JSON shape of a row that ``SELECT`` found."""
    folder = "/".join(part for part in (row["root"].rstrip("/"), row["rel_path"]) if part)
    claimed = row["item_status"] == "processing" and row["status"] in WAITING
    extension = ENDINGS.get(row["sidecar_class"], ".lrc")
    return {
        "id": row["id"],
        "library": row["library_id"],
        "library_name": row["library_name"],
        "source_path": from_ptext(f"{folder}/{row['name']}"),
        "destination": from_ptext(f"{folder}/{row['out_stem']}{extension}"),
        "artist": row["artist"],
        "title": row["title"],
        "album": row["album"],
        "status": "processing" if claimed else row["status"],
        "isrc": row["isrc"],
        "mbid": row["mbid"],
        "duration_s": row["duration_ms"] / 1000 if row["duration_ms"] else None,
        "sidecar": row["sidecar_class"] or None,
        "ours": bool(row["ours"]),
        "item_id": row["item_id"],
    }
