"""The script guard."""

import unicodedata
from itertools import pairwise

import pytest

from lyrsvc.core.script_ranges import RANGES
from lyrsvc.core.scripts import (
    SCRIPT_NAMES,
    canonical_script,
    foreign_share,
    is_credit,
    judge_script,
    main_script,
    script_of,
    without_credits,
)

FRENCH = "Où vont les fleurs, l'été, où ça ?"
VIETNAMESE = "Người ơi đừng về, trời đã tối rồi"
FULL_WIDTH = "Ｈｅｌｌｏ ｗｏｒｌｄ"
RUSSIAN = "Ночь, улица, фонарь, аптека"
JAPANESE = ["作词：John Smith", "Music: Jane Doe", "夜の海を見ていた", "ずっと", "Arranged by：Bob"]


def passes(lines, *accepted, threshold=0.20):
    if isinstance(lines, str):
        lines = [lines]
    return judge_script(lines, accepted=accepted, threshold=threshold).accepted


@pytest.mark.spec("P-47")
@pytest.mark.seed("S-017")
@pytest.mark.parametrize(
    "text", [FRENCH, VIETNAMESE, unicodedata.normalize("NFD", VIETNAMESE), FULL_WIDTH]
)
def test_latin_in_every_dress_passes_for_latin(text):
    assert passes(text, "Latin")


@pytest.mark.spec("P-47")
@pytest.mark.seed("S-017")
def test_wrong_scripts_are_rejected():
    assert not passes(RUSSIAN, "Latin")
    assert not passes(JAPANESE, "Latin")
    verdict = judge_script([RUSSIAN], accepted=["Latin"], threshold=0.2)
    assert (verdict.rejected, verdict.reason) == (True, "script_guard")


@pytest.mark.spec("P-47")
@pytest.mark.seed("S-017")
def test_a_share_equal_to_the_threshold_passes_and_a_greater_one_does_not():
    assert passes("a" * 80 + "ж" * 20, "Latin")
    assert not passes("a" * 79 + "ж" * 21, "Latin")
    assert passes(RUSSIAN, "Latin", threshold=1)


@pytest.mark.spec("P-48")
@pytest.mark.seed("S-017")
def test_names_are_taken_in_any_case_and_unknown_ones_are_known_as_such():
    assert canonical_script("cyrillic") == "Cyrillic"
    assert canonical_script(" LATIN ") == "Latin"
    assert canonical_script("Latn") is None
    assert passes(RUSSIAN, "cyrillic")


@pytest.mark.spec("P-48")
@pytest.mark.seed("S-017")
def test_other_means_every_script_without_a_name():
    assert passes("მე მიყვარს ეს სიმღერა", "Other")
    assert not passes("მე მიყვარს ეს სიმღერა", "Latin")


def test_no_accepted_script_turns_the_guard_off_and_no_letters_pass():
    assert passes(RUSSIAN)
    assert passes("123 !? ♪", "Latin")
    assert passes([], "Latin")


@pytest.mark.parametrize(
    ("character", "script"),
    [
        ("é", "Latin"), ("Ａ", "Latin"), ("ŀ", "Latin"), ("漢", "Han"), ("々", "Han"), ("𠀀", "Han"),
        ("\U00030000", "Han"), ("あ", "Kana"), ("ア", "Kana"), ("ｱ", "Kana"), ("ー", "Kana"),
        ("가", "Hangul"), ("ᄀ", "Hangul"), ("ㄱ", "Hangul"), ("ж", "Cyrillic"), ("ά", "Greek"),
        ("ع", "Arabic"), ("א", "Hebrew"), ("ก", "Thai"), ("अ", "Devanagari"), ("ა", "Other"),
        ("ʻ", None), ("1", None), ("♪", None), ("\u0301", None), ("ـ", None),
    ],
)  # fmt: skip
def test_the_script_of_a_letter(character, script):
    assert script_of(character) == script


def test_the_table_agrees_with_the_names_of_all_letters():
    prefixes = {
        "LATIN": "Latin", "CJK": "Han", "HIRAGANA": "Kana", "KATAKANA": "Kana", "HANGUL": "Hangul",
        "CYRILLIC": "Cyrillic", "GREEK": "Greek", "ARABIC": "Arabic", "HEBREW": "Hebrew",
        "THAI": "Thai", "DEVANAGARI": "Devanagari",
    }  # fmt: skip
    other_name = {"KATAKANA-HIRAGANA PROLONGED SOUND MARK", "ARABIC TATWEEL"}
    differing = []
    for point in range(0x110000):
        name = unicodedata.name(chr(point), "")
        expected = prefixes.get(name.partition(" ")[0])
        if expected is None or name in other_name or unicodedata.category(chr(point))[0] != "L":
            continue
        if script_of(chr(point)) != expected:
            differing.append(name)
    # Coptic letters that were once called Greek, and modifiers without a script of their own.
    assert all(name.startswith(("GREEK", "HALFWIDTH")) or "COPTIC" in name for name in differing)
    assert len(differing) < 10


def test_the_ranges_do_not_overlap_and_name_known_scripts():
    spans = sorted(
        tuple(int(end, 16) for end in (span.split("-") * 2)[:2])
        for ranges in RANGES.values()
        for span in ranges.split()
    )
    assert all(first <= last for first, last in spans)
    assert all(before[1] < after[0] for before, after in pairwise(spans))
    assert set(RANGES) - {"Common"} == set(SCRIPT_NAMES) - {"Other"}


@pytest.mark.parametrize(
    "line",
    [
        "Lyrics by: X",
        "LYRICS： X",
        "作词 : 张三",
        "作 曲：李四",
        "词:x",
        "Produced  By: a: b",
        " Vocals:x",
    ],
)
def test_credit_lines(line):
    assert is_credit(line)


@pytest.mark.parametrize("line", ["She said: go", "Lyrics", "Lyrics are: x", ": x", "歌手：x"])
def test_sung_lines_with_a_colon(line):
    assert not is_credit(line)


def test_credits_count_only_at_the_ends():
    lines = [f"line {n}" for n in range(20)]
    assert len(without_credits(["music: x", "", *lines, "publisher: y"])) == 20
    assert len(without_credits([*lines[:8], "music: x", *lines[8:]])) == 21
    assert len(without_credits([*lines[:7], "music: x", *lines[7:]])) == 20
    assert len(without_credits([*lines, "music: x", "a", "b", "c"])) == 23
    assert len(without_credits([*lines, "music: x", "a", "b", "c", "d"])) == 25


def test_the_share_counts_letters_alone():
    assert foreign_share(["aaa жжж 123 ♪"], ["Latin"]) == 0.5
    assert foreign_share(["abc", "где"], ["latin", "CYRILLIC"]) == 0


def test_the_main_script_has_more_than_half_of_the_letters():
    assert main_script("aaaжж") == "Latin"
    assert main_script("aaжж") is None
