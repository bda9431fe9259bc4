"""Starts scans for people, shows how they fare and calls them off."""

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from lyrsvc.core.errors import LyrsvcError, NotFound, Refused, StoreBusy
from lyrsvc.core.library import Library
from lyrsvc.core.ports import Clock
from lyrsvc.core.scan_run import RunState, ScanReport
from lyrsvc.core.sidecar import FetchMode
from lyrsvc.services.library_lock import LibraryBusy, is_locked
from lyrsvc.services.scanning import NO_FLAGS, ScanFlags, Scanner
from lyrsvc.services.task_board import Record
from lyrsvc.store import libraries, scan_runs
from lyrsvc.store.database import Database

if TYPE_CHECKING:
    from lyrsvc.store.engine import Row

BY: Final = "user"
LOCK_WAIT_S: Final = 1.0
"""A glance of the watcher at one directory is not worth a refusal."""
BEGIN_WITHIN_S: Final = 20.0
CANCEL_WITHIN_S: Final = 2.0
_LOOK_S: Final = 0.05

_LOG = logging.getLogger("lyrsvc.scan")


class RunsElsewhere(Refused):
    """The run is carried out by another process."""

    code = "locked"


@dataclass(frozen=True, kw_only=True, slots=True)
class ScanWish:
    """What is to be scanned and how; without a library all of them."""

    library_id: int | None = None
    mode: FetchMode = FetchMode.NORMAL
    flags: ScanFlags = NO_FLAGS


class ScanDesk:
    """Has libraries scanned in the background; all of them at once count as the task ``scan``."""

    def __init__(
        self,
        db: Database,
        scanner: Scanner,
        *,
        clock: Clock,
        record: Record = lambda _name, work: work(),
    ) -> None:
        self._db = db
        self._scanner = scanner
        self._clock = clock
        self._record = record
        self._rounds: set[_Round] = set()

    def start(self, wish: ScanWish) -> "Row":
        """Begin a scan and give its run; of several libraries the run of the first.

        Raises ``LibraryBusy`` when none of them is free.
        """
        chosen = self._chosen(wish.library_id)
        if not chosen:
            raise NotFound("there is no library to scan; add one first")
        round_ = _Round(self._scanner, chosen, wish, self._record)
        self._rounds = {one for one in self._rounds if one.thread.is_alive()} | {round_}
        return self.get(round_.begin())

    def running(self) -> "list[Row]":
        """Give the runs somebody carries out now, by id."""
        with self._db.read() as tx:
            rows = scan_runs.running(tx)
            known = {library.id: library for library in libraries.all_libraries(tx)} if rows else {}
        return [
            self.live(row)
            for row in rows
            if row["library_id"] in known
            and is_locked(self._db, known[row["library_id"]], clock=self._clock)
        ]

    def last(self) -> "list[Row]":
        """Give the newest whole scan of each library that has ended."""
        with self._db.read() as tx:
            return scan_runs.last_of_each(tx)

    def get(self, run_id: int) -> "Row":
        """Give one run, or raise ``NotFound``."""
        with self._db.read() as tx:
            row = scan_runs.get(tx, run_id)
        if row is None:
            raise NotFound("there is no such scan")
        return self.live(row)

    def live(self, row: "Row") -> "Row":
        """Give a run as it is at this moment; what is stored lags behind a little."""
        return {**row, **self._scanner.counts_of(row["id"])} if row["state"] == "running" else row

    def cancel(self, run_id: int) -> "Row":
        """Call a run off and give it as it then is; one that has ended stays as it is."""
        row = self.get(run_id)
        if row["state"] != RunState.RUNNING:
            return row
        if not self._scanner.cancel(run_id):
            row = self.get(run_id)
            if row["state"] == RunState.RUNNING:
                raise RunsElsewhere("this scan is carried out by another process; end it there")
            return row
        until_s = time.monotonic() + CANCEL_WITHIN_S
        while row["state"] == RunState.RUNNING and time.monotonic() < until_s:
            self._clock.wait(_LOOK_S)
            row = self.get(run_id)
        return row

    def tidy(self) -> None:
        """Write down as failed what an earlier process began and cannot end any more."""
        alive = {row["id"] for row in self.running()}
        now = self._clock.now()
        with self._db.read() as tx:
            dead = [row["id"] for row in scan_runs.running(tx) if row["id"] not in alive]
        for run_id in dead:
            self._db.write(partial(scan_runs.abandon, run_id=run_id, now=now))

    def wait(self, seconds: float) -> None:
        """Wait until every scan begun here is over, but no longer than this."""
        until_s = time.monotonic() + seconds
        for round_ in list(self._rounds):
            round_.thread.join(max(0.0, until_s - time.monotonic()))

    def _chosen(self, library_id: int | None) -> Sequence[Library]:
        with self._db.read() as tx:
            if library_id is None:
                return libraries.all_libraries(tx)
            return [libraries.get(tx, library_id)]


@dataclass(eq=False, slots=True)
class _Start:
    """How a round began: with a run, or with what was in the way."""

    told: threading.Event = field(default_factory=threading.Event)
    run_id: int = 0
    error: Exception | None = None


class _Round:
    """Libraries scanned one after another in one thread."""

    def __init__(
        self, scanner: Scanner, chosen: Sequence[Library], wish: ScanWish, record: Record
    ) -> None:
        self._scanner = scanner
        self._chosen = chosen
        self._wish = wish
        self._record = record
        self._start = _Start()
        self.thread = threading.Thread(target=self._run, name="scan", daemon=True)

    def begin(self) -> int:
        """Start, and wait for the first run; raise what kept every library from being scanned."""
        self.thread.start()
        start = self._start
        if not start.told.wait(BEGIN_WITHIN_S):
            raise StoreBusy("the scan could not begin yet; see whether it does")
        if start.error is not None:
            raise start.error
        return start.run_id

    def _run(self) -> None:
        trouble: LyrsvcError | None = None
        try:
            if self._wish.library_id is None:
                self._record("scan", self._scan_each)
            else:
                self._scan_each()
        except (LibraryBusy, NotFound) as error:
            trouble = error
        except LyrsvcError as error:
            trouble = error
            _LOG.warning("scan failed", extra={"error": str(error)})
        finally:
            self._start.error = None if self._start.run_id else trouble or _unforeseen()
            self._start.told.set()

    def _scan_each(self) -> None:
        """Scan one library after the other; raise when none of them was free."""
        busy: LyrsvcError | None = None
        for library in self._chosen:
            try:
                report = self._scan(library)
            except (LibraryBusy, NotFound) as error:  # somebody is at it, or it was removed
                busy = error
                _LOG.info("library skipped", extra={"library": library.name})
            else:
                if report.state is RunState.CANCELLED:
                    return
        if busy is not None and not self._start.run_id:
            raise busy

    def _scan(self, library: Library) -> ScanReport:
        return self._scanner.scan(
            library,
            started_by=BY,
            mode=self._wish.mode,
            flags=self._wish.flags,
            wait_s=LOCK_WAIT_S,
            watch=self._note,
        )

    def _note(self, report: ScanReport, _path: str) -> None:
        if not self._start.told.is_set():
            self._start.run_id = report.run_id
            self._start.told.set()


def _unforeseen() -> RuntimeError:
    return RuntimeError("the scan could not begin")
