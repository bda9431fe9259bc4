"""The lock of a library: one scan, realign or rename at a time, across processes.

It is a lease: whoever holds it renews it, and whoever dies loses it. A holder that
is known to be dead is not waited for.
"""

import logging
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Final

from lyrsvc.core.errors import Refused, StoreError
from lyrsvc.core.library import Library
from lyrsvc.core.ports import Clock
from lyrsvc.services.process_marks import is_dead, own_mark
from lyrsvc.store import locks
from lyrsvc.store.database import Database, Tx

RENEW_EVERY_S: Final = 15.0
TRY_EVERY_S: Final = 0.25

_LOG: Final = logging.getLogger("lyrsvc.scan")


class LibraryBusy(Refused):
    """Somebody else works on the library."""

    code = "already_running"


class Lease:
    """A lock that is held; ``is_lost`` when it could not be renewed in time."""

    def __init__(self, db: Database, clock: Clock, name: str, owner: str) -> None:
        self._db, self._clock = db, clock
        self._name, self._owner = name, owner
        self._ended = threading.Event()
        self._renewed = time.monotonic()
        self._is_taken = False

    @property
    def is_lost(self) -> bool:
        """Tell whether somebody else may hold the lock by now."""
        late = time.monotonic() - self._renewed > locks.LEASE.total_seconds()
        return self._is_taken or late

    def keep(self) -> None:
        """Renew until released; made for a thread."""
        while not self._ended.wait(RENEW_EVERY_S):
            begun = time.monotonic()
            try:
                held = self._db.write(
                    lambda tx: locks.renew(tx, self._name, self._owner, now=self._clock.now())
                )
            except StoreError as error:
                _LOG.warning("a library lock could not be renewed", extra={"reason": str(error)})
                continue
            self._renewed = begun
            self._is_taken = self._is_taken or not held

    def end(self) -> None:
        """Stop renewing."""
        self._ended.set()


@contextmanager
def library_lock(
    db: Database, library: Library, *, clock: Clock, purpose: str, wait_s: float = 0.0
) -> Iterator[Lease]:
    """Hold the lock of a library; raise ``LibraryBusy`` when it is not free in time."""
    name, owner = locks.library_lock(library.id), secrets.token_hex(8)
    _take(db, library, owner, clock=clock, purpose=purpose, wait_s=wait_s)
    lease = Lease(db, clock, name, owner)
    keeper = threading.Thread(target=lease.keep, name="library-lock", daemon=True)
    keeper.start()
    try:
        yield lease
    finally:
        lease.end()
        keeper.join(RENEW_EVERY_S)
        with suppress(StoreError):  # it expires by itself
            db.write(lambda tx: locks.release(tx, name, owner))


def is_locked(db: Database, library: Library, *, clock: Clock) -> bool:
    """Tell whether somebody works on the library now."""
    with db.read() as tx:
        held = locks.holder(tx, locks.library_lock(library.id), now=clock.now())
    return held is not None and not is_dead(_mark_of(held["info"]))


def _take(
    db: Database, library: Library, owner: str, *, clock: Clock, purpose: str, wait_s: float
) -> None:
    name, info = locks.library_lock(library.id), f"{purpose} {own_mark()}"
    until = clock.monotonic() + wait_s

    def take(tx: Tx) -> bool:
        return locks.take(tx, name, owner, info=info, now=clock.now())

    while not db.write(take):
        with db.read() as tx:
            held = locks.holder(tx, name, now=clock.now())
        if held is None:
            continue
        if is_dead(_mark_of(held["info"])):
            dead = str(held["owner"])
            db.write(partial(_drop, name, dead))
            continue
        left = until - clock.monotonic()
        if left <= 0 or clock.wait(min(left, TRY_EVERY_S)):
            doing = str(held["info"]).partition(" ")[0] or "another run"
            raise LibraryBusy(
                f'library "{library.name}" is busy ({doing}); try again when that is over'
            )


def _drop(name: str, owner: str, tx: Tx) -> None:
    locks.release(tx, name, owner)


def _mark_of(info: str) -> str:
    return info.partition(" ")[2]
