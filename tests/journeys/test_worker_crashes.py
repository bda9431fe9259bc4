"""Workers that are killed: at every point of an attempt, at random, and several at once."""

import os
import random
import signal
import time

import pytest

from lyrsvc.core.sidecar import FetchMode
from lyrsvc.demo.stand_in import StandIn
from timing import is_within
from worker_processes import Yard

KILLED = -signal.SIGKILL
TITLE = "Tidewater"


@pytest.fixture(scope="module")
def server():
    with StandIn(songs=()) as one:
        yield one


@pytest.fixture
def yard(tmp_path, server):
    server.reset()
    place = Yard(tmp_path, server)
    yield place
    place.close()


def facts(path):
    found = path.stat()
    return path.read_bytes(), found.st_mtime_ns, found.st_ino


def the_item(yard):
    (item,) = yard.rows("SELECT * FROM work_items")
    return item


def assert_finished(yard, song, *, requests):
    """Everything is as if nobody had been killed."""
    item = the_item(yard)
    assert (item["status"], item["outcome"], item["lane"]) == ("done", "synced", "defaultprov")
    assert (item["attempts"], item["misses"], item["resume"]) == (0, 0, None)
    assert yard.is_whole(song)
    assert yard.requests == requests
    assert yard.counters() == {"defaultprov": (1, 0)}
    attempts = yard.rows("SELECT lane, hit FROM lane_attempts")
    assert attempts == [{"lane": "defaultprov", "hit": 1}]
    states = yard.rows("SELECT state FROM written_files")
    assert states == [{"state": "written"}]
    assert yard.wrong_counts() == {}


@pytest.mark.spec("E-01", "E-02", "E-03")
@pytest.mark.parametrize(
    ("point", "requests"),
    [
        ("inside claim", 1),
        ("after claim", 1),
        ("asking", 1),
        ("answered", 2),
        ("inside B", 2),
        ("after B", 1),
        ("temp written", 1),
        ("renamed", 1),
        ("written", 1),
        ("inside D", 1),
        ("after D", 1),
    ],
)
def test_killed_at_any_point_an_item_is_finished_once_by_the_next_run(yard, point, requests):
    song = yard.know(TITLE)
    yard.enqueue(TITLE)
    assert yard.run(point=point) == KILLED
    sidecar = yard.music / f"{TITLE}.lrc"
    before = facts(sidecar) if sidecar.exists() else None
    assert (before is not None) is (point in ("renamed", "written", "inside D", "after D"))

    assert yard.run() == 0

    assert_finished(yard, song, requests=requests)
    if before is not None:  # neither bytes nor time of a file that stood there have changed
        assert facts(sidecar) == before


@pytest.mark.spec("E-01")
def test_the_next_run_finds_the_item_in_its_former_status_at_once(yard):
    yard.know(TITLE)
    yard.enqueue(TITLE)
    assert yard.run(point="asking") == KILLED
    held = the_item(yard)
    assert (held["status"], held["claimed_from"]) == ("processing", "pending")

    runs = []
    assert is_within(2, lambda: runs.append(yard.run(point="after claim")))
    assert set(runs) == {KILLED}  # so it was given back and claimed again
    again = the_item(yard)
    assert again["claim_seq"] == 1 + len(runs)
    assert (again["claimed_from"], again["attempts"]) == ("pending", 0)


def test_killed_after_two_of_five_files_the_other_three_are_written(yard):
    song = yard.know(TITLE)
    yard.enqueue_wishes([yard.wish(TITLE, stem=f"copy {number}") for number in range(5)])
    assert yard.run(point="temp written", times=3) == KILLED
    written = [path for path in yard.music.glob("*.lrc")]
    assert len(written) == 2
    before = {path: facts(path) for path in written}

    assert yard.run() == 0

    assert all(yard.is_whole(song, f"copy {number}") for number in range(5))
    assert {path: facts(path) for path in written} == before
    assert (yard.requests, yard.counters()) == (1, {"defaultprov": (1, 0)})
    results = {row["out_stem"]: row["result"] for row in yard.rows("SELECT * FROM work_targets")}
    assert sorted(results.values()) == ["same", "same", "written", "written", "written"]


@pytest.mark.parametrize("point", ["renamed", "sibling"])
def test_killed_before_the_old_sibling_is_removed_it_is_removed_later(yard, point):
    song = yard.know(TITLE, mode="plain")
    yard.enqueue(TITLE)
    assert yard.run() == 0
    assert (yard.music / f"{TITLE}.txt").exists()
    yard.stand_in.add_song(song := yard.know(TITLE))
    yard.reopen(TITLE, FetchMode.UPGRADE)

    assert yard.run(point=point) == KILLED
    assert (yard.music / f"{TITLE}.txt").exists()
    before = facts(yard.music / f"{TITLE}.lrc")
    assert yard.run() == 0

    assert not (yard.music / f"{TITLE}.txt").exists()
    assert facts(yard.music / f"{TITLE}.lrc") == before
    assert yard.is_whole(song)
    item = the_item(yard)
    assert (item["status"], item["outcome"]) == ("done", "synced")
    assert (yard.requests, yard.counters()) == (2, {"defaultprov": (2, 0)})


def test_killed_while_releasing_it_is_released_by_the_next_run(yard):
    yard.know(TITLE)
    yard.stand_in.set_mode("throttled", retry_after="60", times=1)
    yard.enqueue(TITLE)
    assert yard.run(point="inside release") == KILLED
    assert the_item(yard)["status"] == "processing"

    assert yard.run() == 0  # the lane was closed before: nothing is asked
    item = the_item(yard)
    assert (item["status"], item["attempts"], yard.requests) == ("pending", 0, 1)
    (lane,) = yard.rows("SELECT * FROM lane_state")
    assert (lane["cause"], lane["trips"]) == ("throttled", 1)


def test_a_slot_that_was_reserved_stays_reserved(yard):
    """Killed over a question, nobody asks again before the pace allows it."""
    yard.environ["LYRSVC_API_COOLDOWN"] = "1"
    yard.know(TITLE)
    yard.enqueue(TITLE)
    assert yard.run(point="answered") == KILLED
    assert yard.run() == 0
    first, second = (call.at for call in yard.stand_in.requests)
    assert second - first >= 1.0


@pytest.mark.spec("E-04")
def test_two_hundred_random_kills_over_three_hundred_items(yard):
    chance = random.Random(20260131)
    items, kills = 300, 200
    songs = [yard.know(f"Song {number:03}") for number in range(items)]
    yard.enqueue(*[song.title for song in songs])
    done, longest_s = 0, 0.11
    for number in range(1, kills + 1):
        pid = yard.start(threads=True)
        time.sleep(chance.uniform(0.02, longest_s))
        os.kill(pid, signal.SIGKILL)
        if number % 20 == 0:
            done = yard.rows("SELECT count(*) AS n FROM work_items WHERE status = 'done'")[0]["n"]
            longest_s *= 1 if done else 2  # so slow a machine needs longer for an item
    assert yard.run() == 0

    assert 0 < done <= items
    statuses = yard.rows("SELECT status, count(*) AS n FROM work_items GROUP BY status")
    assert statuses == [{"status": "done", "n": items}]
    assert all(yard.is_whole(song) for song in songs)
    assert len(list(yard.music.glob("*.lrc"))) == items
    assert yard.requests <= items + kills
    assert yard.counters() == {"defaultprov": (items, 0)}
    assert yard.wrong_counts() == {}
    integrity = yard.rows("PRAGMA integrity_check")
    assert [list(row.values()) for row in integrity] == [["ok"]]

    for temp in yard.temps():
        os.utime(temp, (0, 0))  # an hour has passed since
    extra = yard.know("One More")
    yard.enqueue(extra.title)
    assert yard.run() == 0
    assert yard.temps() == []


@pytest.mark.parametrize("workers", [4])
def test_several_workers_on_one_database_fetch_each_item_exactly_once(tmp_path, workers):
    items = 1_200
    yard = Yard(tmp_path / "yard", None)
    try:
        yard.enqueue(*[f"Song {number}" for number in range(items)])
        log = tmp_path / "asked"
        pids = [yard.start(local=str(log), shared=True) for _ in range(workers)]
        deadline = time.monotonic() + 120
        while yard.rows("SELECT 1 FROM work_items WHERE status <> 'done' LIMIT 1"):
            assert time.monotonic() < deadline
            time.sleep(0.2)
        asked = log.read_text().splitlines()
        assert (len(asked), len(set(asked))) == (items, items)
        assert yard.counters() == {"defaultprov": (items, 0)}
        assert len(list(yard.music.glob("*.lrc"))) == items
        assert yard.wrong_counts() == {}
        assert len(set(pids)) == workers
    finally:
        yard.close()
