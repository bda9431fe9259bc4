"""Putting an item back in line: retry, boost, open again, recheck, park.

Each gives back the item as it stands afterwards, or refuses. The places in the
queue are new: whoever is made due now becomes ready now.
"""

from dataclasses import replace
from datetime import datetime
from random import Random

from lyrsvc.core.errors import NotFailed, Refused
from lyrsvc.core.item import (
    RETRY_REFUSED,
    Event,
    Priority,
    Result,
    Route,
    Status,
    Target,
    TargetResult,
    TargetStatus,
    WorkItem,
    move,
    without_reason,
)
from lyrsvc.core.waiting import lined_up


def retry(item: WorkItem, *, now: datetime, chance: Random, shown_due: str = "") -> WorkItem:
    """Make a failed item pending again (T11); every other status is refused, also deferred."""
    if item.status is not Status.FAILED:
        refusal = RETRY_REFUSED.format(id=item.id, status=item.status)
        if item.status is Status.DEFERRED:
            refusal += (
                f"; it is checked again at {shown_due}, "
                f"or now with: lyrsvc queue recheck {item.id} --yes"
            )
        raise NotFailed(refusal)
    item = replace(item, status=move(item, Event.RETRY), attempts=0)
    return due_now(without_reason(item), now=now, chance=chance)


def boost(
    item: WorkItem, *, now: datetime, chance: Random, priority: int = Priority.WEBHOOK
) -> WorkItem:
    """Make a waiting item due now and urgent (T12); its misses still count."""
    item = replace(item, status=move(item, Event.BOOST), attempts=0)
    return hasten(item, now=now, chance=chance, priority=priority)


def hasten(item: WorkItem, *, now: datetime, chance: Random, priority: int) -> WorkItem:
    """Make a waiting item due now; one that is in line already keeps its place there."""
    urgency = max(item.priority, priority)
    if item.ready_key is not None and urgency == item.priority:
        return item
    return due_now(replace(item, priority=urgency), now=now, chance=chance)


def reopen(item: WorkItem, *, now: datetime, chance: Random, priority: int) -> WorkItem:
    """Open a finished item for more (T15); what it had found stands until something better."""
    if not item.outcome.has_lyrics and item.outcome is not Result.NONE:
        raise Refused(f"item {item.id} found nothing, it cannot be {Event.REOPEN}")
    item = replace(item, status=move(item, Event.REOPEN), priority=priority, attempts=0)
    return due_now(item, now=now, chance=chance)


def seek(
    item: WorkItem, *, now: datetime, chance: Random, priority: int, forget_misses: bool = False
) -> WorkItem:
    """Open an item that was given up (T16); its misses are kept unless told otherwise."""
    _require_given_up(item, Event.SEEK)
    item = replace(
        item,
        status=move(item, Event.SEEK),
        priority=priority,
        attempts=0,
        misses=0 if forget_misses else item.misses,
        completed_at=None,
        outcome=Result.NONE,
        route=Route.REMOTE,
    )
    return due_now(without_reason(item), now=now, chance=chance)


def recheck(
    item: WorkItem, *, now: datetime, chance: Random, due_at: datetime | None = None
) -> WorkItem:
    """Look again at a deferred item (T18), or at one that was given up (T17)."""
    if item.status is Status.DEFERRED:
        moment = due_at or now
        earlier = item.due_at if item.due_at and item.due_at < moment else moment
        item = replace(item, status=move(item, Event.RECHECK))
        return _due(item, earlier if due_at else now, now=now, chance=chance)
    if item.status is not Status.DONE or not item.outcome.is_miss:
        raise Refused(
            f"item {item.id} is {item.status}, only deferred items "
            "and items given up for want of lyrics can be rechecked"
        )
    item = replace(
        item,
        status=move(item, Event.RECALL),
        misses=0,
        priority=Priority.RECHECK,
        completed_at=None,
        outcome=Result.NONE,
        route=Route.REMOTE,
    )
    return _due(item, due_at or now, now=now, chance=chance)


def park(item: WorkItem) -> WorkItem:
    """Let an item wait until its audio is back (T21)."""
    return replace(item, status=move(item, Event.PARK), ready_key=None, due_at=None)


def due_now(item: WorkItem, *, now: datetime, chance: Random) -> WorkItem:
    """Give the item a place in the queue as of now."""
    return _due(item, now, now=now, chance=chance)


def opened(target: Target) -> Target:
    """Give a target that is to be looked after again."""
    return replace(
        target,
        status=TargetStatus.PENDING,
        result=TargetResult.NONE,
        reason="",
        settled_at=None,
    )


def is_missed(target: Target) -> bool:
    """Tell whether a target was settled without lyrics."""
    missed = target.result in (TargetResult.MISS, TargetResult.REJECTED)
    return target.status is TargetStatus.DONE and missed


def _due(item: WorkItem, due_at: datetime, *, now: datetime, chance: Random) -> WorkItem:
    return lined_up(replace(item, due_at=due_at, ready_key=None), now, chance)


def _require_given_up(item: WorkItem, event: Event) -> None:
    if item.status is Status.DONE and not item.outcome.is_miss:
        raise Refused(f"item {item.id} has lyrics, it cannot be {event}")
