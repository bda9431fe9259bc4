"""Realign by itself while the service runs."""

import threading
from random import Random

import pytest

from lyrsvc.core.orphans import RealignPolicy
from lyrsvc.files.move_log import read_moves
from lyrsvc.services import reactive_realign
from lyrsvc.services.library_lock import library_lock
from lyrsvc.services.reactive_realign import Reaction, ReactiveRealign
from realigns import Realigns

ISRC = "USABC1234567"


@pytest.fixture
def music(db, clock, tmp_path):
    return Realigns(db, clock, tmp_path / "music")


@pytest.fixture
def react(music, db, clock):
    def make(*, policy=None, **reaction):
        known = Reaction(policy=RealignPolicy(**(policy or {})), backup=music.backup, **reaction)
        return ReactiveRealign(db, clock=clock, chance=Random(1), reaction=known)

    return make


def fill(music):
    for folder in ("a", "b"):
        music.song(f"{folder}/New.flac", "Hello", isrc=ISRC)
        music.put(f"{folder}/old.lrc", isrc=ISRC)
        music.song(f"{folder}/sub/02 World.flac", "World")
        music.put(f"{folder}/sub/World.lrc")


def test_touched_directories_are_realigned_by_their_ids_only(music, react):
    fill(music)
    realign = react()
    realign.touch(music.library, [music.root / "a"])
    realign.step()
    assert music.sidecars() == {"a/New.lrc", "a/sub/World.lrc", "b/old.lrc", "b/sub/World.lrc"}
    assert [move.method for move in read_moves(music.backup)] == ["exact"]


@pytest.mark.parametrize(("policy", "moved"), [({}, True), ({"require_provenance": True}, False)])
def test_names_count_only_when_that_is_wanted_and_nothing_forbids_it(music, react, policy, moved):
    fill(music)
    realign = react(policy=policy, auto_apply_heuristic=True)
    realign.touch(music.library, [music.root / "a"])
    realign.step()
    assert ("a/sub/02 World.lrc" in music.sidecars()) is moved


@pytest.mark.parametrize("on_scan", [True, False])
def test_a_whole_scan_is_followed_only_when_that_is_wanted(music, react, on_scan):
    fill(music)
    realign = react(on_scan=on_scan)
    realign.scanned(music.library)
    realign.step()
    assert ("b/New.lrc" in music.sidecars()) is on_scan


def test_a_busy_library_is_waited_for_and_a_failure_is_forgotten(music, react, db, clock, caplog):
    fill(music)
    realign = react()
    realign.touch(music.library, [music.root / "a"])
    with library_lock(db, music.library, clock=clock, purpose="scan"):
        assert realign.step() == reactive_realign.BUSY_S
    realign.step()
    assert "a/New.lrc" in music.sidecars()

    music.backup.unlink()
    music.backup.mkdir()
    realign.touch(music.library, [music.root / "b"])
    realign.step()
    assert "realign failed" in caplog.text
    assert "b/old.lrc" in music.sidecars()


def test_a_library_that_was_removed_is_forgotten(music, react):
    realign = react()
    realign.touch(music.library, [music.root])
    music.run("DELETE FROM libraries")
    realign.step()


def test_the_loop_works_and_ends(music, react, clock):
    fill(music)
    realign = react()
    thread = threading.Thread(target=realign.run, daemon=True)
    thread.start()
    realign.touch(music.library, [music.root / "a"])
    pause = threading.Event()
    for _ in range(500):
        if (music.root / "a/New.lrc").exists():
            break
        pause.wait(0.01)
    assert (music.root / "a/New.lrc").exists()
    clock.stopped = True
    realign.wake()
    thread.join(5)
    assert not thread.is_alive()
