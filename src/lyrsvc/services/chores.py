"""Long jobs that somebody asks for: waited for a while, then they go on by themselves."""

import logging
import threading
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from lyrsvc.core.errors import LyrsvcError, Refused

PATIENCE_S: Final = 8.0
"""Whoever asked is answered by then; browsers and proxies give up not much later."""

T = TypeVar("T")

_LOG = logging.getLogger("lyrsvc.chores")


class ChoreRunning(Refused):
    """The same job is being done already."""

    code = "already_running"


class Chores:
    """Does jobs in threads of their own, each of a name once at a time."""

    def __init__(self, *, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._lock = threading.Lock()
        self._running: set[str] = set()

    def run(self, name: str, job: Callable[[], T], *, expected: Callable[[], T]) -> T:
        """Do a job and give what it came to; if it takes long, what is expected of it.

        ``expected`` is asked before the job begins.
        """
        with self._lock:
            if name in self._running:
                raise ChoreRunning(f"{name} is still under way; wait for its end")
            self._running.add(name)
        try:
            chore = _Chore(name, job, expected(), done=lambda: self._forget(name))
            chore.start()
        except BaseException:
            self._forget(name)
            raise
        return chore.result(self._patience_s)

    def _forget(self, name: str) -> None:
        with self._lock:
            self._running.discard(name)


class _Chore(threading.Thread, Generic[T]):
    """One job under way."""

    def __init__(
        self, name: str, job: Callable[[], T], expected: T, *, done: Callable[[], None]
    ) -> None:
        super().__init__(name=f"chore {name}", daemon=True)
        self._job = job
        self._answer = expected
        self._done = done
        self._error: Exception | None = None
        self._lock = threading.Lock()
        self._left_alone = False

    def run(self) -> None:
        """Do the job; an error is told to whoever still waits, else to the log."""
        try:
            answer = self._job()
        except Exception as error:  # noqa: BLE001 - it is handed on
            self._end(error)
        else:
            with self._lock:
                self._answer = answer
        finally:
            self._done()

    def result(self, patience_s: float) -> T:
        """Wait for the end, but not for ever."""
        self.join(patience_s)
        with self._lock:
            self._left_alone = self.is_alive()
            if self._error is not None:
                raise self._error
            return self._answer

    def _end(self, error: Exception) -> None:
        with self._lock:
            self._error = error
            told = not self._left_alone
        if not told:
            known = isinstance(error, LyrsvcError)
            _LOG.warning("job broke off", extra={"why": error}, exc_info=None if known else error)
