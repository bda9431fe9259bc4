"""Judging a candidate: cleaned once, then every guard in order; the strictest verdict counts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from lyrsvc.core.cleaning import clean
from lyrsvc.core.content import is_instrumental_claim, judge_content
from lyrsvc.core.lyrics import Candidate, Quality
from lyrsvc.core.matching import judge_match, rank
from lyrsvc.core.recording import Recording
from lyrsvc.core.result import original_lines, quality_of
from lyrsvc.core.scripts import judge_script
from lyrsvc.core.timing import judge_timing
from lyrsvc.core.verdict import Decision, Evidence, Verdict
from lyrsvc.core.versions import SAME_CUT_MS

RULES_VERSION: Final = 1
"""Raised when a guard's rules change, so that earlier misses are looked at again."""

_STRICTNESS: Final = (Decision.ACCEPT, Decision.UNSYNCED_ONLY, Decision.REJECT)


@dataclass(frozen=True, kw_only=True, slots=True)
class GuardPolicy:
    """What the operator wants of the guards; no accepted script means no script guard."""

    accepted_scripts: tuple[str, ...] = ()
    script_threshold: float = 0.20
    word_output: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """A cleaned candidate, the verdict on it, and how good it is for the asked recording."""

    candidate: Candidate
    verdict: Verdict
    quality: Quality


def judge(recording: Recording, candidate: Candidate, policy: GuardPolicy) -> Judgement:
    """Judge an answer of a lane as it came."""
    return judge_again(recording, clean(candidate), policy)


def judge_again(recording: Recording, candidate: Candidate, policy: GuardPolicy) -> Judgement:
    """Judge a candidate that was cleaned before, with the data of this recording."""
    verdict = judge_match(recording, candidate.matched)
    if not verdict.rejected:
        candidate, content = judge_content(candidate, asked_ms=recording.duration_ms)
        verdict = _stricter(verdict, content)
    if not verdict.rejected and not is_instrumental_claim(candidate):
        verdict = _stricter(verdict, _judge_timing(recording, candidate))
        verdict = _stricter(verdict, _judge_script(candidate, verdict, policy))
    quality = quality_of(candidate, verdict.decision, word_output=policy.word_output)
    return Judgement(candidate=candidate, verdict=verdict, quality=quality)


def best_of(judgements: Sequence[Judgement]) -> Judgement | None:
    """Choose among the candidates of one lane; None when none may be used."""
    usable = [
        (index, judged.verdict, judged.quality)
        for index, judged in enumerate(judgements)
        if judged.quality > Quality.NONE
    ]
    ranked = [judgements[index] for index, _, _ in rank(usable)]
    if ranked and ranked[0].quality is Quality.INSTRUMENTAL:
        return next(filter(_is_near_text, ranked), ranked[0])
    return ranked[0] if ranked else None


def _is_near_text(judged: Judgement) -> bool:
    """Tell words of about the asked length: they beat an instrumental row of their lane."""
    delta_s = judged.verdict.delta_s
    near = delta_s is not None and delta_s * 1000 <= SAME_CUT_MS
    return near and judged.quality >= Quality.UNSYNCED


def _judge_timing(recording: Recording, candidate: Candidate) -> Verdict:
    return judge_timing(
        candidate.cues,
        file_ms=recording.duration_ms,
        answered_ms=candidate.matched.duration_ms,
    )


def _judge_script(candidate: Candidate, verdict: Verdict, policy: GuardPolicy) -> Verdict:
    return judge_script(
        original_lines(candidate, verdict.decision),
        accepted=policy.accepted_scripts,
        threshold=policy.script_threshold,
    )


def _stricter(present: Verdict, other: Verdict) -> Verdict:
    """Keep the relations of the match, take decision and reason of the stricter guard."""
    if _STRICTNESS.index(other.decision) <= _STRICTNESS.index(present.decision):
        return present
    evidence = Evidence.NONE if other.rejected else present.evidence
    return replace(present, decision=other.decision, reason=other.reason, evidence=evidence)
