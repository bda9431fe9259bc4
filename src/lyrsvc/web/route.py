"""How a route is declared: its path, its gate and its handler, whose signature is the contract.

A handler is a plain function. Its first parameter is the exchange; ``query`` and ``body``
are structures that are read and checked before it is called; every other parameter is a
part of the path. What it gives back becomes JSON unless it is a :class:`Reply`.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, unique
from functools import cached_property
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

from lyrsvc.web.gates import Gate
from lyrsvc.web.replies import Unfinished

_RESERVED = ("exchange", "query", "body", "form", "return")


class Seats(NamedTuple):
    """How many threads there usually are, and how many while those are held up."""

    usual: int
    most: int


@unique
class Room(Enum):
    """Where a handler runs, and how many threads there are; a full room holds up no other.

    What needs neither disk nor database is answered at once, without a thread. What the
    others do is mostly computing, in which more threads only hinder each other, so there are
    few until those are held up. A webhook waits for its commit without a thread.
    """

    INSTANT = Seats(0, 0)
    ORDINARY = Seats(3, 10)
    WEBHOOK = Seats(1, 8)
    REPORT = Seats(2, 2)
    PROBE = Seats(3, 3)


class Payload(Enum):
    """What a route reads, and how much of it."""

    NOTHING = 0
    FORM = 256 * 1024
    JSON = 1024 * 1024
    WEBHOOK = -1
    """As much as the operator allows."""


@dataclass(frozen=True, kw_only=True)
class Route:
    """One row of the table."""

    methods: tuple[str, ...]
    path: str
    gate: Gate
    handler: Callable[..., object]
    status: int = 200
    room: Room = Room.ORDINARY
    payload: Payload = Payload.NOTHING
    ui: bool = False
    """Exists only while the pages are on."""
    also: tuple[int, ...] = ()
    """Further statuses it may answer with."""
    refusals: tuple[str, ...] = ()
    """Error codes of its own, beside those of its gate and of what it reads."""
    media: tuple[str, ...] = ()
    """Types of what it may answer that is no JSON."""

    @cached_property
    def hints(self) -> Mapping[str, Any]:
        """The types of the handler's parameters and of what it gives back."""
        return get_type_hints(self.handler)

    @property
    def query_type(self) -> type | None:
        """The structure of the query parameters, when there are any."""
        return self.hints.get("query")

    @property
    def body_type(self) -> type | None:
        """The structure of the JSON body, when one is read."""
        return self.hints.get("body")

    @property
    def answer_type(self) -> Any:  # noqa: ANN401 - any type the JSON writer knows
        """What the handler says it gives back, in the end."""
        given = self.hints.get("return")
        return get_args(given)[0] if get_origin(given) is Unfinished else given

    @cached_property
    def path_types(self) -> Mapping[str, type]:
        """The parts of the path and their types."""
        return {name: kind for name, kind in self.hints.items() if name not in _RESERVED}

    @cached_property
    def takes_form(self) -> bool:
        """Whether the handler wants the posted form."""
        return "form" in inspect.signature(self.handler).parameters

    @property
    def summary(self) -> str:
        """The first line of the handler's docstring."""
        return (inspect.getdoc(self.handler) or "").partition("\n")[0].rstrip(".")

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The path as an expression; ``{id}`` matches one part."""
        escaped = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(self.path))
        return re.compile(escaped)


def get(path: str, gate: Gate, handler: Callable[..., object], **more: Any) -> Route:  # noqa: ANN401
    """Declare a route that only reads."""
    return Route(methods=("GET",), path=path, gate=gate, handler=handler, **more)


def post(path: str, gate: Gate, handler: Callable[..., object], **more: Any) -> Route:  # noqa: ANN401
    """Declare a route that changes something and reads JSON."""
    return _writing("POST", path, gate, handler, more)


def patch(path: str, gate: Gate, handler: Callable[..., object], **more: Any) -> Route:  # noqa: ANN401
    """Declare a route that changes part of a thing."""
    return _writing("PATCH", path, gate, handler, more)


def delete(path: str, gate: Gate, handler: Callable[..., object], **more: Any) -> Route:  # noqa: ANN401
    """Declare a route that takes something away."""
    return _writing("DELETE", path, gate, handler, more)


def page(path: str, gate: Gate, handler: Callable[..., object], **more: Any) -> Route:  # noqa: ANN401
    """Declare a page of the browser UI."""
    return Route(methods=("GET",), path=path, gate=gate, handler=handler, ui=True, **more)


def form(path: str, gate: Gate, handler: Callable[..., object], **more: Any) -> Route:  # noqa: ANN401
    """Declare a route that takes a posted form of the browser UI."""
    return Route(
        methods=("POST",),
        path=path,
        gate=gate,
        handler=handler,
        payload=Payload.FORM,
        ui=True,
        **more,
    )


def _writing(
    method: str, path: str, gate: Gate, handler: Callable[..., object], more: dict[str, Any]
) -> Route:
    more = {"payload": Payload.JSON, **more}
    return Route(methods=(method,), path=path, gate=gate, handler=handler, **more)
