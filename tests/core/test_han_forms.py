"""Han characters in one form."""

import pytest

from lyrsvc.core.han_forms import _PAIRS, fold_han


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("周杰倫", "周杰伦"),
        ("周杰伦", "周杰伦"),
        ("後來", "后来"),
        ("臺北", "台北"),
        ("米津玄師", "米津玄师"),
        ("黒沢明の桜", "黑泽明の樱"),
        ("Señorita", "Señorita"),
        ("Jay Chou", "Jay Chou"),
        ("", ""),
    ],
)
def test_forms_of_one_character_become_one(text, folded):
    assert fold_han(text) == folded


def test_no_form_is_listed_twice_and_folding_again_changes_nothing():
    before, after = _PAIRS[::2], _PAIRS[1::2]
    assert len(before) == len(set(before)) == len(after)
    assert set(before).isdisjoint(after)
