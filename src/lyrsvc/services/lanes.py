"""A provider in its place: paced, rested when it asks for it, its answers judged."""

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from lyrsvc import __version__
from lyrsvc.core import pacing
from lyrsvc.core.content import PLACEHOLDER
from lyrsvc.core.credits import ArtistRelation
from lyrsvc.core.errors import LaneError, StoreError, Transient
from lyrsvc.core.judging import Judgement, best_of
from lyrsvc.core.lyrics import Candidate, Matched
from lyrsvc.core.outcome import Answer, Attempt
from lyrsvc.core.pacing import LaneState, Standing
from lyrsvc.core.ports import Clock, Http, LaneContext, Provider
from lyrsvc.core.recording import Recording
from lyrsvc.core.title_relations import TitleRelation
from lyrsvc.core.titles import base_title
from lyrsvc.core.verdict import Verdict
from lyrsvc.core.wording import words_of
from lyrsvc.services.decoys import DecoyMemory
from lyrsvc.services.lane_turns import (
    Cancelled,
    LaneMemory,
    Manners,
    Memory,
    Turnstile,
    Waiting,
)

__all__ = ["Cancelled", "Lane", "LaneMemory", "Manners", "Memory", "Outlook", "Waiting"]

LOOKUP_S: Final = 300.0
"""The longest a lookup may take in all, its waits for slots aside."""

Judge = Callable[[Candidate], Judgement]

_OTHER_TITLES: Final = frozenset({TitleRelation.DIFFERENT, TitleRelation.SCRIPT})
_OTHER_ARTISTS: Final = frozenset(
    {ArtistRelation.DIFFERENT, ArtistRelation.SCRIPT, ArtistRelation.ABSENT}
)
_CLASSES: Final = {str(answer): answer for answer in Answer}


@dataclass(frozen=True, slots=True)
class Outlook:
    """Whether a lane may be asked now; ``until`` says when somebody may look again."""

    standing: Standing
    cause: str = ""
    until: datetime | None = None

    @property
    def is_free(self) -> bool:
        """Tell whether nobody needs to wait: it is ready, or its one probe is to be had."""
        return self.until is None


class Lane:
    """A provider behind its pace and its breaker; the only way the rest of the house asks it."""

    def __init__(  # noqa: PLR0913 - one keyword for each part it is made of
        self,
        provider: Provider,
        *,
        connect: Callable[[Callable[[], None], Callable[[], None]], Http],
        manners: Manners,
        clock: Clock,
        waiting: Waiting,
        is_active: Callable[[], bool] = lambda: True,
        memory: Memory | None = None,
    ) -> None:
        self.provider = provider
        self.name = provider.name
        self._manners = manners
        self._clock = clock
        self._is_active = is_active
        self._memory = memory or LaneMemory()
        self._turns = Turnstile(
            self.name, manners, memory=self._memory, clock=clock, waiting=waiting
        )
        self.http = connect(self._begin_request, self._end_request)
        """The lane's paced way to its upstream, for what else has to be asked there."""
        self._decoys = DecoyMemory()
        self._own = _Own()
        self._faulty: Recording | None = None
        self._log = logging.getLogger(f"lyrsvc.lane.{self.name}")

    @property
    def active(self) -> bool:
        """Tell whether the lane has what it needs; an inactive one is not part of the set."""
        return self._is_active()

    @property
    def state(self) -> LaneState:
        """Give what is remembered about the lane."""
        return self._memory.read()

    @property
    def pace_s(self) -> float:
        """Give the seconds between two requests at the present pace; 0 for a local lane."""
        return self.pace_at(self.state)

    def pace_at(self, state: LaneState) -> float:
        """Give the seconds between two requests for a state that was read before."""
        if self.provider.local:
            return 0.0
        return pacing.interval(state, self._manners.cooldown).total_seconds()

    @property
    def outlook(self) -> Outlook:
        """Tell how the lane stands now; moments of a clock that ran ahead are cut for good."""
        now, rest = self._clock.now(), self._manners.rest
        state = self._memory.read()
        if pacing.trusted(state, now, rest) != state:
            _, state = self._memory.change(lambda known: pacing.trusted(known, now, rest))
        until = pacing.reopens_at(state, now)
        return Outlook(pacing.standing(state, now), state.cause, until)

    def take_turn(self) -> None:
        """Wait until it is this thread's turn to ask; raise ``Cancelled`` when the program stops.

        What was taken and not used by ``ask`` is to be given back.
        """
        if not self.provider.local:
            self._turns.take_turn()

    def take_probe(self) -> bool:
        """Take the one question a lane that has rested may be asked; False when it is taken."""
        self._own.probes = self._admit()
        return self._own.probes

    def give_back(self) -> None:
        """Return the turn and the probe of this thread, as far as they were not used."""
        if not self.provider.local:
            self._turns.give_turn_back()
        if self._own.probes:
            self._own.probes = False
            self._memory.change(pacing.end_probe)

    def ask(self, recording: Recording, judge: Judge) -> Attempt:
        """Ask about a recording; every class of answer comes back as an attempt."""
        if not self._admitted():
            return self._attempt(Answer.SKIPPED, reason=self.state.cause)
        extras: list[LaneError] = []
        try:
            candidates = self._look_up(recording, judge, extras)
            attempt = self._judged(recording, candidates, judge)
        except LaneError as error:
            attempt = self._raised(error, recording)
        if attempt.answer.definitive:
            self._settle(attempt.answer, extras)
        self._log.debug("lane asked", extra={"answer": attempt.answer, "reason": attempt.reason})
        return attempt

    def close(self) -> None:
        """Let go of the provider's resources."""
        self.provider.close()

    def _look_up(
        self, recording: Recording, judge: Judge, extras: list[LaneError]
    ) -> Sequence[Candidate]:
        context = LaneContext(
            http=self.http,
            judge=lambda candidate: judge(candidate).verdict,
            deadline=self._clock.monotonic() + LOOKUP_S,
            cancelled=lambda: self._clock.wait(0.0),
            log=self._log,
            version=__version__,
            note_fault=extras.append,
        )
        try:
            self._turns.begin_lookup()
            return self.provider.lookup(recording, context)
        except (LaneError, Cancelled, StoreError):
            raise
        except Exception as error:
            self._log.warning("lane failed", extra={"error": type(error).__name__})
            raise Transient(type(error).__name__, reason="upstream_error") from error
        finally:
            self._turns.end_lookup()

    def _judged(
        self, recording: Recording, candidates: Sequence[Candidate], judge: Judge
    ) -> Attempt:
        judgements = [judge(candidate) for candidate in candidates]
        best = best_of(judgements)
        if best is not None:
            matched = best.candidate.matched
            self._decoys.remember(matched.ids, recording.title)
            return self._attempt(Answer.HIT, verdict=best.verdict, matched=matched, result=best)
        rejected = next((one for one in judgements if one.verdict.rejected), None)
        if rejected is None:
            return self._attempt(Answer.MISS, reason="no_lyrics")
        verdict, matched = rejected.verdict, rejected.candidate.matched
        answer = Answer.MISS if verdict.reason == PLACEHOLDER else Answer.MISMATCH
        unrelated = _is_unrelated(verdict) and not _is_find(recording, matched)
        if len(candidates) == 1 and unrelated and not self.provider.local:
            self._decoys.suspect(matched.ids, recording.title)
        return self._attempt(answer, reason=verdict.reason, verdict=verdict, matched=matched)

    def _raised(self, error: LaneError, recording: Recording) -> Attempt:
        answer = _CLASSES.get(error.code, Answer.TRANSIENT)
        if not answer.definitive:
            repeated = answer.faulty and self._faulty == recording
            self._faulty = recording if answer.faulty else None
            self._close_after(error, answer, repeated=repeated)
        return self._attempt(answer, reason=error.reason, text=str(error))

    def _settle(self, answer: Answer, extras: Sequence[LaneError]) -> None:
        """Note a clean answer, and then the faults of what was asked beside it."""
        now = self._clock.now()
        rest = self._manners.rest
        self._faulty = None
        self._memory.change(lambda state: pacing.after(state, answer, now=now, policy=rest))
        for error in extras:
            if not error.definitive:
                self._close_after(error, _CLASSES.get(error.code, Answer.TRANSIENT))

    def _close_after(self, error: LaneError, answer: Answer, *, repeated: bool = False) -> None:
        now = self._clock.now()
        asked_s = error.retry_after_s
        before, after = self._memory.change(
            lambda state: pacing.after(
                state,
                answer,
                now=now,
                policy=self._manners.rest,
                retry_after=None if asked_s is None else timedelta(seconds=asked_s),
                repeated=repeated,
            )
        )
        if after.closed_until_at != before.closed_until_at and after.closed_until_at:
            told = {
                "lane": self.name,
                "cause": after.cause,
                "rest_s": round((after.closed_until_at - now).total_seconds()),
                "why": str(error),
                "remedy": self._remedy(before, answer),
            }
            self._log.warning("lane closed", extra={name: v for name, v in told.items() if v != ""})

    def _remedy(self, before: LaneState, answer: Answer) -> str:
        """Say what an operator can do when a lane that rested for long is throttled again."""
        policy = self._manners.rest
        rested = before.trips > 0 and pacing.rest(before.trips, policy) == policy.cap
        if answer is not Answer.THROTTLED or not rested:
            return ""
        source = self._manners.token_source
        stale = f"; the token of {source} may be stale" if source else ""
        return f"raise LYRSVC_API_COOLDOWN{stale}"

    def _admitted(self) -> bool:
        """Tell whether the lane may be asked now; of a lane that has rested by one only."""
        probes, self._own.probes = self._own.probes, False
        ready = self._memory.read().closed_until_at is None  # as nearly always: nothing to write
        return probes or ready or self._admit()

    def _admit(self) -> bool:
        answers: list[bool] = []

        def step(state: LaneState) -> LaneState:
            admitted, following = pacing.admit(state, self._clock.now(), self._manners.rest)
            answers.append(admitted)
            return following

        self._memory.change(step)
        return answers[-1]

    def _attempt(
        self,
        answer: Answer,
        *,
        reason: str = "",
        text: str = "",
        verdict: Verdict | None = None,
        matched: Matched | None = None,
        result: Judgement | None = None,
    ) -> Attempt:
        now = self._clock.now()
        return Attempt(
            lane=self.name,
            answer=answer,
            reason=reason,
            text=text,
            verdict=verdict,
            matched=matched,
            result=result,
            until=pacing.reopens_at(self.state, now),
            answered_at=now,
        )

    def _begin_request(self) -> None:
        if not self.provider.local:
            self._turns.begin_request()

    def _end_request(self) -> None:
        if not self.provider.local:
            self._turns.end_request()


class _Own(threading.local):
    """What one thread holds of a lane."""

    def __init__(self) -> None:
        self.probes = False


def _is_unrelated(verdict: Verdict) -> bool:
    """Tell an answer that has nothing to do with the question, as a decoy has not."""
    return verdict.title in _OTHER_TITLES and verdict.artist in _OTHER_ARTISTS


def _is_find(recording: Recording, matched: Matched) -> bool:
    """Tell what a search may well find, a medley or another's album: it has all words asked for."""
    asked = words_of(base_title(recording.title)).spelled
    answered = words_of(" ".join((matched.title, matched.artist, matched.album))).spelled
    return set(asked) <= set(answered)
