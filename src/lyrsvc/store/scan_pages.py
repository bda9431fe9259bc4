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
from lyrsvc.store.searching import key_pattern

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
_KEYS: Final = ("artist_key", "alt_artist_key", "title_key", "album_key")


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
    terms = order.terms(ORDERS)
    where, params = _where(which, _claimed(tx))
    if which.text or which.status == "processing":
        found = tx.all(_page_of_hits(where, terms), **params, **place)
        ids = [row["id"] for row in found if row["id"] is not None]
        return Page(rows=_shown(tx, ids), total=found[0]["total"])
    total = _count(tx, which, where, params)
    if place["offset"] >= total:
        return Page(rows=[], total=total)
    is_short = order.by != "id" or which == ResultFilter()
    rows = (
        tx.all(f"{_walk(where)} ORDER BY {terms} LIMIT :limit OFFSET :offset", **params, **place)
        if is_short
        else _merged(tx, which, where, order, params=params, place=place)
    )
    return Page(rows=_shown(tx, [row["id"] for row in rows]), total=total)


def _walk(where: str) -> str:
    return f"SELECT s.id FROM scan_results s {where}"  # noqa: S608 - conditions are ours


def _merged(
    tx: "Tx",
    which: ResultFilter,
    where: str,
    order: Order,
    *,
    params: dict[str, Any],
    place: dict[str, int],
) -> "list[Row]":
    """Walk along the index once for each library and status, as far as the page goes."""
    falls = " DESC" if order.descending else ""
    walks = [
        f"SELECT id FROM ({_walk(where)} AND {end} ORDER BY s.id{falls} LIMIT :end) AS one"  # noqa: S608
        for end in _ends(tx, which)
    ]
    union = " UNION ALL ".join(walks) or _walk("WHERE 1 = 0")
    return tx.all(
        f"SELECT id FROM ({union}) AS found ORDER BY id{falls} LIMIT :limit OFFSET :offset",  # noqa: S608
        **params,
        **place,
        end=place["offset"] + place["limit"],
    )


def _ends(tx: "Tx", which: ResultFilter) -> list[str]:
    """Give what each walk adds: a library that is not fixed yet, a status that is not."""
    if which.library_id is None:
        return [f"s.library_id = {library.id}" for library in libraries.all_libraries(tx)]
    if which.status is None:
        return [f"s.status = '{status}'" for status in STORED_STATUSES]
    return ["1 = 1"]


def _page_of_hits(where: str, terms: str) -> str:
    """Find the rows once, then count them and give the page."""
    columns = ", ".join(f"s.{name}" for name in ("id", "artist_key", "title_key", "album_key"))
    return f"""
        WITH hits AS MATERIALIZED (SELECT {columns} FROM scan_results s {where})
        SELECT c.total, p.id
          FROM (SELECT count(*) AS total FROM hits) c
          LEFT JOIN (SELECT s.id, row_number() OVER (ORDER BY {terms}) AS place
                       FROM hits s
                      ORDER BY {terms}
                      LIMIT :limit OFFSET :offset) p ON 1 = 1
         ORDER BY p.place
    """  # noqa: S608 - conditions and terms are ours


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


def _count(tx: "Tx", which: ResultFilter, where: str, params: dict[str, Any]) -> int:
    files = libraries.count_files(tx)
    if which.status is None:
        return sum(files.values()) if which.library_id is None else files.get(which.library_id, 0)
    ends = _ends(tx, which) if which.library_id is None else ["1 = 1"]
    counted = f"SELECT count(*) FROM scan_results s {where} AND "  # noqa: S608 - as above
    return sum(tx.value(counted + end, **params) for end in ends)


def _where(which: ResultFilter, claimed: str) -> tuple[str, dict[str, Any]]:
    conditions: list[str] = []
    params: dict[str, Any] = {}
    # The plus keeps a search for text from fetching a library's rows in the order of its index.
    column = "+s.library_id" if which.text else "s.library_id"
    if which.library_id is not None:
        conditions.append(f"{column} = :library")
        params["library"] = which.library_id
    if which.status == "processing":
        conditions.append(f"s.id IN ({claimed})" if claimed else "1 = 0")
    elif which.status is not None:
        conditions.append("+s.status = :status" if which.text else "s.status = :status")
        params["status"] = which.status
        if claimed and which.status not in _SHOWN_AS_STORED:
            conditions.append(f"s.id NOT IN ({claimed})")
    if pattern := key_pattern(which.text):
        params["pattern"] = pattern
        hits = " OR ".join(rf"s.{name} LIKE :pattern ESCAPE '\'" for name in _KEYS)
        conditions.append(f"({hits})")
    return (f"WHERE {' AND '.join(conditions)}" if conditions else ""), params


def _shown(tx: "Tx", ids: Sequence[int]) -> "list[Row]":
    found = (tx.first(f"{SELECT} WHERE s.id = :id", id=row_id) for row_id in ids)
    return [shown_result(row) for row in found if row is not None]
