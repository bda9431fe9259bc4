"""What an attempt leaves behind, so that the next one does not ask again.

``Found`` points to lyrics that are stored but not yet written everywhere,
``Detected`` to what the audio classifier said, ``Partial`` holds what some lanes
answered while another could not be asked.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from lyrsvc.core.lyrics import Matched
from lyrsvc.core.outcome import Answer, Attempt
from lyrsvc.core.ptext import clean_text
from lyrsvc.core.verdict import Decision, Evidence, Verdict

ANSWERS_KEPT: Final = timedelta(hours=24)
LONGEST_TEXT: Final = 300


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """Lyrics in the cache, the lane they are from, and the answers still to be credited."""

    cache_id: int
    lane: str
    answers: tuple[Attempt, ...] = ()
    fetched_at: datetime | None = None
    from_cache: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Detected:
    """The classifier found no voice; its scores, and the lanes' answers before it."""

    version: str
    scores: Mapping[str, float | str | None] = field(default_factory=dict)
    answers: tuple[Attempt, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Partial:
    """Answers of lanes, and how often in a row the item was given back for a skipped lane."""

    answers: tuple[Attempt, ...] = ()
    releases: int = 0


Resume = Found | Detected | Partial


def fresh_answers(resume: Resume | None, now: datetime) -> dict[str, Attempt]:
    """Give the lanes' answers that are young enough to be used again, by lane."""
    if not isinstance(resume, Partial):
        return {}
    return {
        answer.lane: answer
        for answer in resume.answers
        if answer.answered_at is not None and timedelta() <= now - answer.answered_at < ANSWERS_KEPT
    }


def to_text(resume: Resume | None) -> str | None:
    """Write it down as JSON."""
    if resume is None:
        return None
    return clean_text(json.dumps(_members(resume), ensure_ascii=False, separators=(",", ":")))


def from_text(text: str | None) -> Resume | None:
    """Read it back; what cannot be understood is as good as nothing left behind."""
    if not text:
        return None
    try:
        return _read(json.loads(text))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def evidence_of(attempt: Attempt) -> dict[str, Any]:
    """Give the evidence that is kept of an attempt: whom it matched, and how well."""
    evidence: dict[str, Any] = {}
    if attempt.matched is not None and attempt.matched.ids:
        evidence["ids"] = list(attempt.matched.ids)
    verdict = attempt.verdict
    if verdict is not None:
        evidence |= {
            "delta_s": verdict.delta_s,
            "title": str(verdict.title),
            "artist": str(verdict.artist),
            "version": str(verdict.version),
            "class": str(verdict.evidence),
        }
    return evidence


def _members(resume: Resume) -> dict[str, Any]:
    answers = [_answer(one) for one in resume.answers]
    match resume:
        case Found():
            fetched = resume.fetched_at.isoformat() if resume.fetched_at else None
            return {
                "kind": "result",
                "cache_id": resume.cache_id,
                "lane": resume.lane,
                "answers": answers,
                "fetched_at": fetched,
                "from_cache": resume.from_cache,
            }
        case Detected():
            return {
                "kind": "detector",
                "version": resume.version,
                "scores": dict(resume.scores),
                "answers": answers,
            }
        case Partial():
            return {"kind": "partial", "answers": answers, "releases": resume.releases}


def _answer(attempt: Attempt) -> dict[str, Any]:
    return {
        "lane": attempt.lane,
        "verdict": str(attempt.answer),
        "at": attempt.answered_at.isoformat() if attempt.answered_at else None,
        "reason": attempt.reason,
        "text": attempt.text[:LONGEST_TEXT],
        "guard": asdict(attempt.verdict) if attempt.verdict else None,
        "ids": list(attempt.matched.ids) if attempt.matched else [],
    }


def _read(members: Mapping[str, Any]) -> Resume | None:
    answers = tuple(map(_attempt, members.get("answers", ())))
    match members["kind"]:
        case "result":
            return Found(
                cache_id=int(members["cache_id"]),
                lane=str(members["lane"]),
                answers=answers,
                fetched_at=_moment(members.get("fetched_at")),
                from_cache=bool(members.get("from_cache")),
            )
        case "detector":
            return Detected(
                version=str(members["version"]), scores=dict(members["scores"]), answers=answers
            )
        case "partial":
            return Partial(answers=answers, releases=max(0, int(members.get("releases", 0))))
        case _:
            return None


def _attempt(members: Mapping[str, Any]) -> Attempt:
    ids: Sequence[str] = members.get("ids") or ()
    return Attempt(
        lane=str(members["lane"]),
        answer=Answer(members["verdict"]),
        reason=str(members.get("reason", "")),
        text=str(members.get("text", "")),
        verdict=verdict_from(members.get("guard")),
        matched=Matched(ids=tuple(map(str, ids))) if ids else None,
        answered_at=_moment(members.get("at")),
    )


def verdict_from(members: Mapping[str, Any] | None) -> Verdict | None:
    """Read a verdict back from its members."""
    if not members:
        return None
    return Verdict(
        **{
            **members,
            "decision": Decision(members["decision"]),
            "evidence": Evidence(members["evidence"]),
        }
    )


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
