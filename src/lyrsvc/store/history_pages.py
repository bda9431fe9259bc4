"""The table ``history``, read: pages of what happened, newest first, and the past of one item."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from lyrsvc.core.ptext import from_ptext
from lyrsvc.store.ordering import Order, Orders
from lyrsvc.store.reporting import Page, place_of, time_bounds
from lyrsvc.store.searching import key_pattern

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
    narrowing, params = _conditions(which)
    timed = which.since is not None or which.until is not None
    place, terms = place_of(page, page_size), order.terms(ORDERS)
    if timed:
        params |= time_bounds(which.since, which.until)
    if narrowing:
        where = f"{_IN_TIME if timed else _ANYWHERE}{narrowing}"
        found = tx.all(_page_of_hits(where, terms), **params, **place)
        rows = _rows(tx, [row["id"] for row in found if row["id"] is not None])
        return Page(rows=[_shown(row) for row in rows], total=found[0]["total"])
    where = f" WHERE {_IN_TIME}" if timed else ""
    total = tx.value(f"SELECT count(*) FROM history{where}", **params)  # noqa: S608 - ours
    if place["offset"] >= total:
        return Page(rows=[], total=total)
    rows = tx.all(
        f"{_SELECT}{where} ORDER BY {terms} LIMIT :limit OFFSET :offset", **params, **place
    )
    return Page(rows=[_shown(row) for row in rows], total=total)


def of_item(tx: "Tx", item_id: int, *, limit: int = LATEST) -> "list[Row]":
    """Give what happened to an item last, newest first."""
    rows = tx.all(
        f"{_SELECT} WHERE item_id = :item ORDER BY id DESC LIMIT :limit", item=item_id, limit=limit
    )
    return [_shown(row) for row in rows]


def _conditions(which: HistoryFilter) -> tuple[str, dict[str, Any]]:
    """Give what narrows beyond time."""
    params: dict[str, Any] = {}
    equal = {"event": which.event, "lane": which.lane, "library_id": which.library_id}
    conditions = [f" AND {name} = :{name}" for name, value in equal.items() if value is not None]
    params |= {name: value for name, value in equal.items() if value is not None}
    if pattern := key_pattern(which.text):
        conditions.append(r" AND search_keys LIKE :pattern ESCAPE '\'")
        params["pattern"] = pattern
    return "".join(conditions), params


def _page_of_hits(where: str, terms: str) -> str:
    """Find the page and the number of all in one pass: the rows may be anywhere."""
    return f"""
        WITH hits AS MATERIALIZED (SELECT id, at FROM history WHERE {where})
        SELECT c.total, p.id
          FROM (SELECT count(*) AS total FROM hits) c
          LEFT JOIN (SELECT id, row_number() OVER (ORDER BY {terms}) AS place
                       FROM hits
                      ORDER BY {terms}
                      LIMIT :limit OFFSET :offset) p ON 1 = 1
         ORDER BY p.place
    """  # noqa: S608 - conditions and terms are ours


def _rows(tx: "Tx", ids: list[int]) -> "list[Row]":
    if not ids:
        return []
    params = {f"id_{number}": row_id for number, row_id in enumerate(ids)}
    places = ", ".join(f":{name}" for name in params)
    found = {row["id"]: row for row in tx.all(f"{_SELECT} WHERE id IN ({places})", **params)}
    return [found[row_id] for row_id in ids]


def _shown(row: "Row") -> "Row":
    optional = ("lane", "result", "outcome", "reason", "destination")
    return {
        **row,
        **{name: row[name] or None for name in optional},
        "destination": from_ptext(row["destination"]) or None,
    }
