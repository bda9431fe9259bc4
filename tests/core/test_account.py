"""What names and passwords must be."""

import pytest

from lyrsvc.core.account import (
    name_fault,
    password_bytes,
    password_fault,
    short_agent,
    trimmed_name,
    username_key,
)


@pytest.mark.parametrize("name", ["a", " Ada Lovelace ", "ä" * 64, "a\u0308" * 64, "名前"])
def test_a_name_of_1_to_64_characters_is_fine(name):
    assert name_fault(name) == ""


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "empty"),
        (" \t ", "empty"),
        ("\0", "empty"),
        ("a" * 65, "at most 64"),
        ("a\nb", "control"),
        ("a\u202eb", "control"),
        ("a\x1b[2Jb", "control"),
    ],
)
def test_a_wrong_name_is_explained(name, why):
    assert why in name_fault(name)


def test_names_are_compared_without_case_and_unicode_form():
    assert username_key(" ÄDA ") == username_key("a\u0308da") == username_key("äda")
    assert username_key("ada") != username_key("adb")
    assert trimmed_name("  Ada ") == "Ada"


@pytest.mark.seed("S-095")
@pytest.mark.parametrize(
    "password", ["12345678", "        ", " ö ö ö ö ", "öäüßöäüß", "名前名前名前名前", "x" * 1024]
)
def test_eight_characters_of_any_kind_are_enough(password):
    assert password_fault(password) == ""


@pytest.mark.seed("S-095")
@pytest.mark.parametrize(
    ("password", "why"),
    [
        ("", "at least 8"),
        ("1234567", "at least 8"),
        ("öäüß", "at least 8"),  # eight bytes, four characters
        ("a\u0308" * 7, "at least 8"),  # fourteen code points, seven letters
        ("x" * 1025, "at most 1024 bytes"),
        ("ö" * 513, "at most 1024 bytes"),
        ("12345678\n9", "one line"),
        ("12345678\r", "one line"),
        ("1234567\udcff", "valid text"),
    ],
)
def test_a_wrong_password_is_explained_and_not_repeated(password, why):
    fault = password_fault(password)
    assert why in fault
    assert not password or password not in fault


def test_a_password_is_the_same_however_its_letters_are_composed():
    assert password_bytes("pa\u0308ssword") == password_bytes("pässword")
    assert password_bytes(" x ") == b" x "
    assert password_bytes("\ud800") is None


def test_the_name_of_a_browser_is_made_harmless_and_cut():
    assert short_agent("Moz\x1b[2Jilla\0\n") == r"Moz\x1b[2Jilla\n"
    assert short_agent("x" * 500) == "x" * 200
