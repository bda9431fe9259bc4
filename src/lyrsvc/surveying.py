"""The composition root of everything that looks at libraries: scanner, scheduler, watcher."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from lyrsvc import runtime
from lyrsvc.core.library import Library
from lyrsvc.core.ports import Clock
from lyrsvc.core.schedule import ScanPlan
from lyrsvc.services.enqueueing import Terms
from lyrsvc.services.library_lock import LibraryBusy
from lyrsvc.services.scanning import Scanner
from lyrsvc.services.scheduler import Scheduler, WindowMemory, scan_each
from lyrsvc.services.watcher import Watcher, WatchPace
from lyrsvc.services.zones import find_zone
from lyrsvc.settings.sections import Settings
from lyrsvc.store import libraries, meta
from lyrsvc.store.database import Database, from_db, to_db

_LAST_WINDOW = "last_window"


@dataclass(frozen=True, kw_only=True)
class Survey:
    """What looks at libraries while the service runs; without a watcher only by the clock."""

    scanner: Scanner
    scheduler: Scheduler
    watcher: Watcher | None

    def open(self) -> None:
        """Set the watches; more directories than the cap is fatal."""
        if self.watcher is not None:
            self.watcher.open()

    @property
    def loops(self) -> dict[str, Callable[[], None]]:
        """Give the loops that run until the program stops, a thread each."""
        loops: dict[str, Callable[[], None]] = {"scheduler": self.scheduler.run}
        if self.watcher is not None:
            loops |= {"watcher": self.watcher.run, "watcher scans": self.watcher.run_scans}
        return loops

    def announce(self, path: Path) -> None:
        """Tell the watcher of a file we are about to write or remove ourselves."""
        if self.watcher is not None:
            self.watcher.announce(path)

    def wake(self) -> None:
        """Let the watcher notice at once that the program stops."""
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
    wake: Callable[[], None],
) -> Survey:
    """Wire scanner, scheduler and, when it is switched on, the watcher."""
    scanner = runtime.build_scanner(settings, db=db, clock=clock, terms=terms, wake=wake)

    def every_library() -> Sequence[Library]:
        with db.read() as tx:
            return libraries.all_libraries(tx)

    def scan(library: Library, started_by: str) -> object:
        return scanner.scan(library, started_by=started_by)

    def scan_below(library: Library, directory: Path) -> bool:
        try:
            scanner.scan(library, started_by="watcher", below=directory)
        except LibraryBusy:
            return False
        return True

    scheduler = Scheduler(
        scan_plan(settings),
        find_zone(settings.environment.tz),
        clock=clock,
        scan_all=scan_each(every_library, scan, clock=clock),
        memory=_window_memory(db, clock),
    )
    watcher = None
    if settings.watcher.enabled:
        watcher = Watcher(
            libraries=every_library,
            scan_below=scan_below,
            clock=clock,
            pace=WatchPace(
                debounce_s=settings.watcher.debounce_ms / 1000,
                max_dirs=settings.watcher.max_dirs,
                depth=settings.scan.depth,
            ),
        )
    return Survey(scanner=scanner, scheduler=scheduler, watcher=watcher)


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
