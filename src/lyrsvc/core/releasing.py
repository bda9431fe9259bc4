"""Giving an item back: nothing is charged, nothing is forgotten."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from random import Random

from lyrsvc.core.item import Event, Route, WorkItem, move
from lyrsvc.core.outcome import Answer, Attempt
from lyrsvc.core.resume import Detected, Found, Partial
from lyrsvc.core.waiting import Moment, lined_up, release_wait


def release(
    item: WorkItem,
    moment: Moment,
    *,
    until: datetime | None = None,
    attempts: Sequence[Attempt] = (),
    route: Route | None = None,
    counted: bool = True,
) -> WorkItem:
    """Give the item back uncharged (T7).

    With ``until`` because a lane could not be asked: it waits at least for R(k), and
    the definitive answers of the other lanes are kept for it. Without, it is due as before.
    A release that is not ``counted`` waits for its moment only: somebody was merely busy.
    """
    now, chance = moment.now, moment.chance
    resume, due_at = item.resume, item.due_at or now
    if until is not None:
        earlier = item.resume.releases if isinstance(item.resume, Partial) else 0
        due_at = max(until, now + release_wait(earlier, chance)) if counted else max(until, now)
        if not isinstance(resume, Found | Detected):
            resume = Partial(answers=_reusable(attempts), releases=earlier + counted)
    elif attempts and not isinstance(resume, Found | Detected):
        earlier = item.resume.releases if isinstance(item.resume, Partial) else 0
        resume = Partial(answers=_reusable(attempts), releases=earlier)
    given = given_back(item, Event.RELEASE)
    given = replace(
        given, due_at=due_at, resume=resume, route=given.route if route is None else route
    )
    return lined_up(given, now, chance)


def expire(item: WorkItem, *, now: datetime, chance: Random) -> WorkItem:
    """Take the item back from a holder that is gone (T8); nothing is charged or forgotten."""
    return lined_up(replace(given_back(item, Event.EXPIRE), due_at=item.due_at or now), now, chance)


def given_back(item: WorkItem, event: Event) -> WorkItem:
    """Give the item in the status it was claimed from, held by nobody."""
    return replace(
        item,
        status=move(item, event),
        claimed_from=None,
        rerun=False,
        boosted=False,
        lease_owner="",
        lease_until_at=None,
        ready_key=None,
    )


def _reusable(attempts: Sequence[Attempt]) -> tuple[Attempt, ...]:
    return tuple(a for a in attempts if a.answer in (Answer.MISS, Answer.MISMATCH))
