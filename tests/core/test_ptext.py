"""Paths and text in a form that columns can hold."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.core.ptext import bytes_from_ptext, clean_text, from_ptext, path_hash, to_ptext

MARK = "\uf8ff"
HARD_BYTES = st.lists(
    st.one_of(
        st.binary(max_size=4),
        st.sampled_from([MARK.encode(), b"ff", b"\xff", b"\xed\xb2\x80", "é".encode(), b"\xc3"]),
    )
).map(b"".join)


@given(HARD_BYTES)
def test_every_path_comes_back_byte_for_byte(raw):
    text = to_ptext(raw)

    text.encode()  # a column holds valid UTF-8 only
    assert bytes_from_ptext(text) == raw
    assert os.fsencode(from_ptext(text)) == raw


@given(HARD_BYTES)
def test_bytes_and_python_text_give_the_same_form(raw):
    assert to_ptext(os.fsdecode(raw)) == to_ptext(raw)
    assert path_hash(os.fsdecode(raw)) == path_hash(raw)


@given(HARD_BYTES, HARD_BYTES)
def test_different_paths_have_different_forms(one, other):
    assert (to_ptext(one) == to_ptext(other)) == (one == other)


@given(HARD_BYTES, HARD_BYTES)
def test_forms_of_components_join_to_the_form_of_the_path(folder, name):
    assert f"{to_ptext(folder)}/{to_ptext(name)}" == to_ptext(folder + b"/" + name)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"/music/a.flac", "/music/a.flac"),
        ("Été".encode(), "Été"),
        (b"a\xffb", f"a{MARK}ffb"),
        (b"\x80\x0a", f"{MARK}80\n"),
        (MARK.encode(), MARK * 2),
        (MARK.encode() + b"41", f"{MARK * 2}41"),
    ],
)
def test_valid_text_stays_and_other_bytes_become_a_mark_and_two_digits(raw, text):
    assert to_ptext(raw) == text


@pytest.mark.parametrize("text", [MARK, f"a{MARK}", f"{MARK}f", f"{MARK}zz", f"{MARK}FF", MARK * 3])
def test_what_is_no_form_of_a_path_is_refused(text):
    with pytest.raises(ValueError, match="text form"):
        bytes_from_ptext(text)


def test_a_surrogate_that_stands_for_no_byte_is_refused():
    with pytest.raises(ValueError, match="surrogate"):
        to_ptext("a\ud800")


def test_the_hash_of_a_path_is_32_hex_digits_of_blake2b():
    assert path_hash(b"") == "cae66941d9efbd404e4d88758ea67670"
    assert path_hash("/music") != path_hash("/music/")


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_cleaned_text_is_valid_utf8_without_nul(text):
    cleaned = clean_text(text)

    cleaned.encode()
    assert "\0" not in cleaned
    assert clean_text(cleaned) == cleaned


def test_cleaning_removes_nul_and_replaces_lone_surrogates():
    assert clean_text("a\0b\ud800c\udcff") == "ab\ufffdc\ufffd"
