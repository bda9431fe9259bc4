"""Pages of the queue: any filter, any order, and how many items there are in all.

Unnarrowed, or narrowed to statuses alone, a page is found along an index where one has
its order, else ``sorted_pages`` finds it; the total is a maintained count. Whatever else
narrows it must be counted row by row: one pass finds the page and the number together.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from lyrsvc.core.errors import Refused
from lyrsvc.store import counts
from lyrsvc.store.completions import in_class
from lyrsvc.store.ordering import Order, Orders
from lyrsvc.store.queue_listing import STATUSES, whole_items
from lyrsvc.store.reporting import IN_LIBRARY, OF_LIBRARY, TROUBLED, Page, place_of
from lyrsvc.store.searching import text_condition
from lyrsvc.store.sorted_pages import Sought, sorted_page
from lyrsvc.store.stock_taking import UNKNOWN, count_statuses
from lyrsvc.store.upcoming import up_next

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

_IN_INDEX_ORDER: Final = ("id", "artist")
_FINISHED: Final = {"completed_at": ("-completed_at", "-id")}
_EVERYWHERE: Final = "i.id > 0"
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
    conditions, params = _conditions(which)
    if conditions:
        where = f"{_status_condition(which) or _EVERYWHERE} AND {conditions}"
        hits = sorted_page(tx, _items(where, params), order.keys(ORDERS), place)
        return Page(rows=whole_items(tx, hits.ids), total=hits.total)
    standing = count_statuses(counts.read(tx))
    total = sum(standing[status] for status in which.statuses or STATUSES)
    if place["offset"] >= total:
        return Page(rows=[], total=total)
    walk = _walk(which, order)
    if walk:
        ids = [row["id"] for row in tx.all(f"{walk} LIMIT :limit OFFSET :offset", **place)]
    else:
        items = _items(_status_condition(which) or "1 = 1")
        ids = sorted_page(tx, items, order.keys(ORDERS), place, total=total).ids
    return Page(rows=whole_items(tx, ids), total=total)


def next_items(tx: "Tx", *, limit: int, now: datetime) -> "list[Row]":
    """Give the items that may be claimed, in the order in which they will be."""
    return whole_items(tx, [item.id for item in up_next(tx, limit=limit, now=now)])


def _walk(which: QueueFilter, order: Order) -> str:
    """Give the walk along an index with the order of items that only their status narrows."""
    if order.by == "priority":
        # One walk for each status along ix_items_list, merged as they are read.
        walks = " UNION ALL ".join(
            f"SELECT id, priority FROM work_items WHERE status = '{status}'"  # noqa: S608 - ours
            for status in which.statuses or STATUSES
        )
        return f"SELECT id, priority FROM ({walks}) ORDER BY {order.terms(ORDERS)}"  # noqa: S608
    if order.by == "completed_at" and which.statuses == ("done",):
        done = f"{_status_condition(which)} AND completed_at IS NOT NULL"
        terms = order.terms(_FINISHED)
        return f"SELECT id FROM work_items i WHERE {done} ORDER BY {terms}"  # noqa: S608
    if order.by in _IN_INDEX_ORDER and not which.statuses:
        return f"SELECT id FROM work_items i WHERE {_EVERYWHERE} ORDER BY {order.terms(ORDERS)}"  # noqa: S608
    return ""


def _items(where: str, params: Mapping[str, Any] | None = None) -> Sought:
    probe = where.replace(OF_LIBRARY, IN_LIBRARY)
    return Sought(table="work_items", alias="i", where=where, probe=probe, params=params or {})


def _conditions(which: QueueFilter) -> tuple[str, dict[str, Any]]:
    """Give what narrows beyond the status."""
    conditions: list[str] = []
    params: dict[str, Any] = {}
    if which.library_id is not None:
        # With a status its index is walked and each item asked; without, the library leads.
        conditions.append(IN_LIBRARY if which.statuses else OF_LIBRARY)
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
        condition, text_params = text_condition(which.text, column="i.search_keys")
        conditions.append(condition)
        params |= text_params
    return " AND ".join(filter(None, conditions)), params


def _status_condition(which: QueueFilter) -> str:
    """Name the statuses in the statement itself, so that the partial indexes can serve."""
    if not which.statuses:
        return ""
    if len(which.statuses) == 1:
        return f"i.status = '{which.statuses[0]}'"
    return f"i.status IN ({', '.join(repr(status) for status in which.statuses)})"


def _distinct(statuses: tuple[str, ...]) -> tuple[str, ...]:
    unknown = set(statuses) - set(STATUSES)
    if unknown:
        raise Refused(f'no status "{min(unknown)}"; use one of {", ".join(STATUSES)}')
    return tuple(status for status in STATUSES if status in statuses)
