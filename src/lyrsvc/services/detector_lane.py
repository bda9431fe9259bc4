"""The detector in its place: one track at a time, at its pace, rested when it is out of order.

Neither a classifier that is down nor one that is busy is held against a track: both
are raised as ``DetectorDown``. A file that cannot be decoded is no fault of the lane.
"""

import logging
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from lyrsvc.core import pacing
from lyrsvc.core.detection import DetectorDown, ListeningStopped
from lyrsvc.core.errors import FileFault, LaneError, Malformed
from lyrsvc.core.instrumental_gates import (
    Gates,
    IncompleteScores,
    Scores,
    is_instrumental,
    read_scores,
    stored_scores,
)
from lyrsvc.core.item import NOT_RUN, DetectorFinding
from lyrsvc.core.outcome import Answer
from lyrsvc.core.pacing import LaneState
from lyrsvc.core.ports import Clock, Detector
from lyrsvc.services.lane_turns import (
    LOOK_AGAIN_S,
    Cancelled,
    Manners,
    Memory,
    Waiting,
    reserve_slot,
)
from lyrsvc.services.listening import LANE

LONGEST_TURN_S: Final = 15.0
"""Who would have to wait longer for another track comes back later: the slot is for others."""
BUSY: Final = timedelta(seconds=60)
CHANGED: Final = timedelta(seconds=60)
LOOKS: Final = 2
"""How often a file that changes under the sampler is sampled in a row."""

_LOG = logging.getLogger("lyrsvc.detector")

FileGate = tuple[int, int, int]


class DetectorLane:
    """A detector behind its breaker, its pace and what is known already."""

    def __init__(
        self,
        ear: Detector,
        gates: Gates,
        *,
        manners: Manners,
        memory: Memory,
        clock: Clock,
        waiting: Waiting,
    ) -> None:
        self._ear = ear
        self._gates = gates
        self._manners = manners
        self._memory = memory
        self._clock = clock
        self._waiting = waiting
        self._alone = threading.Lock()
        self._told: set[str] = set()

    def listen(
        self, audio: Path, known: DetectorFinding, *, duration_ms: int = 0
    ) -> DetectorFinding:
        """Say what is heard; scores of the same model and file are judged again without asking."""
        if not self._ear.is_ready or _gate_of(audio) is None:
            return NOT_RUN
        self._refuse_when_closed()
        with self._turn(), self._watched():
            probes = self._admit()
            version = self._gates.version_of(self._ear.model_version(fresh=probes))
            if again := self._judged_again(audio, known, version):
                self._memory.change(pacing.end_probe)
                return again
            return self._hear(audio, duration_ms)

    def _hear(self, audio: Path, duration_ms: int) -> DetectorFinding:
        slot = self._take_slot()
        began_at = self._clock.now()
        try:
            wav = self._sample(audio, duration_ms)
        except BaseException as error:
            self._give_back(slot)
            if isinstance(error, FileFault):
                return self._undecodable(audio, error)
            raise
        try:
            answer = self._ear.classify(wav)
        except FileFault as fault:
            return self._undecodable(audio, fault)
        finally:
            now, cooldown = self._clock.now(), self._manners.cooldown
            self._memory.change(lambda state: pacing.count_from_end(state, now, cooldown))
        version = self._gates.version_of(self._ear.model_version())
        return self._settled(self._scores(answer, version), version, began_at)

    def _settled(self, scores: Scores, version: str, began_at: datetime) -> DetectorFinding:
        now, rest = self._clock.now(), self._manners.rest
        verdict = is_instrumental(scores, self._gates)
        answer = Answer.HIT if verdict else Answer.MISS
        self._memory.change(lambda state: pacing.after(state, answer, now=now, policy=rest))
        return DetectorFinding(
            verdict=verdict,
            version=version,
            music_sum=scores.music_sum,
            vocal_peak=scores.vocal_peak,
            speech_mean=scores.speech_mean,
            vocal_class=scores.vocal_class,
            detected_at=began_at,
        )

    def _sample(self, audio: Path, duration_ms: int) -> bytes:
        """Sample a file that stays as it is meanwhile."""
        for _ in range(LOOKS):
            before = _gate_of(audio)
            try:
                wav = self._ear.sample(audio, duration_s=duration_ms / 1000 or None)
            except FileFault:
                if _gate_of(audio) == before:
                    raise
            else:
                if before is not None and _gate_of(audio) == before:
                    return wav
        raise DetectorDown("the file changes", until=self._clock.now() + CHANGED)

    def _scores(self, answer: object, version: str) -> Scores:
        try:
            return read_scores(answer, self._gates)
        except IncompleteScores as fault:
            if version not in self._told:
                self._told.add(version)
                _LOG.error(
                    "the classifier's model does not know every class that is asked for; "
                    "see instrumental_detector.*_classes",
                    extra={"why": str(fault), "model_version": version},
                )
            raise Malformed(f"incomplete scores: {fault}") from None

    def _undecodable(self, audio: Path, fault: FileFault) -> DetectorFinding:
        _LOG.warning("track cannot be listened to", extra={"path": str(audio), "why": str(fault)})
        self._memory.change(pacing.end_probe)
        return DetectorFinding(verdict=False, detected_at=self._clock.now())

    def _judged_again(
        self, audio: Path, known: DetectorFinding, version: str
    ) -> DetectorFinding | None:
        """Let stored scores decide, while the model and the file are those they are of."""
        scores = stored_scores(known)
        if scores is None or not version or known.version != version or known.detected_at is None:
            return None
        if not _is_untouched_since(audio, known.detected_at):
            return None
        return replace(known, verdict=is_instrumental(scores, self._gates))

    # The breaker

    def _refuse_when_closed(self) -> None:
        now, rest = self._clock.now(), self._manners.rest
        state = pacing.trusted(self._memory.read(), now, rest)
        until = pacing.reopens_at(state, now)
        if until is not None:
            if state != self._memory.read():
                self._memory.change(lambda known: pacing.trusted(known, now, rest))
            raise DetectorDown(f"the classifier rests: {state.cause}", until=until)

    def _admit(self) -> bool:
        """Take part; True when this is the one question after a rest."""
        admitted: list[bool] = []

        def step(state: LaneState) -> LaneState:
            may, following = pacing.admit(state, self._clock.now(), self._manners.rest)
            admitted.append(may)
            return following

        _, state = self._memory.change(step)
        if not admitted[-1]:
            until = pacing.reopens_at(state, self._clock.now()) or self._clock.now()
            raise DetectorDown(f"the classifier rests: {state.cause}", until=until)
        return state.closed_until_at is not None

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Close the lane after a fault of the classifier; give an unused probe back."""
        try:
            yield
        except LaneError as fault:
            raise self._closed_after(fault) from None
        except ListeningStopped:
            self._memory.change(pacing.end_probe)
            raise Cancelled("stopped while listening") from None
        except Cancelled:
            self._memory.change(pacing.end_probe)
            raise

    def _closed_after(self, fault: LaneError) -> DetectorDown:
        now, rest = self._clock.now(), self._manners.rest
        cause = "malformed" if isinstance(fault, Malformed) else "unreachable"
        _, state = self._memory.change(
            lambda known: pacing.trip(known, cause, now=now, policy=rest)
        )
        until = state.closed_until_at or now
        _LOG.warning(
            "detector rests",
            extra={
                "cause": cause,
                "rest_s": round((until - now).total_seconds()),
                "why": str(fault),
            },
        )
        return DetectorDown(str(fault), until=until)

    # The pace

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Keep others out; who would wait too long is told to come back."""
        for _ in range(round(LONGEST_TURN_S / LOOK_AGAIN_S)):
            if self._alone.acquire(timeout=LOOK_AGAIN_S):
                break
            if self._clock.wait(0.0):
                raise Cancelled("stopped while waiting for another track")
        else:
            until = self._clock.now() + BUSY
            raise DetectorDown("another track is listened to", until=until, busy=True)
        try:
            yield
        finally:
            self._alone.release()

    def _take_slot(self) -> datetime:
        slot = reserve_slot(self._memory, self._clock, self._manners.cooldown)
        left_s = (slot - self._clock.now()).total_seconds()
        if left_s > LONGEST_TURN_S:
            self._give_back(slot)
            raise DetectorDown("the classifier cools down", until=slot, busy=True)
        if left_s > 0 and self._waiting(left_s, LANE):
            self._give_back(slot)
            raise Cancelled("stopped while waiting for the classifier")
        return slot

    def _give_back(self, slot: datetime) -> None:
        cooldown = self._manners.cooldown
        self._memory.change(lambda state: pacing.end_probe(pacing.give_back(state, slot, cooldown)))


def _gate_of(audio: Path) -> FileGate | None:
    """Give what changes with a file; None for what is not there or is no readable file."""
    try:
        found = audio.stat()
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(found.st_mode) or not os.access(audio, os.R_OK):
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _is_untouched_since(audio: Path, moment: datetime) -> bool:
    """Tell whether neither the content nor the place of a file has changed since."""
    try:
        found = audio.stat()
    except OSError:
        return False
    touched_ns = max(found.st_mtime_ns, found.st_ctime_ns)
    return datetime.fromtimestamp(touched_ns / 1e9, UTC) < moment
