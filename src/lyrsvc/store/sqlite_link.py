"""One SQLite connection, and SQLite's errors in our words."""

import os
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from math import inf
from typing import TYPE_CHECKING, Any, Final, NoReturn

import apsw

from lyrsvc.core.errors import StorageFailed, StoreBusy, StoreDamaged, StoreError, StoreLate
from lyrsvc.store.hindrances import what_hinders, wrong_kind
from lyrsvc.store.turnstile import Turnstile

if TYPE_CHECKING:
    from lyrsvc.store.engine import Params, Row, Values
    from lyrsvc.store.log_moving import LogMover

BUSY_TIMEOUT_MS: Final = 10_000
LOCK_PAUSE_S: Final = 0.001
"""Between two looks whether another process still writes."""
DEADLINE_STEPS: Final = 200_000
"""Steps of SQLite's machine between two looks at the clock: a few milliseconds.

Each look takes the interpreter away from whoever else is at work.
"""
CACHED_STATEMENTS: Final = 256
PORTIONS: Final = (64, 32, 16, 8, 4, 3, 2, 1)
"""Rows that one statement inserts; few different ones, so that each is prepared once."""

READ_ONLY: Final = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
READ_WRITE: Final = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI

_NEVER: Final = threading.Event()
_UNESCAPED: Final = frozenset(
    b"/-._~ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
)


def connect(path: str, *, flags: int, options: str = "") -> apsw.Connection:
    """Open a file that exists, whatever bytes its name holds; never create it."""
    if why := wrong_kind(path):
        raise StorageFailed(why)
    name = os.fsencode(path if os.sep == "/" else "/" + path.replace(os.sep, "/"))
    quoted = "".join(chr(byte) if byte in _UNESCAPED else f"%{byte:02x}" for byte in name)
    try:
        connection = apsw.Connection(
            f"file://{quoted}?{options}", flags=flags, statementcachesize=CACHED_STATEMENTS
        )
    except apsw.Error as error:
        raise_known(error, path)
    connection.set_busy_timeout(BUSY_TIMEOUT_MS)
    return connection


def raise_known(error: apsw.Error, path: str) -> NoReturn:
    """Raise a state of the database as a ``StoreError``, a mistake in a statement as it is."""
    match error:
        case apsw.BusyError() | apsw.ProtocolError():
            raise StoreBusy(f"the database {path} is held by another process") from error
        case apsw.FullError():
            raise StorageFailed(f"no room for the database {path}; free some space") from error
        case apsw.CorruptError() | apsw.NotADBError():
            raise StoreDamaged(
                f"{path} is damaged or no database; restore a backup or move the file away"
            ) from error
        case apsw.CantOpenError() | apsw.ReadOnlyError() | apsw.PermissionsError():
            why = what_hinders(path) or (
                f"cannot use the database {path}; "
                "check owner and mode of the file and its directory"
            )
            raise StorageFailed(why) from error
        case apsw.IOError():
            why = what_hinders(path) or (
                f"the disk of {path} answers with errors: {error}; check the disk"
            )
            raise StorageFailed(why) from error
        case apsw.CursorClosedError():
            raise StoreError("the transaction is over; rows must be read inside it") from error
        case apsw.ConnectionClosedError():
            raise StoreError("the database is closed") from error
        case _:
            raise error


class SqliteLink:
    """A connection that speaks in rows; see ``engine.Link`` for what each method promises."""

    __slots__ = (
        "_deadline_s",
        "_mover",
        "_path",
        "_streams",
        "_turnstile",
        "_until",
        "connection",
        "reads_only",
    )

    def __init__(self, connection: apsw.Connection, path: str) -> None:
        self._turnstile = Turnstile(path)
        self.connection = connection
        self.reads_only = False
        self._mover: LogMover | None = None
        self._path = path
        self._streams: set[apsw.Cursor] = set()
        self._deadline_s: float | None = None
        self._until = inf

    @property
    def in_transaction(self) -> bool:
        """Tell whether a transaction is still open; some errors end it by themselves."""
        return self.connection.in_transaction

    def move_log_with(self, mover: "LogMover") -> None:
        """Have the log moved beside the commits from now on."""
        self._mover = mover

    def begin(self, *, wait_s: float) -> None:
        """Take the write lock; one that is held by another process is looked at often.

        SQLite's own way of waiting looks ever more seldom, and so misses the short moments
        between the writes of a process that has many.
        """
        until = time.monotonic() + wait_s

        def wait(_: int) -> bool:
            self._turnstile.begin_to_wait()
            return _nap() and time.monotonic() < until

        self.connection.set_busy_handler(wait)
        try:
            self.connection.execute("BEGIN IMMEDIATE")
        except apsw.Error as error:
            raise_known(error, self._path)
        finally:
            self._turnstile.end_waiting()
            self.connection.set_busy_timeout(BUSY_TIMEOUT_MS)

    def is_wanted(self) -> bool | None:
        """Tell whether another process waits to write; None when that cannot be known."""
        return self._turnstile.is_wanted()

    def begin_reading(self, *, deadline_s: float | None, once: bool = False) -> None:
        """Open a snapshot; it is taken by the first statement."""
        if deadline_s != self._deadline_s:
            self._set_deadline(deadline_s)
        if not once:
            self._execute("BEGIN")

    def commit(self) -> None:
        """Commit; a transaction that cannot be committed is rolled back."""
        try:
            self._execute("COMMIT")
        except BaseException:
            self.rollback()
            raise

    def tidy(self) -> None:
        """Keep the log short."""
        if self._mover is not None:
            self._mover.look()

    def rollback(self) -> None:
        """Roll back what is still open."""
        if self.connection.in_transaction:
            self._until = inf
            self._execute("ROLLBACK")

    def set_mark(self) -> None:
        """Open a savepoint."""
        self._execute("SAVEPOINT operation")

    def release_mark(self) -> None:
        """Keep the savepoint's changes."""
        self._execute("RELEASE operation")

    def undo_to_mark(self) -> None:
        """Undo the savepoint's changes, unless the whole transaction is already gone."""
        if self.connection.in_transaction:
            self._execute("ROLLBACK TO operation")
            self._execute("RELEASE operation")

    def run(self, sql: str, params: "Params") -> int:
        """Run to the end, also when rows come back."""
        try:
            for _ in self._execute(sql, params):
                pass
        except apsw.Error as error:
            self._raise(error)
        return self.connection.changes()

    def many(self, sql: str, rows: "Iterable[Params]") -> None:
        """Run once for each of the rows."""
        try:
            for _ in self.connection.executemany(sql, rows):
                pass
        except apsw.Error as error:
            self._raise(error)

    def insert_rows(self, table: str, columns: "Sequence[str]", rows: "Sequence[Values]") -> None:
        """Insert in portions: each statement gives the interpreter away once, not once a row."""
        at = 0
        for portion in PORTIONS:
            while len(rows) - at >= portion:
                sql = _insert_sql(table, tuple(columns), portion)
                values = tuple(chain.from_iterable(rows[at : at + portion]))
                try:
                    self.connection.execute(sql, values)
                except apsw.Error as error:
                    self._raise(error)
                at += portion

    def next_ids(self, count: int, *tables: str) -> "list[Sequence[int]]":
        """Count on from the largest id ever given; whoever uses them moves that on."""
        given = dict(self.tuples("SELECT name, seq FROM sqlite_sequence", {}))
        firsts = [1 + given.get(table, 0) for table in tables]
        return [range(first, first + count) for first in firsts]

    def first(self, sql: str, params: "Params") -> "Row | None":
        """Step once; SQLite has made all changes of a RETURNING by then."""
        cursor = self._execute(sql, params)
        try:
            for values in cursor:
                return dict(zip(_names(cursor), values, strict=True))
        except apsw.Error as error:
            self._raise(error)
        finally:
            cursor.close(force=True)
        return None

    def all(self, sql: str, params: "Params") -> "list[Row]":
        """Read every row under one deadline."""
        cursor = self._execute(sql, params)
        rows: list[Row] = []
        names: tuple[str, ...] = ()
        try:
            for values in cursor:
                names = names or _names(cursor)
                rows.append(dict(zip(names, values, strict=True)))
        except apsw.Error as error:
            self._raise(error)
        return rows

    def tuples(self, sql: str, params: "Params") -> list[tuple[Any, ...]]:
        """Read every row under one deadline, without names."""
        try:
            return self._execute(sql, params).fetchall()
        except apsw.Error as error:
            self._raise(error)

    def each(self, sql: str, params: "Params") -> "Iterator[Row]":
        """Start at once, so that a stream never begins in a later transaction."""
        cursor = self._execute(sql, params)
        self._streams.add(cursor)
        return self._stream(cursor)

    def end_streams(self) -> None:
        """Close the cursors of unfinished streams."""
        while self._streams:
            self._streams.pop().close(force=True)

    def run_script(self, sql: str, params: "Params") -> None:
        """Run statement after statement."""
        self.run(sql, params)

    def close(self) -> None:
        """Close; unfinished work is rolled back."""
        self.end_streams()
        self._turnstile.close()
        if self._mover is not None:
            self._mover.close()
        try:
            self.connection.close(force=True)
        except apsw.Error:
            # A full or dying disk: SQLite recovers from the log at the next opening.
            return

    def _execute(self, sql: str, params: "Params | None" = None) -> apsw.Cursor:
        if self._deadline_s is not None:
            self._until = time.monotonic() + self._deadline_s
        try:
            return self.connection.execute(sql, params)
        except apsw.Error as error:
            self._raise(error)

    def _stream(self, cursor: apsw.Cursor) -> "Iterator[Row]":
        names: tuple[str, ...] = ()
        try:
            for values in cursor:
                names = names or _names(cursor)
                yield dict(zip(names, values, strict=True))
                # Time spent by whoever takes the rows does not count.
                if self._deadline_s is not None:
                    self._until = time.monotonic() + self._deadline_s
        except apsw.Error as error:
            self._raise(error)
        finally:
            self._streams.discard(cursor)
            cursor.close(force=True)

    def _set_deadline(self, deadline_s: float | None) -> None:
        self._deadline_s = deadline_s
        self._until = inf
        wait_ms = BUSY_TIMEOUT_MS if deadline_s is None else int(deadline_s * 1000)
        self.connection.set_busy_timeout(min(wait_ms, BUSY_TIMEOUT_MS))
        handler = None if deadline_s is None else self._is_late
        self.connection.set_progress_handler(handler, DEADLINE_STEPS)

    def _is_late(self) -> bool:
        return time.monotonic() > self._until

    def _raise(self, error: apsw.Error) -> NoReturn:
        if isinstance(error, apsw.InterruptError):
            raise StoreLate(
                f"the database took longer than {self._deadline_s:g} s; ask for less, or try again"
            ) from error
        if self.reads_only and isinstance(error, apsw.ReadOnlyError):
            raise StoreError("a read cannot change anything; use write") from error
        raise_known(error, self._path)


def _nap() -> bool:
    return not _NEVER.wait(LOCK_PAUSE_S)


@lru_cache(maxsize=64)
def _insert_sql(table: str, columns: tuple[str, ...], rows: int) -> str:
    """Write the statement for so many rows; the names are our own."""
    row = f"({', '.join('?' * len(columns))})"
    head = f"INSERT INTO {table} ({', '.join(columns)}) VALUES "  # noqa: S608 - as said
    return head + ", ".join([row] * rows)


def _names(cursor: apsw.Cursor) -> tuple[str, ...]:
    return tuple(column[0] for column in cursor.get_description())
