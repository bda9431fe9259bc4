"""Audio that the worker does not find: given up for no longer than it is away."""

import threading
from datetime import timedelta
from random import Random

import pytest

from candidates import matched
from fakes import Scripted
from lyrsvc.core.errors import Miss
from lyrsvc.core.item import Status, TargetStatus
from lyrsvc.core.lyrics import Candidate
from lyrsvc.services import parked_check
from lyrsvc.services.away_roots import LONGEST, SHORTEST, AwayRoots
from lyrsvc.services.parked_check import ParkedCheck
from lyrsvc.services.probing import Probes
from lyrsvc.services.retrying import Hand, Selection, recheck_selected
from lyrsvc.services.root_probes import RootProbes
from lyrsvc.store import libraries
from worker_shop import Knowing


@pytest.fixture
def here(shop):
    here = shop(Knowing())
    here.song("stays/x.flac", "Stays")
    yield here
    assert here.wrong_counts() == {}


def check_parked(here, **parts) -> int:
    check = ParkedCheck(here.db, clock=here.clock, chance=Random(1), **parts)
    return check.run()


def statuses(here, title: str) -> list[TargetStatus]:
    return [target.status for target in here.targets(title)]


@pytest.mark.parametrize("how", ["gone", "empty"])
def test_a_library_that_is_away_while_the_queue_works_costs_nothing_but_time(here, clock, how):
    for number in range(3):
        here.song(f"{number}.flac", f"Song {number}")
    here.scan()
    away = here.music.rename(here.place / "away")
    if how == "empty":
        here.music.mkdir()
    assert here.work() == 4

    assert {item.status for item in here.all_items()} == {Status.PENDING}
    assert {item.due_at for item in here.all_items()} == {clock.now() + SHORTEST}
    assert {(item.attempts, item.misses) for item in here.all_items()} == {(0, 0)}
    assert not any(row["missing_since_at"] for row in here.rows().values())
    if how == "empty":
        here.music.rmdir()
    away.rename(here.music)
    assert here.scan().counts.unchanged == 4
    clock.advance(SHORTEST.total_seconds())
    here.work()
    assert here.sidecars() == ["0.lrc", "1.lrc", "2.lrc", "x.lrc"]


def test_the_longer_a_library_is_away_the_longer_its_items_wait(here, clock):
    here.scan()
    here.music.rename(here.place / "away")
    waits = []
    for _ in range(8):
        here.work()
        waits.append(here.item("Stays").due_at - clock.now())
        clock.advance(waits[-1].total_seconds())
    assert waits == [SHORTEST * n for n in (1, 1, 2, 4, 8, 16, 32, 60)]
    assert waits[-1] == LONGEST


def test_a_library_that_was_away_once_is_waited_for_from_the_start_again(tmp_path, clock):
    away = AwayRoots(clock=clock)
    root = tmp_path / "music"
    assert away.wait_for(root) == SHORTEST
    clock.advance(600)
    assert away.wait_for(root) == timedelta(minutes=10)
    (root / "album").mkdir(parents=True)
    assert away.wait_for(root) is None
    (root / "album").rmdir()
    assert away.wait_for(root) == SHORTEST


def test_a_library_that_is_away_keeps_no_other_from_its_words(here, clock):
    other = here.place / "other"
    second = here.song("a.flac", "Tidewater", music=other)
    here.song("a.flac", "Tidewater")
    added = here.db.write(lambda tx: libraries.add(tx, name="o", path=other, now=clock.now()))
    here.scan()
    here.scan(added.id)
    away = other.rename(here.place / "away")
    here.work()

    assert here.sidecars() == ["a.lrc", "x.lrc"]
    assert here.item("Tidewater").status is Status.PENDING
    away.rename(other)
    clock.advance(SHORTEST.total_seconds())
    here.work()
    assert second.with_suffix(".lrc").exists()
    assert here.item("Tidewater").status is Status.DONE
    assert here.counters() == {"main": (2, 0)}


def test_what_lanes_have_answered_is_kept_while_a_library_is_away(shop, clock):
    first = Scripted("first", Miss(reason="not_found"))
    here = shop(first, Knowing("second"))
    here.enqueue("Tidewater")
    here.db.write(
        lambda tx: tx.run(
            "UPDATE work_items SET resume = :resume",
            resume='{"kind":"partial","answers":[{"lane":"first","verdict":"miss",'
            f'"at":"{clock.now():%Y-%m-%dT%H:%M:%S.000Z}"}}],"releases":1}}',
        )
    )
    before = here.item("Tidewater").resume
    away = here.music.rename(here.place / "away")
    here.work()
    assert here.item("Tidewater").resume == before
    away.rename(here.music)
    clock.advance(SHORTEST.total_seconds())
    here.work()
    assert (here.sidecars(), first.asked) == (["Tidewater.lrc"], [])


def test_a_directory_that_was_moved_away_and_back_gets_its_words_after_the_next_scan(here):
    here.song("album/a.flac", "Tidewater")
    here.scan()
    away = (here.music / "album").rename(here.place / "away")
    here.work()
    assert statuses(here, "Tidewater") == [TargetStatus.PARKED]
    assert here.rows()["a.flac"]["missing_since_at"]

    away.rename(here.music / "album")
    here.scan()
    assert here.rows()["a.flac"]["missing_since_at"] is None
    here.work()
    assert here.sidecars() == ["a.lrc", "x.lrc"]


def test_audio_that_was_renamed_and_missed_is_followed_by_the_next_scan(here):
    old = here.song("a.flac", "Tidewater")
    here.scan()
    row = here.rows()["a.flac"]["id"]
    old.rename(here.music / "b.flac")
    here.work()
    assert here.scan().counts.relinked == 1
    here.work()
    assert here.sidecars() == ["b.lrc", "x.lrc"]
    assert here.rows()["b.flac"]["id"] == row


@pytest.mark.parametrize("scanned", [True, False])
def test_of_two_files_of_one_stem_the_one_that_stays_gets_the_words(here, scanned):
    first = here.song("01.flac", "Tidewater")
    here.song("01.mp3", "Tidewater")
    here.scan()
    first.unlink()
    if scanned:
        here.scan()
    here.work()
    assert here.sidecars() == ["01.lrc", "x.lrc"]
    assert here.rows()["01.mp3"]["status"] == "done"
    assert here.rows()["01.flac"]["missing_since_at"]


def test_a_file_that_was_replaced_by_one_of_another_kind_gets_its_words(here):
    first = here.song("01.flac", "Tidewater")
    here.scan()
    first.unlink()
    here.song("01.mp3", "Tidewater")
    here.work()
    here.scan()
    here.work()
    assert here.sidecars() == ["01.lrc", "x.lrc"]
    assert here.item("Tidewater").status is Status.DONE


def test_when_every_file_of_a_stem_is_gone_its_target_is_parked(here):
    files = [here.song(name, "Tidewater") for name in ("01.flac", "01.mp3")]
    here.scan()
    for file in files:
        file.unlink()
    here.work()
    assert statuses(here, "Tidewater") == [TargetStatus.PARKED]
    assert all(here.rows()[file.name]["missing_since_at"] for file in files)
    assert here.item("Tidewater").due_at is None


@pytest.mark.parametrize("status", ["pending", "deferred"])
def test_a_sweep_makes_parked_items_due_whose_audio_is_there(here, status):
    path = here.song("a.flac", "Tidewater")
    here.scan()
    away = path.rename(here.place / "a.flac")
    here.work()
    if status == "deferred":
        here.db.write(lambda tx: tx.run("UPDATE work_items SET status = 'deferred'"))
        here.upkeep.check_counts()
    assert check_parked(here) == 0
    away.rename(path)
    # What older versions left behind: nothing tells a scan that there is something to do.
    here.db.write(lambda tx: tx.run("UPDATE scan_results SET missing_since_at = NULL"))
    here.upkeep.check_counts()
    assert here.scan().counts.enqueued == 0

    assert check_parked(here) == 1
    here.work()
    assert "a.lrc" in here.sidecars()
    assert check_parked(here) == 0


def test_a_sweep_opens_a_finished_item_one_of_whose_files_was_missed(here):
    path = here.song("a/1.flac", "Tidewater")
    here.song("b/2.flac", "Tidewater")
    here.scan()
    away = path.rename(here.place / "1.flac")
    here.work()
    assert here.item("Tidewater").status is Status.DONE
    away.rename(path)
    assert check_parked(here) == 1
    assert here.rows()["1.flac"]["missing_since_at"] is None
    here.work()
    assert here.sidecars() == ["1.lrc", "2.lrc", "x.lrc"]
    assert here.counters() == {"main": (2, 0)}


def test_a_sweep_finds_the_other_file_of_a_stem(here):
    path = here.song("01.flac", "Tidewater")
    here.scan()
    path.unlink()
    here.work()
    here.song("01.mp3", "Tidewater")
    here.scan()
    here.db.write(lambda tx: tx.run("UPDATE work_targets SET status = 'parked' WHERE kind = ''"))
    assert check_parked(here) == 1
    here.work()
    assert here.sidecars() == ["01.lrc", "x.lrc"]


def test_a_sweep_leaves_a_library_alone_that_is_away_or_does_not_answer(here, monkeypatch):
    path = here.song("a.flac", "Tidewater")
    here.scan()
    held = path.rename(here.place / "a.flac")
    here.work()
    held.rename(path)
    assert check_parked(here, roots=_Silent()) == 0
    monkeypatch.setattr(parked_check, "ANSWER_S", 0.05)
    freed = threading.Event()
    monkeypatch.setattr(parked_check, "_first_there", lambda _paths: str(freed.wait(30)))
    assert check_parked(here, probes=Probes(purpose="housekeeping")) == 0
    freed.set()
    monkeypatch.undo()
    assert check_parked(here) == 1


class _Silent(RootProbes):
    def __init__(self) -> None:
        super().__init__(wait_s=0.0)

    def _probe(self, path):
        probe = super()._probe(path)
        probe.done.clear()
        return probe


def test_a_recheck_looks_for_the_audio_again(shop, clock):
    main = Scripted("main", Miss(reason="not_found"), Candidate(matched=matched()))
    here = shop(main)
    path = here.song("a/a.flac", "Tidewater")
    here.song("b/b.flac", "Other")
    here.scan()
    (here.music / "b/b.flac").with_suffix(".lrc").write_text("[00:01.00]mine\n")
    here.work()
    assert here.item("Tidewater").status is Status.DEFERRED
    away = path.rename(here.place / "a.flac")
    hand = Hand(by="cli", now=clock.now(), chance=Random(1))
    recheck_selected(here.db, Selection(deferred=True), hand)
    here.work()
    assert statuses(here, "Tidewater") == [TargetStatus.PARKED]

    away.rename(path)
    asked = len(main.asked)
    assert recheck_selected(here.db, Selection(deferred=True), hand) == 1
    here.work()
    assert len(main.asked) == asked + 1
