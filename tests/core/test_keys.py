import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lyrsvc.core.keys import KEY_VERSION, duration_bucket, match_key
from matching_pairs import load

VECTORS = load("keys.json")["vectors"]


@pytest.mark.spec("P-40")
@pytest.mark.parametrize("vector", VECTORS, ids=[ascii(vector["in"]) for vector in VECTORS])
def test_a_match_key_is_the_one_of_the_vectors(vector):
    assert match_key(vector["in"]) == vector["key"]


@pytest.mark.spec("P-40")
@settings(deadline=None)
@given(st.text())
def test_a_match_key_of_a_match_key_is_the_same(text):
    assert match_key(match_key(text)) == match_key(text)


@pytest.mark.spec("P-40")
@settings(deadline=None)
@given(st.text())
def test_composed_and_decomposed_text_have_one_match_key(text):
    composed, decomposed = (unicodedata.normalize(form, text) for form in ("NFC", "NFD"))
    assert match_key(composed) == match_key(decomposed) == match_key(text)


@settings(deadline=None)
@given(st.text(alphabet=st.characters(max_codepoint=0x24F)))
def test_upper_and_lower_case_have_one_match_key(text):
    assert match_key(text.casefold()) == match_key(text)


def test_lone_surrogates_are_dropped():
    assert match_key("a\ud800b") == "ab"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("Don´t", "dont"),
        ("Don`t", "dont"),
        ("〝Heroes〟", '"heroes"'),
        ("A − B", "a - b"),
        ("～Night〜", "~night~"),
        ("Tom＆Jerry", "tom and jerry"),
        ("é́", "e"),
        ("\u00a0a\u3000b\u2028c", "a b c"),
    ],
)
def test_punctuation_marks_and_blanks_are_folded(text, key):
    assert match_key(text) == key


@pytest.mark.parametrize(
    ("duration_ms", "bucket"),
    [(None, 0), (0, 0), (-5, 0), (1, 0), (4999, 0), (5000, 1), (214_999, 42), (215_000, 43)],
)
def test_a_duration_bucket_is_five_seconds_wide_and_zero_when_unknown(duration_ms, bucket):
    assert duration_bucket(duration_ms) == bucket


def test_the_rule_of_the_keys_has_a_version():
    assert KEY_VERSION == 1
