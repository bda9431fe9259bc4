"""Who waits for the write lock is seen, by other processes too."""

import pytest

from lyrsvc.store.turnstile import Turnstile


@pytest.fixture
def pair(tmp_path):
    ours, theirs = (Turnstile(str(tmp_path / "x.db")) for _ in range(2))
    yield ours, theirs
    ours.close()
    theirs.close()


def test_nobody_is_seen_before_somebody_waits_and_no_file_is_made(pair, tmp_path):
    ours, _ = pair
    assert ours.is_wanted() is False
    assert list(tmp_path.iterdir()) == []


def test_whoever_waits_is_seen_until_the_end_of_it(pair):
    ours, theirs = pair
    for _ in range(3):
        theirs.begin_to_wait()
        theirs.begin_to_wait()
        assert ours.is_wanted() is True
        theirs.end_waiting()
        assert ours.is_wanted() is False


def test_several_may_wait(pair, tmp_path):
    ours, theirs = pair
    third = Turnstile(str(tmp_path / "x.db"))
    ours.begin_to_wait()
    theirs.begin_to_wait()
    assert third.is_wanted() is True
    ours.end_waiting()
    assert third.is_wanted() is True
    theirs.close()  # as the end of a process does
    assert third.is_wanted() is False
    third.close()


def test_where_no_file_can_be_made_nothing_is_known_and_nothing_fails(tmp_path):
    (tmp_path / "x.db.turn").mkdir()
    turnstile = Turnstile(str(tmp_path / "x.db"))
    turnstile.begin_to_wait()
    assert turnstile.is_wanted() is None
    turnstile.end_waiting()
    turnstile.close()
