import pytest

from lyrsvc.core.numerals import ROMANS
from lyrsvc.core.wording import words_of


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Song, Pt. 2", "song part 2"),
        ("Song Pts 1 & 2", "song part 1 and 2"),
        ("Song Parts One and 2", "song part 1 and 2"),
        ("Song Pt2", "song part 2"),
        ("Nr. 5", "5"),
        ("Song Number 5", "song 5"),
        ("Mambo No. 5", "mambo 5"),
        ("Mambo n°5", "mambo 5"),
        ("No. 5", "5"),
        ("N° 5", "5"),
        ("90° N", "90 n"),
        ("الجزء ١", "الجزء 1"),
        ("Parte ۰۲", "parte 2"),
        ("No 5", "no 5"),
        ("Vol. 03", "volume 3"),
        ("Opus 67", "opus 67"),
        ("Mvt. 2", "movement 2"),
        ("Ch. 2, Ep. 4", "chapter 2 episode 4"),
        ("Track 000", "track 0"),
        ("Act Two Scene One", "act 2 scene 1"),
    ],
)
def test_part_words_unify_and_leading_zeros_go(text, tokens):
    assert " ".join(words_of(text).tokens) == tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Henry VIII", "henry 8"),
        ("II Hands", "2 hands"),
        ("Part I", "part 1"),
        ("Side V Love", "side 5 love"),
        ("Rocky V", "rocky 5"),
        ("I", "i"),
        ("I Am", "i am"),
        ("I. Allegro", "1 allegro"),
        ("Suite: V. Gigue", "suite 5 gigue"),
        ("Suite - I. Prelude", "suite 1 prelude"),
        ("V.I.P.", "vip"),
        ("XL", "xl"),
        ("Song XL", "song xl"),
    ],
)
def test_roman_numerals_read_as_numbers_where_they_can_be_no_word(text, tokens):
    assert " ".join(words_of(text).tokens) == tokens


@pytest.mark.parametrize("text", ["Spare Parts", "Wrong Number", "One Love", "Seven"])
def test_words_that_only_look_like_numbers_stay_words(text):
    assert words_of(text).tokens == words_of(text).spelled


def test_roman_numerals_run_to_thirty_nine():
    assert len(ROMANS) == 39
    assert (ROMANS["xxxix"], ROMANS["xiv"], ROMANS["i"]) == ("39", "14", "1")
