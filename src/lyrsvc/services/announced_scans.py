"""Directories that webhooks announced: stored until they were scanned, whatever comes between."""

import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from lyrsvc.core.debounce import Debounce
from lyrsvc.core.library import Library
from lyrsvc.core.ports import Clock
from lyrsvc.services.sub_scanning import ScanBelow, SubScans
from lyrsvc.services.watched_roots import Owner
from lyrsvc.store import announced_dirs
from lyrsvc.store.database import Database


class AnnouncedScans:
    """Scans what was announced; ``run`` is made for a thread and begins with what was left."""

    def __init__(
        self,
        db: Database,
        *,
        clock: Clock,
        quiet_s: float,
        scan_below: ScanBelow,
        owner: Callable[[str], Owner | None],
    ) -> None:
        self._db = db
        self._clock = clock
        self._owner = owner
        self._scans = SubScans(
            Debounce(quiet_s=quiet_s),
            scan_below=scan_below,
            owner=owner,
            clock=clock,
            on_scanned=self._forget,
        )

    def __len__(self) -> int:
        return len(self._scans)

    def touch(self, library: Library, directory: Path) -> None:
        """Have a directory scanned that is stored already; returns at once."""
        self._scans.touch(os.fspath(directory), os.fspath(library.path))

    def wake(self) -> None:
        """Have the loop look around now."""
        self._scans.wake()

    def run(self) -> None:
        """Scan until the program stops; first what an earlier run has left."""
        self._take_up()
        self._scans.run()

    def _take_up(self) -> None:
        now = self._clock.now()
        with self._db.read() as tx:
            left = announced_dirs.every(tx)
        for directory in left:
            owner = self._owner(directory)
            if owner is None:  # its library was removed
                self._forget(directory, now)
            else:
                self._scans.touch(directory, owner.root)

    def _forget(self, directory: str, begun: datetime) -> None:
        self._db.write(lambda tx: announced_dirs.forget(tx, directory, until=begun), bulk=True)
