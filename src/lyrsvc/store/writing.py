"""The one writer: group commit.

One thread owns one connection. Operations that wait are run in one transaction,
each behind its own mark, and their callers are answered after the commit: an
answer means durable. One fsync serves up to 64 callers.
"""

import atexit
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from math import inf
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

from lyrsvc.core.errors import StorageFailed, StoreBusy, StoreError
from lyrsvc.store.transaction import Tx

if TYPE_CHECKING:
    from lyrsvc.store.engine import Link

T = TypeVar("T")

BATCH_OPERATIONS: Final = 64
BULK_BATCH_S: Final = 0.005
URGENT_BATCH_S: Final = 0.02
"""How long operations are added to a transaction. Whoever waits for an answer is better off in this
one than behind another process that takes the lock in between."""
BUSY_SLICE_S: Final = 0.25
"""How long one try to begin may last, before expired operations are answered."""
LONG_S: Final = 0.005
GAP_S: Final = 0.0025
"""Pause after bulk work where it cannot be seen whether another process waits: each looks for a
free lock once a millisecond."""
YIELD_S: Final = 0.1
"""How long bulk work is put off at most for others that wait."""
PRESSED_S: Final = 0.1
TIMES_FREE: Final = 8.0
"""Where others have just waited, the lock is left free so many times as long as it was held."""
LOOK_S: Final = 0.001
WANTED_S: Final = 1.0
LEAST_WAIT_S: Final = 0.05
LONGEST_WAIT_S: Final = 86_400.0
EXIT_WAIT_S: Final = 10.0


class Pending(Generic[T]):
    """An operation on its way; ``result`` waits until it is durable."""

    __slots__ = (
        "_answered",
        "_begun",
        "_bulk",
        "_error",
        "_expires",
        "_is_answered",
        "_listeners",
        "_operation",
        "_value",
        "_writer",
    )

    def __init__(
        self, operation: Callable[[Tx], T], *, bulk: bool, wait_s: float, writer: "Writer"
    ) -> None:
        self._operation = operation
        self._bulk = bulk
        self._expires = time.monotonic() + wait_s
        self._writer = writer
        self._begun = False
        self._value: T | None = None
        self._error: BaseException | None = None
        self._answered = threading.Lock()
        self._answered.acquire()  # released by the answer
        self._is_answered = False
        self._listeners: deque[Callable[[], None]] = deque()

    @property
    def is_answered(self) -> bool:
        """Tell whether ``result`` gives an answer without having to wait for one."""
        return self._is_answered

    @property
    def is_durable(self) -> bool:
        """Tell whether it has been committed."""
        return self._is_answered and self._error is None

    @property
    def patience_s(self) -> float:
        """Tell how long it is still worth waiting for its beginning."""
        return min(max(self._expires - time.monotonic(), LEAST_WAIT_S), LONGEST_WAIT_S)

    def then(self, listener: Callable[[], None]) -> None:
        """Have somebody told once it is answered, in whatever thread; at once if it is already.

        The listener only takes note of it: others wait for their own answers meanwhile.
        """
        self._listeners.append(listener)
        if self._is_answered:
            self._tell()

    def result(self) -> T:
        """Wait for the commit; give what the operation gave, or raise what it raised.

        Raises ``StoreBusy`` when the operation could not begin within its ``wait_s``.
        """
        self._writer.refuse_own_thread()
        if not self._answered.acquire(timeout=self.patience_s):
            self._writer.withdraw(self)
            self._answered.acquire()
        self._answered.release()
        if self._error is not None:
            raise self._error
        return cast("T", self._value)

    def _perform(self, link: "Link", *, marked: bool) -> None:
        """Run the operation, behind a mark if there are others before it that are to stay.

        Whatever it raises belongs to its caller.
        """
        tx = Tx(link)
        try:
            if marked:
                link.set_mark()
            self._value = self._operation(tx)
            tx.end()
            if marked:
                link.release_mark()
        except BaseException as error:  # noqa: BLE001 - the caller gets whatever it raised
            self._error = error
            tx.end()
            if marked:
                link.undo_to_mark()

    def _answer(self, error: BaseException | None = None) -> None:
        if self._error is None:
            self._error = error
        self._is_answered = True
        self._tell()
        self._answered.release()

    def _tell(self) -> None:
        """Tell everybody who listens; each is taken from the list by whoever comes first."""
        while self._listeners:
            with suppress(IndexError):
                self._listeners.popleft()()


class Writer:
    """Runs operations in the order of their urgency; its thread starts with the first one."""

    def __init__(
        self,
        open_writer: "Callable[[float], Link]",
        *,
        check_in_place: Callable[[], None] = lambda: None,
    ) -> None:
        self._open_writer = open_writer
        self._check_in_place = check_in_place
        self._link: Link | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._urgent: deque[Pending[Any]] = deque()
        self._bulk: deque[Pending[Any]] = deque()
        self._closing = False
        self._idle = False
        self._writing = False
        self._wanted_s = -inf
        self._bulk_rests_until_s = -inf
        self._pid = os.getpid()

    def submit(self, operation: Callable[[Tx], T], *, bulk: bool, wait_s: float) -> Pending[T]:
        """Queue an operation; bulk ones yield to all others."""
        self.refuse_own_thread()
        pending = Pending(operation, bulk=bulk, wait_s=wait_s, writer=self)
        with self._lock:
            if self._closing:
                raise StoreError("the database is closed")
            (self._bulk if bulk else self._urgent).append(pending)
            if self._thread is None:
                self._start()
            if self._idle:
                self._changed.notify()
        return pending

    @property
    def is_wanted(self) -> bool:
        """Tell whether bulk work has lately kept somebody waiting, here or in another process."""
        return time.monotonic() - self._wanted_s < WANTED_S

    def check_unlocked(self, *, wait_s: float) -> None:
        """Raise ``StoreBusy`` when another process keeps us from writing for so long.

        Whatever else a write may fail with is no lock: a full disk can still be read.
        """
        try:
            self.submit(lambda _tx: None, bulk=False, wait_s=wait_s).result()
        except StoreBusy:
            if not self._writing:  # else it is our own work that takes so long
                raise
        except StoreError:
            return

    def withdraw(self, pending: Pending[Any]) -> None:
        """Answer an operation that has not begun in time."""
        with self._changed:
            if not pending._begun:
                pending._begun = True
                pending._answer(_too_busy())

    def refuse_own_thread(self) -> None:
        """Raise where waiting would never end: inside an operation, or after a fork."""
        if self._thread is not None and self._thread.ident == threading.get_ident():
            raise StoreError("a write was asked for inside a write; use the Tx at hand")
        if self._pid != os.getpid():
            raise StoreError("the database was opened before a fork; open it again in the child")

    def close(self, *, wait_s: float | None = None) -> None:
        """Finish what is queued and stop the thread; may be called twice."""
        if self._pid != os.getpid():
            return
        self.refuse_own_thread()
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(wait_s)
            atexit.unregister(self._close_at_exit)

    def _start(self) -> None:
        # A daemon, so that a forgotten database never keeps the interpreter alive.
        self._thread = threading.Thread(target=self._serve, name="store-writer", daemon=True)
        self._thread.start()
        atexit.register(self._close_at_exit)

    def _close_at_exit(self) -> None:
        self.close(wait_s=EXIT_WAIT_S)

    def _serve(self) -> None:
        while self._wait_for_work():
            batch: list[Pending[Any]] = []
            try:
                self._run_batch(batch)
            except BaseException as error:  # noqa: BLE001 - the writer outlives every failure
                self._drop_link()
                self._fail(batch, error)
            finally:
                self._writing = False
        self._drop_link()

    def _wait_for_work(self) -> bool:
        with self._changed:
            while not self._urgent:
                rest_s = self._bulk_rests_until_s - time.monotonic() if self._bulk else None
                if rest_s is not None and (rest_s <= 0 or self._closing):
                    return True
                if self._closing:
                    return False
                self._idle = True
                self._changed.wait(rest_s)
                self._idle = False
            return True

    def _run_batch(self, batch: list[Pending[Any]]) -> None:
        link = self._begin()
        if link is None:
            return
        self._writing = True
        began = time.monotonic()
        urgent_only = False
        while len(batch) < BATCH_OPERATIONS:
            pending = self._take(urgent_only=urgent_only)
            if pending is None:
                break
            batch.append(pending)
            pending._perform(link, marked=len(batch) > 1)
            if pending._error is not None and not link.in_transaction:
                raise StorageFailed("the transaction was lost; try again") from pending._error
            if pending._error is not None and len(batch) == 1:
                link.rollback()
                pending._answer()
                return
            # Bulk work must not hold back the answers of urgent operations.
            urgent_only = urgent_only or not pending._bulk
            if time.monotonic() - began >= (URGENT_BATCH_S if urgent_only else BULK_BATCH_S):
                break
        self._commit(link, batch)
        held_s = time.monotonic() - began
        link.tidy()
        has_bulk = bool(batch) and batch[0]._bulk
        if has_bulk and (urgent_only or held_s >= LONG_S):
            self._let_others_in(link, held_s, kept_waiting=urgent_only)

    def _commit(self, link: "Link", batch: list[Pending[Any]]) -> None:
        """Make a batch durable and answer it; what a removed file holds would be lost with it."""
        try:
            self._check_in_place()
        except StoreError as error:
            link.rollback()
            self._fail(batch, error)
            return
        link.commit()
        for pending in batch:
            pending._answer()

    def _let_others_in(self, link: "Link", held_s: float, *, kept_waiting: bool) -> None:
        """Leave the lock to whoever waits for it, here or elsewhere, and comes soon."""
        wanted = link.is_wanted()
        if wanted or kept_waiting or self._urgent:
            self._wanted_s = time.monotonic()
        if wanted is None:
            self._pause(GAP_S)
        until = time.monotonic() + YIELD_S
        while wanted and time.monotonic() < until and not self._pause(LOOK_S):
            wanted = link.is_wanted()
        now = time.monotonic()
        if now - self._wanted_s < PRESSED_S:
            self._bulk_rests_until_s = now + min(held_s * TIMES_FREE, YIELD_S)

    def _pause(self, seconds: float) -> bool:
        """Wait; True when there is something urgent to do here."""
        with self._changed:
            self._idle = True
            urgent = self._changed.wait_for(lambda: bool(self._urgent) or self._closing, seconds)
            self._idle = False
            return urgent

    def _begin(self) -> "Link | None":
        """Begin a transaction; None when every operation ran out of patience before."""
        while True:
            try:
                if self._link is None:
                    self._link = self._open_writer(BUSY_SLICE_S)
                self._link.begin(wait_s=BUSY_SLICE_S)
            except StoreBusy:
                if self._drop_expired():
                    return None
            else:
                return self._link

    def _take(self, *, urgent_only: bool) -> Pending[Any] | None:
        with self._lock:
            rests = time.monotonic() < self._bulk_rests_until_s and not self._closing
            queues = (self._urgent,) if urgent_only or rests else (self._urgent, self._bulk)
            for queue in queues:
                while queue:
                    pending = queue.popleft()
                    if not pending._begun:
                        pending._begun = True
                        return pending
        return None

    def _drop_expired(self) -> bool:
        """Answer operations whose time is over; tell whether none is left."""
        now = time.monotonic()
        with self._changed:
            for queue in (self._urgent, self._bulk):
                waiting = [pending for pending in queue if not pending._begun]
                queue.clear()
                for pending in waiting:
                    if pending._expires > now:
                        queue.append(pending)
                    else:
                        pending._begun = True
                        pending._answer(_too_busy())
            return not (self._urgent or self._bulk)

    def _fail(self, batch: list[Pending[Any]], error: BaseException) -> None:
        """Answer a batch that came to nothing; when none could begin, only the most urgent."""
        for pending in batch:
            pending._answer(_own_copy(error, StorageFailed))
        if not batch and (first := self._take(urgent_only=False)):
            first._answer(_own_copy(error, type(error)))

    def _drop_link(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.close()


def _too_busy() -> StoreBusy:
    return StoreBusy("the database is held by another process; try again")


def _own_copy(error: BaseException, kind: type[BaseException]) -> StoreError:
    """Give each caller an error of its own, for each adds its own traceback."""
    own = (kind if issubclass(kind, StoreError) else StorageFailed)(str(error) or repr(error))
    own.__cause__ = error
    return own
