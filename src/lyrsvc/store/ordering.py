"""In what order a list comes: by a name, in the direction it is usually read, or turned around."""

from collections.abc import Mapping
from dataclasses import dataclass

from lyrsvc.core.errors import Refused

Orders = Mapping[str, tuple[str, ...]]
"""Names of orders with the columns of each; the last column tells every row from the others.

A column with a minus usually falls. One with an equals sign is not turned around, so
that rows without a value come last either way.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """By what rows are ordered; ``descending`` None means as it is usually read."""

    by: str
    descending: bool | None = None

    def terms(self, orders: Orders) -> str:
        """Give what follows ``ORDER BY``."""
        columns = self._columns(orders)
        turned = self.falls(orders) is not _usually_falls(columns)
        return ", ".join(_term(column, turned=turned) for column in columns)

    def falls(self, orders: Orders) -> bool:
        """Tell whether the rows come with the greatest first."""
        usually = _usually_falls(self._columns(orders))
        return usually if self.descending is None else self.descending

    def _columns(self, orders: Orders) -> tuple[str, ...]:
        if self.by not in orders:
            raise Refused(f'nothing is ordered by "{self.by}"; use one of {", ".join(orders)}')
        return orders[self.by]


def _usually_falls(columns: tuple[str, ...]) -> bool:
    return next(column for column in columns if not column.startswith("=")).startswith("-")


def _term(column: str, *, turned: bool) -> str:
    if column.startswith("="):
        return column[1:]
    falls = column.startswith("-") is not turned
    return f"{column.lstrip('-')}{' DESC' if falls else ''}"
