"""In what order a list comes: by a name, in the direction it is usually read, or turned around."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from lyrsvc.core.errors import Refused

Orders = Mapping[str, tuple[str, ...]]
"""Names of orders with the columns of each; the last column tells every row from the others.

A column with a minus usually falls. One with an equals sign is not turned around, so
that rows without a value come last either way.
"""


class Key(NamedTuple):
    """A column that rows are compared by, or an expression, and whether the greatest come first."""

    column: str
    falls: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """By what rows are ordered; ``descending`` None means as it is usually read."""

    by: str
    descending: bool | None = None

    def terms(self, orders: Orders) -> str:
        """Give what follows ``ORDER BY``."""
        return terms_of(self.keys(orders))

    def keys(self, orders: Orders) -> tuple[Key, ...]:
        """Give by what rows are compared, the first that differs decides."""
        columns = self._columns(orders)
        turned = self.falls(orders) is not _usually_falls(columns)
        return tuple(_key(column, turned=turned) for column in columns)

    def falls(self, orders: Orders) -> bool:
        """Tell whether the rows come with the greatest first."""
        usually = _usually_falls(self._columns(orders))
        return usually if self.descending is None else self.descending

    def _columns(self, orders: Orders) -> tuple[str, ...]:
        if self.by not in orders:
            raise Refused(f'nothing is ordered by "{self.by}"; use one of {", ".join(orders)}')
        return orders[self.by]


def terms_of(keys: Iterable[Key]) -> str:
    """Give what follows ``ORDER BY``."""
    return ", ".join(f"{key.column}{' DESC' if key.falls else ''}" for key in keys)


def _usually_falls(columns: tuple[str, ...]) -> bool:
    return next(column for column in columns if not column.startswith("=")).startswith("-")


def _key(column: str, *, turned: bool) -> Key:
    if column.startswith("="):
        return Key(column[1:], falls=False)
    return Key(column.lstrip("-"), falls=column.startswith("-") is not turned)
