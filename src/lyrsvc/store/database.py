"""The database: operations are functions of a ``Tx``.

``write`` answers when the operation is durable, ``read`` gives one unchanging
state for a block. Which engine answers is decided by the location alone; callers
speak common SQL with named parameters.
"""

import os
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Final, Self, TypeVar

from lyrsvc.core.errors import NotFound, StoreError
from lyrsvc.store.moments import from_db, to_db
from lyrsvc.store.reachability import Reachability
from lyrsvc.store.reading import ReaderPool
from lyrsvc.store.schema_version import require_current
from lyrsvc.store.transaction import Tx

if TYPE_CHECKING:
    from lyrsvc.core.ports import Clock
    from lyrsvc.store.engine import Engine
    from lyrsvc.store.writing import Pending, Writer

__all__ = ["Database", "Tx", "engine_at", "exists", "from_db", "to_db"]

T = TypeVar("T")

READ_DEADLINE_S: Final = 5.0
WRITE_WAIT_S: Final = 30.0
REACH_WAIT_S: Final = 1.8
"""Readiness is answered within two seconds, everything around the look included."""


def exists(location: "str | os.PathLike[str]") -> bool:
    """Tell whether there is a database; never make one."""
    return engine_at(location).exists()


class Database:
    """An open database; close it, or use it as a context manager."""

    def __init__(self, engine: "Engine", *, created: bool = False) -> None:
        self.created = created
        """Whether opening it has made it."""
        self._engine = engine
        self._pid = os.getpid()
        self._readers = ReaderPool(engine.open_reader)
        # A reader of its own: long reports must not make the database look lost.
        self._probe = ReaderPool(engine.open_reader, size=1, spare=0)
        self._reachability = Reachability(self._look)
        self._lock = threading.Lock()
        self._writer: Writer | None = None
        self._closed = False

    @classmethod
    def open(
        cls,
        location: "str | os.PathLike[str]",
        *,
        create: bool,
        clock: "Clock",
        upgrade: bool | None = None,
    ) -> Self:
        """Open the database; make it when ``create``, else raise ``NotFound`` where there is none.

        An older schema is lifted when ``upgrade`` (by default: when ``create``),
        so that commands that only read never change what they look at.
        """
        engine = engine_at(location)
        created = engine.create() if create else False
        if not created and not engine.exists():
            raise NotFound(
                f"no database at {engine.location}; start the service once, "
                "or set LYRSVC_DB_PATH to the one it uses"
            )
        database = cls(engine, created=created)
        try:
            if create if upgrade is None else upgrade:
                _lift(engine, clock)
            else:
                with database.read() as tx:
                    require_current(engine, tx)
        except BaseException:
            database.close()
            raise
        return database

    @property
    def location(self) -> str:
        """Where the database is."""
        return self._engine.location

    def write(
        self, operation: Callable[[Tx], T], *, bulk: bool = False, wait_s: float = WRITE_WAIT_S
    ) -> T:
        """Run an operation and wait until it is durable; a failing one leaves no trace.

        The operation runs in the writer's thread, so it must be quick and touch
        neither files nor network. ``wait_s`` bounds the wait for other writers.
        """
        return self.submit(operation, bulk=bulk, wait_s=wait_s).result()

    def submit(
        self, operation: Callable[[Tx], T], *, bulk: bool = False, wait_s: float = WRITE_WAIT_S
    ) -> "Pending[T]":
        """Queue an operation and return at once; its ``result()`` waits like ``write``."""
        writer = self._writer or self._start_writer()
        return writer.submit(operation, bulk=bulk, wait_s=wait_s)

    def read(self, *, deadline_s: float | None = READ_DEADLINE_S) -> AbstractContextManager[Tx]:
        """Open a block that reads one state of the database and never delays a writer.

        A statement that takes longer than the deadline raises ``StoreError``.
        """
        self._refuse_after_fork()
        return self._readers.reading(deadline_s=deadline_s)

    def glance(self) -> AbstractContextManager[Tx]:
        """Open a block for a single statement, which sees one state by itself and costs less."""
        self._refuse_after_fork()
        return self._readers.reading(deadline_s=READ_DEADLINE_S, once=True)

    def check_reachable(self, *, wait_s: float = REACH_WAIT_S) -> None:
        """Raise unless the database answers, is not locked, and is the one at its location.

        Raises within ``wait_s``, also where the disk hangs.
        """
        self._refuse_after_fork()
        self._reachability.check(wait_s=wait_s)

    def close(self) -> None:
        """Finish queued operations, then let go of everything; may be called twice."""
        if self._pid != os.getpid():
            return
        with self._lock:
            self._closed = True
        # Readers first: only a writer that closes last can tidy up its log.
        self._readers.close()
        self._probe.close()
        if self._writer is not None:
            self._writer.close()

    def _look(self, wait_s: float) -> None:
        ends = time.monotonic() + wait_s
        self._engine.check_in_place()
        with self._probe.reading(deadline_s=wait_s) as tx:
            tx.value("SELECT count(*) FROM schema_migrations")
        writer = self._writer or self._start_writer()
        writer.check_unlocked(wait_s=max(0.0, ends - time.monotonic()))

    @property
    def is_wanted(self) -> bool:
        """Tell whether bulk work has lately kept somebody waiting; it should be done in less."""
        return self._writer is not None and self._writer.is_wanted

    def _start_writer(self) -> "Writer":
        from lyrsvc.store.writing import Writer  # commands that only read need none

        self._refuse_after_fork()
        with self._lock:
            if self._closed:
                raise StoreError("the database is closed")
            self._writer = self._writer or Writer(
                self._engine.open_writer, check_in_place=self._engine.check_in_place
            )
            return self._writer

    def _refuse_after_fork(self) -> None:
        if self._pid != os.getpid():
            raise StoreError("the database was opened before a fork; open it again in the child")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def engine_at(location: "str | os.PathLike[str]") -> "Engine":
    """Give the engine that is at home there."""
    from lyrsvc.store.sqlite import SqliteEngine

    path = os.fspath(location)
    if not path.startswith(os.sep):
        from pathlib import Path

        path = str(Path(path).absolute())
    return SqliteEngine(path)


def _lift(engine: "Engine", clock: "Clock") -> None:
    from pathlib import Path

    from lyrsvc.store.migrating import MIGRATION_WAIT_S, migrate, read_steps

    link = engine.open_migrator(MIGRATION_WAIT_S)
    try:
        migrate(engine, link, read_steps(Path(engine.steps_directory)), now=clock.now())
    finally:
        link.close()
