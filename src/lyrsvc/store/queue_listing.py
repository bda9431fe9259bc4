"""Rows of the queue for listings: ``queue list`` and the JSON item.

The order, priority first, cuts across the statuses. Each status is read from
``ix_items_list`` in that order and the five streams are merged, so the first rows
of a million come as fast as those of ten.
"""

from collections.abc import Iterator, Sequence
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

ENDINGS: Final = {"txt": ".txt", "marker": ".txt"}
"""How the sidecar of each kind ends that does not end in ``.lrc``, as every wanted one does."""

COLUMNS: Final = """
    id, artist, title, album, status, priority, reason, reason_text, attempts, misses, due_at,
    created_at, completed_at, lane, outcome, duration_bucket, provider_set_version,
    detect_instrumental, detect_origin"""
"""What an item is shown by."""

_TARGET_COLUMNS: Final = """
    id, item_id, library_id, origin, source_path, out_dir, out_stem, status, kind"""


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
        item = shown_item(row)
        if with_targets:
            item["targets"] = targets_of(tx, row["id"])
        yield item


def whole_items(tx: "Tx", ids: Sequence[int]) -> "list[Row]":
    """Give the items with these ids in the JSON shape with their targets, in this order."""
    if not ids:
        return []
    places, params = _listed(ids)
    found = tx.all(
        f"SELECT {COLUMNS} FROM work_items WHERE id IN ({places})",  # noqa: S608 - our own names
        **params,
    )
    items = {row["id"]: shown_item(row) | {"targets": []} for row in found}
    targets = tx.all(
        f"SELECT {_TARGET_COLUMNS} FROM work_targets WHERE item_id IN ({places}) ORDER BY id",  # noqa: S608
        **params,
    )
    for row in targets:
        items[row["item_id"]]["targets"].append(_target(row))
    return [items[item_id] for item_id in ids if item_id in items]


def known_items(tx: "Tx", ids: Sequence[int]) -> set[int]:
    """Tell which of these items are in the queue."""
    if not ids:
        return set()
    places, params = _listed(ids)
    rows = tx.all(f"SELECT id FROM work_items WHERE id IN ({places})", **params)  # noqa: S608
    return {row["id"] for row in rows}


def targets_of(tx: "Tx", item_id: int) -> "list[Row]":
    """Give the targets of one item in the JSON shape."""
    rows = tx.all(
        f"SELECT {_TARGET_COLUMNS} FROM work_targets WHERE item_id = :item_id ORDER BY id",  # noqa: S608
        item_id=item_id,
    )
    return [_target(row) for row in rows]


def _listed(ids: Sequence[int]) -> tuple[str, dict[str, int]]:
    params = {f"id_{number}": item_id for number, item_id in enumerate(ids)}
    return ", ".join(f":{name}" for name in params), params


def _target(row: "Row") -> "Row":
    extension = ENDINGS.get(row["kind"], ".lrc")
    return {
        "id": row["id"],
        "library": row["library_id"],
        "source_path": from_ptext(row["source_path"]),
        "destination": from_ptext(f"{row['out_dir'].rstrip('/')}/{row['out_stem']}{extension}"),
        "done": row["status"] == "done",
        "from": row["origin"],
    }


def _of_status(tx: "Tx", status: str, limit: int) -> "Iterator[Row]":
    return tx.each(
        f"""
        SELECT {COLUMNS}
          FROM work_items
         WHERE status = :status
         ORDER BY priority DESC, id
         LIMIT :limit
        """,  # noqa: S608 - our own names
        status=status,
        limit=limit,
    )


def _urgency(row: "Row") -> tuple[int, int]:
    return -row["priority"], row["id"]


def shown_item(row: "Row") -> "Row":
    """Give the JSON shape of a row that holds ``COLUMNS``."""
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
