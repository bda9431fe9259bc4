"""Cleaning an answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.core.cleaning import clean, clean_line, clean_lines
from lyrsvc.core.lrc import read_lrc
from lyrsvc.core.lyrics import Candidate, Cue, Matched, Word


def cleaned(plain=None, cues=(), **fields):
    candidate = Candidate(matched=Matched(), plain=plain, cues=tuple(cues), **fields)
    return clean(candidate)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\r\nb\rc\u2028d\u2029e\nf", "a\nb\nc\nd\ne\nf"),
        ("a\x00b\x07c\x1fd\x7fe\x85f\tg", "abcdef\tg"),
        ("\ufeffa\u200bb\u2060c", "abc"),
        ("go &amp; don&apos;t &#39;look&#x27; back", "go & don't 'look' back"),
        ("&amp;lt; &amp;amp;", "&lt; &amp;"),
        ("R&B you &notit; me &para dise AT&T; &#1;x", "R&B you &notit; me &para dise AT&T; x"),
        ("cafe\u0301", "café"),
        ("a&#13;&#10;b&#8203;c", "a\nbc"),
        ("a  \t\nb\u3000\n", "a\nb"),
        ("\n \n a\n\n\nb\n \n", " a\n\n\nb"),
        ("\ud83c\udfb5 \ud800 x", "🎵 \ufffd x"),
    ],
)
def test_characters_entities_and_blanks(text, expected):
    assert "\n".join(clean_lines(text)) == expected


def test_what_was_cleaned_is_not_cleaned_again():
    once = cleaned("&amp;lt; go\nback", cues=[Cue(1000, "&amp;amp; go")])
    assert (once.plain, once.cues[0].text) == ("&lt; go\nback", "&amp; go")
    assert clean(once) is once


def test_a_closing_notice_goes_and_entities_are_decoded():
    plain = (
        "We hung the paper lanterns low\n"
        "and let the kitchen radio go &amp; don&apos;t look back\n\n"
        "Tide comes in, tide goes slow\n...\n\n"
        "******* This Lyrics is NOT for Commercial use *******\n(1409624991032)"
    )
    assert cleaned(plain).plain == (
        "We hung the paper lanterns low\n"
        "and let the kitchen radio go & don't look back\n\n"
        "Tide comes in, tide goes slow"
    )


@pytest.mark.parametrize(
    "notice",
    [
        "\n*** some notice ***",
        "\n***\nsome notice\n***\n(12)",
        "\n*** some\nnotice ***\n[12]\n\n",
        "\n*** This Lyrics is NOT for Commercial use ***",
        "\n...\n*** some notice ***",
        "\n\n...\n\n\n*** a ***\n*** b ***\n(1)",
    ],
)
def test_forms_of_the_notice(notice):
    assert clean_lines(f"one\ntwo\n{notice}") == ["one", "two"]


@pytest.mark.parametrize(
    "text",
    [
        "one\ntwo\n...",
        "one\n(12)",
        "what the f***\nyou piece of s***",
        "one\n\n**** the rules\nthe rules are ****",
        "one\n**** all of ****",
        "*** a ***\n\nnot the last block",
        "one\n\n***",
        "one\n\n***\n***\n***",
    ],
)
def test_censored_words_and_dots_are_no_notice(text):
    assert "\n".join(clean_lines(text)) == text


@pytest.mark.spec("P-53")
@pytest.mark.seed("S-002")
def test_stamps_are_taken_out_of_plain_words():
    plain = "[ar:x]\nWe hung low\n[00:15.97] and [00:16.00]let go\n[00:17.00]<00:17.00>far <00:18.00>away\n[00:19.30]"
    assert cleaned(plain).plain == "We hung low\nand let go\nfar away"


@pytest.mark.spec("P-53")
def test_with_cues_stamped_plain_words_are_rebuilt_from_them():
    cues = [Cue(1000, "one"), Cue(2000, ""), Cue(2500, "♪"), Cue(3000, "two"), Cue(4000, "")]
    assert cleaned("x\n[00:01.00] y", cues).plain == "one\n\ntwo"


def test_a_bracket_with_a_time_in_the_middle_of_plain_words_stays():
    assert cleaned("meet me at [10:30] tonight").plain == "meet me at [10:30] tonight"


@pytest.mark.parametrize(
    "mark",
    [
        "♪ Instrumental ♪",
        "[Instrumental]",
        "[au: instrumental]",
        "[au:Instrumental]",
        "INSTRUMENTAL",
        "纯音乐，请欣赏",
        "\n♪\nInstrumental\n",
        "(Instrumental)",
    ],
)
@pytest.mark.seed("S-003")
def test_an_instrumental_mark_alone_is_a_flag_and_no_text(mark):
    for found in (cleaned(mark), cleaned(cues=[Cue(0, mark)])):
        assert (found.instrumental, found.plain, found.cues) == (True, None, ())


@pytest.mark.parametrize(
    "lines",
    [
        ("作曲 : 某人", "纯音乐，请欣赏"),
        ("作词：甲", "作曲：乙", "编曲：丙", "纯音乐，请欣赏"),
        ("[ar:Somebody]", "[au: instrumental]"),
        ("Instrumental", "Composed by: Somebody"),
    ],
)
@pytest.mark.seed("S-003")
def test_a_mark_beside_credits_and_tags_is_a_flag_too(lines):
    cues = [Cue(1000 * second, line) for second, line in enumerate(lines)]
    for found in (cleaned("\n".join(lines)), cleaned(cues=cues)):
        assert (found.instrumental, found.plain, found.cues) == (True, None, ())


@pytest.mark.parametrize("text", ["Instrumental\nand then words", "作曲 : 某人\n春天的花"])
def test_a_mark_or_credits_beside_words_are_no_flag(text):
    found = cleaned(text)
    assert (found.instrumental, found.plain) == (False, text)


def test_credits_alone_are_no_flag():
    assert not cleaned("作词 : 某人\n作曲 : 某人").instrumental


@pytest.mark.parametrize(
    "blank", ["", " \n ", "♪", "♪\n()\n🎵", "[ar:x]", "\ufeff&#8203;", "&nbsp;"]
)
def test_nothing_left_is_no_text(blank):
    assert cleaned(blank).plain is None
    assert cleaned(cues=[Cue(0, blank)]).cues == ()
    assert cleaned(blank).instrumental is False


def test_cues_are_cleaned_sorted_and_brought_into_one_line():
    found = cleaned(
        cues=[
            Cue(2000, "  b&amp;\nc "),
            Cue(1000, "[00:05.00]a <00:01.00>d"),
            Cue(3000, "x", (Word(1, "e\u0301&amp;\n"),)),
        ]
    )
    assert found.cues == (
        Cue(1000, "a d"),
        Cue(2000, "b& c"),
        Cue(3000, "x", (Word(1, "é& "),)),
    )


def test_a_notice_at_the_end_of_the_cues_goes_too():
    cues = [Cue(1, "one"), Cue(2, "..."), Cue(3, "*** NOT for Commercial use ***"), Cue(4, "(12)")]
    assert cleaned(cues=cues).cues == (Cue(1, "one"),)


def test_translations_are_cleaned_and_blank_ones_dropped():
    found = cleaned(translation=(Cue(2, " b&amp; "), Cue(1, " ")))
    assert found.translation == (Cue(2, "b&"),)
    assert cleaned().translation is None


def test_a_long_line_under_many_stamps_does_not_grow():
    text = "[00:01.00]" * 50_000 + "x" * 500_000
    found = cleaned("[00:01.00]x", read_lrc(text).cues)
    assert len(found.plain) < 10


@given(st.text(max_size=200))
def test_any_text_can_be_cleaned_and_encoded(text):
    found = cleaned(text, [Cue(0, text)])
    for piece in (found.plain or "", *(cue.text for cue in found.cues)):
        piece.encode()
        assert "\r" not in piece
        assert piece == piece.rstrip()
    assert "\n" not in clean_line(text)
