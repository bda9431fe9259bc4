"""Asking the service itself, over HTTP, whether it is ready."""

import http.client
import json
import threading
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from lyrsvc import brand
from lyrsvc.core.errors import LyrsvcError, Refused
from lyrsvc.settings.addresses import is_loopback_host, split_address

if TYPE_CHECKING:
    import ssl

    from lyrsvc.settings.server_sections import Server

WITHIN_S: Final = 3.0
READY_PATH: Final = "/readyz"
_LARGEST_BYTES: Final = 64 * 1024
_EVERYWHERE: Final = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - names


class NotReady(LyrsvcError):
    """The service does not answer, or says that it cannot work."""

    code = "not_ready"


def listener_url(server: "Server") -> str:
    """Give the address under which this machine reaches the configured listener."""
    address = split_address(server.addr)
    if not address.port:
        raise Refused(
            f"server.addr {server.addr} has no fixed port; set one, or name the address with --url"
        )
    host = _EVERYWHERE.get(address.host, address.host)
    shown = f"[{host}]" if ":" in host else host
    tls = server.tls
    scheme = "https" if tls.self_signed or tls.cert_file is not None else "http"
    return f"{scheme}://{shown}:{address.port}{server.base_path}"


def ask_ready(url: str, *, own: bool, within_s: float = WITHIN_S) -> None:
    """Raise ``NotReady`` unless the service at a URL says it is ready, all within ``within_s``.

    Any certificate will do on loopback and at our ``own`` listener: the way there never
    leaves this machine.
    """
    asking = _Asking(url, own=own, within_s=within_s)
    thread = threading.Thread(target=asking.run, name="asking", daemon=True)
    thread.start()
    thread.join(within_s)
    if thread.is_alive():
        raise NotReady(f"no answer from {asking.shown} within {within_s:g} s; see its log")
    if asking.trouble:
        raise NotReady(asking.trouble)


class _Asking:
    """One question in a thread of its own, so that a server that dribbles cannot hold us."""

    def __init__(self, url: str, *, own: bool, within_s: float) -> None:
        parts = urlsplit(url)
        host = parts.hostname or ""
        base = parts.path.rstrip("/").removesuffix(READY_PATH)
        self.shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{base}"
        self.trouble = "it was broken off"
        self._path = f"{base}{READY_PATH}"
        self._connection: http.client.HTTPConnection
        if parts.scheme == "https":
            trusting = own or is_loopback_host(host)
            self._connection = http.client.HTTPSConnection(
                host, parts.port, timeout=within_s, context=_context(trusting=trusting)
            )
        else:
            self._connection = http.client.HTTPConnection(host, parts.port, timeout=within_s)

    def run(self) -> None:
        """Ask, and keep what is wrong; empty when all is well."""
        try:
            self._connection.request(
                "GET", self._path, headers={"User-Agent": f"{brand.PROGRAM}-healthcheck"}
            )
            answer = self._connection.getresponse()
            self.trouble = self._judge(answer.status, answer.read(_LARGEST_BYTES))
        except (OSError, http.client.HTTPException) as error:
            cause = getattr(error, "strerror", None) or str(error) or type(error).__name__
            self.trouble = f"no answer from {self.shown}: {cause.lower()}; is the service running?"
        finally:
            self._connection.close()

    def _judge(self, status: int, body: bytes) -> str:
        if status == http.client.OK:
            return (
                "" if _says_ready(body) else f"{self.shown} is another program; check server.addr"
            )
        if status == http.client.SERVICE_UNAVAILABLE:
            return f"the service at {self.shown} is not ready{_failing(body)}; see its log"
        return f"{self.shown} answers with status {status}; check server.addr and server.base_path"


def checked_url(text: str) -> str:
    """Give a URL that can be asked, or raise ``Refused``."""
    try:
        parts = urlsplit(text)
        sound = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        sound = False
    if not sound:
        raise Refused(f'"{text}" is no http or https address')
    return text


def _context(*, trusting: bool) -> "ssl.SSLContext":
    import ssl  # slow to import, and only needed with TLS

    context = ssl.create_default_context()
    if trusting:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _says_ready(body: bytes) -> bool:
    members = _members(body)
    return members.get("status") == "ready"


def _failing(body: bytes) -> str:
    checks = _members(body).get("checks")
    if not isinstance(checks, dict):
        return ""
    names = [str(name) for name, state in checks.items() if state != "ok"]
    return f" ({', '.join(names)})" if names else ""


def _members(body: bytes) -> dict[str, object]:
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
