import pytest

from lyrsvc.demo.library_plan import MOST_TRACKS, Ending, plan_library, songs_of
from lyrsvc.demo.music_folder import FOREIGN_WORDS, make_music


def test_the_usual_library_holds_one_of_everything(tmp_path):
    plan = plan_library()
    assert len(plan) == 12
    assert {track.ending for track in plan} == set(Ending)
    assert {track.container for track in plan} == {"flac", "mp3", "wav"}
    assert len({track.path.parent for track in plan}) == 3
    assert any(not str(track.path).isascii() for track in plan)
    assert [track for track in plan if not track.is_tagged]
    make_music(tmp_path, plan)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 5_000_000
    sidecars = [path for path in files if path.suffix == ".lrc"]
    assert sorted(path.name for path in sidecars) == ["02 - Nine Umbrellas.lrc", "05 - Facteur.lrc"]
    assert (tmp_path / plan[8].sidecar).read_bytes() == FOREIGN_WORDS


@pytest.mark.parametrize("tracks", [1, 5, 13, 40, 1000])
def test_a_larger_library_repeats_them_under_other_names(tracks):
    plan = plan_library(tracks)
    assert len({track.path for track in plan}) == tracks
    songs = songs_of(plan)
    names = {(song.artist, song.title, song.album) for song in songs}
    assert len(names) == len(songs)
    assert {(t.song.artist, t.song.title, t.song.album) for t in plan} <= names
    assert sum(track.ending is Ending.DECOY for track in plan) <= 1


def test_even_the_largest_library_has_no_name_twice():
    plan = plan_library(MOST_TRACKS)
    assert len({track.path for track in plan}) == MOST_TRACKS
    codes = {track.song.isrc: track.song.title for track in plan}
    assert all(codes[track.song.isrc] == track.song.title for track in plan)


def test_what_is_there_already_is_left_alone(tmp_path):
    plan = plan_library(2)
    make_music(tmp_path, plan)
    path = tmp_path / plan[0].path
    path.write_bytes(b"mine")
    make_music(tmp_path, plan)
    assert path.read_bytes() == b"mine"
