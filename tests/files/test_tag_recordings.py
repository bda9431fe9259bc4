"""From tags and path to the recording that is asked for."""

import os
from pathlib import Path

import pytest

from builders import make_audio, minimal_flac
from lyrsvc.core.errors import FileFault
from lyrsvc.files.tags import TagRead, read_tags, to_recording

ROOT = Path("/music")


def test_a_tagged_file_is_asked_for_by_its_tags(tmp_path):
    path = minimal_flac(
        tmp_path / "x.flac", title="T", artist=["A", "B"], album="L", album_artist="V", seconds=61
    )
    recording = to_recording(read_tags(path, enrich=True), path, tmp_path)
    assert (recording.title, recording.artist, recording.artists) == ("T", "A; B", ("A", "B"))
    assert (recording.album, recording.album_artist, recording.duration_ms) == ("L", "V", 61000)
    assert not recording.low_confidence
    assert recording.source_path == path


def test_an_untagged_file_is_asked_for_by_its_path_with_low_confidence(tmp_path):
    path = make_audio(tmp_path / "Artist" / "1999 - Album" / "03 - Title.mp3")
    recording = to_recording(read_tags(path, enrich=True), path, tmp_path)
    assert (recording.title, recording.artist, recording.album) == ("Title", "Artist", "Album")
    assert recording.artists == ("Artist",)
    assert recording.low_confidence


def test_a_file_without_any_hint_has_no_metadata(tmp_path):
    path = make_audio(tmp_path / "track.mp3")
    with pytest.raises(FileFault) as caught:
        to_recording(read_tags(path, enrich=True), path, tmp_path)
    assert caught.value.reason == "no_metadata"


def test_folders_above_the_library_say_nothing():
    path = Path("/home/somebody/music/03 - Title.mp3")
    for root in (path.parent, None, Path("/elsewhere")):
        with pytest.raises(FileFault):
            to_recording(TagRead(), path, root)


def test_only_the_blank_name_is_guessed():
    path = ROOT / "Folder" / "Album" / "03 - Somebody - Title.mp3"
    recording = to_recording(TagRead(title="Real"), path, ROOT)
    assert (recording.title, recording.artist, recording.low_confidence) == (
        "Real",
        "Somebody",
        True,
    )
    recording = to_recording(TagRead(artist="Real", artists=("Real",), album="L"), path, ROOT)
    assert (recording.title, recording.artist, recording.album) == ("Title", "Real", "L")


def test_tags_are_never_mixed_with_the_path_when_both_names_are_there():
    recording = to_recording(TagRead(title="T", artist="A"), ROOT / "B" / "L" / "x.mp3", ROOT)
    assert (recording.album, recording.low_confidence) == ("", False)


def test_guessed_names_are_valid_text():
    path = os.fsencode(ROOT) + b"/Arti\xffst/Album/03 - Ti\ntle.mp3"
    recording = to_recording(TagRead(), path, ROOT)
    assert (recording.artist, recording.title) == ("Arti\ufffdst", "Ti tle")
