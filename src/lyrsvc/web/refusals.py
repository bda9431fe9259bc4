"""Answers that are given before, or instead of, the application."""

import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import Any, Final, NamedTuple

from lyrsvc.logs.request_ids import new_request_id
from lyrsvc.web.security_headers import HEADERS

Send = Callable[[dict[str, Any]], Awaitable[None]]


class Refusal(NamedTuple):
    """A status, a code of the closed set, and one sentence."""

    status: int
    code: str
    detail: str
    headers: tuple[tuple[str, str], ...] = ()
    extra: Mapping[str, str] = {}


MALFORMED: Final = Refusal(400, "invalid_request", "the request is not well-formed HTTP")
NO_HOST: Final = Refusal(400, "invalid_request", "the request must name exactly one host")
VERSION: Final = Refusal(400, "invalid_request", "only HTTP/1.0 and HTTP/1.1 are spoken here")
CODING: Final = Refusal(400, "invalid_request", "the only transfer coding known here is chunked")
TUNNEL: Final = Refusal(400, "invalid_request", "this is no proxy")
HEAD_TOO_LARGE: Final = Refusal(431, "invalid_request", "the head of the request is too large")
HEAD_TOO_SLOW: Final = Refusal(408, "timeout", "the head of the request did not arrive in time")
BODY_TOO_SLOW: Final = Refusal(408, "timeout", "the body of the request did not arrive in time")
FULL: Final = Refusal(503, "busy", "too many connections are open", (("Retry-After", "2"),))
HTTPS_REQUIRED: Final = Refusal(403, "https_required", "this address is served over HTTPS only")
STOPPING: Final = Refusal(503, "unavailable", "the service is stopping", (("Retry-After", "5"),))
BROKEN: Final = Refusal(
    500, "internal", "something went wrong here; the log has more under this request id"
)


def render(refusal: Refusal, also: Iterable[tuple[str, str]] = ()) -> bytes:
    """Write the whole answer, after which the connection ends."""
    body = _body(refusal)
    status = HTTPStatus(refusal.status)
    lines = [f"HTTP/1.1 {status.value} {status.phrase}"]
    lines += (f"{name.lower()}: {value}" for name, value in (*_headers(refusal, body), *also))
    return "\r\n".join([*lines, "connection: close", "", ""]).encode("latin-1") + body


async def send_refusal(send: Send, refusal: Refusal) -> None:
    """Give the answer by way of the application interface."""
    body = _body(refusal)
    headers = [
        (name.lower().encode(), value.encode("latin-1")) for name, value in _headers(refusal, body)
    ]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _headers(refusal: Refusal, body: bytes) -> Iterator[tuple[str, str]]:
    yield from HEADERS
    yield from refusal.headers
    yield "X-Request-Id", refusal.extra.get("request_id") or new_request_id()
    yield "Content-Type", "application/json"
    yield "Content-Length", str(len(body))


def _body(refusal: Refusal) -> bytes:
    members = {"error": refusal.code, "detail": refusal.detail, **refusal.extra}
    return json.dumps(members, sort_keys=True, separators=(",", ":")).encode() + b"\n"
