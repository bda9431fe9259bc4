"""Rows of the queue for listings: ``queue list`` and the JSON item.

The order, priority first, cuts across the statuses. Each status is read from
``ix_items_list`` in that order and the five streams are merged, so the first rows
of a million come as fast as those of ten.
"""

from collections.abc import Iterator
from heapq import merge
from itertools import islice
from typing import TYPE_CHECKING, Final

from lyrsvc.core.ptext import from_ptext

if TYPE_CHECKING:
    from lyrsvc.store.engine import Row
    from lyrsvc.store.transaction import Tx

STATUSES: Final = ("pending", "processing", "done", "failed", "deferred")
NO_LIMIT: Final = -1

RESULT_CLASSES: Final = {
    "synced": "synced",
    "unsynced": "unsynced-or-instrumental",
    "instrumental": "unsynced-or-instrumental",
    "miss": "miss",
    "rejected": "miss",
}
"""The result class of each outcome."""

_SIDECAR: Final = {"txt": ".txt", "marker": ".txt"}


def list_items(
    tx: "Tx", *, status: str | None = None, limit: int = 0, with_targets: bool = False
) -> "Iterator[Row]":
    """Give items in the JSON shape, by priority descending, then id; limit 0 gives all.

    Moments are as stored, paths as Python's file functions take them; ``targets``
    is there only when asked for.
    """
    statuses = STATUSES if status is None else (status,)
    streams = [_of_status(tx, one, limit or NO_LIMIT) for one in statuses]
    rows = streams[0] if len(streams) == 1 else merge(*streams, key=_urgency)
    for row in islice(rows, limit or None):
        item = _item(row)
        if with_targets:
            item["targets"] = targets_of(tx, row["id"])
        yield item


def targets_of(tx: "Tx", item_id: int) -> "list[Row]":
    """Give the targets of one item in the JSON shape."""
    rows = tx.all(
        """
        SELECT id, library_id, origin, source_path, out_dir, out_stem, status, kind
          FROM work_targets
         WHERE item_id = :item_id
         ORDER BY id
        """,
        item_id=item_id,
    )
    return [
        {
            "id": row["id"],
            "library": row["library_id"],
            "source_path": from_ptext(row["source_path"]),
            "destination": from_ptext(
                f"{row['out_dir'].rstrip('/')}/{row['out_stem']}{_SIDECAR.get(row['kind'], '.lrc')}"
            ),
            "done": row["status"] == "done",
            "from": row["origin"],
        }
        for row in rows
    ]


def _of_status(tx: "Tx", status: str, limit: int) -> "Iterator[Row]":
    return tx.each(
        """
        SELECT id, artist, title, album, status, priority, reason, reason_text, attempts, misses,
               due_at, created_at, completed_at, lane, outcome, duration_bucket,
               provider_set_version, detect_instrumental, detect_origin
          FROM work_items
         WHERE status = :status
         ORDER BY priority DESC, id
         LIMIT :limit
        """,
        status=status,
        limit=limit,
    )


def _urgency(row: "Row") -> tuple[int, int]:
    return -row["priority"], row["id"]


def _item(row: "Row") -> "Row":
    detect = row["detect_instrumental"]
    return {
        "id": row["id"],
        "artist": row["artist"],
        "title": row["title"],
        "album": row["album"],
        "status": row["status"],
        "priority": row["priority"],
        "reason": row["reason"] or None,
        "detail": row["reason_text"] or None,
        "attempts": row["attempts"],
        "misses": row["misses"],
        "due_at": row["due_at"],
        "created_at": row["created_at"],
        "completed_at": row["completed_at"],
        "lane": row["lane"] or None,
        "result": RESULT_CLASSES.get(row["outcome"]),
        "outcome": row["outcome"] or None,
        "duration_bucket": row["duration_bucket"],
        "provider_set_version": row["provider_set_version"],
        "detect_instrumental": {
            "value": None if detect is None else bool(detect),
            "origin": row["detect_origin"] or None,
        },
    }
