"""Which sidecar belongs to which audio file."""

import pytest

from lyrsvc.files.pairing import Sidecars, pair_sidecars, split_name

NFC, NFD = "\u00e9", "e\u0301"


@pytest.mark.parametrize(
    ("name", "stem"),
    [("U.S.A..flac", "U.S.A."), ("a.b.mp3", "a.b"), ("noext", "noext"), (".mp3", ".mp3")],
)
def test_the_stem_is_the_name_without_its_last_extension(name, stem):
    assert split_name(name)[0] == stem


def test_sidecars_of_each_kind_are_paired_by_stem(tmp_path):
    paired = pair_sidecars(["a.mp3", "b.flac", "c.mp3"], ["a.lrc", "a.txt", "a.elrc", "b.TXT"])
    assert paired == {
        "a.mp3": Sidecars("a.lrc", "a.txt", "a.elrc"),
        "b.flac": Sidecars(txt="b.TXT"),
    }


def test_one_sidecar_serves_every_audio_file_of_its_stem():
    paired = pair_sidecars(["a.mp3", "a.flac"], ["a.lrc"])
    assert set(paired) == {"a.mp3", "a.flac"}


def test_unicode_form_and_case_are_forgiven():
    assert pair_sidecars([f"{NFD}.mp3"], [f"{NFC}.lrc"])[f"{NFD}.mp3"].lrc == f"{NFC}.lrc"
    assert pair_sidecars(["Song.mp3"], ["song.LRC"])["Song.mp3"].lrc == "song.LRC"
    assert pair_sidecars([f"SONG {NFD.upper()}.mp3"], [f"song {NFC}.txt"])


def test_an_exact_match_of_one_file_never_serves_another():
    paired = pair_sidecars(["Song.mp3", "song.mp3"], ["song.lrc"])
    assert set(paired) == {"song.mp3"}


def test_the_nearest_form_wins():
    names = [f"{NFC}.lrc", f"{NFC.upper()}.lrc"]
    assert pair_sidecars([f"{NFD}.mp3"], names)[f"{NFD}.mp3"].lrc == f"{NFC}.lrc"


def test_the_common_spelling_of_the_extension_wins():
    assert pair_sidecars(["a.mp3"], ["a.LRC", "a.lrc"])["a.mp3"].lrc == "a.lrc"


def test_a_language_code_makes_no_sidecar():
    assert pair_sidecars(["a.mp3"], ["a.en.lrc", "a.lrc.txt"]) == {}
