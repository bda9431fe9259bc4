"""Every guard in order, and the strictest verdict counts."""

from dataclasses import replace

import pytest

from lyrsvc.core.judging import GuardPolicy, best_of, judge, judge_again
from lyrsvc.core.lyrics import Candidate, Cue, Matched, Quality, Word
from lyrsvc.core.recording import Recording
from lyrsvc.core.verdict import Decision, Evidence

ASKED = Recording(
    title="Paper Lantern Weather",
    artist="The Quiet Ferrymen",
    album="Low Tide Almanac",
    duration_ms=214_000,
)
MATCHED = Matched(
    title="Paper Lantern Weather", artist="The Quiet Ferrymen", duration_ms=214_500, ids=("1",)
)
LINES = ("We hung the lanterns", "before the weather came", "and the river knew", "all the rest")
OFF = GuardPolicy()


def synced(*times_s: float, lines=LINES, **fields) -> Candidate:
    moments = times_s or (12.4, 16.0, 40.3, 180.9)
    cues = tuple(Cue(int(s * 1000), line) for s, line in zip(moments, lines, strict=True))
    return Candidate(**{"matched": MATCHED, "cues": cues, **fields})


def plain(text: str = "\n".join(LINES), **fields) -> Candidate:
    return Candidate(**{"matched": MATCHED, "plain": text, **fields})


def told(candidate: Candidate, asked: Recording = ASKED, policy: GuardPolicy = OFF):
    judged = judge(asked, candidate, policy)
    return judged.verdict.decision, judged.verdict.reason, judged.quality


def test_the_right_song_is_accepted_with_its_timing():
    assert told(synced()) == (Decision.ACCEPT, "ok_strong", Quality.SYNCED)
    assert told(plain()) == (Decision.ACCEPT, "ok_strong", Quality.UNSYNCED)


def test_words_are_cleaned_before_they_are_judged():
    raw = plain("We hung &amp; hung\r\nbefore\u200b the weather\x00 came\n")
    judged = judge(ASKED, raw, OFF)
    assert judged.candidate.plain == "We hung & hung\nbefore the weather came"
    twice = plain("one &amp;lt; two\nthree and four")
    once = judge(ASKED, twice, OFF).candidate
    assert once.plain == "one &lt; two\nthree and four"
    assert judge_again(ASKED, once, OFF).candidate.plain == once.plain, "never cleaned twice"


def test_a_wrong_song_is_rejected_whatever_its_words():
    other = replace(MATCHED, title="Another Song")
    assert told(synced(matched=other)) == (Decision.REJECT, "title_mismatch", Quality.NONE)


@pytest.mark.spec("P-46")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("one sentence", "too_few_lines"),
        ("Lyrics not available!", "placeholder_text"),
        ("visit www.example.com\njoin discord.gg/x", "spam_text"),
        ("la\n" * 5001, "too_long"),
    ],
)
def test_texts_that_are_no_song_are_rejected(text, reason):
    assert told(plain(text)) == (Decision.REJECT, reason, Quality.NONE)


@pytest.mark.spec("P-45")
@pytest.mark.parametrize(
    ("last_s", "decision", "reason", "quality"),
    [
        (215.9, Decision.ACCEPT, "ok_strong", Quality.SYNCED),
        (217.1, Decision.UNSYNCED_ONLY, "timing_overrun", Quality.UNSYNCED),
        (300.0, Decision.UNSYNCED_ONLY, "timing_overrun", Quality.UNSYNCED),
        (342.0, Decision.REJECT, "timing_other_recording", Quality.NONE),
    ],
)
def test_stamps_past_the_end_cost_the_timing_or_everything(last_s, decision, reason, quality):
    assert told(synced(12, 16, 40, last_s)) == (decision, reason, quality)


@pytest.mark.spec("P-45")
def test_stamps_all_at_one_time_cost_the_timing():
    assert told(synced(0, 0, 0, 0))[1:] == ("timing_degenerate", Quality.UNSYNCED)


def test_the_strictest_verdict_counts_and_the_relations_stay():
    near = replace(MATCHED, duration_ms=219_000)
    judged = judge(ASKED, synced(matched=near), OFF)
    assert (judged.verdict.reason, judged.quality) == ("duration_near", Quality.UNSYNCED)
    worse = judge(ASKED, synced(12, 16, 40, 342, matched=near), OFF).verdict
    assert (worse.reason, worse.evidence) == ("timing_other_recording", Evidence.NONE)
    assert (worse.title, worse.artist, worse.delta_s) == ("equal", "equal", 5.0)
    equal = judge(ASKED, synced(12, 16, 40, 218, matched=near), OFF).verdict
    assert equal.reason == "duration_near", "of two equally strict the first one is told"


@pytest.mark.seed("S-017")
@pytest.mark.spec("P-47")
def test_the_script_guard_looks_at_what_would_be_written():
    russian = ("Мы повесили фонари", "перед самым дождём", "и река знала", "всё остальное")
    latin = GuardPolicy(accepted_scripts=("Latin",))
    assert told(synced(lines=russian), policy=latin)[1:] == ("script_guard", Quality.NONE)
    assert told(synced(lines=russian))[2] is Quality.SYNCED
    # Cues that may not be kept are not looked at: the plain words would be written.
    late = synced(12, 16, 40, 300, lines=russian, plain="\n".join(LINES))
    assert told(late, policy=latin)[1:] == ("timing_overrun", Quality.UNSYNCED)
    loose = GuardPolicy(accepted_scripts=("Latin",), script_threshold=1.0)
    assert told(synced(lines=russian), policy=loose)[2] is Quality.SYNCED


def test_an_instrumental_claim_needs_no_words():
    claim = Candidate(matched=MATCHED, instrumental=True)
    assert told(claim) == (Decision.ACCEPT, "ok_strong", Quality.INSTRUMENTAL)
    assert told(replace(claim, plain="one line"))[2] is Quality.INSTRUMENTAL
    assert told(replace(plain(), instrumental=True))[2] is Quality.UNSYNCED
    far = replace(MATCHED, duration_ms=400_000)
    assert told(replace(claim, matched=far))[2] is Quality.NONE


def test_words_with_times_count_more_only_when_they_are_wanted():
    words = (Word(12_400, "We "), Word(12_900, "hung "), Word(13_300, "the lanterns"))
    candidate = synced()
    timed = replace(candidate, cues=(replace(candidate.cues[0], words=words), *candidate.cues[1:]))
    assert told(timed)[2] is Quality.SYNCED
    assert told(timed, policy=GuardPolicy(word_output=True))[2] is Quality.WORD_SYNCED


def test_a_stored_result_is_judged_with_the_data_of_the_other_file():
    stored = judge(ASKED, synced(), OFF).candidate
    shorter = replace(ASKED, duration_ms=150_000)
    assert judge_again(shorter, stored, OFF).quality is Quality.NONE
    near = replace(ASKED, duration_ms=209_000)
    assert judge_again(near, stored, OFF).quality is Quality.UNSYNCED


def test_the_match_comes_before_the_quality_and_nothing_is_none():
    close, near = MATCHED, replace(MATCHED, duration_ms=219_000)
    judged = [judge(ASKED, c, OFF) for c in (synced(matched=near), plain(matched=close))]
    assert best_of(judged) is judged[1]
    assert best_of([]) is None
    rejected = judge(ASKED, synced(matched=replace(MATCHED, title="x")), OFF)
    assert best_of([rejected]) is None


@pytest.mark.spec("P-25")
def test_words_of_about_the_asked_length_beat_an_instrumental_row():
    album = replace(MATCHED, album="Low Tide Almanac", duration_ms=214_000)
    claim = judge(ASKED, Candidate(matched=album, instrumental=True), OFF)
    text = judge(ASKED, plain(), OFF)
    assert best_of([claim, text]) is text
    late = judge(ASKED, synced(12, 16, 40, 300), OFF)  # right length, wrong stamps
    assert late.verdict.decision is Decision.UNSYNCED_ONLY
    assert best_of([claim, late]) is late
    near = judge(ASKED, plain(matched=replace(MATCHED, duration_ms=219_000)), OFF)
    assert best_of([claim, near]) is claim
