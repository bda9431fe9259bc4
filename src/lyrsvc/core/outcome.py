"""What asking lanes came to.

An :class:`Attempt` is one lane asked about one recording. The attempts of a walk
decide the :class:`Outcome`: ``Served`` has something to write, ``Missed`` is a
definitive miss, ``Unjudged`` means a lane could not be asked now, ``Broken`` a
hard error.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import combinations
from typing import Final

from lyrsvc.core.content import PLACEHOLDER, texts_conflict
from lyrsvc.core.judging import Judgement
from lyrsvc.core.lyrics import Matched, Quality
from lyrsvc.core.result import Accepted
from lyrsvc.core.timing import words_only
from lyrsvc.core.verdict import Verdict


class Answer(StrEnum):
    """How a lane answered; the closed set of the lane interface, and ``skipped``."""

    HIT = "hit"
    MISS = "miss"
    MISMATCH = "mismatch"
    THROTTLED = "throttled"
    QUOTA = "quota"
    TOKEN_FINISHED = "token_finished"  # noqa: S105 - a class of answers
    IDENTITY_REFUSED = "identity_refused"
    MALFORMED = "malformed"
    TRANSIENT = "transient"
    SKIPPED = "skipped"

    @property
    def definitive(self) -> bool:
        """Tell whether the lane really answered the question."""
        return self in (Answer.HIT, Answer.MISS, Answer.MISMATCH)

    @property
    def faulty(self) -> bool:
        """Tell whether the lane could not be understood or reached."""
        return self in (Answer.MALFORMED, Answer.TRANSIENT)


REJECTED_REASONS: Final[Mapping[str, str]] = {
    "script_guard": "rejected_script",
    "timing_other_recording": "rejected_timing",
    "decoy_pattern": "rejected_timing",
    "too_few_lines": "rejected_content",
    "spam_text": "rejected_content",
    "too_long": "rejected_content",
    "text_conflict": "rejected_content",
}
"""The item's reason for each reason of a guard; every other one is ``rejected_match``."""

BROKEN_REASONS: Final = frozenset({"network", "timeout", "upstream_error"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """One lane asked about one recording.

    ``until`` says when a closed lane opens again; a skipped lane's ``reason`` is
    the cause of its closing. ``matched`` is the answer the verdict is about.
    """

    lane: str
    answer: Answer
    reason: str = ""
    text: str = ""
    verdict: Verdict | None = None
    matched: Matched | None = None
    result: Judgement | None = None
    until: datetime | None = None
    answered_at: datetime | None = None

    @property
    def waiting(self) -> bool:
        """Tell whether the lane has yet to answer: it was skipped or refused to."""
        return not self.answer.definitive and not self.answer.faulty


@dataclass(frozen=True, kw_only=True, slots=True)
class Served:
    """There is something to write."""

    accepted: Accepted
    attempts: tuple[Attempt, ...] = ()
    from_cache: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Missed:
    """Every lane answered, and there is nothing; ``detail`` keeps the guard's own code."""

    reason: str
    detail: str = ""
    rejected: bool = False
    text: str = ""
    attempts: tuple[Attempt, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Unjudged:
    """A lane could not be asked; nothing may be counted against the track."""

    until: datetime | None
    lane: str
    answer: Answer
    text: str = ""
    attempts: tuple[Attempt, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Broken:
    """A hard error of the highest-placed lane that had one."""

    reason: str
    lane: str
    text: str = ""
    attempts: tuple[Attempt, ...] = ()


Outcome = Served | Missed | Unjudged | Broken


def ends_the_walk(attempt: Attempt) -> bool:
    """Tell whether later lanes need not be asked: the words are synced."""
    return attempt.result is not None and attempt.result.quality >= Quality.SYNCED


def decide(attempts: Sequence[Attempt]) -> Outcome:
    """Say what the attempts of a walk came to."""
    kept = tuple(attempts)
    conflict = _conflict(kept)
    if conflict:
        return Missed(
            reason=REJECTED_REASONS["text_conflict"],
            detail="text_conflict",
            rejected=True,
            text=f"{conflict[0]} and {conflict[1]} have different words",
            attempts=kept,
        )
    best = _best(kept)
    if best is not None and best.result is not None:
        accepted = Accepted(
            candidate=best.result.candidate,
            quality=best.result.quality,
            verdict=best.result.verdict,
            lane=best.lane,
            fetched_at=best.answered_at,
        )
        return Served(accepted=accepted, attempts=kept)
    return _without_result(kept)


def _best(attempts: Iterable[Attempt]) -> Attempt | None:
    """Choose the best words; an instrumental claim counts only when no lane was out of order."""
    found = [attempt for attempt in attempts if attempt.result is not None]
    words = [a for a in found if a.result and a.result.quality >= Quality.UNSYNCED]
    if words:
        return max(words, key=_quality)  # of equal ones the first, so the earlier lane
    if any(attempt.answer.faulty for attempt in attempts):
        return None
    return found[0] if found else None


def _quality(attempt: Attempt) -> Quality:
    return attempt.result.quality if attempt.result else Quality.NONE


def _conflict(attempts: Iterable[Attempt]) -> tuple[str, str] | None:
    """Name two lanes whose words are certainly those of different songs."""
    texts = [
        (attempt.lane, words)
        for attempt in attempts
        if attempt.result is not None
        and attempt.result.quality >= Quality.UNSYNCED
        and (words := words_only(attempt.result.candidate))
    ]
    pairs = combinations(texts, 2)
    return next(((a, b) for (a, one), (b, other) in pairs if texts_conflict(one, other)), None)


def _without_result(attempts: tuple[Attempt, ...]) -> Outcome:
    waiting = [attempt for attempt in attempts if attempt.waiting]
    if waiting:
        first = waiting[0]
        known = [attempt.until for attempt in waiting if attempt.until is not None]
        return Unjudged(
            until=min(known) if known else None,
            lane=first.lane,
            answer=first.answer,
            text=first.text,
            attempts=attempts,
        )
    faulty = next((attempt for attempt in attempts if attempt.answer.faulty), None)
    if faulty is not None:
        known_reason = faulty.reason if faulty.reason in BROKEN_REASONS else "upstream_error"
        reason = "bad_response" if faulty.answer is Answer.MALFORMED else known_reason
        return Broken(reason=reason, lane=faulty.lane, text=faulty.text, attempts=attempts)
    mismatch = next((a for a in attempts if a.answer is Answer.MISMATCH), None)
    if mismatch is not None:
        reason = REJECTED_REASONS.get(mismatch.reason, "rejected_match")
        return Missed(reason=reason, detail=mismatch.reason, rejected=True, attempts=attempts)
    return Missed(reason=_miss_reason(attempts), attempts=attempts)


def _miss_reason(attempts: Iterable[Attempt]) -> str:
    """Give the most telling reason: a song that was found but may not be shown, or has no words."""
    reasons = {attempt.reason for attempt in attempts}
    for reason in ("restricted", "no_lyrics"):
        if reason in reasons or (reason == "no_lyrics" and PLACEHOLDER in reasons):
            return reason
    return "not_found"
