"""The report of instrumental tracks: items that audio detection confirmed, whatever their status.

One line for each target, so that every file is named; an item without a target has
one line without a path. Lines come by item, then target.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lyrsvc.core.errors import Refused
from lyrsvc.core.ptext import from_ptext
from lyrsvc.store.queue_listing import NO_LIMIT
from lyrsvc.store.reporting import Page, place_of
from lyrsvc.store.searching import text_condition

if TYPE_CHECKING:
    from lyrsvc.store.engine import Row
    from lyrsvc.store.transaction import Tx

GLOBAL: Final = "global"
ORIGINS: Final = ("explicit", "library", GLOBAL)
"""Where the decision to detect came from; items without one followed the global default."""

LINES: Final = """
    SELECT i.id, i.artist, i.title, i.album, i.detect_origin, t.id AS target_id, t.library_id,
           t.source_path
      FROM work_items i
      LEFT JOIN work_targets t ON t.item_id = i.id
     WHERE i.detector_verdict = 1
"""
COUNT: Final = """
    SELECT count(*)
      FROM work_items i
      LEFT JOIN work_targets t ON t.item_id = i.id
     WHERE i.detector_verdict = 1
"""
AFTER: Final = """
    AND i.id >= :after_id AND (i.id, coalesce(t.id, 0)) > (:after_id, :after_target)
"""
BY_ID: Final = " ORDER BY i.id, t.id LIMIT :limit OFFSET :offset"


@dataclass(frozen=True, kw_only=True, slots=True)
class InstrumentalFile:
    """A target of a confirmed item; ``source_path`` is empty where no file is known."""

    id: int
    target_id: int | None
    artist: str
    title: str
    album: str
    library_id: int | None
    source_path: str
    origin: str


@dataclass(frozen=True, kw_only=True, slots=True)
class InstrumentalFilter:
    """Which confirmed files are wanted."""

    library_id: int | None = None
    origin: str | None = None
    text: str = ""


EVERY_INSTRUMENTAL: Final = InstrumentalFilter()


def instrumental_inventory(
    tx: "Tx",
    which: InstrumentalFilter = EVERY_INSTRUMENTAL,
    *,
    limit: int = 0,
    after: InstrumentalFile | None = None,
) -> Iterator[InstrumentalFile]:
    """Give the confirmed files, beginning behind ``after``; limit 0 gives all."""
    conditions, params = _conditions(which)
    if after is not None:
        conditions += AFTER
        params |= {"after_id": after.id, "after_target": after.target_id or 0}
    rows = tx.each(LINES + conditions + BY_ID, limit=limit or NO_LIMIT, offset=0, **params)
    return map(_file, rows)


def instrumentals_page(
    tx: "Tx", which: InstrumentalFilter = EVERY_INSTRUMENTAL, *, page: int = 1, page_size: int = 50
) -> Page[InstrumentalFile]:
    """Give one page of the confirmed files, and how many there are in all."""
    conditions, params = _conditions(which)
    rows = tx.all(LINES + conditions + BY_ID, **place_of(page, page_size), **params)
    total = tx.value(COUNT + conditions, **params)
    return Page(rows=[_file(row) for row in rows], total=total)


def _conditions(which: InstrumentalFilter) -> tuple[str, dict[str, Any]]:
    conditions: list[str] = []
    params: dict[str, Any] = {}
    if which.library_id is not None:
        conditions.append("+t.library_id = :library")
        params["library"] = which.library_id
    if which.origin is not None:
        conditions.append(_of_origin(which.origin))
    if which.text:
        condition, text_params = text_condition(which.text, column="i.search_keys")
        conditions.append(condition)
        params |= text_params
    return "".join(f" AND {condition}" for condition in conditions if condition), params


def _of_origin(origin: str) -> str:
    if origin not in ORIGINS:
        raise Refused(f'no detection origin "{origin}"; use one of {", ".join(ORIGINS)}')
    shown_as = f"'{origin}', ''" if origin == GLOBAL else f"'{origin}'"
    return f"i.detect_origin IN ({shown_as})"


def _file(row: "Row") -> InstrumentalFile:
    return InstrumentalFile(
        id=row["id"],
        target_id=row["target_id"],
        artist=row["artist"],
        title=row["title"],
        album=row["album"],
        library_id=row["library_id"],
        source_path=from_ptext(row["source_path"] or ""),
        origin=row["detect_origin"] or GLOBAL,
    )
