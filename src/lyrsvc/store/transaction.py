"""Tx: the one way to speak SQL inside a read or a write."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

from lyrsvc.core.errors import StoreError

if TYPE_CHECKING:
    from lyrsvc.store.engine import Link, Row, Values


class Tx:
    """An open transaction; statements name their parameters ``:name``.

    It ends with the block or operation it was made for: a Tx, or a row stream of
    it, that outlives that raises instead of reading somebody else's state.
    """

    __slots__ = ("_link",)

    def __init__(self, link: "Link") -> None:
        self._link: Link = link

    def run(self, sql: str, /, **params: Any) -> int:  # noqa: ANN401 - a column holds any value
        """Run one statement; answer how many rows it inserted, changed or deleted."""
        return self._link.run(sql, params)

    def many(self, sql: str, /, rows: Iterable[Mapping[str, Any]]) -> None:
        """Run one statement for each of the rows."""
        self._link.many(sql, rows)

    def insert_rows(self, table: str, columns: Sequence[str], rows: "Sequence[Values]") -> None:
        """Insert rows of bare values, in the order of the columns; for very many of them.

        Where other threads are busy, this is far quicker than a statement for each.
        """
        self._link.insert_rows(table, columns, rows)

    def next_ids(self, count: int, *tables: str) -> list[Sequence[int]]:
        """Set so many ids of each table aside for rows that are about to be inserted with them."""
        return self._link.next_ids(count, *tables)

    def first(self, sql: str, /, **params: Any) -> "Row | None":  # noqa: ANN401 - as above
        """Give the first row, or None; the rest of an UPDATE … RETURNING is still done."""
        return self._link.first(sql, params)

    def all(self, sql: str, /, **params: Any) -> "list[Row]":  # noqa: ANN401 - as above
        """Give all rows."""
        return self._link.all(sql, params)

    def tuples(self, sql: str, /, **params: Any) -> list[tuple[Any, ...]]:  # noqa: ANN401 - as above
        """Give all rows as bare values in the order of the columns; for very many of them."""
        return self._link.tuples(sql, params)

    def each(self, sql: str, /, **params: Any) -> "Iterator[Row]":  # noqa: ANN401 - as above
        """Give the rows one by one, as they are read; for answers of any length."""
        return self._link.each(sql, params)

    def value(self, sql: str, /, **params: Any) -> Any:  # noqa: ANN401 - as above
        """Give the first column of the first row, or None when there is no row."""
        row = self._link.first(sql, params)
        return None if row is None else next(iter(row.values()))

    def end(self) -> None:
        """Close what is still being read and refuse every later call."""
        self._link.end_streams()
        self._link = _ENDED


class _Ended:
    """Stands where the link of a finished transaction was."""

    def __getattr__(self, name: str) -> NoReturn:
        raise StoreError(f"the transaction is over; {name} must be called inside its block")

    def end_streams(self) -> None:
        """Allow ``end`` to be called twice."""


_ENDED: Final = cast("Link", _Ended())
