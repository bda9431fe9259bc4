"""Text as a terminal shows it."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.core.display import display_width, escape_controls, fit, fit_end, wrap

ANY_TEXT = st.text(st.characters(exclude_categories=()))


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("", 0),
        ("plain", 5),
        ("naïve", 5),
        ("nai\u0308ve", 5),
        ("東京", 4),
        ("ﾊﾝｶｸ", 4),
        ("Ｆｕｌｌ", 8),
        ("한국", 4),
        (unicodedata.normalize("NFD", "한국"), 4),
        ("が", 2),
        (unicodedata.normalize("NFD", "が"), 2),
        ("❤\ufe0f", 2),
        ("😀", 2),
        ("a\u200bb", 2),
        ("co\xadop", 5),
    ],
)
def test_wide_characters_count_two_and_combining_ones_none(text, columns):
    assert display_width(text) == columns


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("short", 10, "short"),
        ("exactly", 7, "exactly"),
        ("too long for it", 8, "too lon…"),
        ("東京の夜", 8, "東京の夜"),
        ("東京の夜", 7, "東京の…"),
        ("東京の夜", 6, "東京…"),
        ("東京", 1, "…"),
        ("x", 0, ""),
        ("", 0, ""),
        ("e\u0301e\u0301e\u0301", 2, "e\u0301…"),
        ("ab", -3, ""),
    ],
)
def test_a_text_is_cut_to_its_columns_with_an_ellipsis(text, width, shown):
    assert fit(text, width) == shown


def test_the_mark_of_a_cut_can_be_chosen_and_counts():
    assert fit("abcdefgh", 6, mark="...") == "abc..."
    assert fit("abcdefgh", 2, mark="...") == ""


def test_a_pile_of_combining_marks_is_cut_too():
    assert len(fit("e" + "\u0301" * 100_000, 10)) < 100


@given(ANY_TEXT, st.integers(0, 40))
def test_what_fits_is_never_wider_and_never_changed_without_need(text, width):
    shown = fit(text, width)
    assert display_width(shown) <= width
    if display_width(text) <= width and len(text) <= width:
        assert shown == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nb\tc", r"a\nb\tc"),
        ("\x1b[31mred\x07", r"\x1b[31mred\x07"),
        ("\r\x00\x7f\x85\x9b", r"\x0d\x00\x7f\x85\x9b"),
        ("caf\udce9", r"caf\xe9"),
        ("\ud83d", r"\ud83d"),
        ("\u2028\u2029\u202e", r"\u2028\u2029\u202e"),
        ("C:\\Music", "C:\\Music"),
        ("Björk – 東京 😀", "Björk – 東京 😀"),
    ],
)
def test_control_characters_and_undecodable_bytes_are_shown_not_sent(text, shown):
    assert escape_controls(text) == shown


@given(ANY_TEXT)
def test_an_escaped_text_is_one_line_that_every_terminal_can_be_sent(text):
    shown = escape_controls(text)
    shown.encode()
    assert len(shown.splitlines()) <= 1
    assert not any(unicodedata.category(one) in {"Cc", "Cs"} for one in shown)


@given(st.text(max_size=40), st.integers(0, 30))
def test_an_end_that_fits_is_never_wider_and_is_the_end(text, width):
    shown = fit_end(text, width)
    assert display_width(shown) <= width
    assert text.endswith(shown.removeprefix("…"))
    if display_width(text) <= width and len(text) <= width:
        assert shown == text


def test_of_a_path_the_end_is_kept():
    assert fit_end("/srv/music/Marsh/01 Hello.lrc", 14) == "…/01 Hello.lrc"
    assert fit_end("/音楽/歌.lrc", 8) == "…/歌.lrc"


@given(st.text(max_size=80), st.integers(2, 30))
def test_a_wrapped_text_loses_nothing_but_blanks_and_is_never_too_wide(text, width):
    lines = wrap(text, width)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(display_width(line) <= width or len(line) == 1 for line in lines)


def test_a_text_is_wrapped_between_words_and_a_long_word_anywhere():
    assert wrap("run: lyrsvc doctor --fix", 12) == ["run: lyrsvc", "doctor --fix"]
    assert wrap("see /srv/music/Marsh now", 8) == ["see", "/srv/mus", "ic/Marsh", "now"]
    assert wrap("歌歌歌", 4) == ["歌歌", "歌"]
    assert wrap("", 4) == [""]
