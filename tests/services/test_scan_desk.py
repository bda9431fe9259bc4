"""Scans that people begin, watch and call off."""

import threading
from random import Random

import pytest

from lyrsvc.clock import SystemClock
from lyrsvc.core.errors import NotFound
from lyrsvc.core.sidecar import FetchMode
from lyrsvc.services.enqueueing import Terms
from lyrsvc.services.library_lock import LibraryBusy, library_lock
from lyrsvc.services.scan_desk import RunsElsewhere, ScanDesk, ScanWish
from lyrsvc.services.scanning import Scanner, ScanSetup
from lyrsvc.store import scan_runs
from scans import Scans
from served import wait_until


class Hurdle(SystemClock):
    """A clock whose owner may hold up whoever looks whether the program stops."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.gate.set()

    def wait(self, seconds: float) -> bool:
        if seconds == 0:
            self.gate.wait(10)
        return super().wait(seconds)


@pytest.fixture
def hurdle():
    return Hurdle()


@pytest.fixture
def scans(db, hurdle, tmp_path):
    return Scans(db, hurdle, tmp_path / "music")


@pytest.fixture
def desk(db, hurdle, scans):
    scanner = Scanner(
        db,
        clock=hurdle,
        setup=ScanSetup(tag_workers=1),
        terms=lambda now: Terms(now=now, chance=Random(1), output_dir="/nowhere"),
    )
    desk = ScanDesk(db, scanner, clock=hurdle)
    yield desk
    hurdle.gate.set()
    desk.wait(20)


def ended(desk, run_id):
    wait_until(lambda: desk.get(run_id)["state"] != "running", "the scan ends")
    return desk.get(run_id)


def test_all_libraries_at_once_are_a_run_of_the_task(db, hurdle, scans, desk):
    runs = []

    def record(name, work):
        runs.append(name)
        work()

    recorded = ScanDesk(db, desk._scanner, clock=hurdle, record=record)
    scans.song("x.flac")
    recorded.start(ScanWish(library_id=scans.library.id))
    recorded.wait(20)
    assert runs == []

    recorded.start(ScanWish())
    recorded.wait(20)
    assert runs == ["scan"]


def test_a_scan_runs_in_the_background_and_leaves_its_row(desk, scans):
    scans.song("x.flac")

    row = desk.start(ScanWish(library_id=scans.library.id))

    assert (row["library_id"], row["started_by"], row["mode"]) == (
        scans.library.id,
        "user",
        "normal",
    )
    done = ended(desk, row["id"])
    assert (done["state"], done["seen"], done["new"]) == ("done", 1, 1)
    assert [one["id"] for one in desk.last()] == [row["id"]]
    assert desk.running() == []


def test_while_a_library_is_scanned_it_is_shown_and_no_second_scan_begins(desk, scans, hurdle):
    scans.song("x.flac")
    hurdle.gate.clear()
    row = desk.start(ScanWish(library_id=scans.library.id))

    assert [one["id"] for one in desk.running()] == [row["id"]]
    with pytest.raises(LibraryBusy) as refusal:
        desk.start(ScanWish(library_id=scans.library.id))

    assert refusal.value.code == "already_running"
    hurdle.gate.set()
    assert ended(desk, row["id"])["state"] == "done"


def test_a_run_under_way_shows_how_far_it_is_before_anything_is_stored(desk, scans, hurdle):
    for number in range(3):
        scans.song(f"{number}/x.flac", f"Song {number}")
    assert ended(desk, desk.start(ScanWish())["id"])["seen"] == 3
    seen = []

    def watch(report, _path):
        (row,) = desk.running()
        seen.append((row["id"] == report.run_id, row["seen"], row["state"]))

    desk._scanner.scan(scans.library, started_by="schedule", watch=watch)

    assert seen == [(True, 0, "running"), (True, 3, "running")]


def test_a_scan_that_is_called_off_marks_nothing_as_missing(desk, scans, hurdle):
    gone = scans.song("gone.flac")
    scans.song("here.flac")
    assert ended(desk, desk.start(ScanWish())["id"])["state"] == "done"
    gone.unlink()
    hurdle.gate.clear()
    row = desk.start(ScanWish(library_id=scans.library.id, mode=FetchMode.UPDATE))
    assert row["mode"] == "update"

    threading.Timer(0.05, hurdle.gate.set).start()
    cancelled = desk.cancel(row["id"])

    assert cancelled["state"] == "cancelled"
    assert cancelled["missing"] == 0
    assert len(scans.rows()) == 2
    assert desk.cancel(row["id"])["state"] == "cancelled"


def test_all_libraries_are_scanned_one_after_another_and_a_busy_one_is_skipped(
    desk, scans, db, hurdle, tmp_path
):
    scans.song("x.flac")
    (tmp_path / "other").mkdir()
    other = scans.add(tmp_path / "other")
    (tmp_path / "other" / "y.txt").write_text("no audio")

    with library_lock(db, scans.library, clock=hurdle, purpose="test"):
        row = desk.start(ScanWish())
        assert row["library_id"] == other.id
        ended(desk, row["id"])
    desk.wait(20)
    row = desk.start(ScanWish())
    desk.wait(20)

    assert row["library_id"] == scans.library.id
    assert {one["library_id"]: one["state"] for one in desk.last()} == {
        scans.library.id: "done",
        other.id: "done",
    }


def test_a_library_whose_root_is_gone_ends_as_failed(desk, scans):
    scans.root.rmdir()

    row = ended(desk, desk.start(ScanWish(library_id=scans.library.id))["id"])

    assert (row["state"], row["reason"]) == ("failed", "root_unavailable")


def test_there_is_nothing_to_scan_without_a_library(desk, scans):
    scans.registry.remove(scans.library)

    with pytest.raises(NotFound):
        desk.start(ScanWish())
    with pytest.raises(NotFound):
        desk.start(ScanWish(library_id=99))
    with pytest.raises(NotFound):
        desk.cancel(99)


def begin_elsewhere(db, library, clock):
    return db.write(
        lambda tx: scan_runs.begin(
            tx, library.id, started_by="cli", scope="", mode="normal", now=clock.now()
        )
    )


def test_a_scan_of_another_process_is_not_called_off_from_here(desk, scans, db, hurdle):
    with library_lock(db, scans.library, clock=hurdle, purpose="scan"):
        run_id = begin_elsewhere(db, scans.library, hurdle)
        desk.tidy()
        assert [row["id"] for row in desk.running()] == [run_id]

        with pytest.raises(RunsElsewhere):
            desk.cancel(run_id)


def test_a_run_nobody_carries_on_is_written_off(desk, scans, db, hurdle):
    run_id = begin_elsewhere(db, scans.library, hurdle)
    assert desk.running() == []

    desk.tidy()

    assert (desk.get(run_id)["state"], desk.get(run_id)["reason"]) == ("failed", "aborted")
