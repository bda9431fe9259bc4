"""The long-running service: its listener, its signals and its end."""

import contextlib
import errno
import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator
from types import FrameType

import uvicorn

from lyrsvc.core.errors import LyrsvcError, Refused
from lyrsvc.runtime import Runtime
from lyrsvc.settings.addresses import Address, split_address
from lyrsvc.web.app import create_app

_LOG = logging.getLogger("lyrsvc.daemon")
_STOP_S = 8
_BACKLOG = 2048


class Listener(uvicorn.Server):
    """The HTTP server; signals are ours, not its."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield


def serve(runtime: Runtime, *, stop: threading.Event, notify_socket: str) -> None:
    """Run until told to stop; a graceful end returns."""
    listening = open_listener(split_address(runtime.settings.server.addr))
    config = uvicorn.Config(
        create_app(runtime),
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="off",
        timeout_graceful_shutdown=_STOP_S,
    )
    server = Listener(config)
    with _signals(server, stop), listening:
        _LOG.info("listening", extra={"address": shown_address(listening)})
        notify(notify_socket, "READY=1")
        server.run(sockets=[listening])
    notify(notify_socket, "STOPPING=1")
    _LOG.info("stopped")


def open_listener(address: Address) -> socket.socket:
    """Bind the listen address, or say what is in the way."""
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
        shown = f"{address.host}:{address.port}"
        if error.errno == errno.EADDRINUSE:
            raise Refused(
                f"cannot listen on {shown}: already in use; "
                "choose another --listen or stop the other program"
            ) from error
        raise LyrsvcError(f"cannot listen on {shown}: {error.strerror}") from error


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
def _signals(server: uvicorn.Server, stop: threading.Event) -> Iterator[None]:
    """End gracefully on the first signal, at once on the second."""

    def on_signal(number: int, _: FrameType | None) -> None:
        if stop.is_set():
            os._exit(128 + number)
        stop.set()
        server.should_exit = True

    before = {
        number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
