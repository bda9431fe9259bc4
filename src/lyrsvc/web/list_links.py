"""The addresses a list leads to: another page, another order, narrowed; what was chosen is kept."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from lyrsvc.store.ordering import Order, Orders

if TYPE_CHECKING:
    from lyrsvc.web.exchange import Exchange

SIZES: Final = (25, 50, 100, 200)
"""Rows of a page that are offered."""

_NEVER_KEPT: Final = frozenset({"apikey"})

Value = str | int | None


@dataclass(frozen=True, kw_only=True)
class ListLinks:
    """A list as the visitor asked for it; every link changes something and keeps the rest."""

    address: str
    given: tuple[tuple[str, str], ...] = ()

    def to(self, **changes: Value) -> str:
        """Give the same list with some parameters changed; None takes one away.

        Whatever is changed, the list begins at its first page again.
        """
        kept = [pair for pair in self.given if pair[0] not in changes and pair[0] != "page"]
        new = [(name, str(value)) for name, value in changes.items() if value is not None]
        return with_query(self.address, [*kept, *new])

    def only(self, *names: str) -> tuple[tuple[str, str], ...]:
        """Give the parameters of these names as they were given."""
        return tuple(pair for pair in self.given if pair[0] in names)

    def without(self, *names: str) -> str:
        """Give the same list with some parameters taken away."""
        return self.to(**dict.fromkeys(names))


@dataclass(frozen=True, kw_only=True)
class Pages:
    """Which page of how many; ``href`` gives the address of another."""

    page: int
    page_size: int
    total: int
    links: ListLinks

    @property
    def last(self) -> int:
        """The number of the last page; an empty list has one too."""
        return max(-(-self.total // self.page_size), 1)

    @property
    def is_beyond(self) -> bool:
        """Whether there are rows, but none so far behind."""
        return self.total > 0 and self.page > self.last

    def href(self, number: int) -> str:
        """Give the address of a page."""
        return self.links.to(page=number if number > 1 else None)

    @property
    def sizes(self) -> list[tuple[int, str]]:
        """The sizes of a page to choose from, each with its address."""
        return [(size, self.links.to(page_size=size)) for size in SIZES]


@dataclass(frozen=True, kw_only=True)
class ListTab:
    """The rows of one kind; without a number where filters narrow them."""

    kind: str
    href: str
    count: int | None
    current: bool


@dataclass(frozen=True, kw_only=True)
class SortLink:
    """The head of a column: where it leads, and how the rows are ordered by it now."""

    href: str
    direction: str = "none"


def links_of(exchange: "Exchange") -> ListLinks:
    """Give the links of the list that this request asks for."""
    given = [pair for pair in exchange.query_pairs if pair[1] and pair[0] not in _NEVER_KEPT]
    return ListLinks(address=exchange.url(exchange.path), given=tuple(given))


def sort_links(
    links: ListLinks, orders: Orders, current: Order, *, default: str
) -> dict[str, SortLink]:
    """Give the head of every column that rows can be ordered by.

    The present one turns the rows around, and after that leads back to the usual order.
    """
    found = {
        by: SortLink(href=links.to(sort=None if by == default else by, dir=None)) for by in orders
    }
    falls = current.falls(orders)
    if falls is Order(by=current.by).falls(orders):
        href = links.to(sort=current.by, dir="asc" if falls else "desc")
    else:
        href = links.without("sort", "dir")
    direction = "descending" if falls else "ascending"
    return found | {current.by: SortLink(href=href, direction=direction)}


def with_query(address: str, pairs: list[tuple[str, str]]) -> str:
    """Put parameters behind an address."""
    return f"{address}?{urlencode(pairs)}" if pairs else address
