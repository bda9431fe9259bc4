"""A running service meets audio that somebody renamed without a word."""

import pytest

from builders import minimal_flac
from lyrsvc.demo.songs import SONGS
from served import Served, wait_until

SONG = SONGS[0]


@pytest.mark.spec("E-42")
def test_words_follow_renamed_audio_while_it_is_watched_and_while_nobody_looked(tmp_path, stand_in):
    album = tmp_path / "music" / "Artist" / "Album"
    tags = {"title": SONG.title, "artist": SONG.artist, "album": SONG.album}
    audio = minimal_flac(album / "01 Song.flac", seconds=SONG.length_s, **tags)
    environ = {
        "LYRSVC_PROVIDERS_PRIMARY": "lrclib",
        "LYRSVC_LRCLIB_BASE_URL": stand_in.url,
        "LYRSVC_LRCLIB_COOLDOWN_SECONDS": "0",
        "LYRSVC_SCAN_SCHEDULE": "off",
        "LYRSVC_WORK_INTERVAL": "1",
        "LYRSVCGO_WATCH_ENABLED": "true",
        "LYRSVCGO_WATCH_DEBOUNCE_MS": "100",
    }

    def names():
        return sorted(path.name for path in album.parent.rglob("*.*"))

    def settled(name):
        return names() == [f"{name}.flac", f"{name}.lrc"]

    with Served(tmp_path, environ) as served:
        added = served.run("library", "add", str(tmp_path / "music"))
        assert added.returncode == 0, added.stderr
        assert served.run("scan").returncode == 0
        wait_until(lambda: settled("01 Song"), "the words are there", limit_s=60)
        asked = len(stand_in.requests)

        audio = audio.rename(album / "01 - Song.flac")
        wait_until(lambda: settled("01 - Song"), "they follow the watched file", limit_s=60)
        (album.parent / "Album (2001)").mkdir()
        audio = audio.rename(album.parent / "Album (2001)" / audio.name)
        there = audio.with_suffix(".lrc")
        wait_until(there.exists, "they follow it to another directory", limit_s=60)
        wait_until(lambda: settled("01 - Song"), "nothing stays behind", limit_s=60)
        assert served.stop() == 0
    audio = audio.rename(audio.with_name("Song.flac"))
    assert served.run("scan").returncode == 0
    assert settled("Song")
    assert len(stand_in.requests) == asked
