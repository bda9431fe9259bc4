"""Pages of the inventory: all files of a library or of all, by status, by text.

Files come along the index of libraries and statuses, or by id, or are looked through once
for a text. ``processing`` is not stored: it starts from the few items that are claimed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lyrsvc.store import libraries
from lyrsvc.store.ordering import Order, Orders
from lyrsvc.store.reporting import Page, place_of
from lyrsvc.store.scan_listing import SELECT, STORED_STATUSES, shown_result
from lyrsvc.store.searching import file_condition
from lyrsvc.store.sorted_pages import Sought, sorted_page

if TYPE_CHECKING:
    from lyrsvc.store.engine import Row
    from lyrsvc.store.transaction import Tx

ORDERS: Final[Orders] = {
    "id": ("s.id",),
    "artist": ("s.artist_key", "s.title_key", "s.id"),
    "title": ("s.title_key", "s.artist_key", "s.id"),
    "album": ("s.album_key", "s.title_key", "s.id"),
}
BY_ID: Final = Order(by="id")
_SHOWN_AS_STORED: Final = ("done", "unreadable")
"""Statuses that never give way to ``processing``."""
_IN_INDEX_ORDER: Final = ("id", "title")
LONG_SHARE: Final = 4
"""Of more than this part of the table, rows are met faster as they lie than along an index."""
_WALK: Final = "SELECT s.id FROM scan_results s"


@dataclass(frozen=True, kw_only=True, slots=True)
class ResultFilter:
    """Which files are meant."""

    library_id: int | None = None
    status: str | None = None
    text: str = ""


def results_page(
    tx: "Tx",
    which: ResultFilter,
    order: Order = BY_ID,
    *,
    page: int = 1,
    page_size: int = 50,
) -> "Page[Row]":
    """Give one page of files in the JSON shape of scan results, and the total."""
    place = place_of(page, page_size)
    claimed = _claimed(tx)
    if which.text or which.status == "processing":
        whole = bool(which.text)
        hits = sorted_page(tx, _sought(which, claimed, whole=whole), order.keys(ORDERS), place)
        return Page(rows=_shown(tx, hits.ids), total=hits.total)
    sought = _sought(which, claimed)
    total = _count(tx, which, sought)
    if place["offset"] >= total:
        return Page(rows=[], total=total)
    if which == ResultFilter() and order.by in _IN_INDEX_ORDER:
        walk = f"{_WALK} ORDER BY {order.terms(ORDERS)} LIMIT :limit OFFSET :offset"
        ids = [row["id"] for row in tx.all(walk, **place)]
    elif order.by == "id":
        ids = _merged(tx, which, sought, order, place)
    else:
        whole = total * LONG_SHARE > sum(libraries.count_files(tx).values())
        sought = _sought(which, claimed, whole=whole)
        ids = sorted_page(tx, sought, order.keys(ORDERS), place, total=total).ids
    return Page(rows=_shown(tx, ids), total=total)


def _merged(
    tx: "Tx", which: ResultFilter, sought: Sought, order: Order, place: dict[str, int]
) -> list[int]:
    """Walk along the index once for each library and status, as far as the page goes."""
    falls = " DESC" if order.descending else ""
    walk = f"{_WALK} WHERE {sought.where}"
    walks = [
        f"SELECT id FROM ({walk} AND {end} ORDER BY s.id{falls} LIMIT :end) AS one"  # noqa: S608
        for end in _ends(tx, which)
    ]
    union = " UNION ALL ".join(walks) or f"{_WALK} WHERE 1 = 0"
    rows = tx.all(
        f"SELECT id FROM ({union}) AS found ORDER BY id{falls} LIMIT :limit OFFSET :offset",  # noqa: S608
        **sought.params,
        **place,
        end=place["offset"] + place["limit"],
    )
    return [row["id"] for row in rows]


def _ends(tx: "Tx", which: ResultFilter) -> list[str]:
    """Give what each walk adds: a library that is not fixed yet, a status that is not."""
    if which.library_id is None:
        return [f"s.library_id = {library.id}" for library in libraries.all_libraries(tx)]
    if which.status is None:
        return [f"s.status = '{status}'" for status in STORED_STATUSES]
    return ["1 = 1"]


def _claimed(tx: "Tx") -> str:
    """Name the rows whose item is claimed; there are as many as slots, so a list will do."""
    found: list[int] = []
    for item in tx.all("SELECT id FROM work_items WHERE status = 'processing'"):
        rows = tx.all(
            """
            SELECT s.id FROM work_targets t JOIN scan_results s ON s.target_id = t.id
             WHERE t.item_id = :item AND s.status IN ('pending', 'failed', 'deferred')
            """,
            item=item["id"],
        )
        found += [row["id"] for row in rows]
    return ", ".join(map(str, found))


def _count(tx: "Tx", which: ResultFilter, sought: Sought) -> int:
    files = libraries.count_files(tx)
    if which.status is None:
        return sum(files.values()) if which.library_id is None else files.get(which.library_id, 0)
    ends = _ends(tx, which) if which.library_id is None else ["1 = 1"]
    counted = f"SELECT count(*) FROM scan_results s WHERE {sought.where} AND "  # noqa: S608 - as above
    return sum(tx.value(counted + end, **sought.params) for end in ends)


def _sought(which: ResultFilter, claimed: str, *, whole: bool = False) -> Sought:
    """Say which rows are meant; a pass over the whole table meets them as they lie."""
    conditions: list[str] = []
    params: dict[str, Any] = {}
    plus = "+" if whole else ""  # keeps from fetching rows in the order of an index
    if which.library_id is not None:
        conditions.append(f"{plus}s.library_id = :library")
        params["library"] = which.library_id
    if which.status == "processing":
        conditions.append(f"s.id IN ({claimed})" if claimed else "1 = 0")
    elif which.status is not None:
        conditions.append(f"{plus}s.status = :status")
        params["status"] = which.status
        if claimed and which.status not in _SHOWN_AS_STORED:
            conditions.append(f"s.id NOT IN ({claimed})")
    condition, text_params = file_condition(which.text)
    where = " AND ".join(filter(None, [*conditions, condition])) or "1 = 1"
    return Sought(table="scan_results", alias="s", where=where, params=params | text_params)


def _shown(tx: "Tx", ids: Sequence[int]) -> "list[Row]":
    found = (tx.first(f"{SELECT} WHERE s.id = :id", id=row_id) for row_id in ids)
    return [shown_result(row) for row in found if row is not None]
