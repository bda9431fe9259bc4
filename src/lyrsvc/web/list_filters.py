"""The filters above a list, read off the structure of its query: one control for each field.

What can be chosen comes from the annotation when that is a closed set, else from what
there is: libraries, lanes, reasons. The words for it are the templates'.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, get_args, get_origin

import msgspec

from lyrsvc.store import counts, libraries
from lyrsvc.store.reporting import TROUBLED
from lyrsvc.store.stock_taking import count_reasons
from lyrsvc.web.parsing_requests import fields_of

if TYPE_CHECKING:
    from lyrsvc.store.transaction import Tx
    from lyrsvc.web.exchange import Exchange

_NO_FILTERS: Final = frozenset({"page", "page_size", "sort", "dir", "format", "kind"})
_DAYS: Final = frozenset({"since", "until"})
_TEXT: Final = "q"

Choice = tuple[str, str]
"""A value, and its name when that cannot be told from the value."""


@dataclass(frozen=True, kw_only=True)
class Filter:
    """One control: ``control`` is text, day or choice; a value nobody offers is kept."""

    name: str
    control: str
    value: str
    choices: Sequence[Choice] = ()

    @property
    def in_use(self) -> bool:
        """Whether it narrows the list."""
        return self.value != ""


def filters_of(
    exchange: "Exchange", query: msgspec.Struct, *, besides: Sequence[str] = ()
) -> list[Filter]:
    """Give the filters of a list, the text first; ``besides`` are those the page shows itself."""
    fields = [
        field
        for field in fields_of(type(query))
        if field.name not in _NO_FILTERS and field.name not in besides
    ]
    fields.sort(key=lambda field: field.name != _TEXT)
    with exchange.service.db.read() as tx:
        return [_filter(exchange, tx, field, getattr(query, field.name)) for field in fields]


def library_names(exchange: "Exchange") -> dict[int, str]:
    """Give the name of every library by its id."""
    with exchange.service.db.read() as tx:
        return {library.id: library.name for library in libraries.all_libraries(tx)}


def _filter(
    exchange: "Exchange",
    tx: "Tx",
    field: msgspec.structs.FieldInfo,
    value: Any,  # noqa: ANN401 - of any field
) -> Filter:
    text = "" if value is None else str(value)
    if field.name == _TEXT:
        return Filter(name=field.name, control="text", value=text)
    if field.name in _DAYS:
        control = "text" if len(text) not in (0, len("2026-01-31")) else "day"
        return Filter(name=field.name, control=control, value=text)
    choices = _choices(exchange, tx, field)
    if text and text not in (choice[0] for choice in choices):
        choices.append((text, ""))
    return Filter(name=field.name, control="choice", value=text, choices=choices)


def _choices(exchange: "Exchange", tx: "Tx", field: msgspec.structs.FieldInfo) -> list[Choice]:
    offer = _OFFERS.get(field.name)
    if offer is not None:
        return offer(exchange, tx)
    return [(str(choice), "") for choice in _closed_set(field.type)]


def _closed_set(hint: Any) -> tuple[Any, ...]:  # noqa: ANN401 - any annotation
    """Find the values of the ``Literal`` inside an annotation."""
    if get_origin(hint) is Literal:
        return get_args(hint)
    return next((found for part in get_args(hint) if (found := _closed_set(part))), ())


def _offer_libraries(exchange: "Exchange", tx: "Tx") -> list[Choice]:  # noqa: ARG001
    return [(str(library.id), library.name) for library in libraries.all_libraries(tx)]


def _offer_lanes(exchange: "Exchange", tx: "Tx") -> list[Choice]:  # noqa: ARG001
    return [(lane, "") for lane in exchange.service.lane_desk.names]


def _offer_reasons(exchange: "Exchange", tx: "Tx") -> list[Choice]:  # noqa: ARG001
    numbers = counts.read(tx)
    reasons = dict.fromkeys(code for status in TROUBLED for code in count_reasons(numbers, status))
    return [(code, "") for code in sorted(reasons)]


_OFFERS: Final[Mapping[str, "Callable[[Exchange, Tx], list[Choice]]"]] = {
    "library": _offer_libraries,
    "lane": _offer_lanes,
    "reason": _offer_reasons,
}
