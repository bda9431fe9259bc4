"""One at a time for each library, across processes."""

import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from lyrsvc.services.library_lock import LibraryBusy, is_locked, library_lock
from lyrsvc.services.process_marks import is_dead, own_mark
from lyrsvc.store import locks
from scans import Scans

TESTS = Path(__file__).parents[1]


@pytest.fixture
def scans(db, clock, tmp_path):
    return Scans(db, clock, tmp_path / "music")


def hold(scans, *, info="scan elsewhere", seconds=0.0):
    now = scans.clock.now() + timedelta(seconds=seconds)
    scans.db.write(lambda tx: locks.take(tx, "library:1", "somebody", info=info, now=now))


@pytest.mark.spec("E-45")
def test_a_busy_library_is_waited_for_and_then_refused(scans):
    hold(scans, info="realign on another host")
    began = scans.clock.monotonic()

    with pytest.raises(LibraryBusy, match=r'library "Music" is busy \(realign\)'):
        scans.scan(wait_s=10)

    assert 9.9 <= scans.clock.monotonic() - began <= 10.5
    assert scans.table("scan_runs") == []
    assert is_locked(scans.db, scans.library, clock=scans.clock)


@pytest.mark.spec("E-45")
def test_the_lock_of_a_dead_holder_is_taken_over_within_a_minute(scans):
    scans.song("x.flac")
    hold(scans)
    scans.clock.advance(60)

    assert scans.scan().counts.seen == 1
    assert scans.table("locks") == []


def test_a_lease_that_reaches_too_far_ahead_is_not_believed(scans):
    scans.song("x.flac")
    hold(scans, seconds=3600)

    assert scans.scan().counts.seen == 1


def test_a_wait_ends_early_when_the_program_stops(scans):
    hold(scans)
    scans.clock.stopped = True

    with pytest.raises(LibraryBusy):
        scans.scan(wait_s=10)
    assert len(scans.clock.waits) == 1


def test_the_lock_is_held_during_the_block_and_free_afterwards(scans):
    with library_lock(scans.db, scans.library, clock=scans.clock, purpose="scan") as lease:
        assert is_locked(scans.db, scans.library, clock=scans.clock)
        assert not lease.is_lost
        with pytest.raises(LibraryBusy):
            scans.scan()
    assert not is_locked(scans.db, scans.library, clock=scans.clock)


def test_two_libraries_do_not_wait_for_each_other(scans, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    second = scans.add(other)
    (other / "note.txt").touch()
    with library_lock(scans.db, scans.library, clock=scans.clock, purpose="scan"):
        assert scans.scan(second).state == "done"


def test_the_mark_of_a_living_process_is_not_dead():
    assert not is_dead(own_mark())
    assert not is_dead("")
    assert not is_dead("another-boot:1/999999@1")


@pytest.mark.skipif(not own_mark(), reason="the system keeps no such books")
def test_the_mark_of_an_ended_process_is():
    space, _, rest = own_mark().partition("/")
    number, _, started = rest.partition("@")
    assert is_dead(f"{space}/{number}@{int(started) + 1}")
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    stat = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()
    mark = f"{space}/{child.pid}@{stat[19]}"
    assert not is_dead(mark)
    child.kill()
    child.communicate()
    assert is_dead(mark)


@pytest.mark.spec("E-48", "E-45")
@pytest.mark.skipif(not own_mark(), reason="the system keeps no such books")
def test_a_scan_that_was_killed_keeps_its_rows_and_the_next_completes_at_once(scans, tmp_path):
    for number in range(1500):
        scans.song(f"{number % 30}/{number}.flac", f"Song {number}")
    code = (
        f"import sys; sys.path[:0] = [{str(TESTS)!r}]\n"
        "import os, signal\n"
        "from pathlib import Path\n"
        "from random import Random\n"
        "from lyrsvc.clock import SystemClock\n"
        "from lyrsvc.services.enqueueing import Terms\n"
        "from lyrsvc.services.scanning import Scanner, ScanSetup\n"
        "from lyrsvc.store import libraries\n"
        "from lyrsvc.store.database import Database\n"
        "db = Database.open(sys.argv[1], create=False, clock=SystemClock())\n"
        "scanner = Scanner(db, clock=SystemClock(), setup=ScanSetup(),\n"
        "    terms=lambda now: Terms(now=now, chance=Random(1), output_dir='/nowhere'),\n"
        "    wake=lambda: os.kill(os.getpid(), signal.SIGKILL))\n"
        "with db.read() as tx: library = libraries.get(tx, 1)\n"
        "scanner.scan(library, started_by='cli')\n"
    )
    killed = subprocess.run([sys.executable, "-c", code, tmp_path / "lyrsvc.db"], check=False)
    assert killed.returncode == -signal.SIGKILL
    so_far = len(scans.rows())
    assert 0 < so_far < 1500
    assert len(scans.table("locks")) == 1

    scans.clock.moment += timedelta(days=365)  # the child lived by the real time
    report = scans.scan()

    assert (report.counts.new, report.counts.unchanged) == (1500 - so_far, so_far)
    assert (report.counts.missing, len(scans.rows())) == (0, 1500)
    assert [run["state"] for run in scans.table("scan_runs")] == ["failed", "done"]
    assert scans.wrong_counts() == {}
