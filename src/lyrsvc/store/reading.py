"""The readers: a few read-only connections, each block one state of the database."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from lyrsvc.core.errors import StorageFailed, StoreBusy, StoreDamaged, StoreError
from lyrsvc.store.transaction import Tx

if TYPE_CHECKING:
    from lyrsvc.store.engine import Link

READERS: Final = 4
SPARE_READERS: Final = 60
"""For a time when those are all busy with long questions: nobody waits for a report."""
SPARE_AFTER_S: Final = 0.05
"""A connection that is held for longer is held by a long question."""
TURN_WAIT_S: Final = 30.0
"""How long a read without a deadline waits for a free reader."""


class ReaderPool:
    """Hands out read-only connections, opened when they are first needed.

    A few are enough for short questions, and a crowd of those takes turns. For each long
    one a spare connection is opened, and closed again afterwards, so that a report delays
    neither worker nor webhook.
    """

    def __init__(
        self,
        open_reader: "Callable[[float], Link]",
        *,
        size: int = READERS,
        spare: int = SPARE_READERS,
        spare_after_s: float = SPARE_AFTER_S,
    ) -> None:
        self._open_reader = open_reader
        self._size = size
        self._most = size + spare
        self._spare_after_s = spare_after_s
        self._turns: dict[object, float] = {}
        """When each of those that are lent was lent."""
        self._returned = threading.Condition()
        self._lock = threading.Lock()
        self._idle: list[Link] = []
        self._closed = False

    @contextmanager
    def reading(self, *, deadline_s: float | None, once: bool = False) -> Iterator[Tx]:
        """Lend a connection for one block; one that asks only ``once`` needs no transaction."""
        wait_s = TURN_WAIT_S if deadline_s is None else deadline_s
        turn = self._begin_turn(wait_s)
        try:
            link = self._take(wait_s)
            try:
                link.begin_reading(deadline_s=deadline_s, once=once)
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
            self._end_turn(turn)

    def close(self) -> None:
        """Close every idle reader, and those in use as soon as they come back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for link in idle:
            link.close()

    def _begin_turn(self, wait_s: float) -> object:
        """Wait for a connection: one of the few, or a spare one for each long question."""
        turn = object()
        ends = time.monotonic() + wait_s
        with self._returned:
            while not self._has_room(now := time.monotonic()):
                if now >= ends:
                    raise StoreBusy(f"{len(self._turns)} database readers are in use; try again")
                self._returned.wait(min(ends - now, self._spare_after_s))
            self._turns[turn] = now
        return turn

    def _has_room(self, now: float) -> bool:
        if len(self._turns) < self._size:
            return True
        if len(self._turns) >= self._most:
            return False
        long_since = now - self._spare_after_s
        short = sum(begun > long_since for begun in self._turns.values())
        return short < self._size

    def _end_turn(self, turn: object) -> None:
        with self._returned:
            del self._turns[turn]
            self._returned.notify()

    def _take(self, wait_s: float) -> "Link":
        with self._lock:
            if self._closed:
                raise StoreError("the database is closed")
            if self._idle:
                return self._idle.pop()
        return self._open_reader(wait_s)

    def _give_back(self, link: "Link") -> None:
        with self._lock:
            if not self._closed and len(self._idle) < self._size:
                self._idle.append(link)
                return
        link.close()
