"""Connections whose answer, headers and body together, must end before a deadline.

A socket's own timeout starts anew with every received byte, so a server that
feeds single bytes could hold a request for hours. Here every read gets only
what is left of the request's total time.
"""

import io
import socket
import time
from functools import partial
from http.client import HTTPResponse as PlainResponse
from http.client import parse_headers
from typing import TYPE_CHECKING, Any, Final

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

SECONDS_WITHOUT_LIMIT: Final = 30.0
INTERIM: Final = range(102, 200)
"""Answers before the answer, such as early hints; 100 is passed over by ``http.client`` itself."""


class DeadlinePools(urllib3.PoolManager):
    """A pool manager whose connections keep the total timeout while they read."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - handed through to urllib3
        super().__init__(**options)
        self.pool_classes_by_scheme = {"http": _PlainPool, "https": _TlsPool}


class _TimedRaw(io.RawIOBase):
    """The receiving end of a socket; every read ends at the deadline."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket, deadline: float) -> None:
        super().__init__()
        self._raw = raw
        self._sock = sock
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int | None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("deadline passed")
        self._sock.settimeout(left)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        if not self.closed:
            self._raw.close()
        super().close()


class _TimedResponse(PlainResponse):
    """An answer read through a timed socket, from the status line on."""

    def __init__(self, sock: socket.socket, *args: Any, deadline: float, **options: Any) -> None:  # noqa: ANN401 - the signature of http.client
        super().__init__(sock, *args, **options)
        raw = self.fp.detach()
        self.fp = io.BufferedReader(_TimedRaw(raw, sock, deadline))

    def _read_status(self) -> tuple[str, int, str]:
        """Pass over interim answers: taken for the answer, they leave it to the next request."""
        version, status, reason = super()._read_status()  # type: ignore[misc]
        while status in INTERIM:
            parse_headers(self.fp)
            version, status, reason = super()._read_status()  # type: ignore[misc]
        return version, status, reason


class _PlainConnection(HTTPConnection):
    def getresponse(self) -> urllib3.HTTPResponse:  # type: ignore[override]
        self.response_class = _timed(self.timeout)
        return super().getresponse()


class _TlsConnection(HTTPSConnection):
    def getresponse(self) -> urllib3.HTTPResponse:  # type: ignore[override]
        self.response_class = _timed(self.timeout)
        return super().getresponse()


class _PlainPool(HTTPConnectionPool):
    ConnectionCls = _PlainConnection


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _TlsConnection


def _timed(left: object) -> Any:  # noqa: ANN401 - http.client wants a class, a partial serves
    seconds = left if isinstance(left, int | float) else SECONDS_WITHOUT_LIMIT
    return partial(_TimedResponse, deadline=time.monotonic() + seconds)
