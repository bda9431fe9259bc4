"""One claimed item, from the look at its targets to its settlement.

The order is the promise: what was found is stored before a file is touched (B), files
are written, and only then the item is settled (D). Killed in between, the next attempt
goes on from there. Nothing is written under a claim that somebody else may hold.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import Final, TypeVar

from lyrsvc.core.claiming import Claim, ClaimLost
from lyrsvc.core.detection import DetectorDown
from lyrsvc.core.errors import Refused
from lyrsvc.core.item import (
    NOT_RUN,
    DetectorFinding,
    Route,
    Target,
    TargetOrigin,
    TargetStatus,
    WorkItem,
)
from lyrsvc.core.outcome import Answer, Attempt, Broken, Missed, Served, Unjudged
from lyrsvc.core.ports import Clock
from lyrsvc.core.resume import ANSWERS_KEPT, Detected, Found, Partial, fresh_answers
from lyrsvc.core.settling import Ending, Settled, TargetEnd
from lyrsvc.core.sidecar import FetchMode, OnDisk
from lyrsvc.core.waiting import Moment, WaitPolicy
from lyrsvc.services import attempting
from lyrsvc.services.attempting import Finding, Intent
from lyrsvc.services.enqueueing import Terms
from lyrsvc.services.lane_turns import Cancelled
from lyrsvc.services.leasing import LeaseKeeper
from lyrsvc.services.listening import Listening, heard_attempts, marker, remembered
from lyrsvc.services.lookup import Lookup
from lyrsvc.services.routing import cache_key
from lyrsvc.services.steadying import PASSING, Steady
from lyrsvc.services.stored_words import Source, StoredWords, unstored
from lyrsvc.services.target_writing import Spot, TargetDesk, Told, present
from lyrsvc.store import claims, libraries, targets
from lyrsvc.store.database import Database, Tx

T = TypeVar("T")

ENDING_WAIT_S: Final = 3.0
"""How long the end of the program waits for the database."""

_FRESH: Final = (FetchMode.UPDATE, FetchMode.FORCE)
_LOG = logging.getLogger("lyrsvc.worker")


@dataclass(kw_only=True, slots=True)
class Progress:
    """How far an attempt is.

    ``asking`` is its claim while nothing found is stored yet; ``writing`` is on from then.
    """

    asking: Claim | None = None
    writing: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class _Case:
    """An item under its claim: what is left to do, and what was settled at first sight."""

    item: WorkItem
    claim: Claim
    spots: tuple[Spot, ...]
    told: tuple[Told, ...]


class ItemWorker:
    """Works on one item at a time in each of several threads."""

    def __init__(  # noqa: PLR0913 - one keyword for each part it is made of
        self,
        db: Database,
        lookup: Lookup,
        desk: TargetDesk,
        *,
        words: StoredWords,
        listening: Listening,
        keeper: LeaseKeeper,
        steady: Steady,
        clock: Clock,
        chance: Random,
        policy: WaitPolicy,
        terms: Callable[[datetime], Terms],
        on_settled: Callable[[Settled], None] = lambda _settled: None,
    ) -> None:
        self._db = db
        self._lookup = lookup
        self._desk = desk
        self._words = words
        self._listening = listening
        self._keeper = keeper
        self._steady = steady
        self._clock = clock
        self._chance = chance
        self._policy = policy
        self._terms = terms
        self._on_settled = on_settled

    def work(self, item: WorkItem, progress: Progress) -> None:
        """Bring a claimed item to its end; whatever it is, the claim is over afterwards."""
        claim = Claim.on(item)
        progress.asking = claim
        try:
            self._attempt(item, claim, progress)
        except ClaimLost:
            _LOG.info("item is held by somebody else now", extra={"item": item.id})
        except Cancelled:
            self._release_quietly(claim)
        finally:
            progress.asking, progress.writing = None, False

    def give_up(self, item: WorkItem, kind: str) -> None:
        """Settle an item over which the program stumbled, so that it is not stumbled over again."""
        broken = Broken(reason="internal", lane="", text=f"internal error: {kind}")
        try:
            self._settle(Claim.on(item), Ending(outcome=broken), ())
        except ClaimLost:
            return

    def release(self, claim: Claim) -> None:
        """Give an item back uncharged, from outside the attempt; it finds its claim lost."""
        moment = self._moment()
        self._db.write(lambda tx: attempting.release(tx, claim, moment), wait_s=ENDING_WAIT_S)

    def _attempt(self, item: WorkItem, claim: Claim, progress: Progress) -> None:
        case = self._look(item, claim)
        if not case.spots:
            self._end_at_sight(case)
            return
        source = self._steady.run(lambda: self._words.find(item, case.spots))
        if source is None and item.route is Route.LOCAL:
            self._release(claim, route=Route.REMOTE)
            return
        source = source or self._ask(case)
        if source is not None:
            self._serve(case, source, progress)

    def _look(self, item: WorkItem, claim: Claim) -> _Case:
        """See what stands at every open target (step 4)."""
        resumed = isinstance(item.resume, Found | Detected)

        def look() -> tuple[list[Spot], list[Told]]:
            spots: list[Spot] = []
            told: list[Told] = []
            for target, root in self._open_targets(item):
                found = self._desk.look(item, target, root, resumed=resumed)
                if isinstance(found, Spot) and self._words.respects(found):
                    found = present(target)
                if isinstance(found, Spot):
                    spots.append(found)
                else:
                    told.append(found)
            return spots, told

        spots, told = self._steady.run(look)
        return _Case(item=item, claim=claim, spots=tuple(spots), told=tuple(told))

    def _end_at_sight(self, case: _Case) -> None:
        """End an attempt with nothing left to do; lanes it asked before it was cut short count.

        An item of which nothing can be told now is given back until later, uncharged.
        """
        waits = [one.held for one in case.told if one.held is not None]
        if waits and len(waits) == len(case.told):
            self._put_off(case, min(waits))
            return
        left = self._steady.run(lambda: self._words.left_behind(case.item))
        attempts = left.attempts if left else ()
        self._settle(
            case.claim, Ending(outcome=left, attempts=attempts, text=_text(case.told)), case.told
        )

    def _put_off(self, case: _Case, wait: timedelta) -> None:
        """Give an item back for a while; what lanes have answered so far is kept."""
        resume = case.item.resume
        answers = resume.answers if isinstance(resume, Partial) else ()
        until = self._clock.now() + wait
        self._release(case.claim, until=until, attempts=answers, counted=False)

    def _open_targets(self, item: WorkItem) -> list[tuple[Target, Path | None]]:
        with self._db.read() as tx:
            every = [target for target in targets.with_tags(tx, item.id) if _is_to_do(target)]
            roots = {library.id: library.path for library in libraries.all_libraries(tx)}
        return [(target, roots.get(target.library_id or 0)) for target in every]

    def _ask(self, case: _Case) -> Source | None:
        """Ask the lanes (steps 7 and 8); None when that settled or released the item."""
        item, now = case.item, self._clock.now()
        spots = _in_turn(case.spots, item.misses)
        asked_for = spots[0].target
        try:
            outcome = self._lookup.look_up(
                item.question_for(asked_for), answered=fresh_answers(item.resume, now)
            )
        except Refused:  # the last lane has become inactive
            self._release(case.claim)
            return None
        match outcome:
            case Served(accepted=accepted, attempts=attempts):
                return Source(
                    accepted=accepted,
                    spots=self._words.served_by(accepted, item, spots),
                    attempts=attempts,
                    key=cache_key(item, asked_for),
                )
            case Missed():
                return self._listen(case, outcome)
            case Unjudged():
                self._wait_for_lane(case, outcome)
            case Broken(attempts=attempts, text=text):
                ending = Ending(outcome=outcome, attempts=attempts, text=text)
                self._settle(case.claim, ending, case.told)
        return None

    def _wait_for_lane(self, case: _Case, outcome: Unjudged) -> None:
        """Give the item back until the lane can be asked; a throttled primary holds up all."""
        primary = self._lookup.lanes[0].name
        paused = any(a.lane == primary and _is_throttle(a) for a in outcome.attempts)
        until = None if paused else outcome.until or self._clock.now()
        self._release(case.claim, until=until, attempts=outcome.attempts)

    def _listen(self, case: _Case, missed: Missed) -> Source | None:
        """Let the detector hear what no lane knows, or charge the miss."""
        item, now = case.item, self._clock.now()
        try:
            finding = self._hear(case)
        except DetectorDown as down:
            if down.busy or not self._is_patience_over(item, missed, now):
                self._release(
                    case.claim, until=down.until, attempts=missed.attempts, counted=not down.busy
                )
                return None
            finding = NOT_RUN
        attempts = (*missed.attempts, *heard_attempts(finding, item.detector, now))
        if finding.verdict:
            return Source(
                accepted=marker(item, now),
                spots=case.spots,
                attempts=attempts,
                heard=finding,
                detected=remembered(finding, attempts),
            )
        self._miss(case, missed, attempts, finding)
        return None

    def _hear(self, case: _Case) -> DetectorFinding:
        """Listen to the first file that has nothing beside it; the lanes are free meanwhile."""
        for lane in self._lookup.lanes:
            lane.give_back()
        bare = [s.target for s in case.spots if s.beside.state is OnDisk.NOTHING]
        if not bare:
            return NOT_RUN
        target = next((t for t in bare if t.source_path), bare[0])
        return self._listening.listen(case.item, target.source_path, duration_ms=target.duration_ms)

    def _is_patience_over(self, item: WorkItem, missed: Missed, now: datetime) -> bool:
        """Tell whether a track has waited a day for the detector since the lanes answered."""
        earlier = item.resume.answers if isinstance(item.resume, Partial) else ()
        known = [a.answered_at for a in (*earlier, *missed.attempts) if a.answered_at]
        return bool(known) and now - min(known) >= ANSWERS_KEPT

    def _miss(
        self,
        case: _Case,
        missed: Missed,
        attempts: tuple[Attempt, ...],
        finding: DetectorFinding,
    ) -> None:
        still_open = tuple(
            TargetEnd(target_id=spot.target.id, status=TargetStatus.PENDING, mode=spot.target.mode)
            for spot in case.spots
        )
        ending = Ending(outcome=missed, targets=still_open, attempts=attempts, detector=finding)
        self._settle(case.claim, ending, case.told)

    def _serve(self, case: _Case, source: Source, progress: Progress) -> None:
        """Store what was found (B), write it everywhere (C), settle (D)."""
        item, claim = case.item, case.claim
        # A library may have been removed while the lanes were asked.
        wanted = self._steady.run(lambda: {target.id for target, _ in self._open_targets(item)})
        spots = [spot for spot in source.spots if spot.target.id in wanted]
        plans = [
            self._desk.plan(item, spot, self._words.fitted(item, spot, source)) for spot in spots
        ]
        intents = [
            intent
            for spot, plan in zip(spots, plans, strict=True)
            for intent in self._desk.intents(spot, plan)
        ]
        self._write(lambda tx, now: _record(tx, claim, source, intents, now=now))
        progress.asking, progress.writing = None, True
        told = list(case.told)
        for plan in plans:
            self._make_sure_of(claim)
            told.append(self._steady.run(partial(self._desk.write, plan)))
        outcome = Served(
            accepted=source.accepted, attempts=source.attempts, from_cache=source.from_cache
        )
        ending = Ending(
            outcome=outcome, attempts=source.attempts, detector=source.heard, text=_text(told)
        )
        self._settle(claim, ending, [unstored(one, source) for one in told])

    def _make_sure_of(self, claim: Claim) -> None:
        """Hold the claim for certain before a file is touched, or raise ``ClaimLost``."""
        if not self._keeper.is_fresh:
            self._write(lambda tx, now: claims.renew_one(tx, claim, now=now))

    def _settle(self, claim: Claim, ending: Ending, told: Sequence[Told]) -> None:
        reports = [one.report for one in told]

        def settle(tx: Tx) -> Settled:
            moment = self._moment()
            terms = self._terms(moment.now)
            return attempting.settle(tx, claim, ending, reports, moment, terms=terms)

        settled = self._steady.run(lambda: self._db.write(settle))
        look = ending.outcome  # a miss leaves a finished item, and its reason, as they were
        _LOG.info(
            "item settled",
            extra={
                "item": claim.item_id,
                "status": str(settled.item.status),
                "lane": settled.item.lane,
                "outcome": str(settled.item.outcome),
                "reason": look.reason if isinstance(look, Missed) else settled.item.reason,
            },
        )
        self._on_settled(settled)

    def _release(
        self,
        claim: Claim,
        *,
        until: datetime | None = None,
        attempts: tuple[Attempt, ...] = (),
        route: Route | None = None,
        counted: bool = True,
    ) -> None:
        given = self._steady.run(
            lambda: self._db.write(
                lambda tx: attempting.release(
                    tx,
                    claim,
                    self._moment(),
                    until=until,
                    attempts=attempts,
                    route=route,
                    counted=counted,
                )
            )
        )
        _LOG.debug("item released", extra={"item": given.id, "due_at": str(given.due_at or "")})

    def _release_quietly(self, claim: Claim) -> None:
        """Give it back as the program ends; what cannot be written is found at the next start."""
        try:
            self.release(claim)
        except (ClaimLost, *PASSING):
            return

    def _write(self, operation: Callable[[Tx, datetime], T]) -> T:
        return self._steady.run(lambda: self._db.write(lambda tx: operation(tx, self._clock.now())))

    def _moment(self) -> Moment:
        return Moment(now=self._clock.now(), chance=self._chance, policy=self._policy)


def _record(
    tx: Tx, claim: Claim, source: Source, intents: Sequence[Intent], *, now: datetime
) -> None:
    """Store what was found, once, and what is about to be written."""
    if source.resumed:
        attempting.record_intents(tx, claim, intents, now=now)
        return
    finding = Finding(
        accepted=source.accepted,
        attempts=source.attempts,
        key=source.key,
        update=any(spot.target.mode in _FRESH for spot in source.spots),
        cache_id=source.cache_id,
        detected=source.detected,
    )
    attempting.record_result(tx, claim, finding, intents, now=now)


def _is_to_do(target: Target) -> bool:
    """Leave out what lost its library meanwhile: nothing is written there any more."""
    orphaned = target.origin is TargetOrigin.INVENTORY and target.library_id is None
    return target.is_open and not orphaned


def _in_turn(spots: Sequence[Spot], misses: int) -> Sequence[Spot]:
    """Begin with another file after every miss: its own album or length may be known."""
    first = misses % len(spots)
    return (*spots[first:], *spots[:first])


def _is_throttle(attempt: Attempt) -> bool:
    skipped = attempt.answer is Answer.SKIPPED and attempt.reason == "throttled"
    return attempt.answer is Answer.THROTTLED or skipped


def _text(told: Sequence[Told]) -> str:
    return next((one.text for one in told if one.text), "")
