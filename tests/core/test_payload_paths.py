"""Paths of another machine: what they are called here."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.core.payload_paths import local_path, spellings, stem_of


@pytest.mark.parametrize(
    ("path", "here"),
    [
        ("/music/a.flac", "/music/a.flac"),
        ("/music//b/./c/../a.flac", "/music/b/a.flac"),
        ("//music/a.flac", "/music/a.flac"),
        ("/../../music/a.flac", "/music/a.flac"),
        ("/music/AC\\DC/a.flac", "/music/AC\\DC/a.flac"),
        ("music/a.flac", None),
        ("", None),
        ("C:\\music\\a.flac", None),
        ("C:/music/a.flac", None),
        ("\\\\server\\music\\a.flac", None),
        ("/music/a\0.flac", None),
        ("/music/\ud800.flac", None),
        ("/" + "a" * 4096, None),
        ("/" + "a" * 4095, "/" + "a" * 4095),
        ("/" + "ä" * 2048, None),
    ],
)
def test_a_path_is_cleaned_or_not_usable(path, here):
    assert local_path(path) == here


@pytest.mark.parametrize(
    ("path", "here"),
    [
        ("/music/A/b.flac", "/data/music/A/b.flac"),
        ("/music", "/data/music"),
        ("/music/", "/data/music"),
        ("/music2/A/b.flac", "/music2/A/b.flac"),
        ("/music/live/A/b.flac", "/live/A/b.flac"),
        ("/music/AC\\DC/b.flac", "/data/music/AC\\DC/b.flac"),
        ("D:\\Music\\A\\b.flac", "/win/A/b.flac"),
        ("d:/MUSIC/A\\b.flac", "/win/A/b.flac"),
        ("D:\\Musical\\b.flac", None),
        ("\\\\nas\\share\\A\\b.flac", "/nas/A/b.flac"),
        ("//nas/share/A/b.flac", "/nas/A/b.flac"),
        ("/music/../etc/passwd", "/data/etc/passwd"),
    ],
)
def test_the_longest_mapping_of_whole_components_wins(path, here):
    mappings = (
        ("/music", "/data/music"),
        ("/music/live/", "/live"),
        ("D:\\Music\\", "/win"),
        ("\\\\nas\\share", "/nas/"),
    )
    assert local_path(path, mappings) == here


def test_a_mapping_of_everything_puts_a_root_before_it():
    assert local_path("/music/a.flac", (("/", "/host"),)) == "/host/music/a.flac"


@pytest.mark.parametrize(
    ("path", "stem"),
    [
        ("/music/01 - A.B.flac", "01 - A.B"),
        ("C:\\music\\01.flac", "01"),
        ("/music/AC\\DC.flac", "AC\\DC"),
        (".hidden", ".hidden"),
        ("", ""),
    ],
)
def test_the_stem_of_a_path_of_any_system(path, stem):
    assert stem_of(path) == stem


def test_a_path_that_is_gone_is_looked_for_in_both_unicode_forms():
    assert spellings("/plain") == ("/plain",)
    assert set(spellings("/é")) == {"/é", "/e\u0301"}


@given(st.text(), st.lists(st.tuples(st.text(min_size=1), st.just("/to")), max_size=3))
def test_any_text_is_a_clean_absolute_path_or_nothing(path, mappings):
    here = local_path(path, tuple(mappings))
    assert here is None or (here.startswith("/") and ".." not in here.split("/"))
