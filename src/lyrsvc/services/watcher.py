"""Turns changes on disk into scans of the directories they happened in.

One thread reads events and keeps the watches; it never waits for a scan, so the
kernel's queue is always drained. Another one scans what had its quiet period. The
watcher is a supplement: what it misses the schedule finds, and nothing that befalls
it ends the service.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from lyrsvc.core.debounce import LONGEST_S, Debounce
from lyrsvc.core.errors import LyrsvcError
from lyrsvc.core.library import Library
from lyrsvc.core.ports import Clock
from lyrsvc.files.tree import DEFAULT_DEPTH
from lyrsvc.services.inotify_link import InotifyLink, Unsupported
from lyrsvc.services.lookout import Lookout
from lyrsvc.services.own_writes import OwnWrites
from lyrsvc.services.sub_scanning import ScanBelow, SubScans
from lyrsvc.services.watch_tree import Watches
from lyrsvc.services.watched_roots import Owner

_KNOWN_S: Final = 30.0
"""How long after a write of our own its event may be read on a busy machine."""
_TICK_S: Final = 1.0
"""The longest time until a stop is noticed that nobody woke us for."""

_LOG = logging.getLogger("lyrsvc.watcher")


class WatchState(StrEnum):
    """How the watcher is doing."""

    OFF = "off"
    ON = "on"
    DEGRADED = "degraded"


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchPace:
    """The times and limits of the watcher."""

    debounce_s: float = 2.0
    longest_s: float = LONGEST_S
    max_dirs: int = 100_000
    depth: int = DEFAULT_DEPTH
    refresh_s: float = 5.0
    """Between two looks at the list of libraries."""
    retry_s: float = 60.0
    """Between two looks at what could not be watched."""
    restart_s: float = 30.0


class Watcher:
    """Watches the libraries; ``open`` first, then ``run`` and ``run_scans`` in a thread each."""

    def __init__(
        self,
        *,
        libraries: Callable[[], Sequence[Library]],
        scan_below: ScanBelow,
        clock: Clock,
        pace: WatchPace,
        connect: Callable[[], Watches] = InotifyLink,
    ) -> None:
        self._libraries = libraries
        self._clock = clock
        self._pace = pace
        self._connect = connect
        self._own = OwnWrites(clock, window_s=max(3 * pace.debounce_s, _KNOWN_S))
        self._scans = SubScans(
            Debounce(quiet_s=pace.debounce_s, longest_s=pace.longest_s),
            scan_below=scan_below,
            owner=self._owner,
            clock=clock,
        )
        self._lookout: Lookout | None = None
        self._refresh_at = self._retry_at = 0.0

    @property
    def state(self) -> WatchState:
        """Tell how the watcher is doing."""
        lookout = self._lookout
        if lookout is None:
            return WatchState.OFF
        return WatchState.DEGRADED if lookout.is_degraded else WatchState.ON

    @property
    def directories(self) -> int:
        """Count the directories that are watched."""
        return 0 if self._lookout is None else len(self._lookout)

    def open(self) -> None:
        """Watch every directory of the libraries; raise ``Refused`` above the cap.

        Where the system has no means for it, the watcher says so and stays off.
        """
        try:
            self._lookout = self._look_out()
        except (ImportError, Unsupported):
            _LOG.warning(
                "watcher is off: this system has no file events; only the schedule finds changes"
            )
        except OSError as error:
            _LOG.error(
                "watcher cannot start: %s; raise fs.inotify.max_user_instances or set "
                "LYRSVCGO_WATCH_ENABLED=false",
                (error.strerror or "unknown error").lower(),
            )
        else:
            self._start(self._lookout)

    def close(self) -> None:
        """Give up every watch; may be called twice."""
        lookout, self._lookout = self._lookout, None
        if lookout is not None:
            lookout.close()

    def run(self) -> None:
        """Take in events until the program stops; after a failure begin anew."""
        if self._lookout is None:
            return
        is_anew = False
        while not self._watch_safely(is_anew=is_anew):
            self.close()
            if self._clock.wait(self._pace.restart_s):
                return
            is_anew = True
        self.close()

    def run_scans(self) -> None:
        """Scan directories when they are due, until the program stops."""
        self._scans.run()

    def announce(self, path: Path) -> Callable[[], None] | None:
        """Take note that we are about to touch a path ourselves; see ``OwnWrites``."""
        return self._own.announce(path)

    def wake(self) -> None:
        """Have both loops look around now, as when the program stops."""
        if (lookout := self._lookout) is not None:
            lookout.wake()
        self._scans.wake()

    def _owner(self, path: str) -> Owner | None:
        lookout = self._lookout
        return None if lookout is None else lookout.owner(path)

    def _look_out(self) -> Lookout:
        now = self._clock.monotonic()
        self._refresh_at = now + self._pace.refresh_s
        self._retry_at = now + self._pace.retry_s
        return Lookout(
            self._connect(),
            scans=self._scans,
            own=self._own,
            clock=self._clock,
            cap=self._pace.max_dirs,
            depth=self._pace.depth,
        )

    def _start(self, lookout: Lookout) -> None:
        try:
            libraries = self._libraries()
            lookout.start(libraries)
        except BaseException:
            self.close()
            raise
        _LOG.info(
            "watcher started",
            extra={
                "libraries": len(libraries),
                "directories": len(lookout),
                "debounce_ms": round(self._pace.debounce_s * 1000),
            },
        )

    def _watch_safely(self, *, is_anew: bool) -> bool:
        """Watch until the program stops; False when something unforeseen ended it."""
        try:
            self._watch(is_anew=is_anew)
        except Exception:  # noqa: BLE001 - the service goes on without the watcher
            _LOG.exception("watcher failed; it starts again and scans every library")
            return False
        return True

    def _watch(self, *, is_anew: bool) -> None:
        lookout = self._lookout
        if is_anew or lookout is None:
            lookout = self._lookout = self._look_out()
            lookout.follow(self._libraries())
        while not self._clock.wait(0):
            next_at = min(self._refresh_at, self._retry_at)
            lookout.take_in(min(_TICK_S, next_at - self._clock.monotonic()))
            self._look_around(lookout)

    def _look_around(self, lookout: Lookout) -> None:
        now = self._clock.monotonic()
        if now >= self._refresh_at:
            self._refresh_at = now + self._pace.refresh_s
            self._follow_list(lookout)
        if now >= self._retry_at:
            self._retry_at = now + self._pace.retry_s
            lookout.retry()

    def _follow_list(self, lookout: Lookout) -> None:
        try:
            lookout.follow(self._libraries())
        except LyrsvcError:
            _LOG.warning("watcher cannot read the list of libraries", exc_info=True)
