"""Where processes that wait for the write lock are seen by one that has much to write.

SQLite has no queue: whoever asks at the right moment gets the lock. A process that waits
holds a shared lock on ``<database>.turn``; one that has just written a batch looks whether
anybody does, and leaves them the next turn.
"""

import os
from typing import Final

try:
    import fcntl
except ImportError:  # there, a process with much to write pauses without knowing
    fcntl = None  # type: ignore[assignment]

FILE_MODE: Final = 0o640


class Turnstile:
    """Says that this process waits, and tells whether another one does."""

    def __init__(self, database: str) -> None:
        self._path = f"{database}.turn"
        self._handle: int | None = None
        self._waits = False

    def begin_to_wait(self) -> None:
        """Let others see that we wait; may be called again and again."""
        if not self._waits:
            self._waits = self._lock(exclusively=False, create=True)

    def end_waiting(self) -> None:
        """Let others see that we do not wait any more."""
        if self._waits:
            self._waits = False
            self._unlock()

    def is_wanted(self) -> bool | None:
        """Tell whether another process waits; None when that cannot be known here."""
        if fcntl is None:
            return None
        if self._handle is None and not os.access(self._path, os.F_OK):
            return False
        if self._lock(exclusively=True, create=False):
            self._unlock()
            return False
        return True if self._handle is not None else None

    def close(self) -> None:
        """Let go of the file; may be called twice."""
        handle, self._handle = self._handle, None
        self._waits = False
        if handle is not None:
            os.close(handle)

    def _lock(self, *, exclusively: bool, create: bool) -> bool:
        if fcntl is None:
            return False
        try:
            if self._handle is None:
                flags = os.O_RDWR | (os.O_CREAT if create else 0)
                self._handle = os.open(self._path, flags | os.O_CLOEXEC, FILE_MODE)
            kind = fcntl.LOCK_EX if exclusively else fcntl.LOCK_SH
            fcntl.flock(self._handle, kind | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def _unlock(self) -> None:
        if fcntl is not None and self._handle is not None:
            fcntl.flock(self._handle, fcntl.LOCK_UN)
