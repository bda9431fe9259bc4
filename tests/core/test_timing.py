"""The timing guard."""

import pytest

from lyrsvc.core.lyric_lines import is_text_bearing
from lyrsvc.core.lyrics import Candidate, Cue, Matched
from lyrsvc.core.timing import judge_timing, words_only

KEEP = ("accept", "")


def judged(times, *, file_s, answered_s=None):
    verdict = judge_timing(
        [Cue(round(time * 1000), f"line {time}") for time in times],
        file_ms=None if file_s is None else round(file_s * 1000),
        answered_ms=None if answered_s is None else round(answered_s * 1000),
    )
    return verdict.decision.value, verdict.reason


def ending(last):
    return [0, last / 3, last]


@pytest.mark.spec("P-45")
@pytest.mark.parametrize(
    ("times", "answered_s", "expected"),
    [
        (ending(203), 200, ("accept_unsynced_only", "timing_overrun")),
        (ending(280), 200, ("accept_unsynced_only", "timing_overrun")),
        (ending(320), 200, ("reject", "timing_other_recording")),
        ([0] * 12, 200, ("accept_unsynced_only", "timing_degenerate")),
        ([0] * 12, None, ("accept_unsynced_only", "timing_degenerate")),
        (range(206), 200, ("accept_unsynced_only", "timing_degenerate")),
        (range(206), None, ("reject", "decoy_pattern")),
        (range(206), 0, ("reject", "decoy_pattern")),
    ],
)
def test_cues_that_cannot_be_those_of_the_file(times, answered_s, expected):
    assert judged(times, file_s=200, answered_s=answered_s) == expected


@pytest.mark.parametrize(
    ("times", "file_s", "answered_s", "expected"),
    [
        (ending(202), 200, 200, KEEP),
        (ending(202.001), 200, 200, ("accept_unsynced_only", "timing_overrun")),
        (ending(300), 200, 200, ("reject", "timing_other_recording")),
        (ending(299.999), 200, 200, ("accept_unsynced_only", "timing_overrun")),
        (ending(4), 3, 3, KEEP if 4 <= 5 else None),
        (ending(500), None, None, KEEP),
        (ending(500), 0, None, KEEP),
        (ending(79.9), 200, None, ("accept_unsynced_only", "timing_short")),
        (ending(79.9), 200, 200, KEEP),
        (ending(80), 200, None, KEEP),
        (ending(10), 89.9, None, KEEP),
        ([5], 200, 200, KEEP),
        ([500], 200, 200, ("reject", "timing_other_recording")),
        ([], 200, None, KEEP),
        ([3, 3], 200, 200, ("accept_unsynced_only", "timing_degenerate")),
        (range(0, 90, 10), 100, None, KEEP),
        ([*range(0, 90, 10), 90.05], 100, None, ("reject", "decoy_pattern")),
        ([*range(0, 90, 10), 90.051], 100, None, KEEP),
    ],
)
def test_bounds_of_the_timing_guard(times, file_s, answered_s, expected):
    assert judged(times, file_s=file_s, answered_s=answered_s) == expected


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ((-90, -85.5, -80, -74), ("accept_unsynced_only", "timing_degenerate")),
        ((-90, -85.5, -80, 0), ("accept_unsynced_only", "timing_degenerate")),
        ((-1, 4, 9.5, 150), KEEP),
    ],
)
def test_times_before_the_start_are_judged_as_they_would_be_written(times, expected):
    assert judged(times, file_s=200, answered_s=200) == expected


def test_only_lines_with_words_count():
    cues = [Cue(0, "a"), Cue(5000, "b"), Cue(900_000, "♪"), Cue(950_000, "[by:x]")]
    assert judge_timing(cues, file_ms=10_000, answered_ms=10_000).accepted


@pytest.mark.parametrize(
    ("line", "bears"),
    [
        ("words", True),
        ("  ", False),
        ("♪", False),
        ("♩ ♪ ♫ ♬ 🎵 🎶", False),
        ("( ♪ ) [ ]", False),
        ("🎵\ufe0f", False),
        ("♪ Instrumental ♪", False),
        ("♫ INSTRUMENTAL ♫", False),
        ("Instrumental", True),
        ("♪ la la ♪", True),
        ("[ar:Somebody]", False),
        ("[Chorus]", True),
        ("[by:x] words", True),
        ("...", True),
        ("「」", False),
    ],
)
def test_which_lines_bear_text(line, bears):
    assert is_text_bearing(line) is bears


def test_the_words_alone_are_the_plain_text_or_else_the_cues():
    cues = (Cue(0, "♪"), Cue(1, "a"), Cue(2, ""), Cue(3, "♪"), Cue(4, "b"), Cue(5, "c"), Cue(6, ""))
    assert words_only(Candidate(matched=Matched(), cues=cues, plain="own")) == "own"
    assert words_only(Candidate(matched=Matched(), cues=cues)) == "a\n\nb\nc"
    assert words_only(Candidate(matched=Matched(), cues=(Cue(0, "♪"),))) is None
