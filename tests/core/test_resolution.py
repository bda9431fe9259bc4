"""Which file of the inventory is meant."""

from lyrsvc.core.resolution import Candidate, Names, choose


def a_file(row_id, **fields):
    known = {
        "path": f"/music/{row_id}.flac",
        "album_key": "",
        "is_done": False,
        "is_there": True,
        "by_artist": True,
    }
    return Candidate(row_id=row_id, **{**known, **fields})


def chosen(*candidates, paired="", album=""):
    found = choose(candidates, paired_path=paired, album_key=album)
    return found and found.row_id


def test_nothing_is_chosen_of_nothing_and_of_what_is_gone():
    assert chosen() is None
    assert chosen(a_file(1, is_there=False)) is None


def test_the_paired_file_comes_first_then_the_album_then_what_waits_then_the_oldest():
    assert chosen(a_file(1, album_key="a"), a_file(2), paired="/music/2.flac", album="a") == 2
    assert chosen(a_file(1), a_file(2, album_key="a", is_done=True), album="a") == 2
    assert chosen(a_file(1, is_done=True), a_file(2)) == 2
    assert chosen(a_file(2), a_file(1)) == 1
    assert chosen(a_file(2), a_file(1, album_key="b"), album="") == 1


def test_the_artists_own_files_come_before_those_that_credit_him_too():
    assert chosen(a_file(1, by_artist=False), a_file(2)) == 2
    assert chosen(a_file(1, by_artist=False), a_file(2, is_there=False)) == 1
    assert chosen(a_file(1, by_artist=False), a_file(2), paired="/music/1.flac") == 1


def test_blank_names_match_nothing():
    assert not Names("", "artist")
    assert not Names("title", "")
    assert Names("title", "artist")
