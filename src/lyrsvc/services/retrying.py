"""Bringing items back by hand or because the lanes changed, and clearing finished ones."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Final

from lyrsvc.core import requeueing
from lyrsvc.core.errors import NotFound, Refused
from lyrsvc.core.item import Status, Target, TargetStatus, WorkItem
from lyrsvc.core.waiting import SPREAD
from lyrsvc.services.routing import route_of
from lyrsvc.store import history, meta, scan_links, targets, work_items
from lyrsvc.store.counts import Tally
from lyrsvc.store.database import Database, to_db
from lyrsvc.store.history import Happening, Note

if TYPE_CHECKING:
    from lyrsvc.store.transaction import Tx

STEP: Final = 50
"""Items that are brought back in one transaction: few enough that a webhook hardly waits."""
CLEARED_AT_ONCE: Final = 250


@dataclass(frozen=True, kw_only=True, slots=True)
class Hand:
    """Who brings items back, and when."""

    by: str
    now: datetime
    chance: Random


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection:
    """Which items are looked at again: deferred ones, those given up, of one library."""

    deferred: bool = False
    retired: bool = False
    library_id: int | None = None

    @property
    def statuses(self) -> tuple[Status, ...]:
        """Give the statuses to go through."""
        chosen = (self.deferred and Status.DEFERRED, self.retired and Status.DONE)
        return tuple(status for status in chosen if status)


def retry(tx: "Tx", item_id: int, hand: Hand, *, show: Callable[[datetime], str]) -> WorkItem:
    """Make one failed item pending again (T11); ``show`` writes moments for the refusal."""
    item = work_items.get(tx, item_id)
    due = show(item.due_at) if item.due_at else "the return of its audio"
    after = requeueing.retry(item, now=hand.now, chance=hand.chance, shown_due=due)
    return _bring_back(tx, item, after, hand, note=True)


def retry_all(db: Database, ids: Iterable[int], hand: Hand) -> tuple[int, int]:
    """Make failed items pending again; give how many were, and how many were refused."""
    wanted = list(dict.fromkeys(ids))
    retried = 0
    for start in range(0, len(wanted), STEP):
        chunk = wanted[start : start + STEP]
        retried += db.write(partial(_retry_some, ids=chunk, hand=hand), bulk=True)
    return retried, len(wanted) - retried


def retry_failed(db: Database, hand: Hand, *, reason: str | None = None) -> int:
    """Make every failed item pending again, or those of one reason; give how many."""
    retried = last = 0
    while True:
        with db.read() as tx:
            ids = work_items.failed_after(tx, after=last, reason=reason, limit=STEP)
        if not ids:
            return retried
        retried += db.write(partial(_retry_some, ids=ids, hand=hand), bulk=True)
        last = ids[-1]


def recheck_all(db: Database, ids: Iterable[int], hand: Hand) -> int:
    """Look at these items now, as far as they are deferred or given up; give how many."""
    wanted = list(dict.fromkeys(ids))
    due = 0
    for start in range(0, len(wanted), STEP):
        chunk = wanted[start : start + STEP]
        due += db.write(partial(_recheck_some, ids=chunk, hand=hand), bulk=True)
    return due


def recheck(tx: "Tx", item_id: int, hand: Hand) -> WorkItem:
    """Look at one deferred or given-up item now (T17, T18)."""
    item = work_items.get(tx, item_id)
    after = requeueing.recheck(item, now=hand.now, chance=hand.chance)
    return _bring_back(tx, item, after, hand, note=True)


def count_selected(tx: "Tx", selection: Selection) -> int:
    """Count what :func:`recheck_selected` would bring back."""
    return sum(
        work_items.count_again(tx, status, library_id=selection.library_id)
        for status in selection.statuses
    )


def is_selected(tx: "Tx", item: WorkItem, selection: Selection) -> bool:
    """Tell whether an item is part of a selection."""
    missed = item.status is not Status.DONE or item.outcome.is_miss
    if item.status not in selection.statuses or not missed:
        return False
    wanted = selection.library_id
    return wanted is None or any(t.library_id == wanted for t in targets.of_item(tx, item.id))


def recheck_selected(db: Database, selection: Selection, hand: Hand) -> int:
    """Look at every selected item now, some at a time; give how many."""

    def due_now(_item: WorkItem, _position: int) -> datetime:
        return hand.now

    return sum(
        _recheck_all(db, status, selection.library_id, hand, due_at=due_now)
        for status in selection.statuses
    )


def follow_provider_set(db: Database, version: int, hand: Hand) -> int:
    """Let deferred and given-up items come due over a day when the lanes have changed.

    Safe to repeat: whoever was brought in line carries the new version, and the set
    is remembered only after the last of them. Give how many items it concerned.
    """
    with db.read() as tx:
        if meta.provider_set_version(tx) == version:
            return 0
        first = meta.provider_set_version(tx) is None
        every = Selection(deferred=True, retired=True)
        total = 0 if first else count_selected(tx, every)
    moved = 0
    for status in () if first else every.statuses:

        def spread(_item: WorkItem, position: int, start: int = moved) -> datetime:
            return hand.now + SPREAD * (min(start + position, total) / max(total, 1))

        moved += _recheck_all(db, status, None, hand, due_at=spread, version=version)
    db.write(lambda tx: meta.set_provider_set_version(tx, version, now=hand.now))
    return moved


def follow_embedded(db: Database, mode: str, hand: Hand) -> int:
    """Look at tracks without lyrics whose tags hold some, once these are to be written out.

    The mode is remembered only after the last of them. Give how many items it concerned.
    """
    with db.read() as tx:
        if meta.read(tx, meta.EMBEDDED_LYRICS) == mode:
            return 0
    moved = last = 0
    while mode == "extract":
        with db.read(deadline_s=None) as tx:
            ids = work_items.with_words_inside(tx, after=last, limit=STEP)
        if not ids:
            break
        moved += recheck_all(db, ids, hand)
        last = ids[-1]
    db.write(lambda tx: meta.write(tx, meta.EMBEDDED_LYRICS, mode, now=hand.now))
    return moved


def count_done(tx: "Tx", *, now: datetime) -> int:
    """Count the finished items that would be cleared."""
    return work_items.count_done(tx, until=now)


def clear_done(db: Database, *, now: datetime) -> int:
    """Delete the finished items, some at a time (T19); give how many."""
    return sum(_chunks(lambda: db.write(lambda tx: _clear(tx, now), bulk=True)))


def _retry_some(tx: "Tx", ids: Sequence[int], hand: Hand) -> int:
    retried = 0
    for item_id in ids:
        with suppress(NotFound, Refused):
            retry(tx, item_id, hand, show=to_db)
            retried += 1
    return retried


def _recheck_some(tx: "Tx", ids: Sequence[int], hand: Hand) -> int:
    due = 0
    for item_id in ids:
        with suppress(NotFound, Refused):
            recheck(tx, item_id, hand)
            due += 1
    return due


def _clear(tx: "Tx", now: datetime) -> int:
    return work_items.delete_done(tx, until=now, now=now, limit=CLEARED_AT_ONCE)


def _chunks(step: Callable[[], int]) -> Iterator[int]:
    while done := step():
        yield done


def _recheck_all(
    db: Database,
    status: Status,
    library_id: int | None,
    hand: Hand,
    *,
    due_at: Callable[[WorkItem, int], datetime],
    version: int | None = None,
) -> int:
    last, moved = 0, 0

    def chunk(tx: "Tx") -> tuple[int, int]:
        tally = Tally()
        items = work_items.each_after(tx, status, after=last, limit=STEP, library_id=library_id)
        wanted = [item for item in items if item.provider_set_version != version]
        for position, item in enumerate(wanted):
            moment = due_at(item, moved + position)
            after = requeueing.recheck(
                item,
                now=hand.now,
                chance=hand.chance,
                due_at=None if moment == hand.now else moment,
            )
            if version is not None:
                after = replace(after, provider_set_version=version)
            _write(tx, item, after, tally, hand)
        tally.write(tx, now=hand.now)
        return len(wanted), items[-1].id if len(items) == STEP else 0

    while True:
        count, last = db.write(chunk, bulk=True)
        moved += count
        if not last:
            return moved


def _bring_back(tx: "Tx", before: WorkItem, after: WorkItem, hand: Hand, *, note: bool) -> WorkItem:
    tally = Tally()
    after = _write(tx, before, after, tally, hand)
    if note:
        history.add(tx, after, Happening.RETRIED, Note(by=hand.by), now=hand.now)
    tally.write(tx, now=hand.now)
    return after


def _write(tx: "Tx", before: WorkItem, after: WorkItem, tally: Tally, hand: Hand) -> WorkItem:
    """Save an item with the targets that are to be looked after again."""
    old = targets.of_item(tx, before.id)
    stand = [_opened(target) for target in old]
    after = replace(after, route=route_of(tx, after, stand))
    targets.save_changed(tx, old, stand, now=hand.now)
    work_items.save(tx, before, after, tally, now=hand.now)
    if after.status is not before.status:
        scan_links.follow(tx, after, stand, now=hand.now)
    return after


def _opened(target: Target) -> Target:
    """Open what failed or was missed; audio that was gone is looked for again."""
    again = target.status in (TargetStatus.FAILED, TargetStatus.PARKED)
    return requeueing.opened(target) if again or requeueing.is_missed(target) else target
