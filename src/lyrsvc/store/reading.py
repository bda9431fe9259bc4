"""The readers: a few read-only connections, each block one state of the database."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from lyrsvc.core.errors import StorageFailed, StoreBusy, StoreDamaged, StoreError
from lyrsvc.store.transaction import Tx

if TYPE_CHECKING:
    from lyrsvc.store.engine import Link

READERS: Final = 4
TURN_WAIT_S: Final = 30.0
"""How long a read without a deadline waits for a free reader."""


class ReaderPool:
    """Hands out read-only connections, opened when they are first needed."""

    def __init__(self, open_reader: "Callable[[float], Link]", *, size: int = READERS) -> None:
        self._open_reader = open_reader
        self._turns = threading.Semaphore(size)
        self._size = size
        self._lock = threading.Lock()
        self._idle: list[Link] = []
        self._closed = False

    @contextmanager
    def reading(self, *, deadline_s: float | None) -> Iterator[Tx]:
        """Lend a connection for one block."""
        wait_s = TURN_WAIT_S if deadline_s is None else deadline_s
        if not self._turns.acquire(timeout=wait_s):
            raise StoreBusy(f"all {self._size} database readers are in use; try again")
        try:
            link = self._take(wait_s)
            try:
                link.begin_reading(deadline_s=deadline_s)
                tx = Tx(link)
                try:
                    yield tx
                finally:
                    tx.end()
                link.rollback()
            except (StorageFailed, StoreDamaged):
                link.close()
                raise
            except BaseException:
                link.rollback()
                self._give_back(link)
                raise
            self._give_back(link)
        finally:
            self._turns.release()

    def close(self) -> None:
        """Close every idle reader, and those in use as soon as they come back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for link in idle:
            link.close()

    def _take(self, wait_s: float) -> "Link":
        with self._lock:
            if self._closed:
                raise StoreError("the database is closed")
            if self._idle:
                return self._idle.pop()
        return self._open_reader(wait_s)

    def _give_back(self, link: "Link") -> None:
        with self._lock:
            if not self._closed:
                self._idle.append(link)
                return
        link.close()
