"""Keeping leases: renewing our own, taking back those of holders that are gone.

It also cuts moments that a clock which ran ahead has left behind.
"""

import logging
import threading
from datetime import timedelta
from random import Random
from typing import Final

from lyrsvc.core.errors import StoreError
from lyrsvc.core.ports import Clock
from lyrsvc.core.waiting import LEASE_GIVEN_UP, RENEW_EVERY, WaitPolicy
from lyrsvc.services.steadying import Steady
from lyrsvc.store import claims
from lyrsvc.store.claims import Swept
from lyrsvc.store.database import Database, Tx
from lyrsvc.store.work_items import CHUNK

TICK_S: Final = 5.0
SWEEP_EVERY_S: Final = 60.0
CUT_EVERY_S: Final = 3600.0
CLOCK_SLACK: Final = timedelta(seconds=2)
"""A clock that goes back further than this has been set."""

_LOG = logging.getLogger("lyrsvc.worker")


class LeaseKeeper:
    """Renews every lease of one owner; ``tick`` does what has become due."""

    def __init__(
        self,
        db: Database,
        *,
        owner: str,
        clock: Clock,
        chance: Random,
        steady: Steady,
        policy: WaitPolicy,
    ) -> None:
        self._db = db
        self._owner = owner
        self._clock = clock
        self._chance = chance
        self._steady = steady
        self._policy = policy
        self._lock = threading.Lock()
        self._renewed_s = self._swept_s = self._cut_s = clock.monotonic()
        self._last_seen = clock.now()

    def start(self, *, alone: bool) -> None:
        """Take back what earlier holders left; all of it when this process is surely ``alone``."""
        now, chance = self._clock.now(), self._chance
        if alone:
            taken = self._db.write(lambda tx: claims.release_all(tx, now=now, chance=chance))
            _tell(taken)
        else:
            self._sweep()
        self._cut()

    @property
    def is_fresh(self) -> bool:
        """Tell whether our leases surely hold; without that no file may be written."""
        age_s = self._clock.monotonic() - self._renewed_s
        return age_s < LEASE_GIVEN_UP.total_seconds()

    def tick(self) -> None:
        """Renew before sweeping: after a leap of the clock our own leases must not look dead."""
        now_s = self._clock.monotonic()
        went_back = self._went_back()
        try:
            if went_back or now_s - self._renewed_s >= RENEW_EVERY.total_seconds():
                self._renew()
            if went_back or now_s - self._swept_s >= SWEEP_EVERY_S:
                self._renew()
                self._sweep()
            if went_back or now_s - self._cut_s >= CUT_EVERY_S:
                self._cut()
        except StoreError as fault:
            self._steady.note(fault)

    def run(self) -> None:
        """Tick until the program stops."""
        while not self._clock.wait(TICK_S):
            self.tick()

    def _renew(self) -> None:
        begun_s, now = self._clock.monotonic(), self._clock.now()
        self._db.write(lambda tx: claims.renew(tx, owner=self._owner, now=now))
        with self._lock:
            self._renewed_s = begun_s
        self._steady.note_success()

    def _sweep(self) -> None:
        now = self._clock.now()

        def sweep(tx: Tx) -> Swept:
            return claims.sweep(tx, now=now, chance=self._chance)

        full = True
        while full:
            swept = self._db.write(sweep, bulk=True)
            _tell(swept.taken_back)
            full = len(swept.taken_back) >= CHUNK
        self._swept_s = self._clock.monotonic()

    def _cut(self) -> None:
        now = self._clock.now()

        def cut(tx: Tx) -> int:
            return claims.cut_waits(tx, now=now, policy=self._policy, chance=self._chance)

        while self._db.write(cut, bulk=True):
            pass
        self._cut_s = self._clock.monotonic()

    def _went_back(self) -> bool:
        now, before = self._clock.now(), self._last_seen
        self._last_seen = now
        if now >= before - CLOCK_SLACK:
            return False
        _LOG.warning(
            "the clock was set back", extra={"by_s": round((before - now).total_seconds())}
        )
        return True


def _tell(taken: tuple[int, ...]) -> None:
    for item_id in taken:
        _LOG.warning("item taken back from a holder that is gone", extra={"item": item_id})
