"""What the store asks of a database engine; ``sqlite.py`` is the first to answer."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from lyrsvc.store.transaction import Tx

Row = dict[str, Any]
Params = Mapping[str, Any]
Values = tuple[Any, ...]


class Link(Protocol):
    """One open connection; used by one thread at a time.

    Statements name their parameters ``:name``. Errors of the engine that are not
    mistakes in a statement come out as ``StoreError`` and its kinds.
    """

    @property
    def in_transaction(self) -> bool:
        """Tell whether a transaction is still open."""
        ...

    def begin(self, *, wait_s: float) -> None:
        """Start to write; raise ``StoreBusy`` when another process writes for so long."""
        ...

    def is_wanted(self) -> bool | None:
        """Tell whether another process waits to write; None when that cannot be known."""
        ...

    def begin_reading(self, *, deadline_s: float | None, once: bool = False) -> None:
        """Start to read one state of the database, each statement within the deadline.

        What is asked ``once`` needs no transaction: a statement sees one state by itself.
        """
        ...

    def commit(self) -> None:
        """Make everything since ``begin`` durable."""
        ...

    def tidy(self) -> None:
        """Do what commits leave to be done; to be called when nobody waits for one."""
        ...

    def rollback(self) -> None:
        """Forget everything since ``begin``; nothing to do when that has happened already."""
        ...

    def set_mark(self) -> None:
        """Remember this point inside the transaction."""
        ...

    def release_mark(self) -> None:
        """Keep what was done since the mark."""
        ...

    def undo_to_mark(self) -> None:
        """Undo what was done since the mark."""
        ...

    def run(self, sql: str, params: Params) -> int:
        """Run one statement; answer how many rows it changed."""
        ...

    def many(self, sql: str, rows: Iterable[Params]) -> None:
        """Run one statement for each of the rows."""
        ...

    def insert_rows(self, table: str, columns: Sequence[str], rows: Sequence[Values]) -> None:
        """Insert rows of bare values with as few statements as possible."""
        ...

    def next_ids(self, count: int, *tables: str) -> list[Sequence[int]]:
        """Set so many ids of each table aside that no other row has or had."""
        ...

    def first(self, sql: str, params: Params) -> Row | None:
        """Give the first row."""
        ...

    def all(self, sql: str, params: Params) -> list[Row]:
        """Give all rows."""
        ...

    def tuples(self, sql: str, params: Params) -> list[tuple[Any, ...]]:
        """Give all rows as bare values."""
        ...

    def each(self, sql: str, params: Params) -> Iterator[Row]:
        """Give the rows one by one, as they are read."""
        ...

    def end_streams(self) -> None:
        """End every ``each`` that was not read to its end."""
        ...

    def run_script(self, sql: str, params: Params) -> None:
        """Run several statements without committing any."""
        ...

    def close(self) -> None:
        """Let go of the database; may be called twice."""
        ...


class Engine(Protocol):
    """A kind of database at one location."""

    @property
    def location(self) -> str:
        """Where the database is, as shown to users."""
        ...

    @property
    def steps_directory(self) -> str:
        """Where this engine's migrations lie."""
        ...

    def exists(self) -> bool:
        """Tell whether there is a database; never make one."""
        ...

    def create(self) -> bool:
        """Make an empty database unless there is one; tell whether it was made."""
        ...

    def open_writer(self, wait_s: float) -> Link:
        """Open a connection that may write; raise ``StoreBusy`` when it takes so long."""
        ...

    def open_reader(self, wait_s: float) -> Link:
        """Open a connection that cannot write; raise ``StoreBusy`` when it takes so long."""
        ...

    def open_migrator(self, wait_s: float) -> Link:
        """Open a connection that may also rebuild tables others refer to."""
        ...

    def applied_steps(self, tx: "Tx") -> list[Row] | None:
        """Give version, name and sha256 of each applied step; None for an empty database."""
        ...

    def check_references(self, tx: "Tx") -> None:
        """Raise when a row points to one that is not there."""
        ...

    def keep_copy(self, version: int, *, present: int) -> None:
        """Copy the database before it is lifted from ``present`` to ``version``."""
        ...

    def copy_to(self, destination: Path) -> None:
        """Write a consistent copy of the live database to a new file."""
        ...

    def check_in_place(self) -> None:
        """Raise when the database that is open is no longer the one at its location."""
        ...
