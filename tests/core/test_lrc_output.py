"""Writing LRC text."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.core.cleaning import clean
from lyrsvc.core.lrc import read_header, read_lrc
from lyrsvc.core.lrc_output import (
    HeaderFacts,
    bilingual_lines,
    cue_lines,
    enhanced_lines,
    header_lines,
    header_value,
    stamp,
)
from lyrsvc.core.lyrics import Candidate, Cue, Matched, Word

WORDS = (Word(12480, "We "), Word(12780, "hung "), Word(13080, "low"))


@pytest.mark.spec("P-51")
@pytest.mark.seed("S-001")
@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (6_061_000, "101:01.00"),
        (59_999, "00:59.99"),
        (-500, "00:00.00"),
        (0, "00:00.00"),
        (9, "00:00.00"),
        (10, "00:00.01"),
        (3_599_999, "59:59.99"),
        (3_600_000, "60:00.00"),
        (1_500, "00:01.50"),
    ],
)
def test_hundredths_are_cut_and_minutes_grow(ms, text):
    assert stamp(ms) == text


def facts(**changes):
    return HeaderFacts(**{"artist": "A", "title": "T", "version": "1.2.3", **changes})


@pytest.mark.spec("P-50")
def test_the_header_has_its_order_and_cleaned_values():
    lines = header_lines(
        facts(
            artist="The [Quiet]\nFerry\u2028men\ufeff",
            title="\ufeffPaper \x00\t Lantern]",
            album="",
            length_ms=214_600,
            lane="lrclib",
            fetched_at=datetime(2026, 1, 31, 14, 5, 6, tzinfo=UTC),
            isrc="ZZXX12600417",
            mbid="0b0a1c2d-0000-4000-8000-000000000001",
        )
    )
    assert lines == [
        "[by:lyrsvc]",
        "[ar:The (Quiet) Ferry men]",
        "[ti:Paper Lantern)]",
        "[length:03:34]",
        "[source:lrclib]",
        "[fetched:2026-01-31T14:05:06Z]",
        "[ve:v1.2.3]",
        "[isrc:ZZXX12600417]",
        "[mbid:0b0a1c2d-0000-4000-8000-000000000001]",
    ]


def test_unknown_facts_and_blank_values_have_no_line():
    assert header_lines(facts(artist=" \n")) == ["[by:lyrsvc]", "[ti:T]", "[ve:v1.2.3]"]
    assert "[al:Low Tide]" in header_lines(facts(album="Low  Tide"))


def test_times_are_written_in_utc():
    zone = timezone(timedelta(hours=2))
    (line,) = header_lines(facts(fetched_at=datetime(2026, 1, 1, 1, 0, tzinfo=zone)))[3:4]
    assert line == "[fetched:2025-12-31T23:00:00Z]"


def test_a_length_over_an_hour_is_not_wrapped():
    assert "[length:101:01]" in header_lines(facts(length_ms=6_061_999))


def test_a_long_value_is_cut():
    assert header_value("x" * 600) == "x" * 500


@given(st.text(max_size=80))
def test_a_header_value_survives_being_read_again(text):
    value = header_value(text)
    value.encode()
    assert header_value(value) == value
    if value:
        assert read_header(f"[ti:{value}]") == {"ti": value}


@pytest.mark.spec("P-54")
@pytest.mark.parametrize("text", ["", " ", "\t\u3000", "\n"])
def test_a_line_without_words_is_written_as_a_note(text):
    assert cue_lines([Cue(1000, text)]) == ["[00:01.00]♪"]


def test_cues_are_written_in_order_of_time_without_a_blank_after_the_stamp():
    cues = [Cue(2000, " b\nc "), Cue(1000, "z"), Cue(1000, "a")]
    assert cue_lines(cues) == ["[00:01.00]z", "[00:01.00]a", "[00:02.00]b c"]


@pytest.mark.seed("S-019")
def test_a_translation_follows_its_original_under_the_same_stamp():
    cues = [
        Cue(1005, "one"),
        Cue(2000, ""),
        Cue(3000, "three"),
        Cue(4000, "four"),
        Cue(5000, "La la"),
    ]
    translation = [
        Cue(4000, "vier"),
        Cue(1005, "eins"),
        Cue(1004, "zu früh"),
        Cue(2000, "nichts"),
        Cue(3000, " "),
        Cue(5000, "LA  LA"),
    ]
    assert bilingual_lines(cues, translation) == [
        "[00:01.00]one",
        "[00:01.00]eins",
        "[00:02.00]♪",
        "[00:03.00]three",
        "[00:04.00]four",
        "[00:04.00]vier",
        "[00:05.00]La la",
    ]


def test_two_originals_at_one_time_take_their_translations_in_order():
    cues = [Cue(1000, "one"), Cue(1000, "two")]
    assert bilingual_lines(cues, [Cue(1000, "eins"), Cue(1000, "zwei")]) == [
        "[00:01.00]one",
        "[00:01.00]eins",
        "[00:01.00]two",
        "[00:01.00]zwei",
    ]


def test_an_enhanced_line_has_a_tag_per_word_and_a_closing_one():
    cue = Cue(12480, "We hung low", WORDS, 15600)
    assert enhanced_lines([cue]) == [
        "[00:12.48]<00:12.48>We <00:12.78>hung <00:13.08>low<00:15.60>"
    ]
    assert enhanced_lines([Cue(12480, "We hung low", WORDS)]) == [
        "[00:12.48]<00:12.48>We <00:12.78>hung <00:13.08>low"
    ]


def test_blanks_come_from_the_line_when_the_words_have_none():
    words = tuple(Word(word.ms, word.text.strip()) for word in WORDS)
    assert enhanced_lines([Cue(12480, "We hung low", words)]) == [
        "[00:12.48]<00:12.48>We <00:12.78>hung <00:13.08>low"
    ]


@pytest.mark.parametrize(
    "cue",
    [
        Cue(12480, "We hung high", WORDS),
        Cue(12480, "We hung low", tuple(Word(12480, word.text) for word in WORDS)),
        Cue(12480, "We hung low", (WORDS[0], Word(12000, "hung "), WORDS[2])),
        Cue(12480, "We hung low", ()),
        Cue(12480, "", (Word(1, " "), Word(2, " "))),
    ],
    ids=["other words", "all together", "falling", "none", "blank"],
)
def test_a_line_whose_words_cannot_be_trusted_stays_plain(cue):
    assert enhanced_lines([cue]) == cue_lines([cue])


texts = st.text(alphabet=st.one_of(st.characters(), st.sampled_from("[]<>:.0159 \n♪")), max_size=40)
moments = st.integers(-5000, 59_999_999)


@st.composite
def timed_cues(draw):
    words = draw(st.lists(st.tuples(moments, texts), max_size=4))
    return Cue(
        draw(moments),
        "".join(text for _, text in words) if draw(st.booleans()) else draw(texts),
        tuple(Word(ms, text) for ms, text in words),
        draw(st.none() | moments),
    )


@given(st.lists(timed_cues(), max_size=8))
def test_what_is_written_is_read_back_and_written_again_as_it_was(cues):
    cleaned = clean(Candidate(matched=Matched(), cues=tuple(cues))).cues
    for write in (cue_lines, enhanced_lines):
        once = write(cleaned)
        text = "\n".join(once)
        text.encode()
        again = read_lrc(text).cues
        assert write(again) == once
        assert len(again) == len(cleaned)
    times = [max(cue.ms, 0) // 10 * 10 for cue in cleaned]
    assert [cue.ms for cue in again] == times
