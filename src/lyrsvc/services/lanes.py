"""A provider in its place: paced, rested when it asks for it, its answers judged."""

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Protocol

from lyrsvc import __version__
from lyrsvc.core import pacing
from lyrsvc.core.content import PLACEHOLDER
from lyrsvc.core.errors import LaneError, LyrsvcError, Transient
from lyrsvc.core.judging import Judgement, best_of
from lyrsvc.core.lyrics import Candidate
from lyrsvc.core.outcome import Answer, Attempt
from lyrsvc.core.pacing import LaneState, RestPolicy, Standing
from lyrsvc.core.ports import Clock, Http, LaneContext, Provider
from lyrsvc.core.recording import Recording
from lyrsvc.core.verdict import Verdict
from lyrsvc.services.decoys import DecoyMemory

LOOKUP_S: Final = 300.0
"""The longest a lookup may take in all, its waits for slots aside."""

Judge = Callable[[Candidate], Judgement]


class Cancelled(LyrsvcError):
    """The program stops; what was being asked is asked again another time."""

    code = "cancelled"


class Waiting(Protocol):
    """How a wait for a slot is spent; a countdown on a terminal, plain waiting elsewhere."""

    def __call__(self, seconds: float, lane: str, /) -> bool:
        """Wait; answer True when the program stops."""
        ...


class LaneMemory:
    """Keeps a lane's state for this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._state = LaneState()

    def read(self) -> LaneState:
        """Give the state as it is now."""
        return self._state

    def change(self, step: Callable[[LaneState], LaneState]) -> LaneState:
        """Replace the state by what the step makes of it, one change at a time."""
        with self._lock:
            self._state = step(self._state)
            return self._state


@dataclass(frozen=True, kw_only=True, slots=True)
class Manners:
    """How a lane is to be asked."""

    cooldown: timedelta = timedelta()
    from_end: bool = False
    """The wait counts from the end of the last answer, and there is one request at a time."""
    rest: RestPolicy = field(default_factory=RestPolicy)


class Lane:
    """A provider behind its pace and its breaker; the only way the rest of the house asks it."""

    def __init__(
        self,
        provider: Provider,
        *,
        connect: Callable[[Callable[[], None], Callable[[], None]], Http],
        manners: Manners,
        clock: Clock,
        waiting: Waiting,
        is_active: Callable[[], bool] = lambda: True,
    ) -> None:
        self.provider = provider
        self.name = provider.name
        self._manners = manners
        self._clock = clock
        self._waiting = waiting
        self._is_active = is_active
        self._http = connect(self._take_slot, self._end_request)
        self._memory = LaneMemory()
        self._decoys = DecoyMemory()
        self._one_at_a_time = threading.Lock()
        self._log = logging.getLogger(f"lyrsvc.lane.{self.name}")

    @property
    def active(self) -> bool:
        """Tell whether the lane has what it needs; an inactive one is not part of the set."""
        return self._is_active()

    @property
    def state(self) -> LaneState:
        """Give what is remembered about the lane."""
        return self._memory.read()

    def ask(self, recording: Recording, judge: Judge) -> Attempt:
        """Ask about a recording; every class of answer comes back as an attempt."""
        now = self._clock.now()
        if pacing.standing(self.state, now) is Standing.CLOSED:
            return self._attempt(Answer.SKIPPED, reason=self.state.cause)
        extras: list[LaneError] = []
        try:
            candidates = self._look_up(recording, judge, extras)
            attempt = self._judged(recording, candidates, judge)
        except LaneError as error:
            if not error.definitive:
                return self._refused(error)
            attempt = self._attempt(Answer(error.code), reason=error.reason, text=str(error))
        self._settle(attempt.answer, extras)
        return attempt

    def close(self) -> None:
        """Let go of the provider's resources."""
        self.provider.close()

    def _look_up(
        self, recording: Recording, judge: Judge, extras: list[LaneError]
    ) -> Sequence[Candidate]:
        context = LaneContext(
            http=self._http,
            judge=lambda candidate: judge(candidate).verdict,
            deadline=self._clock.monotonic() + LOOKUP_S,
            cancelled=lambda: False,
            log=self._log,
            version=__version__,
            note_fault=extras.append,
        )
        try:
            if self._manners.from_end:
                with self._one_at_a_time:
                    return self.provider.lookup(recording, context)
            return self.provider.lookup(recording, context)
        except LyrsvcError:
            raise
        except Exception as error:
            self._log.warning("lane failed", extra={"error": type(error).__name__})
            raise Transient(type(error).__name__, reason="upstream_error") from error

    def _judged(
        self, recording: Recording, candidates: Sequence[Candidate], judge: Judge
    ) -> Attempt:
        judgements = [judge(candidate) for candidate in candidates]
        best = best_of(judgements)
        if best is not None:
            self._decoys.remember(best.candidate.matched.ids, recording.title)
            return self._attempt(
                Answer.HIT, verdict=best.verdict, ids=best.candidate.matched.ids, result=best
            )
        rejected = next((one for one in judgements if one.verdict.rejected), None)
        if rejected is None:
            return self._attempt(Answer.MISS, reason="no_lyrics")
        if rejected.verdict.reason == PLACEHOLDER:
            return self._attempt(Answer.MISS, reason=PLACEHOLDER, verdict=rejected.verdict)
        ids = rejected.candidate.matched.ids
        if len(candidates) == 1 and not self.provider.local:
            self._decoys.suspect(ids, recording.title)
        return self._attempt(
            Answer.MISMATCH, reason=rejected.verdict.reason, verdict=rejected.verdict, ids=ids
        )

    def _refused(self, error: LaneError) -> Attempt:
        answer = Answer(error.code)
        self._close_after(answer, error.retry_after_s)
        return self._attempt(answer, reason=error.reason, text=str(error))

    def _settle(self, answer: Answer, extras: Sequence[LaneError]) -> None:
        """Note a clean answer, and then the faults of what was asked beside it."""
        now = self._clock.now()
        rest = self._manners.rest
        self._memory.change(lambda state: pacing.after(state, answer, now=now, policy=rest))
        for error in extras:
            if not error.definitive:
                self._close_after(Answer(error.code), error.retry_after_s)

    def _close_after(self, answer: Answer, retry_after_s: float | None) -> None:
        now = self._clock.now()
        retry_after = None if retry_after_s is None else timedelta(seconds=retry_after_s)
        before = self.state
        after = self._memory.change(
            lambda s: pacing.after(
                s, answer, now=now, policy=self._manners.rest, retry_after=retry_after
            )
        )
        if after.closed_until_at != before.closed_until_at and after.closed_until_at:
            rest_s = round((after.closed_until_at - now).total_seconds())
            self._log.warning(
                "lane closed", extra={"lane": self.name, "cause": after.cause, "rest_s": rest_s}
            )

    def _attempt(
        self,
        answer: Answer,
        *,
        reason: str = "",
        text: str = "",
        verdict: Verdict | None = None,
        ids: tuple[str, ...] = (),
        result: Judgement | None = None,
    ) -> Attempt:
        return Attempt(
            lane=self.name,
            answer=answer,
            reason=reason,
            text=text,
            verdict=verdict,
            ids=ids,
            result=result,
            until=self.state.closed_until_at,
            answered_at=self._clock.now(),
        )

    def _take_slot(self) -> None:
        """Wait for the lane's next slot; every single request comes through here."""
        if self.provider.local:
            return
        slot = self._reserve()
        seconds = (slot - self._clock.now()).total_seconds()
        if seconds > 0 and self._waiting(seconds, self.name):
            raise Cancelled("stopped while waiting for a slot")

    def _reserve(self) -> datetime:
        taken: list[datetime] = []

        def step(state: LaneState) -> LaneState:
            slot, following = pacing.reserve(state, self._clock.now(), self._manners.cooldown)
            taken.append(slot)
            return following

        self._memory.change(step)
        return taken[-1]

    def _end_request(self) -> None:
        if self._manners.from_end:
            now = self._clock.now()
            cooldown = self._manners.cooldown
            self._memory.change(lambda s: pacing.count_from_end(s, now, cooldown))
