"""Waits for the windows of the schedule and has the libraries scanned in them.

A window counts when it is noticed in time; one that passed while the machine slept,
the clock was set or a scan was running is skipped, never run late. Nothing a scan
does ends the scheduler.
"""

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Final

from lyrsvc.core.errors import LyrsvcError, Refused
from lyrsvc.core.library import Library
from lyrsvc.core.ports import Clock
from lyrsvc.core.scan_run import RunState, ScanReport
from lyrsvc.core.schedule import ScanPlan, is_missed, next_window, plan_text, trusted
from lyrsvc.core.sidecar import FetchMode
from lyrsvc.services.steadying import PASSING

SLICE_S: Final = 30.0
"""The longest wait before the clock on the wall is looked at again."""
RETRY_S: Final = 60.0
"""How soon a scan at the start is tried again that could not use the database."""

EARLY: Final = 0.9
"""The part of a rest after which a flag counts again: a weekly window may come an hour early."""

ScanAll = Callable[[str], object]
"""Scans every library; told why: ``start`` or ``schedule``."""

_LOG = logging.getLogger("lyrsvc.scheduler")


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowMemory:
    """Where the window that ran last is kept over restarts; by default nowhere."""

    recall: Callable[[], datetime | None] = lambda: None
    remember: Callable[[datetime], object] = lambda _window: None


class Scheduler:
    """One loop: wait for a window, scan, plan again."""

    def __init__(
        self,
        plan: ScanPlan,
        zone: tzinfo,
        *,
        clock: Clock,
        scan_all: ScanAll,
        memory: WindowMemory | None = None,
    ) -> None:
        self._plan = plan
        self._zone = zone
        self._clock = clock
        self._scan_all = scan_all
        self._memory = memory or WindowMemory()
        self._last: datetime | None = None
        self.next_at: datetime | None = None
        """The window that is waited for."""
        self.failures = 0
        """Rounds that ended with an error."""

    def run(self) -> None:
        """Scan by the plan until the program stops, or until the plan has no more windows."""
        _LOG.info("scheduler started", extra={"schedule": plan_text(self._plan)})
        self._last = self._recall()
        self._tell_passed(self._last, reason="the service was not running")
        if self._plan.scans_at_start and not self._clock.wait(0):
            self._scan_at_start()
        if self._plan.by_interval:
            self._scan_by_interval()
        else:
            self._scan_by_windows()
        self.next_at = None

    def _scan_at_start(self) -> None:
        """Scan, again and again while the database cannot be used: no window may come for long."""
        while not self._scan("start"):
            if self._pause(RETRY_S):
                return

    def _scan_by_interval(self) -> None:
        while (due_at := next_window(self._plan, self._clock.now(), self._zone)) is not None:
            self._tell_next(due_at)
            if self._pause(self._plan.interval_s):
                return
            self._scan("schedule")

    def _scan_by_windows(self) -> None:
        for window in self._windows():
            self._remember(window)
            self._scan("schedule")
            self._tell_passed(window, reason="a scan was running")

    def _windows(self) -> Iterator[datetime]:
        """Give each window as it comes, until there is none or the program stops."""
        while (window := self._plan_next()) is not None:
            left_s = (window - self._clock.now()).total_seconds()
            if self._clock.wait(min(SLICE_S, max(0.0, left_s))):
                return
            now = self._clock.now()
            if is_missed(window, now):
                self._tell_skipped(window, reason="the clock passed it")
            elif window <= now:
                yield window

    def _plan_next(self) -> datetime | None:
        now = self._clock.now()
        self._last = trusted(self._last, now)
        window = next_window(self._plan, max(now, self._last or now), self._zone)
        if window is not None and window != self.next_at:
            self._tell_next(window)
        return window

    def _pause(self, seconds: float) -> bool:
        """Wait without regard to the clock on the wall; True when the program stops."""
        due = self._clock.monotonic() + seconds
        while (left := due - self._clock.monotonic()) > 0:
            if self._clock.wait(min(SLICE_S, left)):
                return True
        return False

    def _scan(self, started_by: str) -> bool:
        """Have every library scanned; False when the database could not be used."""
        try:
            self._scan_all(started_by)
        except PASSING as error:
            self.failures += 1
            fields = {"started_by": started_by, "reason": str(error)}
            _LOG.warning("scan of the libraries failed", extra=fields)
            return False
        except Exception:  # noqa: BLE001 - nothing a scan does ends the scheduler
            self.failures += 1
            _LOG.exception("scan of the libraries failed", extra={"started_by": started_by})
        return True

    def _recall(self) -> datetime | None:
        if self._plan.by_interval:
            return None
        try:
            return trusted(self._memory.recall(), self._clock.now())
        except LyrsvcError:
            _LOG.exception("the last scan window cannot be read")
            return None

    def _remember(self, window: datetime) -> None:
        self._last = window
        try:
            self._memory.remember(window)
        except LyrsvcError:
            _LOG.exception("the scan window cannot be stored")

    def _tell_passed(self, since: datetime | None, *, reason: str) -> None:
        window = since and next_window(self._plan, since, self._zone)
        if window is not None and window <= self._clock.now():
            self._tell_skipped(window, reason=reason)

    def _tell_skipped(self, window: datetime, *, reason: str) -> None:
        at = window.astimezone(self._zone).isoformat(timespec="seconds")
        _LOG.info("scan window skipped", extra={"window": at, "reason": reason})

    def _tell_next(self, moment: datetime) -> None:
        self.next_at = moment
        local = moment.astimezone(self._zone)
        _LOG.info(
            "next scan planned",
            extra={
                "at": local.isoformat(timespec="seconds"),
                "schedule": plan_text(self._plan),
            },
        )


class LookAgain:
    """How far the rounds go when the service was started with ``--upgrade`` or ``--update``.

    The flag counts in a library's first scan, and then once in ``rest``. Rounds follow each
    other in minutes, and each would ask the lanes about the same tracks again.
    """

    def __init__(self, mode: FetchMode, *, rest: timedelta, clock: Clock) -> None:
        self._mode = mode
        self._rest = rest * EARLY
        self._clock = clock
        self._began: dict[int, datetime] = {}

    def scan(self, library: Library, scan: Callable[[FetchMode], ScanReport]) -> ScanReport:
        """Scan a library as far as it is time for; one that did not end well does not count."""
        now = self._clock.now()
        began = self._began.get(library.id)
        if began is not None and timedelta() <= now - began < self._rest:
            return scan(FetchMode.NORMAL)
        report = scan(self._mode)
        if report.state is RunState.DONE:
            self._began[library.id] = now
        return report


def scan_each(
    libraries: Callable[[], Iterable[Library]],
    scan: Callable[[Library, str], object],
    *,
    clock: Clock,
) -> ScanAll:
    """Make a round over the libraries as they then are, one after another.

    A library that is busy is skipped, and one whose scan fails does not stop the next. A
    database that could not be used is raised in the end: the round is not what was wanted.
    """

    def scan_all(started_by: str) -> None:
        trouble: LyrsvcError | None = None
        for library in libraries():
            if clock.wait(0):
                return
            try:
                scan(library, started_by)
            except Refused as error:  # another scan, realign or rename has the library
                fields = {"library": library.name, "reason": str(error)}
                _LOG.warning("library skipped", extra=fields)
            except PASSING as error:
                trouble = error
                fields = {"library": library.name, "started_by": started_by, "reason": str(error)}
                _LOG.error("scan failed", extra=fields)
            except Exception:  # noqa: BLE001 - the other libraries are scanned all the same
                _LOG.exception(
                    "scan failed", extra={"library": library.name, "started_by": started_by}
                )
        if trouble is not None:
            raise trouble

    return scan_all
