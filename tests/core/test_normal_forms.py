"""Normal forms of hostile text."""

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.core.normal_forms import MOST_MARKS, normal_form

FORMS = ["NFC", "NFD", "NFKC", "NFKD"]


@given(st.sampled_from(FORMS), st.text(max_size=60))
def test_ordinary_text_is_normalised_as_ever(form, text):
    assert normal_form(form, text) == unicodedata.normalize(form, text)


@pytest.mark.parametrize("form", FORMS)
def test_as_many_marks_as_any_writing_needs_are_kept(form):
    text = "a" + "\u0316\u0301" * (MOST_MARKS // 2) + "b"
    assert normal_form(form, text) == unicodedata.normalize(form, text)
    assert len(normal_form("NFD", "x!" + "\u0301" * 99 + "y")) == MOST_MARKS + 3


def test_an_endless_run_of_marks_costs_no_time():
    began = time.process_time()
    normal_form("NFC", "a" + "\u0301\u0316" * 300_000)
    normal_form("NFC", "\u0301\u0316" * 300_000)
    assert time.process_time() - began < 5
