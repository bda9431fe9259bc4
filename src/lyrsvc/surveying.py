"""The composition root of everything that looks at libraries: scanner, scheduler, watcher."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from lyrsvc import runtime
from lyrsvc.core.library import Library
from lyrsvc.core.ports import Clock
from lyrsvc.core.schedule import ScanPlan
from lyrsvc.core.sidecar import FetchMode
from lyrsvc.services.announced_scans import AnnouncedScans
from lyrsvc.services.enqueueing import Terms
from lyrsvc.services.library_lock import LibraryBusy
from lyrsvc.services.scanning import OnRenamed, OnScanned, Scanner
from lyrsvc.services.scheduler import LookAgain, ScanAll, Scheduler, WindowMemory, scan_each
from lyrsvc.services.task_board import Record
from lyrsvc.services.watched_roots import WatchedRoots
from lyrsvc.services.watcher import Watcher, WatchPace
from lyrsvc.settings.sections import Settings
from lyrsvc.settings.zones import find_zone
from lyrsvc.store import libraries, meta
from lyrsvc.store.database import Database, from_db, to_db

_LAST_WINDOW = "last_window"
_PATIENCE_S = 60.0
"""How long a round waits for a library that somebody else works on before it is skipped.

A rename holds one for a moment; without a schedule the round at the start is the only one.
"""
_ANNOUNCED_QUIET_S = 2.0
"""How long nothing more is announced of a directory before it is scanned."""


@dataclass(frozen=True, kw_only=True)
class Onlookers:
    """Who is told: ``record`` runs a task by its name, ``wake`` rouses the worker."""

    wake: Callable[[], None] = lambda: None
    record: Record = lambda _name, work: work()
    on_scanned: OnScanned = lambda _library, _below: None
    on_renamed: OnRenamed = lambda _library, _below, _directories, _lease: None


@dataclass(frozen=True, kw_only=True)
class Survey:
    """What looks at libraries while the service runs; without a watcher only by the clock.

    ``scan_all`` makes one round over the libraries, and is told why.
    """

    scanner: Scanner
    scan_all: ScanAll
    scheduler: Scheduler
    watcher: Watcher | None
    announced: AnnouncedScans
    """Directories that a webhook spoke of and the inventory does not know."""

    def open(self) -> None:
        """Set the watches; more directories than the cap is fatal."""
        if self.watcher is not None:
            self.watcher.open()

    @property
    def loops(self) -> dict[str, Callable[[], None]]:
        """Give the loops that run until the program stops, a thread each."""
        loops: dict[str, Callable[[], None]] = {
            "scheduler": self.scheduler.run,
            "webhook scans": self.announced.run,
        }
        if self.watcher is not None:
            loops |= {"watcher": self.watcher.run, "watcher scans": self.watcher.run_scans}
        return loops

    def announce(self, path: Path) -> Callable[[], None] | None:
        """Tell the watcher of a file we are about to write or remove ourselves."""
        return None if self.watcher is None else self.watcher.announce(path)

    def scan_soon(self, library: Library, directory: Path) -> None:
        """Have a directory scanned that somebody announced; returns at once."""
        self.announced.touch(library, directory)

    def wake(self) -> None:
        """Let everybody notice at once that the program stops."""
        self.announced.wake()
        if self.watcher is not None:
            self.watcher.wake()

    def close(self) -> None:
        """Let go of the watches, once nobody reads them any more."""
        if self.watcher is not None:
            self.watcher.close()


def build(
    settings: Settings,
    *,
    db: Database,
    clock: Clock,
    terms: Callable[[datetime], Terms],
    onlookers: Onlookers,
    mode: FetchMode = FetchMode.NORMAL,
) -> Survey:
    """Wire scanner, scheduler and, when it is switched on, the watcher.

    Rounds of the schedule run as the task ``scan``, now and then in ``mode``.
    """
    scanner = runtime.build_scanner(
        settings,
        db=db,
        clock=clock,
        terms=terms,
        wake=onlookers.wake,
        on_scanned=onlookers.on_scanned,
        on_renamed=onlookers.on_renamed,
        announce=lambda path: watcher.announce(path) if watcher else None,
    )

    def every_library() -> Sequence[Library]:
        with db.read() as tx:
            return libraries.all_libraries(tx)

    rest = timedelta(hours=settings.api.miss_backoff_base_hours)
    again = LookAgain(mode, rest=rest, clock=clock)

    def scan(library: Library, started_by: str) -> object:
        return again.scan(
            library,
            lambda mode: scanner.scan(
                library, started_by=started_by, mode=mode, wait_s=_PATIENCE_S
            ),
        )

    def scan_below(started_by: str, library: Library, directory: Path) -> bool:
        try:
            scanner.scan(library, started_by=started_by, below=directory)
        except LibraryBusy:
            return False
        return True

    scan_all = scan_each(every_library, scan, clock=clock)
    scheduler = Scheduler(
        scan_plan(settings),
        find_zone(settings.environment.tz),
        clock=clock,
        scan_all=lambda started_by: onlookers.record("scan", lambda: scan_all(started_by)),
        memory=_window_memory(db, clock),
    )
    announced = AnnouncedScans(
        db,
        clock=clock,
        quiet_s=_ANNOUNCED_QUIET_S,
        scan_below=partial(scan_below, "webhook"),
        owner=lambda path: WatchedRoots.of(every_library()).owner(path),
    )
    watcher = None
    if settings.watcher.enabled:
        watcher = Watcher(
            libraries=every_library,
            scan_below=partial(scan_below, "watcher"),
            clock=clock,
            pace=WatchPace(
                debounce_s=settings.watcher.debounce_ms / 1000,
                max_dirs=settings.watcher.max_dirs,
                depth=settings.scan.depth,
            ),
        )
    return Survey(
        scanner=scanner,
        scan_all=scan_all,
        scheduler=scheduler,
        watcher=watcher,
        announced=announced,
    )


def scan_plan(settings: Settings) -> ScanPlan:
    """Give the schedule as the operator set it."""
    schedule = settings.server.scan_schedule
    return ScanPlan(
        frequency=schedule.frequency,
        at=schedule.at,
        day=schedule.day,
        scan_on_start=schedule.scan_on_start,
        interval_s=settings.server.scan_interval_seconds,
    )


def _window_memory(db: Database, clock: Clock) -> WindowMemory:
    def recall() -> datetime | None:
        with db.read() as tx:
            text = meta.read(tx, _LAST_WINDOW)
        return from_db(text) if text else None

    def remember(window: datetime) -> None:
        now = clock.now()
        db.write(lambda tx: meta.write(tx, _LAST_WINDOW, to_db(window), now=now))

    return WindowMemory(recall=recall, remember=remember)
