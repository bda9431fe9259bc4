"""An answer of the stand-in as it goes over the wire."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from lyrsvc.demo.orders import Mode, Order

CHALLENGE: Final = (
    "<!doctype html><html><head><title>Just a moment</title></head>"
    "<body><p>Checking your browser</p></body></html>"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """Status, headers and body; ``cut`` closes the connection in the middle of the body."""

    status: int = 200
    body: bytes = b""
    kind: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False


def in_json(value: object, *, status: int = 200) -> Answer:
    """Answer with a JSON body."""
    return Answer(status=status, body=json.dumps(value, ensure_ascii=False).encode())


def in_text(text: str, *, status: int, kind: str = "text/plain; charset=utf-8") -> Answer:
    """Answer with a text body."""
    return Answer(status=status, body=text.encode(), kind=kind)


def fault(order: Order) -> Answer | None:
    """Give the answer of a mode that looks the same on every face, or None."""
    if order.mode is Mode.THROTTLED:
        wait = {} if order.retry_after is None else {"Retry-After": order.retry_after}
        return Answer(status=429, kind="text/plain", headers=wait)
    return _FAULTS.get(order.mode)


_FAULTS: Final[Mapping[Mode, Answer]] = {
    Mode.UNAUTHORIZED: in_json({}, status=401),
    Mode.ERROR500: in_json(
        {"message": "Something bad happened", "name": "UnknownError", "statusCode": 500}, status=500
    ),
    Mode.BAD_JSON: in_text('{"message": {"header"', status=200, kind="application/json"),
    Mode.HTML: in_text(CHALLENGE, status=200, kind="text/html"),
}
