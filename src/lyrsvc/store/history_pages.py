"""The table ``history``, read: pages of what happened, newest first, and the past of one item.

``ix_history_at`` knows everything that narrows a page but text, so it alone is counted.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from lyrsvc.core.ptext import from_ptext
from lyrsvc.store.ordering import Order, Orders
from lyrsvc.store.reporting import Page, place_of, time_bounds
from lyrsvc.store.searching import text_condition
from lyrsvc.store.sorted_pages import Sought, sorted_page

if TYPE_CHECKING:
    from lyrsvc.store.engine import Row
    from lyrsvc.store.transaction import Tx

LATEST: Final = 20
"""Rows of its past that an item is shown with."""

ORDERS: Final[Orders] = {"at": ("-at", "-id"), "id": ("-id",)}
NEWEST_FIRST: Final = Order(by="at")

_SELECT: Final = """
    SELECT id, at, item_id, event, artist, title, album, lane, result, outcome, reason,
           destination, "by"
      FROM history
"""
_IN_TIME: Final = "at >= :since AND at < :until"
_ANYWHERE: Final = "id > 0"
"""Leads along the table, whose rows lie together, and not along an index of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HistoryFilter:
    """Which rows are wanted; ``since`` is included, ``until`` is not."""

    event: str | None = None
    lane: str | None = None
    library_id: int | None = None
    text: str = ""
    since: datetime | None = None
    until: datetime | None = None


EVERYTHING: Final = HistoryFilter()


def history_page(
    tx: "Tx",
    which: HistoryFilter = EVERYTHING,
    order: Order = NEWEST_FIRST,
    *,
    page: int = 1,
    page_size: int = 50,
) -> "Page[Row]":
    """Give one page of the history in the JSON shape, and how many rows there are in all."""
    conditions, params = _conditions(which)
    place = place_of(page, page_size)
    if which.text:
        where = " AND ".join(conditions) or _ANYWHERE
        sought = Sought(table="history", alias="h", where=where, params=params)
        hits = sorted_page(tx, sought, order.keys(ORDERS), place)
        return Page(rows=_rows(tx, hits.ids), total=hits.total)
    where = f"FROM history WHERE {' AND '.join(conditions)}" if conditions else "FROM history"
    total = tx.value(f"SELECT count(*) {where}", **params)
    if place["offset"] >= total:
        return Page(rows=[], total=total)
    walk = f"SELECT id {where} ORDER BY {order.terms(ORDERS)} LIMIT :limit OFFSET :offset"
    return Page(rows=_rows(tx, [row["id"] for row in tx.all(walk, **params, **place)]), total=total)


def of_item(tx: "Tx", item_id: int, *, limit: int = LATEST) -> "list[Row]":
    """Give what happened to an item last, newest first."""
    rows = tx.all(
        f"{_SELECT} WHERE item_id = :item ORDER BY id DESC LIMIT :limit", item=item_id, limit=limit
    )
    return [_shown(row) for row in rows]


def _conditions(which: HistoryFilter) -> tuple[list[str], dict[str, Any]]:
    equal = {"event": which.event, "lane": which.lane, "library_id": which.library_id}
    params: dict[str, Any] = {name: value for name, value in equal.items() if value is not None}
    conditions = [f"{name} = :{name}" for name in params]
    if which.since is not None or which.until is not None:
        conditions.append(_IN_TIME)
        params |= time_bounds(which.since, which.until)
    condition, text_params = text_condition(which.text, column="search_keys")
    return [*conditions, *filter(None, [condition])], params | text_params


def _rows(tx: "Tx", ids: list[int]) -> "list[Row]":
    if not ids:
        return []
    params = {f"id_{number}": row_id for number, row_id in enumerate(ids)}
    places = ", ".join(f":{name}" for name in params)
    found = {row["id"]: row for row in tx.all(f"{_SELECT} WHERE id IN ({places})", **params)}
    return [_shown(found[row_id]) for row_id in ids]


def _shown(row: "Row") -> "Row":
    optional = ("lane", "result", "outcome", "reason", "destination")
    return {
        **row,
        **{name: row[name] or None for name in optional},
        "destination": from_ptext(row["destination"]) or None,
    }
