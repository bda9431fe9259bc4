"""An item as the worker left it, in the shape of the queue's list but without its targets."""

from typing import Any

import msgspec

from lyrsvc.core.item import WorkItem
from lyrsvc.store.moments import to_db
from lyrsvc.store.queue_listing import shown_item
from lyrsvc.web.shapes import item_of


def settled_item_of(item: WorkItem) -> dict[str, Any]:
    """Give the shape of an item that was just settled."""
    row = shown_item(
        {
            "id": item.id,
            "artist": item.artist,
            "title": item.title,
            "album": item.album,
            "status": str(item.status),
            "priority": int(item.priority),
            "reason": item.reason,
            "reason_text": item.reason_text,
            "attempts": item.attempts,
            "misses": item.misses,
            "due_at": to_db(item.due_at),
            "created_at": to_db(item.created_at),
            "completed_at": to_db(item.completed_at),
            "lane": item.lane,
            "outcome": str(item.outcome),
            "duration_bucket": item.duration_bucket,
            "provider_set_version": item.provider_set_version,
            "detect_instrumental": item.detect_instrumental,
            "detect_origin": item.detect_origin,
        }
    )
    shape: dict[str, Any] = msgspec.to_builtins(item_of({**row, "targets": []}))
    del shape["targets"]
    return shape
