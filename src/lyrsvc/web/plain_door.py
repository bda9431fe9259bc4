"""The plain listener beside TLS: it shows the way, and takes no key."""

from collections.abc import Iterable
from typing import Any, Final

from lyrsvc.core.host_names import is_host
from lyrsvc.web.answer_watch import App, Receive, Send
from lyrsvc.web.refusals import HTTPS_REQUIRED, NO_HOST, Refusal, send_refusal

_HEALTH: Final = frozenset({"/healthz", "/readyz", "/ping"})
_CLOSED: Final = frozenset({"api", "metrics"})
_HTTPS_PORT: Final = 443


class PlainDoor:
    """Sends pages on to TLS, answers health itself, refuses everything that takes a key.

    An API client that followed a redirect would have sent its key in clear text
    already, and would go on doing so.
    """

    def __init__(self, app: App, *, tls_port: int, base_path: str = "") -> None:
        self._app = app
        self._tls_port = tls_port
        self._base_path = base_path

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:  # noqa: ANN401
        """Answer one request."""
        path = self._own_path(scope["path"])
        if path in _HEALTH:
            await self._app(scope, receive, send)
        elif path.lstrip("/").partition("/")[0] in _CLOSED:
            await send_refusal(send, HTTPS_REQUIRED)
        else:
            await send_refusal(send, self._way_to_tls(scope))

    def _own_path(self, path: str) -> str:
        base = self._base_path
        if base and (path == base or path.startswith(base + "/")):
            return path[len(base) :] or "/"
        return path

    def _way_to_tls(self, scope: Any) -> Refusal:  # noqa: ANN401 - as the interface
        host = _host_of(scope["headers"])
        if host is None:
            return NO_HOST
        port = "" if self._tls_port == _HTTPS_PORT else f":{self._tls_port}"
        target = scope["raw_path"].decode("ascii")
        if not target.startswith("/"):
            return NO_HOST
        if query := scope["query_string"].decode("latin-1"):
            target += f"?{query}"
        return Refusal(
            308,
            "https_required",
            "this page is served over HTTPS",
            (("Location", f"https://{host}{port}{target}"),),
        )


def _host_of(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """Give the host a client asked for, without its port; None when it is none."""
    given = next((value.decode("latin-1") for name, value in headers if name == b"host"), "")
    host, colon, port = given.rpartition(":")
    if not colon or given.endswith("]"):
        host, port = given, ""
    return host if is_host(host) and (not port or port.isdigit()) else None
