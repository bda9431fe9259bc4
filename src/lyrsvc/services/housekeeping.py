"""The quiet work of a service that runs for years: old rows go, vanished files are forgotten.

What waits for audio that is there again is found, too.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from pathlib import Path
from typing import Final

from lyrsvc.core.ports import Clock
from lyrsvc.services.task_board import Record
from lyrsvc.services.vanished_files import prune
from lyrsvc.store import libraries, retention, work_items
from lyrsvc.store.database import Database, Tx

EVERY_S: Final = 3600.0
ATTEMPTS_KEPT: Final = timedelta(days=365)
RENAMES_KEPT: Final = timedelta(days=30)

_LOG = logging.getLogger("lyrsvc.housekeeping")


@dataclass(frozen=True, kw_only=True, slots=True)
class Keeping:
    """How long things are kept; None keeps finished items for ever, and never sweeps."""

    history: timedelta = timedelta(days=365)
    done_items: timedelta | None = None
    missing_files: timedelta = timedelta(days=30)
    sweep_every: timedelta | None = timedelta(hours=6)


class Housekeeper:
    """Removes old rows every hour, and sweeps the libraries now and then.

    Its rounds run through ``record``, as the tasks ``retention`` and ``sweep``.
    """

    def __init__(
        self,
        db: Database,
        *,
        clock: Clock,
        keeping: Keeping,
        record: Record = lambda _name, work: work(),
        parked: Callable[[], int] = lambda: 0,
    ) -> None:
        self._db = db
        self._clock = clock
        self._keeping = keeping
        self._record = record
        self._parked = parked
        self._swept_at = clock.monotonic()
        self._round_at: datetime | None = None

    @property
    def next_round_at(self) -> datetime | None:
        """Give the moment of the next round; None before the first is waited for."""
        return self._round_at

    @property
    def next_sweep_at(self) -> datetime | None:
        """Give the moment of the round that sweeps; None when none ever does."""
        sweep, round_at = self._keeping.sweep_every, self._round_at
        if sweep is None or round_at is None:
            return None
        due_s = sweep.total_seconds() - (self._clock.monotonic() - self._swept_at)
        ahead_s = due_s - (round_at - self._clock.now()).total_seconds()
        return round_at + timedelta(seconds=max(0, ceil(ahead_s / EVERY_S)) * EVERY_S)

    def run(self) -> None:
        """Do the rounds until the program stops."""
        while not self._pause():
            self._record("retention", self.forget)
            sweep = self._keeping.sweep_every
            since = self._clock.monotonic() - self._swept_at
            if sweep is not None and since >= sweep.total_seconds():
                self._record("sweep", self.sweep)

    def forget(self) -> dict[str, int]:
        """Remove what is older than it need be; give how many rows of each kind went."""
        now = self._clock.now()
        gone = {name: self._all_chunks(step) for name, step in self._steps(now).items()}
        told = {name: number for name, number in gone.items() if number}
        if told:
            _LOG.info("old rows removed", extra={"rows": told})
        return gone

    def sweep(self) -> int:
        """Forget files that have been missing for long, of every library whose root is there.

        Before that, what was parked for audio that has come back is made due.
        """
        self._swept_at = self._clock.monotonic()
        with self._db.read() as tx:
            every = libraries.all_libraries(tx)
        return self._parked() + sum(
            prune(self._db, library, clock=self._clock, retention=self._keeping.missing_files)
            for library in every
            if Path(library.path).is_dir()
        )

    def _pause(self) -> bool:
        self._round_at = self._clock.now() + timedelta(seconds=EVERY_S)
        return self._clock.wait(EVERY_S)

    def _steps(self, now: datetime) -> dict[str, Callable[[Tx], int]]:
        keeping = self._keeping
        old = now - keeping.history
        steps: dict[str, Callable[[Tx], int]] = {
            "history": lambda tx: retention.forget_history(tx, before=old),
            "audit": lambda tx: retention.forget_audit(tx, before=old),
            "sessions": lambda tx: retention.forget_sessions(tx, before=now),
            "attempts": lambda tx: retention.forget_attempts(tx, before=now - ATTEMPTS_KEPT),
            "renames": lambda tx: retention.forget_renames(tx, before=now - RENAMES_KEPT),
            "runs": retention.forget_runs,
        }
        if keeping.done_items is not None:
            until = now - keeping.done_items
            steps["items"] = lambda tx: work_items.delete_done(tx, until=until, now=now)
        return steps

    def _all_chunks(self, step: Callable[[Tx], int]) -> int:
        removed = 0
        while number := self._db.write(step, bulk=True):
            removed += number
        return removed
