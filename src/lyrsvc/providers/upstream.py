"""The one way a lane asks the network, and the one place its faults are translated.

Whatever goes wrong on the wire becomes ``Transient`` or ``Malformed`` here. The
texts hold a cause, a status and byte counts; never an address, a token or a body.
"""

import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from http.client import HTTPException
from typing import Final
from urllib.parse import urlencode, urljoin, urlsplit

import urllib3
from urllib3 import exceptions as faults

from lyrsvc import brand
from lyrsvc.core.errors import LaneError, Malformed, Transient
from lyrsvc.core.ports import Reply
from lyrsvc.deadlines import DeadlinePools

REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
DEFAULT_PORTS: Final = {"http": 80, "https": 443}
CHUNK_BYTES: Final = 16 * 1024
ERROR_BODY_BYTES: Final = 64 * 1024
"""How much of an error answer is read; its status alone decides."""
MOST_CAUSES: Final = 40
KEPT_TO_A_HOST: Final = 10
"""Connections that are kept: one for each slot the worker may have, and for a trial beside them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """How long and how far one request may go."""

    total_s: float = 30.0
    connect_s: float = 10.0
    redirects: int = 3


DEFAULT_LIMITS: Final = Limits()


def user_agent(version: str) -> str:
    """Name the program to the servers it asks."""
    return f"{brand.PROGRAM}/{version} (+{brand.HOMEPAGE})"


class Connections:
    """Open connections, shared by every lane; one exchange is one request and its answer."""

    def __init__(
        self,
        *,
        version: str,
        now: Callable[[], datetime],
        limits: Limits = DEFAULT_LIMITS,
        ca_file: str | None = None,
    ) -> None:
        self.limits = limits
        self._now = now
        self._headers = {"User-Agent": user_agent(version), "Accept-Encoding": "gzip"}
        urllib3.disable_warnings(faults.SystemTimeWarning)  # the fault itself says it, once
        self._pools = DeadlinePools(num_pools=8, maxsize=KEPT_TO_A_HOST, ca_certs=ca_file)

    def exchange(self, url: str, headers: Mapping[str, str], cap_bytes: int) -> Reply:
        """Send one GET and read its answer whole, without following redirects."""
        with _translated():
            answer = self._pools.request(
                "GET",
                url,
                headers={**self._headers, **headers},
                timeout=urllib3.Timeout(connect=self.limits.connect_s, total=self.limits.total_s),
                retries=False,
                redirect=False,
                preload_content=False,
            )
            try:
                body = _read_body(answer, cap_bytes)
            except BaseException:
                answer.close()
                raise
            answer.release_conn()
        return Reply(answer.status, self._dated(answer), body)

    def close(self) -> None:
        """Close what is open; may be called twice."""
        self._pools.clear()

    def _dated(self, answer: urllib3.BaseHTTPResponse) -> dict[str, str]:
        headers = {name.lower(): value for name, value in answer.headers.items()}
        # A Retry-After date means nothing without the moment it counts from.
        headers.setdefault("date", format_datetime(self._now().astimezone(UTC), usegmt=True))
        return headers


class Upstream:
    """A lane's way to the network: its pacer is asked before every single request.

    ``pace`` may wait and may raise; ``settled`` is told when a request is over,
    whatever came of it.
    """

    def __init__(
        self,
        connections: Connections,
        *,
        pace: Callable[[], None] = lambda: None,
        settled: Callable[[], None] = lambda: None,
    ) -> None:
        self._connections = connections
        self._pace = pace
        self._settled = settled

    def get(
        self,
        url: str,
        query: Mapping[str, str] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        cap_bytes: int = 2 * 1024 * 1024,
    ) -> Reply:
        """Send a GET; raise ``Transient`` for network faults and ``Malformed`` above the cap."""
        target = _address(url, query)
        for _ in range(self._connections.limits.redirects + 1):
            reply = self._ask(target, headers or {}, cap_bytes)
            if reply.status not in REDIRECTS:
                return reply
            target = _next_hop(target, reply)
        raise Transient(f"HTTP {reply.status}, too many redirects", reason="upstream_error")

    def _ask(self, url: str, headers: Mapping[str, str], cap_bytes: int) -> Reply:
        self._pace()
        try:
            return self._connections.exchange(url, headers, cap_bytes)
        finally:
            self._settled()


def _address(url: str, query: Mapping[str, str] | None) -> str:
    return f"{url}?{urlencode(query, errors='replace')}" if query else url


def _next_hop(url: str, reply: Reply) -> str:
    try:
        target = urljoin(url, reply.headers.get("location", ""))
        stays = _origin(target) == _origin(url) and target != url
    except (ValueError, KeyError):
        stays = False
    if not stays:
        raise Transient(f"HTTP {reply.status}, redirect refused", reason="upstream_error")
    return target


def _origin(url: str) -> tuple[str, str, int]:
    """Give scheme, host and port; raise for anything that is not a plain web address."""
    parts = urlsplit(url)
    if not parts.hostname or "@" in parts.netloc:
        raise ValueError("not a plain web address")
    return parts.scheme, parts.hostname, parts.port or DEFAULT_PORTS[parts.scheme]


def _read_body(answer: urllib3.BaseHTTPResponse, cap_bytes: int) -> bytes:
    if answer.status >= 300:
        return _read_leniently(answer)
    body = bytearray()
    for chunk in answer.stream(CHUNK_BYTES, decode_content=True):
        body += chunk
        if len(body) > cap_bytes:
            raise Malformed(f"HTTP {answer.status}, body over {cap_bytes} bytes")
    return bytes(body)


def _read_leniently(answer: urllib3.BaseHTTPResponse) -> bytes:
    """Read the start of an error's body; a fault in it must not hide the status."""
    body = b""
    with suppress(faults.HTTPError, OSError):
        body = answer.read(ERROR_BODY_BYTES, decode_content=True)
    answer.close()
    return body


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (faults.HTTPError, OSError, ValueError) as error:
        raise _lane_error(error) from None


def _lane_error(error: Exception) -> LaneError:
    causes = tuple(_causes(error))
    if any(isinstance(cause, faults.DecodeError) for cause in causes):
        return Malformed("body cannot be decompressed")
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            text = _CERTIFICATE_FAULTS.get(cause.verify_code, "certificate not trusted")
            return Transient(text, reason="network")
    for kinds, reason, text in _FAULTS:
        if any(isinstance(cause, kinds) for cause in causes):
            return Transient(text, reason=reason)
    why = next((cause.strerror for cause in causes if isinstance(cause, OSError)), None)
    return Transient(f"connection failed: {why}" if why else "connection failed", reason="network")


_CERTIFICATE_FAULTS: Final = {
    9: "certificate not valid yet; check the clock",
    10: "certificate expired; check the clock",
    62: "certificate of another host",
    64: "certificate of another host",
}
"""What OpenSSL's codes mean where more can be said than that nobody vouches for it."""

_FAULTS: Final[tuple[tuple[tuple[type[BaseException], ...], str, str], ...]] = (
    ((faults.NameResolutionError, socket.gaierror), "network", "host name not found"),
    ((ConnectionRefusedError,), "network", "connection refused"),
    ((faults.TimeoutError, TimeoutError), "timeout", "timeout"),
    ((faults.IncompleteRead, ConnectionError), "network", "connection closed"),
    ((HTTPException,), "network", "answer is not HTTP"),
    ((faults.SSLError, ssl.SSLError), "network", "TLS failed"),
)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Walk an error and whatever it wraps; urllib3 keeps the cause among the arguments."""
    queue: list[object] = [error]
    for _ in range(MOST_CAUSES):
        if not queue:
            return
        current = queue.pop(0)
        if isinstance(current, BaseException):
            yield current
            queue += [current.__cause__, current.__context__, getattr(current, "reason", None)]
            queue += current.args
