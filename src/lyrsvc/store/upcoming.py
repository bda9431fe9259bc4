"""What the worker takes next, in the order in which it will."""

from dataclasses import dataclass
from datetime import datetime
from heapq import merge
from itertools import islice
from typing import TYPE_CHECKING, Final

from lyrsvc.core.waiting import earliest_key
from lyrsvc.store.moments import from_db, to_db

if TYPE_CHECKING:
    from lyrsvc.store.engine import Row
    from lyrsvc.store.transaction import Tx

CLAIMABLE: Final = """
    SELECT id, artist, title, album, priority, status, due_at, ready_key
      FROM work_items
     WHERE route = :route AND ready_key IS NOT NULL
     ORDER BY ready_key, id
     LIMIT :limit
"""
UNPROMOTED: Final = """
    SELECT id, artist, title, album, priority, status, due_at
      FROM work_items
     WHERE ready_key IS NULL AND status IN ('pending', 'failed', 'deferred') AND due_at <= :now
     ORDER BY due_at, id
     LIMIT :limit
"""
ROUTES: Final = (0, 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenItem:
    """An item that may be claimed, or soon will be."""

    id: int
    artist: str
    title: str
    album: str
    priority: int
    status: str
    due_at: datetime | None


def up_next(tx: "Tx", *, limit: int = 10, now: datetime | None = None) -> list[OpenItem]:
    """Give the items that may be claimed, in the order in which they will be.

    With ``now`` also those whose wait is over but that no claim has lined up yet, at
    the place they will get; within one hour that is left to chance.
    """
    walks = [tx.all(CLAIMABLE, route=route, limit=limit) for route in ROUTES]
    if now is not None:
        walks.append(_about_to_be_ready(tx, limit=limit, now=now))
    rows = merge(*walks, key=lambda row: (row["ready_key"], row["id"]))
    return [_open_item(row) for row in islice(rows, limit)]


def _about_to_be_ready(tx: "Tx", *, limit: int, now: datetime) -> "list[Row]":
    rows = tx.all(UNPROMOTED, now=to_db(now), limit=limit)
    for row in rows:
        row["ready_key"] = earliest_key(from_db(row["due_at"]), row["priority"])
    return sorted(rows, key=lambda row: (row["ready_key"], row["id"]))


def _open_item(row: "Row") -> OpenItem:
    return OpenItem(
        id=row["id"],
        artist=row["artist"],
        title=row["title"],
        album=row["album"],
        priority=row["priority"],
        status=row["status"],
        due_at=from_db(row["due_at"]),
    )
