import subprocess
import sys

import pytest

from lyrsvc.core.similarity import edit_distance, jaro_winkler, near_names, near_words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("harbor", "harbour"),
        ("halleluja", "hallelujah"),
        ("spirit", "spirti"),
        ("internationale", "internatonal"),
        ("привет", "привети"),
    ],
)
def test_near_words_are_a_slip_apart(one, other):
    assert near_words(one, other)
    assert near_words(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("hung", "hang"),  # too unlike
        ("cat", "cats"),  # too short
        ("paradise", "parasite"),  # two edits below ten letters
        ("song1", "songs"),  # a digit
        ("カラスの歌", "ガラスの歌"),  # no alphabet
        ("fire", "wire"),
    ],
)
def test_words_further_apart_are_not_near(one, other):
    assert not near_words(one, other)


def test_names_need_five_letters_but_may_be_less_alike():
    assert near_names("zeppelin", "zepplin")
    assert near_names("churches", "chvrches")
    assert not near_names("blur", "blurr")
    assert not near_words("queen", "gueen")
    assert not near_names("deadmau5", "deadmaus")


def test_a_transposition_is_one_edit():
    assert edit_distance("abcd", "abdc") == 1
    assert edit_distance("abcd", "dcba", limit=1) == 2
    assert jaro_winkler("martha", "marhta") == pytest.approx(0.961, abs=0.001)


def test_the_library_behind_it_is_loaded_only_when_needed():
    code = "import sys, lyrsvc.core.matching; sys.exit('rapidfuzz' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
