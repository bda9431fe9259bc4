"""Telling the echo of our own writing from what others do."""

import pytest

from lyrsvc.services.own_writes import OwnWrites


@pytest.fixture
def own(clock) -> OwnWrites:
    return OwnWrites(clock, window_s=6.0)


def test_only_announced_paths_are_ours(own, tmp_path):
    song = tmp_path / "song.lrc"
    song.write_text("x")
    assert not own.covers(str(song))
    own.announce(song)
    assert own.covers(str(song))
    assert not own.covers(str(song.with_suffix(".txt")))


def test_a_file_that_looks_otherwise_than_after_our_write_is_not_ours(own, tmp_path):
    song = tmp_path / "song.lrc"
    own.announce(song)
    song.write_text("ours")
    assert own.covers(str(song))
    assert own.covers(str(song))
    song.write_text("somebody else's")
    assert not own.covers(str(song))
    own.announce(song)
    assert own.covers(str(song))


def test_a_removal_is_ours_and_what_comes_after_it_is_not(own, tmp_path):
    song = tmp_path / "song.txt"
    own.announce(song)
    assert own.covers(str(song))
    song.write_text("dropped in")
    assert not own.covers(str(song))


def test_an_announcement_ends_with_its_window(own, clock, tmp_path):
    song = tmp_path / "song.lrc"
    song.write_text("x")
    own.announce(song)
    clock.advance(6.0)
    assert own.covers(str(song))
    clock.advance(0.1)
    assert not own.covers(str(song))


def test_old_announcements_and_temporary_names_are_not_kept(own, clock, tmp_path):
    own.announce(tmp_path / ".lyrsvc-0123abcd.tmp")
    assert len(own) == 0
    for number in range(1000):
        own.announce(tmp_path / f"{number}.lrc")
        clock.advance(1.0)
    assert len(own) <= 7


def test_a_path_that_leads_over_a_link_is_known_by_where_it_leads(own, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    own.announce(tmp_path / "link" / "song.lrc")
    assert own.covers(str(tmp_path / "real" / "song.lrc"))
