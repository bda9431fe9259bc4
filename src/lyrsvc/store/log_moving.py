"""SQLite's log goes into the database beside the writer, not while somebody waits for a commit.

Left alone, SQLite moves it at the end of a commit: many pages and two syncs in which the next
one cannot begin. Here a thread of its own does that. The log itself can only begin anew when
all of it has been moved, so once it is long the writer moves what has come since.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import apsw

from lyrsvc.core.errors import StoreError

SOME_PAGES: Final = 1000
"""New pages after which the log is moved."""
MANY_PAGES: Final = 4 * SOME_PAGES
"""Pages from which on the log is to begin anew."""


class LogMover:
    """Moves the log of one writing connection; its thread starts when there is enough to move."""

    def __init__(
        self, connection: apsw.Connection, open_another: Callable[[], apsw.Connection]
    ) -> None:
        self._connection = connection
        self._open_another = open_another
        self._pages = 0
        self._due_pages = SOME_PAGES
        self._has_moved = False
        self._closing = False
        self._due = threading.Event()
        self._thread: threading.Thread | None = None
        connection.set_wal_hook(self._note)

    def look(self) -> None:
        """Have the log moved when it has grown; to be called when nobody waits for the commit."""
        if self._has_moved and self._pages >= MANY_PAGES:
            self._has_moved = False
            with suppress(apsw.Error):  # somebody else moves it, or the disk is full: later, then
                self._connection.wal_checkpoint()
        elif self._pages >= self._due_pages:
            self._due_pages = self._pages + SOME_PAGES
            self._due.set()
            if self._thread is None:
                self._thread = threading.Thread(target=self._move, name="store-log", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """End the thread; may be called twice."""
        self._closing = True
        self._due.set()
        if self._thread is not None:
            self._thread.join()

    def _note(self, _connection: apsw.Connection, _database: str, pages: int) -> int:
        if pages < self._pages:
            self._due_pages = SOME_PAGES
        self._pages = pages
        return apsw.SQLITE_OK

    def _move(self) -> None:
        connection: apsw.Connection | None = None
        while self._due.wait() and not self._closing:
            self._due.clear()
            with suppress(apsw.Error, StoreError):  # as above; the writer will try as well
                connection = connection or self._open_reading()
                connection.wal_checkpoint()
            self._has_moved = True
        if connection is not None:
            connection.close(force=True)

    def _open_reading(self) -> apsw.Connection:
        """Open a connection that knows of the log; one that has read nothing moves nothing."""
        connection = self._open_another()
        connection.execute("PRAGMA schema_version").fetchall()
        return connection
