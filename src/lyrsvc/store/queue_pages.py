"""Pages of the queue: any filter, any order, and how many items there are in all.

Unnarrowed, or narrowed to statuses alone, a page is found along an index where one has
its order, and the total is a maintained count. Whatever else narrows it must be counted
row by row: one pass finds the page and the number together.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from lyrsvc.core.errors import Refused
from lyrsvc.store import counts
from lyrsvc.store.completions import in_class
from lyrsvc.store.measuring import up_next
from lyrsvc.store.ordering import Order, Orders
from lyrsvc.store.queue_listing import STATUSES, whole_items
from lyrsvc.store.reporting import TROUBLED, Page, place_of
from lyrsvc.store.searching import text_condition
from lyrsvc.store.stock_taking import UNKNOWN, count_statuses

if TYPE_CHECKING:
    from lyrsvc.store.engine import Row
    from lyrsvc.store.transaction import Tx

ORDERS: Final[Orders] = {
    "priority": ("-priority", "id"),
    "id": ("id",),
    "due_at": ("=due_at IS NULL", "due_at", "id"),
    "completed_at": ("=completed_at IS NULL", "-completed_at", "-id"),
    "artist": ("artist_key", "title_key", "duration_bucket"),
    "title": ("title_key", "artist_key", "duration_bucket"),
}
BY_PRIORITY: Final = Order(by="priority")

DEEP: Final = 100_000
"""Behind so many rows sorting them all is quicker than keeping the first ones sorted."""

_IN_INDEX_ORDER: Final = ("id", "artist")
_FINISHED: Final = {"completed_at": ("-completed_at", "-id")}
_EVERYWHERE: Final = "i.id > 0"
_IN_LIBRARY: Final = "i.id IN (SELECT item_id FROM work_targets WHERE library_id = :library)"
_WITHOUT_REASON: Final = f"i.reason = '' AND i.status IN {TROUBLED!r}"


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueFilter:
    """Which items are wanted; no status means every one."""

    statuses: tuple[str, ...] = ()
    library_id: int | None = None
    lane: str | None = None
    reason: str | None = None
    result: str | None = None
    text: str = ""


EVERY_ITEM: Final = QueueFilter()


def queue_page(
    tx: "Tx",
    which: QueueFilter = EVERY_ITEM,
    order: Order = BY_PRIORITY,
    *,
    page: int = 1,
    page_size: int = 50,
) -> "Page[Row]":
    """Give one page of items in the JSON shape with their targets, and the total."""
    which = replace(which, statuses=_distinct(which.statuses))
    place = place_of(page, page_size)
    conditions, params = _conditions(tx, which)
    if conditions:
        terms = order.terms(ORDERS)
        found = tx.all(
            _page_of_hits(_status_condition(which), conditions, terms), **params, **place
        )
        ids = [row["id"] for row in found if row["id"] is not None]
        return Page(rows=whole_items(tx, ids), total=found[0]["total"])
    standing = count_statuses(counts.read(tx))
    total = sum(standing[status] for status in which.statuses or STATUSES)
    walk = _walk(which, order, deep=place["offset"] > DEEP)
    rows = tx.all(walk, **place) if place["offset"] < total else []
    return Page(rows=whole_items(tx, [row["id"] for row in rows]), total=total)


def next_items(tx: "Tx", *, limit: int, now: datetime) -> "list[Row]":
    """Give the items that may be claimed, in the order in which they will be."""
    return whole_items(tx, [item.id for item in up_next(tx, limit=limit, now=now)])


def _walk(which: QueueFilter, order: Order, *, deep: bool) -> str:
    """Give the statement for items that only their status narrows."""
    finished = order.by == "completed_at" and which.statuses == ("done",)
    terms = order.terms({**ORDERS, **_FINISHED} if finished else ORDERS)
    if order.by == "priority":
        # One walk for each status along ix_items_list, merged as they are read.
        walks = " UNION ALL ".join(
            f"SELECT id, priority FROM work_items WHERE status = '{status}'"  # noqa: S608 - ours
            for status in which.statuses or STATUSES
        )
        return f"SELECT id, priority FROM ({walks}) ORDER BY {terms} LIMIT :limit OFFSET :offset"  # noqa: S608
    condition = _status_condition(which) + (" AND completed_at IS NOT NULL" if finished else "")
    if deep and not finished and (which.statuses or order.by not in _IN_INDEX_ORDER):
        return f"""
            SELECT id
              FROM (SELECT id, row_number() OVER (ORDER BY {terms}) AS place
                      FROM work_items i WHERE {condition})
             WHERE place > :offset AND place <= :offset + :limit
             ORDER BY place
        """  # noqa: S608 - as below
    return f"""
        SELECT id FROM work_items i WHERE {condition} ORDER BY {terms}
         LIMIT :limit OFFSET :offset
    """  # noqa: S608 - terms and statuses are ours


def _page_of_hits(statuses: str, conditions: str, terms: str) -> str:
    return f"""
        WITH hits AS MATERIALIZED (
            SELECT i.id, i.priority, i.due_at, i.completed_at, i.artist_key, i.title_key,
                   i.duration_bucket
              FROM work_items i
             WHERE {statuses} AND {conditions}
        )
        SELECT c.total, p.id
          FROM (SELECT count(*) AS total FROM hits) c
          LEFT JOIN (SELECT * FROM hits ORDER BY {terms} LIMIT :limit OFFSET :offset) p ON 1 = 1
         ORDER BY {terms}
    """  # noqa: S608 - conditions and terms are ours


def _conditions(tx: "Tx", which: QueueFilter) -> tuple[str, dict[str, Any]]:
    """Give what narrows beyond the status."""
    conditions: list[str] = []
    params: dict[str, Any] = {}
    if which.library_id is not None:
        conditions.append(_IN_LIBRARY)
        params["library"] = which.library_id
    if which.lane is not None:
        conditions.append("i.lane = :lane")
        params["lane"] = which.lane
    if which.reason is not None:
        silent = f" OR ({_WITHOUT_REASON})" if which.reason == UNKNOWN else ""
        conditions.append(f"(i.reason = :reason{silent})")
        params["reason"] = which.reason
    if which.result is not None:
        conditions.append(in_class(which.result))
    if which.text:
        condition, text_params = text_condition(tx, which.text, among=_status_condition(which))
        conditions.append(condition)
        params |= text_params
    return " AND ".join(filter(None, conditions)), params


def _status_condition(which: QueueFilter) -> str:
    """Name the statuses in the statement itself, so that the partial indexes can serve."""
    if not which.statuses:
        return _EVERYWHERE
    if len(which.statuses) == 1:
        return f"i.status = '{which.statuses[0]}'"
    return f"i.status IN ({', '.join(repr(status) for status in which.statuses)})"


def _distinct(statuses: tuple[str, ...]) -> tuple[str, ...]:
    unknown = set(statuses) - set(STATUSES)
    if unknown:
        raise Refused(f'no status "{min(unknown)}"; use one of {", ".join(STATUSES)}')
    return tuple(status for status in STATUSES if status in statuses)
