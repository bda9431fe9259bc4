"""Scans of single directories, each after its quiet period, one after the other."""

import logging
import os
import stat
import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from lyrsvc.core.debounce import Debounce, above, topmost
from lyrsvc.core.errors import StoreError
from lyrsvc.core.library import Library
from lyrsvc.core.ports import Clock
from lyrsvc.services.watched_roots import Owner

ScanBelow = Callable[[Library, Path], bool]
"""Scans a directory and what is below it; False when the library is busy just now."""

OnDone = Callable[[str, datetime], None]
"""Told of a directory that was scanned, with what is below it, and when that began."""

_TICK_S: Final = 1.0
"""The longest time until a stop is noticed that nobody woke us for."""
STORAGE_RETRY_S: Final = 15.0
"""What a full or held database kept from being scanned is tried again after this time."""
_LOG = logging.getLogger("lyrsvc.watcher")


class SubScans:
    """The directories that wait for a scan, and the loop that scans them."""

    def __init__(
        self,
        debounce: Debounce,
        *,
        scan_below: ScanBelow,
        owner: Callable[[str], Owner | None],
        clock: Clock,
        storage_retry_s: float = STORAGE_RETRY_S,
        on_scanned: OnDone = lambda _directory, _begun: None,
    ) -> None:
        self._debounce = debounce
        self._scan_below = scan_below
        self._owner = owner
        self._clock = clock
        self._storage_retry_s = storage_retry_s
        self._on_scanned = on_scanned
        self._told = ""
        self._changed = threading.Condition()

    def __len__(self) -> int:
        return len(self._debounce)

    def touch(self, directory: str, root: str, *, after_s: float = 0.0) -> None:
        """Have a directory scanned once nothing happens in it any more."""
        with self._changed:
            if not len(self._debounce):
                self._changed.notify_all()
            fits = self._debounce.touch(directory, root, self._clock.monotonic() + after_s)
        if not fits:
            _LOG.warning("watcher: too many directories changed; whole libraries are scanned")

    def wake(self) -> None:
        """Have the loop look around now."""
        with self._changed:
            self._changed.notify_all()

    def run(self) -> None:
        """Scan until the program stops."""
        while not self._clock.wait(0):
            due = self._existing(self._await_due())
            for place, (owner, directory) in enumerate(due):
                if self._clock.wait(0):
                    return
                try:
                    self._scan(owner, directory)
                except StoreError as error:
                    self._put_off(due[place:], error)
                    break

    def _await_due(self) -> list[str]:
        """Give what is due; nothing when there was none for a while."""
        with self._changed:
            due_at = self._debounce.next_due_at()
            left_s = _TICK_S if due_at is None else due_at - self._clock.monotonic()
            if left_s > 0:
                self._changed.wait(min(left_s, _TICK_S))
            return self._debounce.take_due(self._clock.monotonic())

    def _existing(self, directories: Sequence[str]) -> list[tuple[Owner, str]]:
        """Put the nearest directory that exists in the place of one that is gone."""
        owners: dict[str, Owner] = {}
        for directory in directories:
            owner = self._owner(directory)
            found = owner and _nearest(directory, owner.root)
            if owner and found:
                owners.setdefault(found, owner)
        tops = topmost([(path, owner.root) for path, owner in owners.items()])
        return [(owners[path], path) for path in tops]

    def _scan(self, owner: Owner, directory: str) -> None:
        fields = {"path": directory, "library": owner.library.name}
        _LOG.debug("watcher: directory is scanned", extra=fields)
        begun = self._clock.now()
        try:
            is_done = self._scan_below(owner.library, Path(directory))
        except StoreError:
            raise
        except Exception:  # noqa: BLE001 - one scan that fails ends nothing
            _LOG.exception("scan of a changed directory failed", extra=fields)
            return
        self._told = ""
        if is_done:
            self._on_scanned(directory, begun)
        else:
            self.touch(directory, owner.root)

    def _put_off(self, waiting: Sequence[tuple[Owner, str]], error: StoreError) -> None:
        """Keep what the database cannot take now: nobody tells of these directories again."""
        fields = {"path": waiting[0][1], "directories": len(waiting), "reason": str(error)}
        level = logging.DEBUG if self._told == str(error) else logging.WARNING
        _LOG.log(level, "changed directories are scanned later", extra=fields)
        self._told = str(error)
        for owner, directory in waiting:
            self.touch(directory, owner.root, after_s=self._storage_retry_s)


def _nearest(directory: str, root: str) -> str | None:
    for path in (directory, *above(directory, root)):
        try:
            found = os.stat(path, follow_symlinks=path == root)  # noqa: PTH116 - bytes may be odd
        except OSError:
            continue
        if stat.S_ISDIR(found.st_mode):
            return path
    return None
