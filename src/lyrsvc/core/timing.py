"""The timing guard: whether stamps fit the audio file they shall stand beside.

Every file is judged with its own length. A song whose words are right and
whose stamps are not keeps its words.
"""

from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import Final

from lyrsvc.core.lyric_lines import is_text_bearing
from lyrsvc.core.lyrics import Candidate, Cue
from lyrsvc.core.verdict import Decision, Verdict

PATTERN_CUES: Final = 10
PATTERN_SPREAD_MS: Final = 50
OVERRUN_MS: Final = 2000
LONG_FILE_MS: Final = 90_000

_KEEP: Final = Verdict(decision=Decision.ACCEPT, reason="")


def judge_timing(cues: Sequence[Cue], *, file_ms: int | None, answered_ms: int | None) -> Verdict:
    """Say whether stamps may be kept; an unknown length is None or 0.

    A time before the start, as a large offset makes it, is judged as it would be written: as 0.
    """
    times = sorted(max(cue.ms, 0) for cue in cues if is_text_bearing(cue.text))
    if len(times) < 2:
        return _judge_end(times, file_ms, answered_ms)
    if times[0] == times[-1]:
        return _words_only("timing_degenerate")
    if len(times) >= PATTERN_CUES and _is_even(times):
        return _words_only("timing_degenerate") if answered_ms else _reject("decoy_pattern")
    return _judge_end(times, file_ms, answered_ms)


def words_only(candidate: Candidate) -> str | None:
    """Give the words without stamps: the candidate's own text, else that of its cues."""
    return candidate.plain or words_of_cues(candidate.cues)


def words_of_cues(cues: Sequence[Cue]) -> str | None:
    """Join the lines that hold words; every run of other lines becomes one blank line."""
    lines: list[str] = []
    for bearing, run in groupby((cue.text for cue in cues), is_text_bearing):
        lines += list(run) if bearing else [""]
    return "\n".join(lines).strip("\n") or None


def _judge_end(times: Sequence[int], file_ms: int | None, answered_ms: int | None) -> Verdict:
    if not times or not file_ms:
        return _KEEP
    end_ms = times[-1]
    if end_ms > file_ms + OVERRUN_MS:
        if 2 * end_ms >= 3 * file_ms:
            return _reject("timing_other_recording")
        return _words_only("timing_overrun")
    if not answered_ms and file_ms >= LONG_FILE_MS and 10 * end_ms < 4 * file_ms:
        return _words_only("timing_short")
    return _KEEP


def _is_even(times: Sequence[int]) -> bool:
    gaps = [later - earlier for earlier, later in pairwise(times)]
    return max(gaps) - min(gaps) <= PATTERN_SPREAD_MS


def _words_only(reason: str) -> Verdict:
    return Verdict(decision=Decision.UNSYNCED_ONLY, reason=reason)


def _reject(reason: str) -> Verdict:
    return Verdict(decision=Decision.REJECT, reason=reason)
