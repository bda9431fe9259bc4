"""Telling the echo of our own writing from what others do."""

import pytest

from lyrsvc.files.atomic import announced
from lyrsvc.services.own_writes import OwnWrites


@pytest.fixture
def own(clock) -> OwnWrites:
    return OwnWrites(clock, window_s=6.0)


def test_only_announced_paths_are_ours(own, tmp_path):
    song = tmp_path / "song.lrc"
    song.write_text("x")
    assert not own.covers(str(song))
    with announced(own.announce, song):
        assert own.covers(str(song))
    assert own.covers(str(song))
    assert not own.covers(str(song.with_suffix(".txt")))


def test_whatever_happens_while_we_touch_a_path_is_ours_however_long_it_takes(own, clock, tmp_path):
    song = tmp_path / "song.lrc"
    song.write_text("the old words, of which an event is read late")
    with announced(own.announce, song):
        assert own.covers(str(song))
        clock.advance(3600.0)  # a disk that stands still
        song.write_text("ours")
        assert own.covers(str(song))
    clock.advance(5.0)
    assert own.covers(str(song))


def test_a_file_that_looks_otherwise_than_after_our_write_is_not_ours(own, tmp_path):
    song = tmp_path / "song.lrc"
    with announced(own.announce, song):
        song.write_text("ours")
    assert own.covers(str(song))
    assert own.covers(str(song))
    song.write_text("somebody else's")
    assert not own.covers(str(song))
    song.unlink()
    assert not own.covers(str(song))
    with announced(own.announce, song):
        pass
    assert own.covers(str(song))


def test_an_edit_is_noticed_also_before_the_event_of_our_own_write_is_read(own, tmp_path):
    song = tmp_path / "song.lrc"
    with announced(own.announce, song):
        song.write_text("ours")
    song.write_text("somebody else's")
    assert not own.covers(str(song))


def test_a_removal_is_ours_and_what_comes_after_it_is_not(own, tmp_path):
    song = tmp_path / "song.txt"
    song.write_text("ours")
    with announced(own.announce, song):
        song.unlink()
    assert own.covers(str(song))
    song.write_text("dropped in")
    assert not own.covers(str(song))


def test_two_touches_at_once_are_ours_until_both_are_done(own, tmp_path):
    song = tmp_path / "song.lrc"
    with announced(own.announce, song):
        with announced(own.announce, song):
            song.write_text("one")
        song.write_text("two, longer")
        assert own.covers(str(song))
    assert own.covers(str(song))
    song.write_text("three")
    assert not own.covers(str(song))


def test_a_touch_that_failed_is_over_too(own, tmp_path):
    song = tmp_path / "song.lrc"
    with pytest.raises(OSError, match="full"), announced(own.announce, song):
        raise OSError("full")
    song.write_text("somebody else's")
    assert not own.covers(str(song))


def test_a_file_is_known_until_its_window_ends(own, clock, tmp_path):
    song = tmp_path / "song.lrc"
    song.write_text("x")
    with announced(own.announce, song):
        clock.advance(100.0)
    clock.advance(6.0)
    assert own.covers(str(song))
    clock.advance(0.1)
    assert not own.covers(str(song))


def test_old_files_and_temporary_names_are_not_kept(own, clock, tmp_path):
    with announced(own.announce, tmp_path / ".lyrsvc-0123abcd.tmp"):
        assert len(own) == 0
    for number in range(1000):
        with announced(own.announce, tmp_path / f"{number}.lrc"):
            pass
        clock.advance(1.0)
    assert len(own) <= 7


def test_very_many_files_at_once_are_not_all_kept(clock, tmp_path):
    own = OwnWrites(clock, window_s=6.0, most=10)
    for number in range(50):
        with announced(own.announce, tmp_path / f"{number}.lrc"):
            pass
    assert len(own) == 10
    assert own.covers(str(tmp_path / "49.lrc"))
    assert not own.covers(str(tmp_path / "0.lrc"))


def test_a_path_that_leads_over_a_link_is_known_by_where_it_leads(own, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with announced(own.announce, tmp_path / "link" / "song.lrc"):
        assert own.covers(str(tmp_path / "real" / "song.lrc"))
    assert own.covers(str(tmp_path / "real" / "song.lrc"))
