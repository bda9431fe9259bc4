"""Sanity of the words."""

import string
from itertools import cycle

import pytest

from lyrsvc.core.content import (
    is_instrumental_claim,
    judge_content,
    texts_conflict,
)
from lyrsvc.core.lyrics import Candidate, Cue, Matched

SONG = "one line of words\nanother line of words\na third line"


def a_candidate(plain=None, cues=(), **fields):
    return Candidate(matched=Matched(), plain=plain, cues=tuple(cues), **fields)


def reason(candidate, asked_ms=180_000):
    _, verdict = judge_content(candidate, asked_ms=asked_ms)
    assert verdict.rejected == bool(verdict.reason)
    return verdict.reason


@pytest.mark.spec("P-46")
def test_one_sentence_for_a_long_track_is_too_little():
    assert reason(a_candidate("Only one sentence here")) == "too_few_lines"
    assert reason(a_candidate(cues=[Cue(0, "Only one sentence here")])) == "too_few_lines"


@pytest.mark.parametrize(
    ("text", "asked_ms", "expected"),
    [
        ("one line", 60_000, ""),
        ("one line", 60_001, "too_few_lines"),
        ("one line\n♪\n[by:x]", 60_001, "too_few_lines"),
        ("one line\ntwo", 60_001, ""),
        ("x" * 39, None, "too_few_lines"),
        ("x" * 39, 0, "too_few_lines"),
        ("x" * 40, None, ""),
        ("1 2 3 4 5 6 7 8 9 0 " * 9, None, "too_few_lines"),
        ("a\nb", None, ""),
    ],
)
def test_bounds_of_too_few_lines(text, asked_ms, expected):
    assert reason(a_candidate(text), asked_ms) == expected


def test_few_words_beside_an_instrumental_flag_are_a_claim():
    candidate = a_candidate("one line", instrumental=True)
    assert reason(candidate) == ""
    assert is_instrumental_claim(candidate)
    assert is_instrumental_claim(a_candidate("a\nb\nc", instrumental=True))
    assert not is_instrumental_claim(a_candidate("a\nb\nc\nd", instrumental=True))
    assert not is_instrumental_claim(a_candidate("a"))


@pytest.mark.spec("P-46")
@pytest.mark.parametrize(
    "text",
    [
        "Lyrics not available.",
        "[ No lyrics found ]",
        "LYRICS COMING SOON!!!",
        "Lyrics will be added soon…",
        "We do not have\nthe lyrics",
        "*** Not licensed for display ***",
        "+ Add lyrics",
        "Lyrics wanted?",
    ],
)
def test_a_placeholder_is_a_miss(text):
    assert reason(a_candidate(text), 30_000) == "placeholder_text"


def test_a_song_that_mentions_a_placeholder_is_none():
    assert reason(a_candidate("No lyrics found\nin my empty head tonight")) == ""


@pytest.mark.spec("P-46")
@pytest.mark.parametrize(
    "link",
    [
        "http://x.example",
        "see https://x",
        "WWW.x.example",
        "follow @name",
        "discord.gg/x",
        "t.me/x",
    ],
)
def test_links_in_half_of_the_lines_are_spam(link):
    assert reason(a_candidate(f"words\n{link}")) == "spam_text"
    assert reason(a_candidate(f"words\nmore\n{link}")) == ""


@pytest.mark.parametrize("line", ["not.me/you", "you @ me", "a@b", "httpsomething", "wwwords"])
def test_words_that_look_a_little_like_links_are_words(line):
    assert reason(a_candidate(f"{line}\n{line}")) == ""


def test_no_song_is_that_long():
    assert reason(a_candidate("a\n" * 4999 + "a")) == ""
    assert reason(a_candidate("a\n" * 5000 + "a")) == "too_long"
    assert reason(a_candidate("ab" * 49_999 + "\n" + "cd" * 50_000)) == ""
    assert reason(a_candidate("ab" * 50_000 + "\n" + "cd" * 50_000)) == "too_long"


def test_the_good_one_of_two_texts_is_kept():
    lines = tuple(Cue(at, line) for at, line in enumerate(SONG.split("\n")))
    kept, verdict = judge_content(a_candidate("Lyrics not available", lines), asked_ms=180_000)
    assert (kept.plain, kept.cues, verdict.accepted) == (None, lines, True)
    kept, verdict = judge_content(
        a_candidate(SONG, [Cue(0, "one")], translation=(Cue(0, "eins"),)), asked_ms=180_000
    )
    assert (kept.plain, kept.cues, kept.translation) == (SONG, (), None)
    assert verdict.accepted


def test_a_placeholder_beside_an_instrumental_flag_leaves_the_claim():
    kept, verdict = judge_content(
        a_candidate("Lyrics not available", instrumental=True), asked_ms=180_000
    )
    assert (kept.plain, kept.instrumental, verdict.accepted) == (None, True, True)


def words(letters, count=20):
    return " ".join(a + b + letters for a in letters for b in letters)[: 4 * 400].split()[:count]


FIRST = " ".join(words(string.ascii_lowercase[:5]))
SECOND = " ".join(words(string.ascii_lowercase[5:10]))


def test_two_disjoint_texts_of_one_script_conflict():
    assert texts_conflict(FIRST, SECOND)
    assert texts_conflict(SECOND, FIRST)


def test_one_text_in_the_characters_of_two_countries_is_no_conflict():
    taiwan = "亂亞來俠個們偉傑傷億優兒內兩冊凍別則剛創勝動務勞勢區協參員單"
    mainland = "乱亚来侠个们伟杰伤亿优儿内两册冻别则刚创胜动务劳势区协参员单"
    assert not texts_conflict(taiwan, mainland)
    assert texts_conflict(taiwan, "国围园圆图团执坚报场块尘声处备复夺奋妇妈孙学宁宝实审写将")


@pytest.mark.parametrize(
    ("letters", "marks"),
    [
        ("بتثجح", "\u064b\u064e\u064f\u0650\u0651\u0652"),
        ("בגדהו", "\u05b0\u05b4\u05b7\u05b8\u05bc"),
        ("авгде", "\u0301"),
    ],
    ids=["arabic", "hebrew", "cyrillic"],
)
def test_one_text_with_and_without_vowel_signs_is_no_conflict(letters, marks):
    bare = words(letters)
    signed = [f"{word[0]}{sign}{word[1:]}" for word, sign in zip(bare, cycle(marks), strict=False)]
    assert not texts_conflict(" ".join(bare), " ".join(signed))
    others = "".join(chr(ord(letter) + 9) for letter in letters)
    assert texts_conflict(" ".join(words(others)), " ".join(signed))


def test_one_shared_word_few_words_or_another_script_are_no_conflict():
    shared = FIRST.split()[0]
    assert not texts_conflict(FIRST, f"{SECOND} {shared.upper()}!")
    assert not texts_conflict(FIRST, " ".join(words(string.ascii_lowercase[5:10], 19)))
    assert not texts_conflict(FIRST, " ".join(words("бвгдж")))
    assert not texts_conflict(FIRST, "")
    assert not texts_conflict("", "")


def test_short_words_do_not_count():
    few = " ".join(words(string.ascii_lowercase[:5], 19))
    assert not texts_conflict(f"{few} ab cd", SECOND)


def test_scripts_without_blanks_are_compared_by_runs_of_letters():
    verse = "春天的花开满了整个山坡我们一起走过那条小路直到黄昏来临"
    assert not texts_conflict(verse, f"啊\n{verse[5:]}哦")
    other = "海风吹动船帆渔夫唱着古老旋律星光照亮他回家方向永不迷失"
    assert texts_conflict(verse, other)
