"""The scheduler keeps its windows, whatever the clock or a scan does."""

import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from fakes import FakeClock
from lyrsvc.clock import SystemClock
from lyrsvc.core.errors import Refused, StorageFailed
from lyrsvc.core.library import Library
from lyrsvc.core.scan_run import RunState, ScanReport
from lyrsvc.core.schedule import ScanPlan
from lyrsvc.core.sidecar import FetchMode
from lyrsvc.services.scheduler import SLICE_S, LookAgain, Scheduler, WindowMemory, scan_each

BERLIN = ZoneInfo("Europe/Berlin")
DAILY = ScanPlan(frequency="daily", at="04:00")
HOURLY = ScanPlan(frequency="hourly")
HOUR = timedelta(hours=1)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text.replace(" ", "T")).replace(tzinfo=UTC)


class Rounds:
    """Notes every round of scans and ends the program after the last one wanted."""

    def __init__(self, clock: FakeClock, *, most: int, lasting_s: float = 0) -> None:
        self.clock = clock
        self.most = most
        self.lasting_s = lasting_s
        self.seen: list[tuple[str, datetime]] = []
        self.seconds: list[float] = []

    def __call__(self, started_by: str) -> None:
        self.seen.append((started_by, self.clock.now()))
        self.seconds.append(self.clock.monotonic())
        self.clock.advance(self.lasting_s)
        self.clock.stopped = len(self.seen) >= self.most

    @property
    def moments(self) -> list[datetime]:
        return [moment for _, moment in self.seen]


class JumpingClock(FakeClock):
    """A clock of which each wait may end at quite another time; the program ends with the list."""

    def __init__(self, moment: datetime, *jumps: Callable[[datetime], datetime]) -> None:
        super().__init__(moment)
        self._jumps = list(jumps)

    def wait(self, seconds: float) -> bool:
        if seconds == 0:
            return self.stopped
        super().wait(seconds)
        if not self._jumps:
            return True
        self.moment = self._jumps.pop(0)(self.moment)
        return self.stopped


def skipped(caplog) -> list[str]:
    return [
        record.window
        for record in caplog.records
        if record.message == "scan window skipped" and record.levelno == logging.INFO
    ]


@pytest.fixture(autouse=True)
def _all_levels(caplog):
    caplog.set_level(logging.DEBUG, logger="lyrsvc.scheduler")


@pytest.mark.seed("S-030", "S-031")
def test_it_scans_in_every_window_and_not_at_start():
    clock = FakeClock(at("2026-03-27 12:00"))
    rounds = Rounds(clock, most=4)
    Scheduler(DAILY, BERLIN, clock=clock, scan_all=rounds).run()
    assert rounds.seen == [
        ("schedule", at("2026-03-28 03:00")),
        ("schedule", at("2026-03-29 02:00")),
        ("schedule", at("2026-03-30 02:00")),
        ("schedule", at("2026-03-31 02:00")),
    ]
    assert max(clock.waits) <= SLICE_S


@pytest.mark.seed("S-031")
def test_a_scan_on_start_comes_before_the_windows():
    clock = FakeClock(at("2026-03-27 12:00"))
    rounds = Rounds(clock, most=2)
    plan = ScanPlan(frequency="hourly", scan_on_start=True)
    Scheduler(plan, UTC, clock=clock, scan_all=rounds).run()
    assert rounds.seen == [("start", at("2026-03-27 12:00")), ("schedule", at("2026-03-27 13:00"))]


def test_a_scan_at_start_that_cannot_use_the_database_is_tried_again_until_it_can(caplog):
    start = at("2026-03-27 12:00")
    clock = FakeClock(start)
    rounds = Rounds(clock, most=9)
    full = StorageFailed("no room for the database /x.db; free some space")

    def scan(one: Library, started_by: str) -> None:
        if one.id == 1:
            rounds(started_by)
        elif len(rounds.seen) < 3:
            raise full

    scan_all = scan_each(lambda: [library(2), library(1)], scan, clock=clock)
    plan = ScanPlan(frequency="off", scan_on_start=True)
    Scheduler(plan, UTC, clock=clock, scan_all=scan_all).run()
    assert [(why, (when - start).total_seconds()) for why, when in rounds.seen] == [
        ("start", 0),
        ("start", 60),
        ("start", 120),
        ("start", 180),
    ]
    assert "Traceback" not in caplog.text
    assert "no room for the database" in str([vars(record) for record in caplog.records])


@pytest.mark.seed("S-030", "S-031")
@pytest.mark.parametrize(("on_start", "seen"), [(False, []), (True, ["start"])])
def test_off_ends_at_once_after_the_scan_that_was_wanted_at_start(clock, on_start, seen):
    rounds = Rounds(clock, most=9)
    plan = ScanPlan(frequency="off", scan_on_start=on_start)
    Scheduler(plan, UTC, clock=clock, scan_all=rounds).run()
    assert [started_by for started_by, _ in rounds.seen] == seen


@pytest.mark.seed("S-034")
def test_an_interval_scans_at_start_and_counts_from_the_end_of_each_scan():
    start = at("2026-03-27 12:00")
    clock = FakeClock(start)
    rounds = Rounds(clock, most=3, lasting_s=100)
    Scheduler(ScanPlan(interval_s=900), UTC, clock=clock, scan_all=rounds).run()
    assert [started_by for started_by, _ in rounds.seen] == ["start", "schedule", "schedule"]
    assert [(one - start).total_seconds() for one in rounds.moments] == [0, 1000, 2000]


@pytest.mark.seed("S-034")
def test_an_interval_of_zero_scans_once(clock):
    rounds = Rounds(clock, most=9)
    Scheduler(ScanPlan(interval_s=0), UTC, clock=clock, scan_all=rounds).run()
    assert [started_by for started_by, _ in rounds.seen] == ["start"]


def test_an_interval_does_not_care_about_the_clock_on_the_wall():
    clock = JumpingClock(at("2026-03-27 12:00"), *[lambda now: now - HOUR] * 60)
    rounds = Rounds(clock, most=3)
    Scheduler(ScanPlan(interval_s=300), UTC, clock=clock, scan_all=rounds).run()
    assert rounds.seconds == [1000, 1300, 1600]


@pytest.mark.spec("E-52")
@pytest.mark.seed("S-033")
def test_a_window_slept_through_by_ten_minutes_is_skipped_and_told(caplog):
    clock = JumpingClock(at("2026-01-10 03:59:50"), lambda now: now + timedelta(minutes=10))
    rounds = Rounds(clock, most=9)
    scheduler = Scheduler(DAILY, UTC, clock=clock, scan_all=rounds)
    scheduler.run()
    assert rounds.seen == []
    assert skipped(caplog) == ["2026-01-10T04:00:00+00:00"]


@pytest.mark.spec("E-52")
def test_a_window_slept_through_by_a_minute_runs(caplog):
    clock = JumpingClock(at("2026-01-10 03:59:50"), lambda now: now + timedelta(seconds=60))
    rounds = Rounds(clock, most=9)
    Scheduler(DAILY, UTC, clock=clock, scan_all=rounds).run()
    assert rounds.moments == [at("2026-01-10 04:01")]
    assert skipped(caplog) == []


def test_many_windows_slept_through_are_told_in_one_line(caplog):
    clock = JumpingClock(
        at("2026-01-10 03:59:50"), lambda now: now + timedelta(hours=50, minutes=9)
    )
    Scheduler(HOURLY, UTC, clock=clock, scan_all=Rounds(clock, most=9)).run()
    assert skipped(caplog) == ["2026-01-10T04:00:00+00:00"]


@pytest.mark.seed("S-033")
def test_a_window_missed_while_the_service_was_down_is_skipped_and_told(caplog):
    clock = FakeClock(at("2026-01-10 04:00:30"))
    rounds = Rounds(clock, most=1)
    memory = WindowMemory(recall=lambda: at("2026-01-09 04:00"))
    Scheduler(DAILY, UTC, clock=clock, scan_all=rounds, memory=memory).run()
    assert rounds.moments == [at("2026-01-11 04:00")]
    assert skipped(caplog) == ["2026-01-10T04:00:00+00:00"]


def test_a_skipped_window_is_told_in_the_time_of_the_schedule(caplog):
    clock = JumpingClock(at("2026-01-10 02:59:50"), lambda now: now + timedelta(minutes=10))
    Scheduler(DAILY, BERLIN, clock=clock, scan_all=Rounds(clock, most=9)).run()
    assert skipped(caplog) == ["2026-01-10T04:00:00+01:00"]


def test_windows_that_pass_during_a_scan_are_skipped(caplog):
    clock = FakeClock(at("2026-01-10 03:30"))
    rounds = Rounds(clock, most=2, lasting_s=3 * 3600 + 60)
    Scheduler(HOURLY, UTC, clock=clock, scan_all=rounds).run()
    assert rounds.moments == [at("2026-01-10 04:00"), at("2026-01-10 08:00")]
    assert skipped(caplog)[0] == "2026-01-10T05:00:00+00:00"


def test_a_clock_set_back_does_not_run_a_window_twice():
    back = [lambda now: now, lambda now: now - timedelta(minutes=90)]
    clock = JumpingClock(at("2026-01-10 03:59:50"), *back, *[lambda now: now] * 400)
    rounds = Rounds(clock, most=2)
    Scheduler(HOURLY, UTC, clock=clock, scan_all=rounds).run()
    assert rounds.moments == [at("2026-01-10 04:00"), at("2026-01-10 05:00")]


def test_a_clock_set_back_far_is_believed():
    back = [lambda now: now, lambda now: now - timedelta(days=400)]
    clock = JumpingClock(at("2027-01-10 03:59:50"), *back, *[lambda now: now] * 400)
    rounds = Rounds(clock, most=2)
    Scheduler(HOURLY, UTC, clock=clock, scan_all=rounds).run()
    assert rounds.moments[1] == at("2025-12-06 05:00")


def test_the_last_window_is_remembered_before_its_scan_and_over_a_restart():
    clock = FakeClock(at("2026-01-10 03:59:50"))
    stored: list[datetime] = []
    memory = WindowMemory(recall=lambda: stored[-1] if stored else None, remember=stored.append)
    scans: list[list[datetime]] = []

    def scan_all(_: str) -> None:
        scans.append(list(stored))
        clock.stopped = True

    Scheduler(DAILY, UTC, clock=clock, scan_all=scan_all, memory=memory).run()
    assert scans == [[at("2026-01-10 04:00")]]

    clock.stopped, clock.moment = False, at("2026-01-10 03:00")  # set back while down
    Scheduler(DAILY, UTC, clock=clock, scan_all=scan_all, memory=memory).run()
    assert stored == [at("2026-01-10 04:00"), at("2026-01-11 04:00")]


def test_a_stored_window_far_ahead_is_discarded():
    clock = FakeClock(at("2026-01-10 03:30"))
    rounds = Rounds(clock, most=1)
    memory = WindowMemory(recall=lambda: at("2031-01-01 04:00"))
    Scheduler(DAILY, UTC, clock=clock, scan_all=rounds, memory=memory).run()
    assert rounds.moments == [at("2026-01-10 04:00")]


def test_a_store_that_fails_does_not_keep_windows_from_running(caplog):
    def fail(*_: object) -> None:
        raise StorageFailed("disk full")

    clock = FakeClock(at("2026-01-10 03:30"))
    rounds = Rounds(clock, most=2)
    memory = WindowMemory(recall=fail, remember=fail)
    Scheduler(DAILY, UTC, clock=clock, scan_all=rounds, memory=memory).run()
    assert rounds.moments == [at("2026-01-10 04:00"), at("2026-01-11 04:00")]
    assert sum(record.levelno == logging.ERROR for record in caplog.records) == 3


def test_a_failing_round_is_logged_counted_and_followed_by_the_next(caplog):
    clock = FakeClock(at("2026-01-10 03:30"))
    rounds = Rounds(clock, most=3)

    def scan_all(started_by: str) -> None:
        rounds(started_by)
        raise RuntimeError("torn apart")

    scheduler = Scheduler(HOURLY, UTC, clock=clock, scan_all=scan_all)
    scheduler.run()
    assert len(rounds.seen) == scheduler.failures == 3
    assert "torn apart" in caplog.text


def library(number: int) -> Library:
    now = at("2026-01-01 00:00")
    return Library(
        id=number, name=f"l{number}", path=Path(f"/m/{number}"), created_at=now, updated_at=now
    )


@pytest.mark.spec("E-53")
def test_one_library_that_fails_stops_neither_the_others_nor_the_next_window(caplog):
    clock = FakeClock(at("2026-01-10 03:30"))
    registered = [library(1), library(2), library(3)]
    seen: list[tuple[str, str, datetime]] = []

    def scan(one: Library, started_by: str) -> None:
        seen.append((one.name, started_by, clock.now()))
        clock.stopped = len(seen) == 7
        if one.id == 2:
            raise OSError("root is gone")
        if one.id == 3:
            registered.append(library(4))  # seen in the next round, without a restart

    scan_all = scan_each(lambda: list(registered), scan, clock=clock)
    scheduler = Scheduler(HOURLY, UTC, clock=clock, scan_all=scan_all)
    scheduler.run()
    first, second = at("2026-01-10 04:00"), at("2026-01-10 05:00")
    assert seen == [
        *((f"l{n}", "schedule", first) for n in (1, 2, 3)),
        *((f"l{n}", "schedule", second) for n in (1, 2, 3, 4)),
    ]
    assert caplog.messages.count("scan failed") == 2
    assert scheduler.failures == 0


def test_a_busy_library_is_skipped_with_a_warning(clock, caplog):
    seen: list[int] = []

    def scan(one: Library, _: str) -> None:
        if one.id == 1:
            raise Refused("library l1 is busy")
        seen.append(one.id)

    scan_each(lambda: [library(1), library(2)], scan, clock=clock)("schedule")
    assert seen == [2]
    assert [(one.levelname, one.library, one.exc_info) for one in caplog.records] == [
        ("WARNING", "l1", None)
    ]


class Looks:
    """Notes in which mode each library is scanned, and ends each scan as told."""

    def __init__(self, clock: FakeClock, mode: FetchMode) -> None:
        self.again = LookAgain(mode, rest=timedelta(days=7), clock=clock)
        self.seen: list[tuple[int, FetchMode]] = []
        self.state = RunState.DONE

    def scan(self, one: Library) -> None:
        self.again.scan(one, lambda mode: self._note(one, mode))

    def _note(self, one: Library, mode: FetchMode) -> ScanReport:
        self.seen.append((one.id, mode))
        return ScanReport(run_id=1, library_id=one.id, library_name=one.name, state=self.state)


@pytest.mark.parametrize("mode", [FetchMode.UPGRADE, FetchMode.UPDATE])
def test_a_flag_counts_in_the_first_scan_of_a_library_and_then_once_a_week(mode):
    clock = FakeClock(at("2026-03-22 03:00"))
    looks = Looks(clock, mode)
    for _ in range(3):
        looks.scan(library(1))
        clock.advance(900)
    looks.scan(library(2))  # it was added meanwhile
    assert looks.seen == [
        *((1, each) for each in (mode, FetchMode.NORMAL, FetchMode.NORMAL)),
        (2, mode),
    ]
    clock.moment = at("2026-03-29 02:00")  # the next weekly window, in the week with an hour less
    looks.scan(library(1))
    assert looks.seen[-1] == (1, mode)


def test_a_flag_that_met_no_library_counts_again_in_the_next_round(clock):
    looks = Looks(clock, FetchMode.UPGRADE)
    looks.state = RunState.FAILED
    looks.scan(library(1))
    looks.state = RunState.DONE
    looks.scan(library(1))
    looks.scan(library(1))
    assert [mode for _, mode in looks.seen] == ["upgrade", "upgrade", "normal"]


def test_a_clock_that_is_set_back_does_not_put_off_a_flag(clock):
    looks = Looks(clock, FetchMode.UPGRADE)
    looks.scan(library(1))
    clock.moment -= timedelta(days=3650)
    looks.scan(library(1))
    assert [mode for _, mode in looks.seen] == ["upgrade", "upgrade"]


def test_a_stop_ends_a_round_between_two_libraries(clock):
    seen: list[int] = []

    def scan(one: Library, _: str) -> None:
        seen.append(one.id)
        clock.stopped = True

    scan_each(lambda: [library(1), library(2)], scan, clock=clock)("start")
    assert seen == [1]


def test_the_plan_and_the_next_window_are_told_once_each(caplog):
    clock = FakeClock(at("2026-10-24 12:00"))
    rounds = Rounds(clock, most=1)
    scheduler = Scheduler(DAILY, BERLIN, clock=clock, scan_all=rounds)
    scheduler.run()
    planned = [record.at for record in caplog.records if record.message == "next scan planned"]
    assert planned[0] == "2026-10-25T04:00:00+01:00"
    assert len(planned) == 2
    assert "scheduler started" in caplog.messages
    assert scheduler.next_at is None


@pytest.mark.parametrize("plan", [DAILY, HOURLY, ScanPlan(interval_s=86400)])
def test_a_stop_ends_the_wait_at_once(plan):
    stop = threading.Event()
    started = threading.Event()
    clock = SystemClock(stop)
    scheduler = Scheduler(plan, UTC, clock=clock, scan_all=lambda _: started.set())
    thread = threading.Thread(target=scheduler.run)
    thread.start()
    if plan.scans_at_start:
        assert started.wait(10)
    stop.set()
    thread.join(10)
    assert not thread.is_alive()


def test_a_program_that_is_already_stopping_scans_nothing(clock):
    clock.stopped = True
    rounds = Rounds(clock, most=9)
    Scheduler(ScanPlan(), UTC, clock=clock, scan_all=rounds).run()
    assert rounds.seen == []
