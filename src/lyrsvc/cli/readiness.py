"""Asking the service itself, over HTTP, whether it is ready."""

import contextlib
import http.client
import json
import threading
import time
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from lyrsvc import brand
from lyrsvc.core.errors import LyrsvcError, Refused
from lyrsvc.services.process_marks import is_dead, own_mark
from lyrsvc.settings.addresses import is_loopback_host, split_address
from lyrsvc.store.serve_lock import left_note

if TYPE_CHECKING:
    import ssl

    from lyrsvc.settings.sections import Settings
    from lyrsvc.settings.server_sections import Server

WITHIN_S: Final = 3.0
READY_PATH: Final = "/readyz"
_LARGEST_BYTES: Final = 64 * 1024
_OTHER_SCHEME: Final = {"http": "https", "https": "http"}
_EVERYWHERE: Final = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - names


class NotReady(LyrsvcError):
    """The service does not answer, or says that it cannot work."""

    code = "not_ready"


class NoAnswer(NotReady):
    """Nobody answers; ``misspoken`` when somebody is there, but does not speak the scheme."""

    misspoken = False


def listener_url(server: "Server", *, port: int = 0) -> str:
    """Give the address under which this machine reaches the listener; its port may be known."""
    address = split_address(server.addr)
    port = port or address.port
    if not port:
        raise Refused(
            f"server.addr {server.addr} has no fixed port; set one, or name the address with --url"
        )
    host = _EVERYWHERE.get(address.host, address.host)
    shown = f"[{host}]" if ":" in host else host
    tls = server.tls
    scheme = "https" if tls.self_signed or tls.cert_file is not None else "http"
    return f"{scheme}://{shown}:{port}{server.base_path}"


def note_of(server: "Server", *, port: int) -> str:
    """Give what a service that listens leaves for those who will ask it."""
    return f"{listener_url(server, port=port)} {own_mark()}"


def ask_own(settings: "Settings") -> str:
    """Give where our own service says that it is ready, all within ``WITHIN_S``.

    Settings that were saved since its start are not in force yet, not even its address: it is
    asked where it noted that it listens, and only then where the settings say so. Raises
    ``NotReady``.
    """
    ends_s = time.monotonic() + WITHIN_S
    noted = _noted(settings)
    if noted:
        with contextlib.suppress(NoAnswer):
            _ask_bare(noted, ends_s)
            return noted
    return ask_listener(settings.server, ends_s)


def ask_listener(server: "Server", ends_s: float | None = None) -> str:
    """Give the address of the settings at which a service says it is ready, by either scheme."""
    if ends_s is None:
        ends_s = time.monotonic() + WITHIN_S
    url = listener_url(server)
    scheme, _, rest = url.partition(":")
    try:
        _ask_bare(url, ends_s)
    except NoAnswer as trouble:
        if not trouble.misspoken:
            raise
        url = f"{_OTHER_SCHEME[scheme]}:{rest}"
        try:
            _ask_bare(url, ends_s)
        except NoAnswer:
            raise trouble from None
    return url


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
        raise NoAnswer(f"no answer from {asking.shown} within {within_s:.3g} s; see its log")
    if asking.trouble:
        raise asking.trouble


class _Asking:
    """One question in a thread of its own, so that a server that dribbles cannot hold us."""

    def __init__(self, url: str, *, own: bool, within_s: float) -> None:
        parts = urlsplit(url)
        host = parts.hostname or ""
        base = parts.path.rstrip("/").removesuffix(READY_PATH)
        self.shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{base}"
        self.trouble: NotReady | None = NoAnswer("it was broken off")
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
            self.trouble = NoAnswer(
                f"no answer from {self.shown}: {cause.lower()}; is the service running?"
            )
            self.trouble.misspoken = _is_misspoken(error)
        finally:
            self._connection.close()

    def _judge(self, status: int, body: bytes) -> NotReady | None:
        if status == http.client.OK:
            if _says_ready(body):
                return None
            return NotReady(f"{self.shown} is another program; check server.addr")
        if status == http.client.SERVICE_UNAVAILABLE:
            return NotReady(
                f"the service at {self.shown} is not ready{_failing(body)}; see its log"
            )
        return NotReady(
            f"{self.shown} answers with status {status}; check server.addr and server.base_path"
        )


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


def _noted(settings: "Settings") -> str:
    """Give where the service on our database has noted that it listens, unless it has ended."""
    if settings.db.path is None:
        return ""
    url, _, mark = left_note(settings.db.path).partition(" ")
    try:
        return "" if is_dead(mark) else checked_url(url)
    except Refused:
        return ""


def _ask_bare(url: str, ends_s: float) -> None:
    """Ask our own service without the base path: it may not have it yet, and no route needs it."""
    bare = "{0.scheme}://{0.netloc}".format(urlsplit(url))
    ask_ready(bare, own=True, within_s=max(0.1, ends_s - time.monotonic()))


def _is_misspoken(error: Exception) -> bool:
    """Tell whether TLS met plain HTTP, or the other way round."""
    if isinstance(error, http.client.HTTPException | ConnectionResetError):
        return True
    return type(error).__module__ == "ssl"


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
