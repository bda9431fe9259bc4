"""Reading LRC text."""

import codecs
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.core.lrc import (
    MOST_CUES,
    decode,
    read_header,
    read_lrc,
    starts_with_stamp,
    without_stamps,
)
from lyrsvc.core.lyrics import Cue, Word


def cues_of(text):
    return [(cue.ms, cue.text) for cue in read_lrc(text).cues]


@pytest.mark.spec("P-03")
@pytest.mark.seed("S-001")
def test_header_offset_stacked_and_colon_stamps_are_understood_together():
    text = (
        "[ar:The Quiet Ferrymen]\r\n[ti:Paper Lantern Weather]\r\n[offset: 500]\r\n"
        "[00:12.98][01:04.55] We hung the paper lanterns low\r\n"
        "[00:16:47]and let the kitchen radio go\r\n[00:19.800]\r\n"
    )
    assert cues_of(text) == [
        (12480, "We hung the paper lanterns low"),
        (15970, "and let the kitchen radio go"),
        (19300, ""),
        (64050, "We hung the paper lanterns low"),
    ]
    assert read_lrc(text).header == {
        "ar": "The Quiet Ferrymen",
        "ti": "Paper Lantern Weather",
        "offset": "500",
    }


@pytest.mark.spec("P-51")
@pytest.mark.parametrize(
    ("stamp", "ms"),
    [
        ("[00:01.5]", 1500),
        ("[00:01.05]", 1050),
        ("[00:01.005]", 1005),
        ("[00:01:05]", 1050),
        ("[00:01]", 1000),
        ("[1:2.3]", 62300),
        ("[101:01.00]", 6_061_000),
        ("[999:59.999]", 59_999_999),
        ("[00:16,50]", 16_500),
        ("[00:15.5559]", 15_555),
        ("[00:15.555999999]", 15_555),
    ],
)
def test_fractions_of_any_usual_length_are_read_and_cut_to_thousandths(stamp, ms):
    assert cues_of(f"{stamp}x") == [(ms, "x")]


@pytest.mark.parametrize(
    "line",
    [
        "[00:60.00]x",
        "[1000:00.00]x",
        "[00:01.0000000000]x",
        "[00:01;00]x",
        "[٠٠:٠١.٠٠]x",
        "[:01]x",
        "[00:]x",
        "[-1:00]x",
    ],
)
def test_what_is_no_stamp_is_no_cue(line):
    assert cues_of(line) == []


def test_stacked_stamps_may_have_blanks_between_and_one_blank_after_them_goes():
    assert cues_of("[00:05.00] \t[00:01.00]  two blanks") == [
        (1000, " two blanks"),
        (5000, " two blanks"),
    ]


def test_stamps_inside_a_line_begin_new_cues():
    assert cues_of("[00:01.00]one [00:02.00]two [00:03.00][00:04.00]three[00:05.00]") == [
        (1000, "one"),
        (2000, "two"),
        (3000, "three"),
        (4000, "three"),
        (5000, ""),
    ]


def test_two_cues_at_one_time_keep_their_order():
    assert cues_of("[00:02.00]b\n[00:01.00]z\n[00:01.00]a") == [
        (1000, "z"),
        (1000, "a"),
        (2000, "b"),
    ]


@pytest.mark.parametrize(
    ("offset", "ms"),
    [
        ("[offset:500]", 9500),
        ("[offset:+500]", 9500),
        ("[offset: - 500 ]", 10500),
        ("[OFFSET:500]", 9500),
        ("[offset:]", 10000),
        ("[offset:soon]", 10000),
        ("[offset:20000]", -10000),
    ],
)
def test_a_positive_offset_means_earlier(offset, ms):
    assert cues_of(f"{offset}\n[00:10.00]x") == [(ms, "x")]
    assert cues_of(f"[00:10.00]x\n{offset}") == [(ms, "x")]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\u2028", "\u2029"])
def test_any_line_end_is_taken(end):
    assert cues_of(f"[ar:x]{end}{end}[00:01.00]a{end}[00:02.00]b{end}") == [
        (1000, "a"),
        (2000, "b"),
    ]


def test_word_tags_become_words():
    (cue,) = read_lrc("[00:12.48]<00:12.48>We <00:12.78>hung <00:13.08>low<00:15.60>").cues
    assert cue == Cue(
        12480, "We hung low", (Word(12480, "We "), Word(12780, "hung "), Word(13080, "low")), 15600
    )


def test_blanks_around_word_tags_belong_to_the_word_before():
    (cue,) = read_lrc("[00:01.00] <00:01.00> We <00:02.00> hung <00:03.00>").cues
    assert (cue.text, cue.words, cue.end_ms) == (
        "We hung",
        (Word(1000, "We "), Word(2000, "hung ")),
        3000,
    )


def test_words_before_the_first_tag_start_with_the_line():
    (cue,) = read_lrc("[00:01.00]We <00:02.00>hung").cues
    assert cue == Cue(1000, "We hung", (Word(1000, "We "), Word(2000, "hung")))


def test_the_offset_moves_words_too():
    (cue,) = read_lrc("[offset:1000]\n[00:02.00]<00:02.00>a <00:03.00>b<00:04.00>").cues
    assert cue == Cue(1000, "a b", (Word(1000, "a "), Word(2000, "b")), 3000)


def test_words_of_a_line_sung_twice_are_dropped():
    cues = read_lrc("[00:01.00][00:09.00]<00:01.00>a <00:02.00>b").cues
    assert cues == (Cue(1000, "a b"), Cue(9000, "a b"))


def test_the_header_ends_at_the_first_other_line_and_the_last_key_wins():
    text = "\ufeff\n\ufeff[AR: One ]\n\n[ar:Two]\n[isrc:GBAYE0601498]\n[00:01.00]x\n[mbid:no]"
    assert read_header(text) == {"ar": "Two", "isrc": "GBAYE0601498"}


def test_a_line_without_a_stamp_is_no_cue():
    assert cues_of("[ar:x]\nhello\nmeet me at [10:30] then\n[00:01.00]x") == [(1000, "x")]


@pytest.mark.spec("P-52")
def test_utf8_and_marked_utf16_are_decoded_and_other_bytes_are_not():
    text = "[00:01.00]tämä"
    assert decode(text.encode()) == text
    assert decode(codecs.BOM_UTF8 + text.encode()) == text
    assert decode(text.encode("utf-16")) == text
    assert decode(codecs.BOM_UTF16_BE + text.encode("utf-16-be")) == text
    assert decode("你好".encode("gbk")) is None
    assert decode(codecs.BOM_UTF16_LE + b"odd") is None
    assert decode(b"") == ""


def test_the_beginning_of_a_file_may_end_inside_a_character():
    assert decode("ab♪".encode()[:-1]) is None
    assert decode("ab♪".encode()[:-1], cut=True) == "ab"


@given(st.binary(max_size=400))
def test_no_bytes_crash_the_reader(data):
    text = decode(data)
    if text is not None:
        read_lrc(text)


@given(st.text(alphabet="[]<>:.0159 offsetab\n\r", max_size=200))
def test_no_text_crashes_the_reader(text):
    cues = read_lrc(text).cues
    assert list(cues) == sorted(cues, key=lambda cue: cue.ms)


@given(st.text(alphabet="[]<>:.0123 ab", max_size=80))
def test_a_line_without_stamps_has_none_left(text):
    bare = without_stamps(text)
    assert not starts_with_stamp(bare)
    assert without_stamps(bare) == bare


MIB = 1024 * 1024


@pytest.mark.parametrize(
    "text",
    [
        "[" * MIB,
        "<" * MIB,
        "[00:01.00]" + "[" * (MIB - 10),
        "[00:01.00]" + " " * (MIB - 10),
        "[00:01.00]" * (MIB // 10),
        "[00:01.00]x " * (MIB // 12),
        "[00:01.00]" + "<00:01.00>" * (MIB // 10 - 1),
        "[00:01.00]" + "<00:0" * (MIB // 10) + "1.00>" * (MIB // 10 - 2),
        "[00:01.00] " * (MIB // 22) + "x" * (MIB // 2),
        "[a:" + " " * (MIB - 4) + "]",
        "[offset:" + "1" * MIB + "]",
        "\n" * MIB,
        "[00:01.00]\r" * (MIB // 11),
        "[99:" * (MIB // 4),
    ],
    ids=lambda text: repr(text[:14]),
)
def test_hostile_text_is_read_in_time_proportional_to_its_length(text):
    began = time.process_time()
    cues = read_lrc(text).cues
    without_stamps(text)
    assert time.process_time() - began < 5
    assert len(cues) <= MOST_CUES
    assert sum(len(cue.text) for cue in cues) <= 2 * MIB


def test_a_line_of_one_mebibyte_is_read_and_a_longer_one_is_passed_over():
    stamp = "[00:01.00]"
    assert len(read_lrc(stamp + "x" * (MIB - len(stamp))).cues) == 1
    assert cues_of(stamp + "x" * MIB + "\n[00:02.00]y") == [(2000, "y")]
