"""The real HTTP server in a thread, and clients that may say anything."""

import asyncio
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from lyrsvc.web.doors import Entrance
from lyrsvc.web.http_server import HttpServer
from lyrsvc.web.limits import Limits

PATIENT = Limits(goodbye_s=0.5, room_s=0.1)
HOST = b"Host: localhost\r\n"


class Demo:
    """An application with one path for every habit an application can have."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.heads: list[list[tuple[bytes, bytes]]] = []
        self.extensions: list[set[str]] = []
        self.disconnects = 0
        self.may_end = threading.Event()

    async def __call__(self, scope, receive, send) -> None:
        self.heads.append(scope["headers"])
        self.extensions.append(set(scope.get("extensions", ())))
        await getattr(self, scope["path"].strip("/") or "hello")(scope, receive, send)

    async def hello(self, scope, receive, send) -> None:
        await say(send, scope["path"].encode() + b"\n")

    async def echo(self, scope, receive, send) -> None:
        body = b""
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                self.disconnects += 1
                raise ConnectionError("the client went away")
            body += message["body"]
            if not message["more_body"]:
                break
        self.bodies.append(body)
        await say(send, body)

    async def refuse(self, scope, receive, send) -> None:
        await say(send, b"too large\n", status=413)

    async def large(self, scope, receive, send) -> None:
        await say(send, b"x" * 64 * 1024 * 1024)

    async def slow(self, scope, receive, send) -> None:
        while not self.may_end.is_set():
            await asyncio.sleep(0.01)
        await say(send, b"slow\n")

    async def stubborn(self, scope, receive, send) -> None:
        await asyncio.sleep(3600)

    async def broken(self, scope, receive, send) -> None:
        raise ZeroDivisionError("a secret of the application")

    async def halfway(self, scope, receive, send) -> None:
        await start(send, 200, [])
        await send({"type": "http.response.body", "body": b"half", "more_body": True})
        raise ZeroDivisionError("a secret of the application")

    async def pieces(self, scope, receive, send) -> None:
        await start(send, 200, [(b"content-type", b"text/csv")])
        for piece in (b"artist,title\r\n", b"a,b\r\n"):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def stream(self, scope, receive, send) -> None:
        await start(send, 200, [(b"content-type", b"text/event-stream")])
        pump = asyncio.ensure_future(self._pump(send))
        while (await receive())["type"] != "http.disconnect":
            pass
        self.disconnects += 1
        pump.cancel()

    async def flood(self, scope, receive, send) -> None:
        await start(send, 200, [(b"content-type", b"text/event-stream")])
        while True:
            await send({"type": "http.response.body", "body": b"y" * 65536, "more_body": True})

    async def _pump(self, send) -> None:
        while True:
            await send({"type": "http.response.body", "body": b": keep\n\n", "more_body": True})
            await asyncio.sleep(0.05)


async def start(send, status: int, headers) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})


async def say(send, body: bytes, *, status: int = 200) -> None:
    await start(send, status, [(b"content-length", str(len(body)).encode())])
    await send({"type": "http.response.body", "body": body})


class House:
    """A running server."""

    def __init__(self, server: HttpServer, sockets: list[socket.socket], app) -> None:
        self.server = server
        self.ports = [one.getsockname()[1] for one in sockets]
        self.app = app
        self.thread: threading.Thread

    @property
    def port(self) -> int:
        return self.ports[0]

    @property
    def open_connections(self) -> int:
        return len(self.server.server_state.connections)

    def dial(self, **options) -> "Client":
        return Client(self.port, **options)

    def ask(self, path: str = "/", **options) -> "Answer":
        with self.dial(**options) as client:
            return client.get(path)


@contextmanager
def running(
    app=None,
    *,
    limits: Limits = PATIENT,
    context: Callable[[], ssl.SSLContext] | None = None,
    strict_transport: bool = False,
    plain: Callable[[int], object] | None = None,
    **changes,
) -> Iterator[House]:
    """Serve in a thread; ``plain`` makes the application of a second, plain door."""
    app = app or Demo()
    sockets = [socket.create_server(("127.0.0.1", 0), backlog=1024)]
    entrances = [
        Entrance(socket=sockets[0], app=app, context=context, strict_transport=strict_transport)
    ]
    if plain is not None:
        sockets.append(socket.create_server(("127.0.0.1", 0)))
        door = plain(sockets[0].getsockname()[1])
        entrances.append(Entrance(socket=sockets[1], app=door))
    started = threading.Event()
    server = HttpServer(entrances, limits=replace(limits, **changes), on_started=started.set)
    house = House(server, sockets, app)
    house.thread = threading.Thread(target=server.run, daemon=True)
    house.thread.start()
    assert started.wait(10)
    try:
        yield house
    finally:
        server.stop()
        if isinstance(app, Demo):
            app.may_end.set()
        house.thread.join(20)
        assert not house.thread.is_alive()


class Answer:
    """One answer as it came over the wire."""

    def __init__(self, raw: bytes) -> None:
        head, _, self.body = raw.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        self.raw = raw
        self.status = int(first.split(" ")[1]) if first else 0
        self.pairs = [tuple(line.split(": ", 1)) for line in lines]
        self.headers = dict(self.pairs)

    @property
    def json(self):
        return json.loads(self.body)


class Client:
    """A socket that says what it is told."""

    def __init__(self, port: int, *, tls: ssl.SSLContext | None = None, receive_buffer: int = 0):
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(15)
        self._left = b""
        try:
            self.socket.connect(("127.0.0.1", port))
            if tls is not None:
                self.socket = tls.wrap_socket(self.socket, server_hostname="localhost")
        except BaseException:
            self.socket.close()
            raise

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def say(self, data: bytes) -> None:
        self.socket.sendall(data)

    def get(self, path: str = "/", headers: bytes = HOST) -> Answer:
        self.say(b"GET " + path.encode() + b" HTTP/1.1\r\n" + headers + b"\r\n")
        return self.hear()

    def hear(self) -> Answer:
        """Read one answer of a known length, or whatever comes until the end."""
        raw = self._left
        while b"\r\n\r\n" not in raw:
            if not (piece := self._receive()):
                return Answer(raw)
            raw += piece
        answer = Answer(raw)
        size = len(raw) - len(answer.body) + int(answer.headers.get("content-length", 0))
        while len(raw) < size:
            if not (piece := self._receive()):
                break
            raw += piece
        raw, self._left = raw[:size], raw[size:]
        return Answer(raw)

    def hear_all(self) -> bytes:
        """Read until the other side ends or resets the connection."""
        pieces = [self._left]
        with suppress(ConnectionError):
            while piece := self._receive():
                pieces.append(piece)
        return b"".join(pieces)

    def is_ended(self, *, within_s: float = 5.0) -> bool:
        """Tell whether the other side ends the connection in time; what it says is dropped."""
        self.socket.settimeout(within_s)
        ends = time.monotonic() + within_s
        try:
            while self._receive():
                if time.monotonic() > ends:
                    return False
        except TimeoutError:
            return False
        except ConnectionError:
            return True
        return True

    def _receive(self) -> bytes:
        return self.socket.recv(65536)
