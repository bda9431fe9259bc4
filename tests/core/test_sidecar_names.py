"""Names of sidecars without an audio file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.core.sidecar_names import (
    has_language_suffix,
    numbered,
    query_stem,
    slug,
)


@pytest.mark.spec("P-55")
@pytest.mark.seed("S-004")
@pytest.mark.parametrize(
    ("artist", "title", "stem"),
    [
        ("AC/DC", "T.N.T.", "ACDC - T.N.T"),
        ("con", "nul", "_con - _nul"),
        ("Com1", "LPT9.x", "_Com1 - _LPT9.x"),
        ("../../etc", "passwd", "etc - passwd"),
        ("A\nB", "a  -- b", "AB - a - b"),
        ("Ａ：Ｂ", "x\x00y", "AB - xy"),
        ("_._x", "...", None),
        ("Sigur Rós", "Hoppípolla", "Sigur Rós - Hoppípolla"),
    ],
)
def test_names_without_audio(artist, title, stem):
    made = query_stem(artist, title)
    if stem:
        assert made == stem
    else:
        assert made.startswith("x - untitled-")


@pytest.mark.spec("P-55")
def test_a_title_of_signs_gets_a_name_from_its_hash():
    assert query_stem("Outkast", "?") == "Outkast - untitled-" + query_stem("Outkast", "?")[-8:]
    assert query_stem("Outkast", "?") != query_stem("Outkast", "*")


@pytest.mark.spec("P-55")
def test_a_long_title_is_cut_at_a_character():
    assert len(slug("ä" * 150).encode()) == 100
    assert len(f"{query_stem('♪x' * 99, 'é' * 150)} (2).elrc".encode()) <= 255
    assert slug("a" * 99 + "♪") == "a" * 99
    assert slug("a" * 99 + ". tail") == "a" * 99


@given(st.text(max_size=300), st.text(max_size=300))
def test_a_name_is_always_one_safe_path_component(artist, title):
    stem = query_stem(artist, title)
    assert 0 < len(stem.encode()) <= 203
    assert not set(stem) & set('\\/:*?"<>|\x00\n\r')
    assert stem.strip(" .") == stem
    assert all(part.upper() not in {"CON", "NUL", "AUX", "PRN"} for part in stem.split(" - ")[:1])


def test_the_second_query_of_a_name_gets_a_number():
    assert (numbered("a - b", 1), numbered("a - b", 2)) == ("a - b", "a - b (2)")


@pytest.mark.parametrize("stem", ["Song.en", "Song.pt-BR", "Song.zh_Hans", "Song.deu"])
def test_language_suffixes(stem):
    assert has_language_suffix(stem)


@pytest.mark.parametrize("stem", ["Song", "02.Sky", "U.S.A.", "Dr.Dre", "a.english", ".en", "x.No"])
def test_other_endings_are_part_of_the_name(stem):
    assert not has_language_suffix(stem)
