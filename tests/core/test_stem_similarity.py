"""How much alike two names are, for realign."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.core.stem_similarity import likeness, read_name


def title(text):
    return read_name(text, "")


def stem(text):
    return read_name("", text)


@pytest.mark.spec("E-59")
@pytest.mark.parametrize(
    ("one", "other", "score"),
    [
        (stem("01 - Hello"), title("Hello"), 1.0),
        (stem("1-01 Tidewater"), title("Tidewater"), 1.0),
        (title("Song (2011 Remaster)"), title("Song"), 1.0),
        (title("Hello (feat. X)"), title("Hello"), 1.0),
        (title("Colour"), title("Color"), 0.9667),
        (title("MARTHA"), title("MARHTA"), 0.9611),
        (title("Part 1"), title("Part 2"), 0.0),
        (title("Interlude"), title("Interlude II"), 0.0),
        (title("Song (Live)"), title("Song"), 0.0),
        (title("Symphony No. 5"), title("Symphony No. 9"), 0.0),
        (title("Intro"), title("Outro"), 0.7333),
        (title("DIXON"), title("DICKSONX"), 0.8133),
    ],
)
def test_the_values_of_the_table(one, other, score):
    assert likeness(one, other) == pytest.approx(score, abs=5e-5)
    assert likeness(other, one) == pytest.approx(score, abs=5e-5)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (stem("99 Luftballons"), stem("07 - 99 Luftballons")),
        (stem("A1_-_Song_Name"), title("Song Name")),
        (stem("[03] Song"), title("Song")),
        (title("Part I"), title("Part One")),
        (title("Chapter 01"), title("Chapter 1")),
        (title("Song - 2011 Remaster"), title("The Song")),
        (title("Song [Explicit] (25th Anniversary Edition)"), title("Song")),
        (title("Song ft. Somebody"), title("Song")),
        (title("Jo\u0301ga"), title("J\u00f3ga")),
        (title("!!!"), title("!!!")),
    ],
)
def test_what_says_nothing_about_the_song_does_not_count(one, other):
    assert likeness(one, other) == 1.0


@pytest.mark.seed("S-043")
@pytest.mark.parametrize(
    ("one", "other", "score"),
    [
        (stem("Artist - Song"), title("Song"), 0.9),
        (stem("Artist - Album - 01 - Song"), title("Song"), 0.9),
        (stem("01 - Artist - Song"), title("Song"), 0.9),
        (stem("Artist_-_Song"), title("Song"), 0.9),
        (stem("Artist - Song - Remastered 2011"), title("Song"), 0.9),
        (stem("Artist - 02 - Song (Live)"), title("Song (Live)"), 0.9),
        (stem("Hello - World"), title("Hello - World"), 1.0),
        (stem("Artist - 02 - Song (Live)"), title("Song"), 0.0),
        (stem("Artist - Part 1"), title("Part 2"), 0.0),
        (stem("Song - Live"), title("Live"), 0.0),
        (stem("Symphony No. 5 - Allegro"), stem("Symphony No. 9 - Allegro"), 0.0),
    ],
)
def test_what_follows_a_dash_of_a_file_name_may_be_its_title(one, other, score):
    assert likeness(one, other) == pytest.approx(score)
    assert likeness(other, one) == pytest.approx(score)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (title("Song II (Live)"), title("Song (Live)")),
        (title("Song (Part 1)"), title("Song (Part 2)")),
        (title("Song feat. X - Part 1"), title("Song feat. X - Part 2")),
        (title("Song - Live"), title("Song")),
        (title("Song (feat. X) [Remix]"), title("Song")),
        (title("Song (Acoustic)"), title("Song (Demo)")),
        (title("(1999)"), title("(2000)")),
        (title("!!!"), title("???")),
        (title("Volume Two"), title("Volume Three")),
    ],
)
def test_another_version_or_number_is_another_song(one, other):
    assert likeness(one, other) == 0.0


def test_a_common_start_counts_however_little_is_alike():
    assert likeness(title("abcdxxxxxx"), title("abcdyyyyyyzzz")) == pytest.approx(0.7415, abs=1e-4)


@given(st.text(max_size=30), st.text(max_size=30))
def test_any_text_gives_a_score_that_is_the_same_both_ways(one, other):
    left, right = read_name("", one), read_name(other, other)
    score = likeness(left, right)
    assert 0.0 <= score <= 1.0
    assert score == pytest.approx(likeness(right, left))
    assert likeness(left, left) == (1.0 if left.forms else 0.0)
