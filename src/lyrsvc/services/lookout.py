"""One set of watches on the libraries, and what its events mean."""

import logging
import os
import stat
from collections.abc import Iterable
from typing import Final

from lyrsvc.core.library import Library
from lyrsvc.core.ports import Clock
from lyrsvc.files.atomic import is_temp_name
from lyrsvc.files.tree import AUDIO_SUFFIXES, SIDECAR_SUFFIXES, is_skipped
from lyrsvc.services.inotify_link import Bit, Event
from lyrsvc.services.own_writes import OwnWrites
from lyrsvc.services.sub_scanning import SubScans
from lyrsvc.services.watch_survey import Survey
from lyrsvc.services.watch_tree import Watches, WatchTree
from lyrsvc.services.watched_roots import Owner

_SLICE_S: Final = 0.05
"""How long directories are looked at before events are read again."""
_SUFFIXES: Final = AUDIO_SUFFIXES | SIDECAR_SUFFIXES
_LOST: Final = Bit.IGNORED | Bit.UNMOUNT | Bit.DELETE_SELF | Bit.MOVE_SELF
_APPEARED: Final = Bit.CREATE | Bit.MOVED_TO

_LOG = logging.getLogger("lyrsvc.watcher")


class Lookout:
    """Reads the events of one link; used by one thread, but for ``wake`` and ``owner``."""

    def __init__(
        self, link: Watches, *, scans: SubScans, own: OwnWrites, clock: Clock, cap: int, depth: int
    ) -> None:
        self._link = link
        self._scans = scans
        self._own = own
        self._clock = clock
        self._tree = WatchTree(link, most=cap)
        self._survey = Survey(self._tree, cap=cap, depth=depth, touch=self._touch)
        self._is_flooded = False

    def __len__(self) -> int:
        return len(self._tree)

    @property
    def is_degraded(self) -> bool:
        """Tell whether there are directories that no limit allows to be watched."""
        return self._survey.is_degraded

    def start(self, libraries: Iterable[Library]) -> None:
        """Watch every directory of the libraries; raise ``Refused`` above the cap."""
        self._survey.start(libraries)

    def follow(self, libraries: Iterable[Library]) -> None:
        """Take over the libraries as they are now; new ones are scanned."""
        self._survey.follow(libraries)

    def retry(self) -> None:
        """Look again at what is missing or could not be watched."""
        self._survey.retry()

    def owner(self, path: str) -> Owner | None:
        """Give the library a path belongs to."""
        return self._survey.roots.owner(path)

    def take_in(self, timeout_s: float) -> None:
        """Wait for events, act on all there are, then look at directories for a moment."""
        for event in self._link.read(0 if self._survey.is_busy else timeout_s):
            self._receive(event)
        until = self._clock.monotonic() + _SLICE_S
        while self._survey.step() and self._clock.monotonic() < until:
            pass
        if self._is_flooded and not self._survey.is_busy and not len(self._scans):
            self._is_flooded = False

    def wake(self) -> None:
        """End a wait for events; any thread may do so."""
        self._link.wake()

    def close(self) -> None:
        """Give up every watch; may be called twice."""
        self._link.close()

    def _receive(self, event: Event) -> None:
        if event.mask & Bit.OVERFLOW:
            self._scan_everything()
            return
        directory = self._tree.path_of(event.watch)
        owner = None if directory is None else self.owner(directory)
        if directory is None or owner is None:
            return
        if event.mask & _LOST:
            self._survey.lose(directory)
        elif event.name and not is_temp_name(event.name):
            path = f"{directory}/{event.name}"
            _tell(event, path, owner)
            self._judge(event, path, directory, owner)

    def _judge(self, event: Event, path: str, directory: str, owner: Owner) -> None:
        if is_skipped(event.name):
            return
        if event.mask & Bit.ISDIR:
            self._follow_directory(event, path, directory)
        elif _suffix(event.name) in _SUFFIXES and self._matters(event, path, owner):
            self._scans.touch(directory, owner.root)

    def _follow_directory(self, event: Event, path: str, directory: str) -> None:
        if path in self._survey.roots.foreign:
            self._survey.retry()  # the root of another library came or went
        elif event.mask & _APPEARED:
            self._survey.discover(path)
            self._touch(path)
        else:
            self._tree.forget(path)
            self._touch(directory)

    def _matters(self, event: Event, path: str, owner: Owner) -> bool:
        # A file that is being written says so when it is closed; a link never does.
        if event.mask & Bit.CREATE and not _is_link(path):
            return False
        return not self._own.covers(self._survey.roots.real(path, owner.root))

    def _touch(self, path: str) -> None:
        owner = self.owner(path)
        if owner is not None:
            self._scans.touch(path, owner.root)

    def _scan_everything(self) -> None:
        if not self._is_flooded:
            _LOG.warning("watcher: events were lost; every library is scanned")
        self._is_flooded = True
        for root in self._survey.roots.libraries:
            self._survey.discover(root, deep=True)
            self._scans.touch(root, root)


def _tell(event: Event, path: str, owner: Owner) -> None:
    if _LOG.isEnabledFor(logging.DEBUG):
        _LOG.debug(
            "watcher: event received",
            extra={"event": event.describe(), "path": path, "library": owner.library.name},
        )


def _suffix(name: str) -> str:
    _, dot, suffix = name.rpartition(".")
    return suffix.lower() if dot else ""


def _is_link(path: str) -> bool:
    """Tell whether a file is a symbolic link, or has another name besides this one."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISLNK(found.st_mode) or found.st_nlink > 1
