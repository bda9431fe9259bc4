"""What a handler gives back when plain data is not enough."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

if TYPE_CHECKING:
    from lyrsvc.store.writing import Pending

T = TypeVar("T")
JSON_TYPE = "application/json"
_ENCODER = msgspec.json.Encoder(order="sorted")


@dataclass(frozen=True, kw_only=True)
class Reply:
    """One answer.

    ``data`` becomes JSON; ``text`` is sent as it is; ``stream`` is sent piece by piece
    until it ends or the client goes. ``pieces`` become a stream whose every piece is made
    in the room of the handler. ``cookies`` are whole ``Set-Cookie`` values.
    ``delay_s`` is waited before anything is sent, without holding a thread.
    """

    status: int = 200
    data: Any = None
    text: str | bytes | None = None
    content_type: str = JSON_TYPE
    headers: Mapping[str, str] = field(default_factory=dict)
    cookies: Sequence[str] = ()
    stream: AsyncIterator[bytes] | None = None
    pieces: Iterator[bytes] | None = None
    delay_s: float = 0.0

    @property
    def body(self) -> bytes:
        """The bytes to send when nothing is streamed."""
        if self.text is None:
            return encode(self.data) if self.status != 204 else b""
        return self.text.encode() if isinstance(self.text, str) else self.text


@dataclass(frozen=True, slots=True)
class Unfinished(Generic[T]):
    """What a handler gives that has done its part while something is still to be durable.

    ``finish`` gives the data; it does not wait once ``pending`` is answered, or is none.
    """

    finish: Callable[[], T]
    pending: "Pending[Any] | None"


def encode(data: object) -> bytes:
    """Write JSON: sorted keys, one newline at the end."""
    return _ENCODER.encode(data) + b"\n"


def see_other(location: str, *, cookies: Sequence[str] = ()) -> Reply:
    """Send a browser to another page, which it asks for with GET."""
    return Reply(status=303, text=b"", headers={"Location": location}, cookies=cookies)


class Turned(Exception):
    """A gate answers by itself, with a redirect or a page."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.status)
        self.reply = reply
