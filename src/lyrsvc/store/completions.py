"""The report of recent outcomes: items that are done, newest first.

It comes as a numbered page with its total, and as a stream that can be continued
after any of its rows. Both walk ``ix_items_done`` and so begin at once however long
the queue is. The index also knows lanes and outcomes. Only a page that is narrowed by
what it does not know is found by one pass over all done items: it must be counted
anyway, and its rows may be anywhere.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from lyrsvc.core.errors import Refused
from lyrsvc.store import counts
from lyrsvc.store.moments import from_db, to_db
from lyrsvc.store.ordering import Key
from lyrsvc.store.queue_listing import NO_LIMIT, RESULT_CLASSES
from lyrsvc.store.reporting import IN_LIBRARY, OF_LIBRARY, Page, place_of, time_bounds
from lyrsvc.store.searching import text_condition
from lyrsvc.store.sorted_pages import Sought, sorted_page

if TYPE_CHECKING:
    from lyrsvc.store.engine import Row
    from lyrsvc.store.transaction import Tx

DASHBOARD_ROWS: Final = 20

WALK: Final = """
    SELECT i.id, i.artist, i.title, i.album, i.completed_at, i.lane, i.outcome
      FROM work_items i
     WHERE i.status = 'done' AND i.completed_at >= :since AND i.completed_at < :until
"""
IDS: Final = """
    SELECT i.id
      FROM work_items i
     WHERE i.status = 'done' AND i.completed_at >= :since AND i.completed_at < :until
"""
COUNT: Final = """
    SELECT count(*)
      FROM work_items i
     WHERE i.status = 'done' AND i.completed_at >= :since AND i.completed_at < :until
"""
AFTER: Final = " AND (i.completed_at, i.id) < (:after_at, :after_id)"
NEWEST_FIRST: Final = " ORDER BY i.completed_at DESC, i.id DESC LIMIT :limit OFFSET :offset"

# In the order of ix_items_done the rows lie far apart; what is hidden does not lead there.
DONE: Final = "+i.status = 'done'"
IN_TIME: Final = " AND i.completed_at || '' >= :since AND i.completed_at || '' < :until"
BY_TIME: Final = (Key("i.completed_at", falls=True), Key("i.id", falls=True))
OF_IDS: Final = """
    SELECT i.id, i.artist, i.title, i.album, i.completed_at, i.lane, i.outcome
      FROM work_items i
     WHERE i.id IN ({places})
     ORDER BY i.completed_at DESC, i.id DESC
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Completion:
    """An item that is done; ``lane`` is empty when nothing was served."""

    id: int
    artist: str
    title: str
    album: str
    completed_at: datetime
    lane: str
    result: str | None
    outcome: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class OutcomeFilter:
    """Which completions are wanted; ``since`` is included, ``until`` is not."""

    result: str | None = None
    lane: str | None = None
    library_id: int | None = None
    text: str = ""
    since: datetime | None = None
    until: datetime | None = None


EVERY_OUTCOME: Final = OutcomeFilter()


def recent_outcomes(
    tx: "Tx",
    which: OutcomeFilter = EVERY_OUTCOME,
    *,
    limit: int = 0,
    after: Completion | None = None,
) -> Iterator[Completion]:
    """Give completions, newest first, beginning behind ``after``; limit 0 gives all."""
    conditions, params = _conditions(which)
    if after is not None:
        conditions += AFTER
        params |= {"after_at": to_db(after.completed_at), "after_id": after.id}
    place = {"limit": limit or NO_LIMIT, "offset": 0}
    return map(_completion, tx.each(WALK + conditions + NEWEST_FIRST, **params, **place))


def outcomes_page(
    tx: "Tx", which: OutcomeFilter = EVERY_OUTCOME, *, page: int = 1, page_size: int = 50
) -> Page[Completion]:
    """Give one page of completions, newest first, and how many there are in all."""
    conditions, params = _conditions(which)
    place = place_of(page, page_size)
    timed = which.since is not None or which.until is not None
    if which.text or which.library_id is not None:
        probe = DONE + (IN_TIME if timed else "") + conditions
        where = probe.replace(IN_LIBRARY, OF_LIBRARY)
        sought = Sought(table="work_items", alias="i", where=where, probe=probe, params=params)
        hits = sorted_page(tx, sought, BY_TIME, place)
        return Page(rows=_completions(tx, hits.ids), total=hits.total)
    total = (
        tx.value(COUNT + conditions, **params)
        if conditions or timed
        else counts.read(tx).get("status.done", 0)
    )
    if place["offset"] >= total:
        return Page(rows=[], total=total)
    found = tx.all(IDS + conditions + NEWEST_FIRST, **params, **place)
    return Page(rows=_completions(tx, [row["id"] for row in found]), total=total)


def _conditions(which: OutcomeFilter) -> tuple[str, dict[str, Any]]:
    """Give what narrows beyond time, and the parameters of both."""
    conditions: list[str] = []
    params: dict[str, Any] = dict(time_bounds(which.since, which.until))
    if which.result is not None:
        conditions.append(in_class(which.result))
    if which.lane is not None:
        conditions.append("i.lane = :lane")
        params["lane"] = which.lane
    if which.library_id is not None:
        conditions.append(IN_LIBRARY)
        params["library"] = which.library_id
    if which.text:
        condition, text_params = text_condition(which.text, column="i.search_keys")
        conditions.append(condition)
        params |= text_params
    return "".join(f" AND {condition}" for condition in conditions if condition), params


def in_class(result: str) -> str:
    """Name the outcomes in the statement itself, so that partial indexes can serve them."""
    outcomes = [f"'{outcome}'" for outcome, shown in RESULT_CLASSES.items() if shown == result]
    if not outcomes:
        known = ", ".join(dict.fromkeys(RESULT_CLASSES.values()))
        raise Refused(f'no result class "{result}"; use one of {known}')
    return f"i.outcome IN ({', '.join(outcomes)})"


def _completions(tx: "Tx", ids: Sequence[int]) -> list[Completion]:
    params = {f"id_{number}": item_id for number, item_id in enumerate(ids)}
    places = ", ".join(f":{name}" for name in params)
    return [_completion(row) for row in tx.all(OF_IDS.format(places=places), **params)]


def _completion(row: "Row") -> Completion:
    return Completion(
        id=row["id"],
        artist=row["artist"],
        title=row["title"],
        album=row["album"],
        completed_at=from_db(row["completed_at"]),
        lane=row["lane"],
        result=RESULT_CLASSES.get(row["outcome"]),
        outcome=row["outcome"] or None,
    )
