"""A small HTTP server on loopback: it hands each request to one function."""

import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from lyrsvc.demo.wire import Answer, in_text

ADDRESS: Final = "127.0.0.1"
MOST_BODY_BYTES: Final = 40 * 1024 * 1024
IDLE_S: Final = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Received:
    """One request, read whole; header names are lower case."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


class LoopbackServer:
    """Serves on loopback only, a thread for each connection."""

    def __init__(self, respond: Callable[[Received], Answer], *, port: int = 0) -> None:
        self._closing = threading.Event()
        self._server = _Server((ADDRESS, port), _handler(respond))
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )

    @property
    def url(self) -> str:
        """Give the base URL."""
        return f"http://{ADDRESS}:{self._server.server_address[1]}"

    def start(self) -> None:
        """Serve in a thread."""
        self._thread.start()

    def linger(self, seconds: float) -> None:
        """Hold a request back; closing the server ends the wait."""
        self._closing.wait(seconds)

    def close(self) -> None:
        """Stop serving and hang up on everybody; may be called twice."""
        if self._closing.is_set():
            return
        self._closing.set()
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()
        self._server.hang_up()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self._open: set[socket.socket] = set()
        self._open_lock = threading.Lock()
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - socketserver's form
        with self._open_lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:  # noqa: ANN401 - socketserver's form
        with self._open_lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """End the connections that clients keep open."""
        with self._open_lock:
            remaining = list(self._open)
        for connection in remaining:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - socketserver's form
        """Stay silent: a client that hangs up is part of the play."""


def _handler(respond: Callable[[Received], Answer]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = IDLE_S
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            self._play(b"")

        def do_POST(self) -> None:
            size = self.headers.get("Content-Length", "0")
            length = int(size) if size.isdecimal() else 0
            if length > MOST_BODY_BYTES:
                self.close_connection = True
                self._send(in_text("body too large", status=413))
                return
            self._play(self.rfile.read(length))

        def log_message(self, format: str, *args: object) -> None:
            """Keep the console for the program itself."""

        def _play(self, body: bytes) -> None:
            parts = urlsplit(self.path)
            self._send(
                respond(
                    Received(
                        method=self.command,
                        path=parts.path,
                        query=dict(parse_qsl(parts.query, keep_blank_values=True)),
                        headers={name.lower(): value for name, value in self.headers.items()},
                        body=body,
                    )
                )
            )

        def _send(self, answer: Answer) -> None:
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.kind)
            self.send_header("Content-Length", str(len(answer.body)))
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            body = answer.body[: len(answer.body) // 2] if answer.cut else answer.body
            self.wfile.write(body)
            self.close_connection = self.close_connection or answer.cut

    return Handler
