"""Settling: what an attempt came to, and how the item and its targets stand afterwards.

Pure. Attempts that end with nothing to write down are released instead, see
``releasing``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from random import Random
from typing import Final

from lyrsvc.core.item import (
    NOT_RUN,
    RESULT_OF_KIND,
    DetectorFinding,
    Event,
    Priority,
    Result,
    Route,
    Target,
    TargetOrigin,
    TargetResult,
    TargetStatus,
    WorkItem,
    move,
    without_reason,
)
from lyrsvc.core.outcome import Attempt, Broken, Missed, Served
from lyrsvc.core.releasing import given_back
from lyrsvc.core.resume import Detected, Found, Resume
from lyrsvc.core.sidecar import FetchMode, Kind
from lyrsvc.core.waiting import Moment, WaitPolicy, backoff, lined_up, miss_cooldown

LONGEST_REASON_BYTES: Final = 2048

_BEST_FIRST: Final = (Kind.LRC, Kind.TXT, Kind.MARKER)


@dataclass(frozen=True, kw_only=True, slots=True)
class TargetEnd:
    """What became of one target; ``mode`` is the one it was looked after with.

    ``gone_from`` is where its audio was missed: a rename may have moved the target since.
    """

    target_id: int
    status: TargetStatus
    result: TargetResult = TargetResult.NONE
    kind: Kind | None = None
    reason: str = ""
    mode: FetchMode = FetchMode.NORMAL
    gone_from: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ending:
    """How an attempt ended.

    ``outcome`` is None when nothing had to be asked. ``attempts`` are the lanes to
    credit: those of the outcome, or those an interrupted attempt has left behind.
    """

    outcome: Served | Missed | Broken | None
    targets: tuple[TargetEnd, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    detector: DetectorFinding = NOT_RUN
    text: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Settled:
    """The item and its targets afterwards, and the row of the table that led there.

    ``dropped`` are targets whose library is gone; with none left the item goes too.
    """

    item: WorkItem
    targets: tuple[Target, ...]
    event: Event
    dropped: tuple[Target, ...] = ()

    @property
    def is_gone(self) -> bool:
        """Tell whether the item has nothing left to live for."""
        return self.event is Event.DROP


def settle(
    item: WorkItem,
    targets: Sequence[Target],
    ending: Ending,
    moment: Moment,
) -> Settled:
    """Give item and targets after an attempt: T3 to T6, T9, T10, and T21 when all audio is gone."""
    now, policy, chance = moment.now, moment.policy, moment.chance
    ended = [_ended(target, ending, now) for target in targets]
    kept = [target for target in ended if not _lost_its_library(target)]
    dropped = tuple(target for target in ended if _lost_its_library(target))
    item = replace(item, detector=_newer(item.detector, ending.detector))
    event = _event(item, kept, ending, policy)
    after, stand = _EFFECTS[event](_Case(item, kept, ending, now, policy, chance))
    after = replace(
        after,
        rerun=False,
        boosted=False,
        lease_owner="",
        lease_until_at=None,
        claimed_from=None,
        ready_key=None,
        resume=_credited(after.resume),
    )
    return Settled(
        item=lined_up(after, now, chance), targets=tuple(stand), event=event, dropped=dropped
    )


def short_text(text: str) -> str:
    """Cut a reason to what a column may hold, on a character, its head kept."""
    data = text.encode("utf-8", "replace")
    return (
        text
        if len(data) <= LONGEST_REASON_BYTES
        else data[:LONGEST_REASON_BYTES].decode("utf-8", "ignore")
    )


@dataclass(frozen=True, slots=True)
class _Case:
    item: WorkItem
    targets: Sequence[Target]
    ending: Ending
    now: datetime
    policy: WaitPolicy
    chance: Random


def _event(item: WorkItem, targets: Sequence[Target], ending: Ending, policy: WaitPolicy) -> Event:
    if not targets:
        return Event.DROP
    if isinstance(ending.outcome, Broken) or _failed(targets):
        return Event.FAIL
    waiting = [target for target in targets if target.status is TargetStatus.PENDING]
    if waiting and isinstance(ending.outcome, Missed):
        return _event_of_miss(item, waiting, ending, policy)
    if waiting:
        return Event.RERUN
    return _event_of_rest(item, targets, ending)


def _event_of_rest(item: WorkItem, targets: Sequence[Target], ending: Ending) -> Event:
    """Name what happened when every target is settled or parked."""
    if all(target.status is TargetStatus.PARKED for target in targets):
        return Event.PARK
    served = any(_is_news(item, end) for end in ending.targets)
    return Event.SERVE if served or not item.was_served else Event.KEEP


def _is_news(item: WorkItem, end: TargetEnd) -> bool:
    """Tell whether a target got what the item did not have; the same again is no news."""
    if end.result is not TargetResult.SAME:
        return end.result is TargetResult.WRITTEN
    return end.kind is None or RESULT_OF_KIND.get(end.kind) is not item.outcome


def _event_of_miss(
    item: WorkItem, waiting: Sequence[Target], ending: Ending, policy: WaitPolicy
) -> Event:
    newcomers = _newcomers(waiting, ending)
    if item.was_served and not newcomers and all(map(_wants_better, waiting)):
        return Event.KEEP
    if not 0 < policy.max_misses <= item.misses + 1:
        return Event.MISS
    return Event.RERUN if item.boosted or newcomers else Event.RETIRE


def _newcomers(waiting: Sequence[Target], ending: Ending) -> list[Target]:
    """List the targets that came, or whose mode was raised, while the attempt was under way."""
    seen = {(end.target_id, end.mode) for end in ending.targets}
    return [target for target in waiting if (target.id, target.mode) not in seen]


def _wants_better(target: Target) -> bool:
    """Tell whether a target has lyrics already and was opened for better ones."""
    return target.mode is not FetchMode.NORMAL


def _failed(targets: Sequence[Target]) -> Target | None:
    return next((target for target in targets if target.status is TargetStatus.FAILED), None)


def _ended(target: Target, ending: Ending, now: datetime) -> Target:
    """Put what became of a target into it, unless more is wanted of it by now."""
    end = next((end for end in ending.targets if end.target_id == target.id), None)
    if end is None or end.mode is not target.mode:
        return target
    if end.gone_from and end.gone_from != target.source_path:
        return target
    if end.status is TargetStatus.PENDING:
        return replace(target, status=TargetStatus.PENDING)
    settled = end.status is TargetStatus.DONE
    return replace(
        target,
        status=end.status,
        result=end.result,
        kind=end.kind or target.kind,
        reason=end.reason,
        mode=FetchMode.NORMAL if settled else target.mode,
        settled_at=now if settled else target.settled_at,
    )


def _lost_its_library(target: Target) -> bool:
    orphaned = target.origin is TargetOrigin.INVENTORY and target.library_id is None
    return orphaned and target.status is not TargetStatus.DONE


def _credited(resume: Resume | None) -> Resume | None:
    """Give what is left behind once its lanes have been credited, so that it happens once."""
    return replace(resume, answers=()) if isinstance(resume, Found | Detected) else resume


def _after_serve(case: _Case) -> tuple[WorkItem, Sequence[Target]]:
    return _served(case, Event.SERVE), case.targets


def _after_rerun(case: _Case) -> tuple[WorkItem, Sequence[Target]]:
    """Run again for what came meanwhile; what was found stands as an earlier result (T9)."""
    item, status = case.item, move(case.item, Event.RERUN)
    if isinstance(case.ending.outcome, Missed):
        item = replace(item, misses=item.misses + 1, attempts=0)
    elif case.ending.outcome is not None and _written(case.targets, case.ending):
        item = _served(case, Event.SERVE)
    resume = item.resume if isinstance(item.resume, Found) else None
    return replace(
        without_reason(item), status=status, due_at=case.now, resume=resume
    ), case.targets


def _after_keep(case: _Case) -> tuple[WorkItem, Sequence[Target]]:
    """Leave the earlier result as it was (T10)."""
    status = move(case.item, Event.KEEP)
    item = replace(without_reason(case.item), status=status, attempts=0, resume=None, due_at=None)
    return item, [_closed(target, TargetResult.KEPT, case.now) for target in case.targets]


def _after_fail(case: _Case) -> tuple[WorkItem, Sequence[Target]]:
    """Wait out a hard error (T4); lyrics that are stored are not asked for again."""
    item, outcome = case.item, case.ending.outcome
    attempts = item.attempts + 1
    due_at = case.now if item.boosted else case.now + backoff(attempts, case.chance)
    failed = _failed(case.targets)
    reason = outcome.reason if isinstance(outcome, Broken) else failed.reason if failed else ""
    text = outcome.text if isinstance(outcome, Broken) else case.ending.text
    stored = item.resume if isinstance(item.resume, Found | Detected) else None
    failing = replace(
        item,
        status=move(item, Event.FAIL),
        attempts=attempts,
        due_at=due_at,
        reason=reason or "unknown",
        reason_detail=_own_code(outcome) if isinstance(outcome, Broken) else "",
        reason_text=short_text(text),
        resume=stored,
        route=Route.LOCAL if stored else Route.REMOTE,
    )
    return failing, case.targets


def _after_miss(case: _Case) -> tuple[WorkItem, Sequence[Target]]:
    """Charge a miss and wait out the cooldown (T5)."""
    item = case.item
    misses = item.misses + 1
    boosted = item.boosted
    due_at = case.now if boosted else case.now + miss_cooldown(misses, case.policy)
    waiting = replace(
        _missed(case, misses),
        status=move(item, Event.MISS),
        priority=item.priority if boosted else Priority.RECHECK,
        due_at=due_at,
        completed_at=None,
        outcome=Result.NONE,
        lane="",
        from_cache=False,
        fetched_at=None,
    )
    if not item.was_served:
        return waiting, case.targets
    stand = [
        _closed(target, TargetResult.KEPT, case.now) if _wants_better(target) else target
        for target in case.targets
    ]
    return waiting, stand


def _after_retire(case: _Case) -> tuple[WorkItem, Sequence[Target]]:
    """Give up after the last miss (T6)."""
    rejected = isinstance(case.ending.outcome, Missed) and case.ending.outcome.rejected
    item = replace(
        _missed(case, case.item.misses + 1),
        status=move(case.item, Event.RETIRE),
        completed_at=case.now,
        due_at=None,
        outcome=Result.REJECTED if rejected else Result.MISS,
        lane="",
        from_cache=False,
        fetched_at=None,
    )
    result = TargetResult.REJECTED if rejected else TargetResult.MISS
    return item, [_closed(target, result, case.now) for target in case.targets]


def _after_park(case: _Case) -> tuple[WorkItem, Sequence[Target]]:
    """Give it back, to wait until its audio is there again (T7, T21)."""
    return replace(given_back(case.item, Event.RELEASE), due_at=None), case.targets


def _after_drop(case: _Case) -> tuple[WorkItem, Sequence[Target]]:
    return given_back(case.item, Event.RELEASE), ()


_EFFECTS: Final = {
    Event.SERVE: _after_serve,
    Event.RERUN: _after_rerun,
    Event.KEEP: _after_keep,
    Event.FAIL: _after_fail,
    Event.MISS: _after_miss,
    Event.RETIRE: _after_retire,
    Event.PARK: _after_park,
    Event.DROP: _after_drop,
}


def _served(case: _Case, event: Event) -> WorkItem:
    """Finish with what was found; files that were there already speak for themselves (T3)."""
    outcome = case.ending.outcome
    accepted = outcome.accepted if isinstance(outcome, Served) else None
    written = _written(case.targets, case.ending)
    kinds = written or [t.kind for t in case.targets if t.kind and t.status is TargetStatus.DONE]
    best = next((kind for kind in _BEST_FIRST if kind in kinds), None)
    own = accepted is not None and bool(written)
    return replace(
        without_reason(case.item),
        status=move(case.item, event),
        outcome=RESULT_OF_KIND[best] if best else Result.NONE,
        lane=accepted.lane if accepted and own else "",
        from_cache=own and isinstance(outcome, Served) and outcome.from_cache,
        fetched_at=accepted.fetched_at if accepted and own else None,
        completed_at=case.now,
        attempts=0,
        misses=0,
        resume=None,
        due_at=None,
    )


def _closed(target: Target, result: TargetResult, now: datetime) -> Target:
    """Settle a target that is still waiting; leave every other one alone."""
    if target.status is not TargetStatus.PENDING:
        return target
    return replace(
        target,
        status=TargetStatus.DONE,
        result=result,
        mode=FetchMode.NORMAL,
        settled_at=now,
    )


def _own_code(broken: Broken) -> str:
    """Give the lane's own word for its fault."""
    return next((a.reason for a in broken.attempts if a.lane == broken.lane), "")


def _missed(case: _Case, misses: int) -> WorkItem:
    outcome = case.ending.outcome
    missed = outcome if isinstance(outcome, Missed) else Missed(reason="unknown")
    return replace(
        case.item,
        misses=misses,
        attempts=0,
        reason=missed.reason,
        reason_detail=missed.detail,
        reason_text=short_text(missed.text),
        resume=None,
        route=Route.REMOTE,
    )


def _written(targets: Sequence[Target], ending: Ending) -> list[Kind]:
    """List the kinds of the files that this attempt wrote or found to be the same."""
    ended = {end.target_id for end in ending.targets if end.result.is_served}
    return [target.kind for target in targets if target.id in ended and target.kind]


def _newer(before: DetectorFinding, found: DetectorFinding) -> DetectorFinding:
    return before if found.verdict is None else found
