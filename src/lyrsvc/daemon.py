"""The long-running service: its listener, its loops, its signals and its end."""

import contextlib
import ctypes
import errno
import functools
import gc
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType

from lyrsvc.core.errors import LyrsvcError, Refused
from lyrsvc.security.certificates import Certificates
from lyrsvc.serving import Service
from lyrsvc.settings.addresses import Address, split_address
from lyrsvc.settings.server_sections import Server
from lyrsvc.web.answer_watch import App
from lyrsvc.web.app import create_app
from lyrsvc.web.doors import Entrance
from lyrsvc.web.http_server import HttpServer
from lyrsvc.web.limits import Limits
from lyrsvc.web.plain_door import PlainDoor

_LOG = logging.getLogger("lyrsvc.daemon")
_GRACE_S = 2.0
"""How long an answer that is under way may take when the program stops."""
_END_S = 8.0
_RESTART_S = 1.0
_LONGEST_RESTART_S = 60.0
_BACKLOG = 2048
_LAST_S = 9.7
"""When the program ends after a signal, even if a thread still hangs."""
_SWITCH_S = 0.001
"""How long a thread that computes keeps the interpreter from one that answers a request."""
_MALLOPTS = {-8: 1, -3: 128 * 1024, -1: 2 * 1024 * 1024}
"""glibc's M_ARENA_MAX, M_MMAP_THRESHOLD and M_TRIM_THRESHOLD."""
_GAPS_EVERY_S = 15.0
_MANY_FILES = 2048
_FEWEST_FILES = 64
"""Open files: enough for every connection we admit, and those without which nothing works."""


def serve(
    service: Service,
    *,
    stop: threading.Event,
    notify_socket: str,
    limits: Limits | None = None,
    reopen_log: Callable[[], None] | None = None,
    on_listening: Callable[[int], None] = lambda _port: None,
) -> None:
    """Run until told to stop; a graceful end returns.

    ``on_listening`` is told the port, just before the first request can be answered.
    """
    sys.setswitchinterval(_SWITCH_S)
    service.survey.open()
    certificates = service.certificates
    app = create_app(service)
    with contextlib.ExitStack() as stack:
        stack.callback(app.close)
        entrances = _open_entrances(service.settings.server, app, certificates, stack)
        server = HttpServer(
            entrances, limits=limits, on_started=lambda: _begin(entrances, notify_socket)
        )
        on_listening(entrances[0].socket.getsockname()[1])
        loops: dict[str, Callable[[], None]] = {"memory": functools.partial(close_gaps, stop)}
        if certificates:
            loops["certificates"] = certificates.keep_fresh
        told = functools.partial(notify, notify_socket, "STOPPING=1")
        with _signals(server, stop, told, reopen_log), Crew(service, stop, also=loops):
            server.run()
    _LOG.info("stopped")


def give_memory_back() -> None:
    """Have freed memory go back to the system; only glibc has to be told, before threads begin.

    Left alone it has eight arenas for each core, each with its own gaps, and it learns to
    keep large blocks, such as the one that hashing a password takes.
    """
    mallopt = _of_glibc("mallopt")
    if mallopt is not None:
        for option, value in _MALLOPTS.items():
            mallopt(option, value)


def close_gaps(stop: threading.Event, *, every_s: float = _GAPS_EVERY_S) -> None:
    """Give back now and then what lies free between blocks in use; glibc never does by itself."""
    trim = _of_glibc("malloc_trim")
    while trim is not None and not stop.wait(every_s):
        trim(0)


def _of_glibc(name: str) -> Callable[..., int] | None:
    """Give a function of the C library, where that has it."""
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None


def allow_many_files() -> None:
    """Raise the limit of open files as far as we may; refuse to start where it is hopeless."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed == resource.RLIM_INFINITY or allowed >= _MANY_FILES:
        return
    wanted = _MANY_FILES if most == resource.RLIM_INFINITY else min(most, _MANY_FILES)
    with contextlib.suppress(OSError, ValueError):  # a sandbox may forbid it
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
        allowed = wanted
    if allowed < _FEWEST_FILES:
        raise Refused(
            f"this process may have only {allowed} files open; allow it {_MANY_FILES} "
            "(ulimit -n, LimitNOFILE= of the unit, --ulimit nofile= of the container)"
        )


def _open_entrances(
    server: Server, app: App, certificates: Certificates | None, stack: contextlib.ExitStack
) -> list[Entrance]:
    """Bind every address; with TLS perhaps a plain one beside it."""
    listening = stack.enter_context(open_listener(split_address(server.addr)))
    if certificates is None:
        return [Entrance(socket=listening, app=app)]
    behind_tls = Entrance(
        socket=listening,
        app=app,
        context=certificates.context,
        strict_transport=server.tls.cert_file is not None,
    )
    if not server.tls.redirect_http:
        return [behind_tls]
    beside = split_address(server.tls.redirect_http)
    plain = stack.enter_context(open_listener(beside, named="server.tls.redirect_http"))
    tls_port = listening.getsockname()[1]
    door = PlainDoor(app, tls_port=tls_port, base_path=server.base_path)
    return [behind_tls, Entrance(socket=plain, app=door)]


def _begin(entrances: Sequence[Entrance], notify_socket: str) -> None:
    # What is there by now stays: to look for garbage in it would hold up every request.
    gc.collect()
    gc.freeze()
    _announce(entrances, notify_socket)


def _announce(entrances: Sequence[Entrance], notify_socket: str) -> None:
    first, *others = entrances
    for other in others:
        _LOG.info("sending plain requests on", extra={"address": shown_address(other.socket)})
    # The last line: whoever waits for it finds all that went before it.
    scheme = "https" if first.context else "http"
    _LOG.info("listening", extra={"address": shown_address(first.socket), "scheme": scheme})
    notify(notify_socket, "READY=1")


class Crew:
    """The threads beside the listener; each loop is started again after an error.

    At the end whoever waits for an answer is given two seconds; then the item is given
    back. Whoever writes files may finish.
    """

    def __init__(
        self,
        service: Service,
        stop: threading.Event,
        *,
        also: Mapping[str, Callable[[], None]] | None = None,
    ) -> None:
        self._service = service
        self._stop = stop
        self._slots = [self._thread(name, loop) for name, loop in service.worker.loops.items()]
        self._others = [
            self._thread("token", service.obtain_token),
            self._thread("upkeep", service.upkeep.run),
            self._thread("housekeeping", service.housekeeper.run),
            self._thread("minutes", service.keep_minutes),
            *(self._thread(name, loop) for name, loop in service.following.loops.items()),
            *(self._thread(name, loop) for name, loop in (also or {}).items()),
        ]
        self._survey = [self._thread(name, loop) for name, loop in service.survey.loops.items()]
        self._ending = threading.Thread(target=self._end, name="ending", daemon=True)

    def __enter__(self) -> None:
        self._service.worker.start(alone=True)
        for thread in (*self._slots, *self._others, *self._survey, self._ending):
            thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._ending.join(_END_S)

    def _thread(self, name: str, loop: Callable[[], None]) -> threading.Thread:
        return threading.Thread(
            target=supervise, args=(name, loop, self._stop), name=name, daemon=True
        )

    def _end(self) -> None:
        self._stop.wait()
        worker, survey = self._service.worker, self._service.survey
        worker.stop()
        survey.wake()
        self._service.following.wake()
        self._service.noticer.close()
        ends_s = time.monotonic() + _GRACE_S
        for thread in self._slots:
            thread.join(max(0.0, ends_s - time.monotonic()))
        released = worker.release_asking()
        if released:
            _LOG.info("items given back", extra={"items": released})
        for thread in self._slots:
            if worker.is_writing:
                thread.join(_END_S)
        for thread in self._survey:
            thread.join(max(0.0, ends_s + _GRACE_S - time.monotonic()))
        self._service.scan_desk.wait(_GRACE_S)
        if not any(thread.is_alive() for thread in self._survey):
            survey.close()


def supervise(name: str, loop: Callable[[], None], stop: threading.Event) -> None:
    """Run a loop that must not die: an error is told, and the loop is started again.

    One that stumbles again and again is started ever more rarely.
    """
    rest_s = _RESTART_S
    while not stop.is_set():
        begun_s = time.monotonic()
        try:
            loop()
        except Exception:  # noqa: BLE001 - whatever it is, the service goes on
            if stop.is_set():
                return
            _LOG.exception("%s stumbled and is started again", name)
            if time.monotonic() - begun_s > _LONGEST_RESTART_S:
                rest_s = _RESTART_S
            stop.wait(rest_s)
            rest_s = min(rest_s * 2, _LONGEST_RESTART_S)
        else:
            return


def open_listener(address: Address, *, named: str = "--listen") -> socket.socket:
    """Bind an address, or say what is in the way; ``named`` is where another one is chosen."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    everywhere = not address.host
    try:
        if everywhere and socket.has_dualstack_ipv6():
            return socket.create_server(
                ("", address.port),
                family=socket.AF_INET6,
                backlog=_BACKLOG,
                dualstack_ipv6=True,
            )
        return socket.create_server((address.host, address.port), family=family, backlog=_BACKLOG)
    except OSError as error:
        host = f"[{address.host}]" if ":" in address.host else address.host
        shown = f"{host}:{address.port}"
        if error.errno == errno.EADDRINUSE:
            raise Refused(
                f"cannot listen on {shown}: already in use; "
                f"choose another {named} or stop the other program"
            ) from error
        # The library adds the address once more, in its own words.
        why = (error.strerror or "unknown error").partition(" (while")[0].lower()
        raise LyrsvcError(f"cannot listen on {shown}: {why}; choose another {named}") from error


def shown_address(listening: socket.socket) -> str:
    """Write the address that was really bound."""
    host, port = listening.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def notify(path: str, message: str) -> None:
    """Tell the service manager, when there is one."""
    if not path:
        return
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
        out.connect("\0" + path[1:] if path.startswith("@") else path)
        out.sendall(message.encode())


@contextlib.contextmanager
def _signals(
    server: HttpServer,
    stop: threading.Event,
    tell: Callable[[], None],
    reopen_log: Callable[[], None] | None = None,
) -> Iterator[None]:
    """End gracefully on the first signal, at once on the second.

    A hang-up has the log file opened anew, as those who rotate it from outside expect;
    without a log file it is the end of the terminal, and ours unless somebody ignores it.
    """
    last = threading.Timer(_LAST_S, _end_for_certain)
    last.daemon = True

    def on_signal(number: int, _: FrameType | None) -> None:
        if stop.is_set():
            os._exit(128 + number)
        stop.set()
        last.start()
        server.stop()
        tell()

    ending = [signal.SIGINT, signal.SIGTERM]
    hang_up = getattr(signal, "SIGHUP", None)  # Windows has none
    if hang_up and not reopen_log and signal.getsignal(hang_up) is not signal.SIG_IGN:
        ending.append(hang_up)
    before = {number: signal.signal(number, on_signal) for number in ending}
    if hang_up and reopen_log:
        before[hang_up] = signal.signal(hang_up, lambda *_: reopen_log())
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end_for_certain() -> None:
    """Leave although a thread hangs, on a dead disk for instance; everything stored is safe."""
    _LOG.warning("ended although not everything had come to its end")
    logging.shutdown()
    os._exit(0)
