"""The result of a lookup: a candidate that survived every guard, ready to be written."""

from dataclasses import dataclass
from datetime import datetime

from lyrsvc.core.content import is_instrumental_claim
from lyrsvc.core.lrc_output import is_enhanceable
from lyrsvc.core.lyric_lines import is_text_bearing
from lyrsvc.core.lyrics import Candidate, Quality
from lyrsvc.core.timing import words_only
from lyrsvc.core.verdict import Decision, Verdict


@dataclass(frozen=True, kw_only=True, slots=True)
class Accepted:
    """A candidate, how good it is for the file at hand, who gave it and when.

    Results from the cache keep the lane and time of the first fetch; ``lane``
    is ``embedded`` for words taken from the audio file's own tags.
    """

    candidate: Candidate
    quality: Quality
    verdict: Verdict
    lane: str = ""
    fetched_at: datetime | None = None


def quality_of(candidate: Candidate, decision: Decision, *, word_output: bool = False) -> Quality:
    """Tell how good a candidate is; words count above lines only when they are wanted."""
    if decision is Decision.REJECT:
        return Quality.NONE
    if is_instrumental_claim(candidate):
        return Quality.INSTRUMENTAL
    if decision is Decision.ACCEPT and any(is_text_bearing(cue.text) for cue in candidate.cues):
        has_words = word_output and any(map(is_enhanceable, candidate.cues))
        return Quality.WORD_SYNCED if has_words else Quality.SYNCED
    return Quality.UNSYNCED if words_only(candidate) else Quality.NONE


def original_lines(candidate: Candidate, decision: Decision) -> list[str]:
    """Give the lines that would be written, without translations; the script guard reads them."""
    if decision is Decision.ACCEPT and candidate.cues:
        return [cue.text for cue in candidate.cues]
    return (words_only(candidate) or "").split("\n")
