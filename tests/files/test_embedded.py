"""Lyrics found in the tags of a file."""

from pathlib import Path

import pytest
from mutagen import id3

from builders import CONTAINERS, flac_bytes, id3_bytes, make_audio, mp3_frame
from lyrsvc.core.lyrics import Cue, Word
from lyrsvc.files.embedded import EmbeddedLyrics
from lyrsvc.files.tags import read_tags

LRC = "[ar:Somebody]\n[00:01.50]One\n\n[00:03.00]Two\n"
TIMED = (Cue(1500, "One"), Cue(3000, "Two"))
WORDS = "One\nTwo [00:05.00]\nThree"


def embedded(path: Path) -> EmbeddedLyrics | None:
    return read_tags(path, enrich=True, embedded=True).embedded


def flac(path: Path, **comments: str) -> Path:
    pairs = [("TITLE", "T"), ("ARTIST", "A"), *comments.items()]
    path.write_bytes(flac_bytes(pairs))
    return path


def mp3(path: Path, *frames: id3.Frame) -> Path:
    make_audio(path, title="T", artist="A")
    tags = id3.ID3(path)
    for frame in frames:
        tags.add(frame)
    tags.save()
    return path


def sylt(entries, *, unit: int = 2, kind: int = 1, encoding: int = 3) -> id3.Frame:
    return id3.SYLT(encoding=encoding, lang="eng", format=unit, type=kind, text=entries)


@pytest.mark.parametrize("container", [each for each in CONTAINERS if each != "mka"])
def test_plain_words_come_from_every_container(tmp_path, container):
    path = make_audio(tmp_path / f"x.{container}", title="T", artist="A", lyrics=WORDS)
    assert embedded(path) == EmbeddedLyrics(text=WORDS)


@pytest.mark.parametrize("container", CONTAINERS)
def test_timed_text_in_a_plain_tag_gives_cues(tmp_path, container):
    path = make_audio(tmp_path / f"x.{container}", title="T", artist="A", lyrics=LRC)
    assert embedded(path) == EmbeddedLyrics(cues=TIMED)


def test_lyrics_are_not_read_unless_asked_for(tmp_path):
    path = make_audio(tmp_path / "x.mp3", title="T", artist="A", lyrics=LRC)
    assert read_tags(path, enrich=True).embedded is None


def test_a_file_without_lyrics_has_none(tmp_path):
    assert embedded(flac(tmp_path / "x.flac", LYRICS=" \n ")) is None


@pytest.mark.parametrize("encoding", [0, 1, 2, 3])
def test_timed_frames_in_milliseconds_give_cues(tmp_path, encoding):
    path = mp3(tmp_path / "x.mp3", sylt([("One", 1500), ("Two", 3000)], encoding=encoding))
    assert embedded(path) == EmbeddedLyrics(cues=TIMED)


def test_timed_frames_count_audio_frames_where_their_length_is_known(tmp_path):
    path = mp3(tmp_path / "x.mp3", sylt([("One", 100), ("Two", 200)], unit=1))
    assert embedded(path) == EmbeddedLyrics(cues=(Cue(2612, "One"), Cue(5224, "Two")))


def test_audio_frames_without_a_length_are_no_times(tmp_path):
    from mutagen.wave import WAVE

    path = make_audio(tmp_path / "x.wav", title="T", artist="A", lyrics="words")
    audio = WAVE(path)
    audio.tags.add(sylt([("One", 100), ("Two", 200)], unit=1))
    audio.save()
    assert embedded(path) == EmbeddedLyrics(text="words")


def test_other_kinds_of_timed_frames_are_no_lyrics(tmp_path):
    path = mp3(tmp_path / "x.mp3", sylt([("Am", 100), ("C", 200)], kind=6))
    assert embedded(path) is None


def test_syllables_are_joined_to_lines_with_their_words(tmp_path):
    entries = [("We ", 1000), ("hung", 1300), ("\nup", 2000), (" now", 2400)]
    found = embedded(mp3(tmp_path / "x.mp3", sylt(entries)))
    assert found is not None
    assert [(cue.ms, cue.text) for cue in found.cues] == [(1000, "We hung"), (2000, "up now")]
    assert found.cues[0].words == (Word(1000, "We "), Word(1300, "hung"))


def test_timed_frames_go_before_timed_text_and_that_before_plain_words(tmp_path):
    plain = id3.USLT(encoding=3, lang="eng", desc="", text=WORDS)
    text = id3.TXXX(encoding=3, desc="LYRICS", text=[LRC])
    frame = sylt([("Zero", 1)])
    assert embedded(mp3(tmp_path / "a.mp3", plain)) == EmbeddedLyrics(text=WORDS)
    assert embedded(mp3(tmp_path / "b.mp3", plain, text)) == EmbeddedLyrics(cues=TIMED)
    assert embedded(mp3(tmp_path / "c.mp3", plain, text, frame)) == EmbeddedLyrics(
        cues=(Cue(1, "Zero"),)
    )


def test_the_first_frame_that_is_not_blank_counts(tmp_path):
    frames = [
        ("TIT2", b"\3T"),
        ("TPE1", b"\3A"),
        ("USLT", b"\3eng\0 \n"),
        ("USLT", b"\3deu\0Worte"),
    ]
    path = tmp_path / "x.mp3"
    path.write_bytes(id3_bytes(frames) + mp3_frame() * 50)
    assert embedded(path) == EmbeddedLyrics(text="Worte")


@pytest.mark.parametrize("key", ["LYRICS", "UNSYNCEDLYRICS", "unsyncedlyrics"])
def test_vorbis_words_have_two_names(tmp_path, key):
    assert embedded(flac(tmp_path / "x.flac", **{key: WORDS})) == EmbeddedLyrics(text=WORDS)


def test_synced_lyrics_go_before_lyrics(tmp_path):
    path = flac(tmp_path / "x.flac", LYRICS="[00:09.00]a\n[00:10.00]b", SYNCEDLYRICS=LRC)
    assert embedded(path) == EmbeddedLyrics(cues=TIMED)


def test_synced_lyrics_without_stamps_yield_to_plain_words(tmp_path):
    path = flac(tmp_path / "x.flac", SYNCEDLYRICS="no stamps here", LYRICS=WORDS)
    assert embedded(path) == EmbeddedLyrics(text=WORDS)


@pytest.mark.parametrize(
    "text",
    ["[00:01.00]only one", "[00:01.00]a\n[00:02.00]b\nc\nd\ne", "a [00:01.00] b\nc [00:02.00] d"],
)
def test_few_stamps_do_not_make_a_text_timed(tmp_path, text):
    assert embedded(flac(tmp_path / "x.flac", LYRICS=text)) == EmbeddedLyrics(text=text)


def test_ape_and_asf_have_synced_tags_of_their_own(tmp_path):
    from mutagen.apev2 import APEv2
    from mutagen.asf import ASF

    ape = make_audio(tmp_path / "x.ape", title="T", artist="A")
    tags = APEv2(ape)
    tags["SYNCEDLYRICS"] = LRC
    tags.save()
    wma = make_audio(tmp_path / "x.wma", title="T", artist="A")
    audio = ASF(wma)
    audio["WM/Lyrics_Synchronised"] = LRC
    audio.save()
    assert embedded(ape) == embedded(wma) == EmbeddedLyrics(cues=TIMED)
