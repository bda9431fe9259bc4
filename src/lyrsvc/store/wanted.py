"""What is wanted: audio files without a sidecar, and those whose lyrics of ours are unsynced.

Both are walked along ``ix_scan_wanted`` by id; without a filter the total is a
maintained count.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from lyrsvc.store import counts
from lyrsvc.store.ordering import Order, Orders
from lyrsvc.store.reporting import Page, place_of
from lyrsvc.store.scan_listing import SELECT, shown_result
from lyrsvc.store.searching import file_condition
from lyrsvc.store.sorted_pages import Sought, sorted_page

if TYPE_CHECKING:
    from lyrsvc.store.engine import Row
    from lyrsvc.store.transaction import Tx


class WantedKind(StrEnum):
    """Why a file is wanted."""

    MISSING = "missing"
    UNSYNCED = "unsynced"


@dataclass(frozen=True, kw_only=True, slots=True)
class WantedFilter:
    """Which files are meant."""

    kind: WantedKind = WantedKind.MISSING
    library_id: int | None = None
    text: str = ""


ORDERS: Final[Orders] = {
    "id": ("id",),
    "artist": ("artist_key", "title_key", "id"),
    "title": ("title_key", "artist_key", "id"),
    "album": ("album_key", "title_key", "id"),
}
BY_ID: Final = Order(by="id")

# One walk for each value of ``ours``, so that the index gives the rows by id.
_WALKS: Final[Mapping[WantedKind, tuple[str, ...]]] = {
    WantedKind.MISSING: (
        "s.sidecar_class = '' AND s.ours = 0",
        "s.sidecar_class = '' AND s.ours = 1",
    ),
    WantedKind.UNSYNCED: ("s.sidecar_class = 'txt' AND s.ours = 1",),
}
_PRESENT: Final = "s.missing_since_at IS NULL"
_WANTED: Final[Mapping[WantedKind, str]] = {
    WantedKind.MISSING: "s.sidecar_class = ''",
    WantedKind.UNSYNCED: _WALKS[WantedKind.UNSYNCED][0],
}


def wanted_page(
    tx: "Tx",
    which: WantedFilter,
    order: Order = BY_ID,
    *,
    page: int = 1,
    page_size: int = 50,
) -> "Page[Row]":
    """Give one page of wanted files in the JSON shape of scan results, and the total."""
    conditions, params = _conditions(which)
    place = place_of(page, page_size)
    keys = order.keys(ORDERS)
    where = f"{_PRESENT} AND {_WANTED[which.kind]}{conditions}"
    sought = Sought(table="scan_results", alias="s", where=where, params=params)
    total = None if which.text else count_wanted(tx, which)
    if total is not None and place["offset"] >= total:
        return Page(rows=[], total=total)
    if total is None or order.by != "id":
        hits = sorted_page(tx, sought, keys, place, total=total)
        return Page(rows=_shown(tx, hits.ids), total=hits.total)
    walk = f"{_walk(which.kind, conditions)} ORDER BY {order.terms(ORDERS)}"
    rows = tx.all(f"{walk} LIMIT :limit OFFSET :offset", **params, **place)
    return Page(rows=_shown(tx, [row["id"] for row in rows]), total=total)


def count_wanted(tx: "Tx", which: WantedFilter) -> int:
    """Count the wanted files."""
    total = _kept_count(tx, which)
    if total is not None:
        return total
    conditions, params = _conditions(which)
    walk = _walk(which.kind, conditions)
    return int(tx.value(f"SELECT count(*) FROM ({walk})", **params))  # noqa: S608 - our own text


def ids_after(
    tx: "Tx", kind: WantedKind, *, library_id: int | None, after: int, limit: int
) -> list[int]:
    """Give the next wanted files behind an id, by id."""
    conditions, params = _conditions(WantedFilter(kind=kind, library_id=library_id))
    walk = _walk(kind, f"{conditions} AND s.id > :after")
    rows = tx.all(f"{walk} ORDER BY id LIMIT :limit", **params, after=after, limit=limit)
    return [row["id"] for row in rows]


def reasons_of(tx: "Tx", ids: Iterable[int]) -> dict[int, str]:
    """Say of the files that cannot be read, or tell no artist and title, why; by id."""
    rows = tx.all(
        """
        SELECT id, reason
          FROM scan_results
         WHERE id IN (SELECT value FROM json_each(:ids)) AND status = 'unreadable'
        """,
        ids=json.dumps(list(ids)),
    )
    return {row["id"]: row["reason"] for row in rows}


def count_nameless(tx: "Tx", which: WantedFilter, *, limit: int) -> int:
    """Count the wanted files that nobody can be asked for, up to a limit."""
    libraries = [which.library_id] if which.library_id is not None else _library_ids(tx)
    left = limit
    for library_id in libraries:
        left -= int(
            tx.value(
                f"""
                SELECT count(*) FROM (
                    SELECT 1 FROM scan_results s
                     WHERE s.library_id = :library AND s.status = 'unreadable'
                       AND (s.title_key = '' OR s.artist_key = '')
                       AND {_PRESENT} AND {_WANTED[which.kind]}
                     LIMIT :left)
                """,  # noqa: S608 - our own text
                library=library_id,
                left=left,
            )
        )
    return limit - left


def kind_of(row: "Row") -> WantedKind | None:
    """Tell why a row of ``scan_results`` is wanted; None when it is not."""
    if row["missing_since_at"] is not None:
        return None
    if row["sidecar_class"] == "":
        return WantedKind.MISSING
    return WantedKind.UNSYNCED if row["sidecar_class"] == "txt" and row["ours"] else None


def _library_ids(tx: "Tx") -> list[int]:
    return [row["id"] for row in tx.all("SELECT id FROM libraries")]


def _kept_count(tx: "Tx", which: WantedFilter) -> int | None:
    """Give the maintained count of what is wanted; None when there is none."""
    numbers = counts.read(tx)
    if which.text:
        return None
    if which.library_id is None:
        return numbers.get(f"wanted_{which.kind}", 0)
    missing = which.kind is WantedKind.MISSING
    return numbers.get(f"missing.{which.library_id}", 0) if missing else None


def _walk(kind: WantedKind, conditions: str) -> str:
    return " UNION ALL ".join(
        f"SELECT s.id FROM scan_results s WHERE {_PRESENT} AND {walk}{conditions}"  # noqa: S608
        for walk in _WALKS[kind]
    )


def _conditions(which: WantedFilter) -> tuple[str, dict[str, Any]]:
    conditions: list[str] = []
    params: dict[str, Any] = {}
    if which.library_id is not None:
        # The plus keeps the planner from the index of libraries: the other one is shorter.
        conditions.append("+s.library_id = :library")
        params["library"] = which.library_id
    condition, text_params = file_condition(which.text)
    if condition:
        conditions.append(condition)
        params |= text_params
    return "".join(f" AND {condition}" for condition in conditions), params


def _shown(tx: "Tx", ids: list[int]) -> "list[Row]":
    if not ids:
        return []
    params = {f"id_{number}": row_id for number, row_id in enumerate(ids)}
    places = ", ".join(f":{name}" for name in params)
    found = tx.all(f"{SELECT} WHERE s.id IN ({places})", **params)
    results = {row["id"]: shown_result(row) for row in found}
    return [results[row_id] for row_id in ids if row_id in results]
