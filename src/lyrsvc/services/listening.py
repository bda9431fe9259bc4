"""Listening to a track that no lane knows: whether to, and what to make of what was heard."""

import logging
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Protocol

from lyrsvc.core.item import NOT_RUN, DetectorFinding, WorkItem
from lyrsvc.core.lyrics import Candidate, Matched, Quality
from lyrsvc.core.outcome import Answer, Attempt
from lyrsvc.core.ports import Clock
from lyrsvc.core.recording import Recording
from lyrsvc.core.result import Accepted
from lyrsvc.core.resume import Detected
from lyrsvc.core.verdict import Decision, Evidence, Verdict

LANE: Final = "detector"
COMPLAIN_EVERY: Final = timedelta(minutes=1)

_LOG = logging.getLogger("lyrsvc.worker")


class Listener(Protocol):
    """Who listens; :class:`lyrsvc.services.detector_lane.DetectorLane` but in tests."""

    def listen(
        self, audio: Path, known: DetectorFinding, *, duration_ms: int = 0
    ) -> DetectorFinding:
        """Say what is heard; ``known`` may be used again. Raises ``DetectorDown``."""
        ...


class Listening:
    """Asks the detector about items whose decision says so; ``default`` is for those without one.

    Wanted but not set up is an error in the log, at most one line a minute, and no
    reason to stop.
    """

    def __init__(self, listener: Listener | None, *, default: bool, clock: Clock) -> None:
        self._listener = listener
        self._default = default
        self._clock = clock
        self._complained_at: datetime | None = None

    def is_wanted(self, item: WorkItem) -> bool:
        """Tell whether an item is to be listened to: as it was stamped, else as is usual."""
        stamped = item.detect_instrumental
        return self._default if stamped is None else stamped

    def listen(self, item: WorkItem, audio: str, *, duration_ms: int = 0) -> DetectorFinding:
        """Say what is heard, or that nobody listened; ``DetectorDown`` when nobody can now."""
        if not self.is_wanted(item):
            return NOT_RUN
        path = Path(audio) if audio else None
        return self._ask(path, item.detector, duration_ms, {"item": item.id})

    def listen_to_file(self, audio: Path | None, *, duration_ms: int = 0) -> DetectorFinding:
        """Do the same for a file that is no item of the queue: as is usual."""
        if not self._default:
            return NOT_RUN
        return self._ask(audio, NOT_RUN, duration_ms, {})

    def _ask(
        self, audio: Path | None, known: DetectorFinding, duration_ms: int, told: dict[str, int]
    ) -> DetectorFinding:
        if self._listener is None:
            self._complain(told)
            return NOT_RUN
        if audio is None:
            return NOT_RUN
        return self._listener.listen(audio, known, duration_ms=duration_ms)

    def _complain(self, told: dict[str, int]) -> None:
        now, last = self._clock.now(), self._complained_at
        if last is not None and timedelta() <= now - last < COMPLAIN_EVERY:
            return
        self._complained_at = now
        _LOG.error(
            "instrumental detection is wanted, but instrumental_detector.classifier_url is not "
            "set; going on without",
            extra=told,
        )


def heard_attempts(
    finding: DetectorFinding, known: DetectorFinding, now: datetime
) -> tuple[Attempt, ...]:
    """Give the classifier's answer as an attempt, for its counters.

    There is none when it was not asked: the file could not be decoded, or what was
    known already decided the same again.
    """
    if finding.verdict is None or finding.music_sum is None or finding == known:
        return ()
    answer = Answer.HIT if finding.verdict else Answer.MISS
    return (Attempt(lane=LANE, answer=answer, answered_at=now),)


def marker(song: WorkItem | Recording, now: datetime | None) -> Accepted:
    """Give the result that becomes an instrumental marker."""
    return Accepted(
        candidate=Candidate(
            matched=Matched(artist=song.artist, title=song.title), instrumental=True
        ),
        quality=Quality.INSTRUMENTAL,
        verdict=Verdict(decision=Decision.ACCEPT, reason="", evidence=Evidence.NONE),
        lane=LANE,
        fetched_at=now,
    )


def remembered(finding: DetectorFinding, answers: tuple[Attempt, ...]) -> Detected:
    """Give what an attempt leaves behind, so that nobody listens twice."""
    return Detected(
        version=finding.version,
        scores={
            "music_sum": finding.music_sum,
            "vocal_peak": finding.vocal_peak,
            "speech_mean": finding.speech_mean,
            "vocal_class": finding.vocal_class,
            "detected_at": finding.detected_at.isoformat() if finding.detected_at else None,
        },
        answers=answers,
    )


def recalled(left: Detected) -> DetectorFinding:
    """Read back what was left behind; only a positive finding is ever left."""
    at = left.scores.get("detected_at")
    return DetectorFinding(
        verdict=True,
        version=left.version,
        music_sum=_number(left, "music_sum"),
        vocal_peak=_number(left, "vocal_peak"),
        speech_mean=_number(left, "speech_mean"),
        vocal_class=str(left.scores.get("vocal_class") or ""),
        detected_at=datetime.fromisoformat(at) if isinstance(at, str) else None,
    )


def _number(left: Detected, name: str) -> float | None:
    value = left.scores.get(name)
    return float(value) if isinstance(value, int | float) else None
