"""Letting clients in, no more than there is room for."""

import asyncio
import contextlib
import errno
import logging
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from uvicorn.config import Config
from uvicorn.server import ServerState

from lyrsvc.web import refusals
from lyrsvc.web.answer_watch import App
from lyrsvc.web.limits import Limits
from lyrsvc.web.transport import HttpConnection

_LOG = logging.getLogger("lyrsvc.http")
_NO_ROOM: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_REST_S: Final = 0.2
_LOOKED_AGAIN_S: Final = 0.05
_WARNED_EVERY_S: Final = 60.0
_UNREAD_BYTES: Final = 64 * 1024


@dataclass(frozen=True, kw_only=True)
class Entrance:
    """A listening socket, who answers behind it, and under which certificate.

    ``context`` is asked for every client, so that a new certificate serves the next one.
    """

    socket: socket.socket
    app: App
    context: Callable[[], ssl.SSLContext] | None = None
    strict_transport: bool = False


class Hall:
    """Everybody who is inside, through whichever door."""

    def __init__(self, config: Config, state: ServerState, limits: Limits) -> None:
        self.config = config
        self.state = state
        self.limits = limits
        self.arriving: dict[HttpConnection, asyncio.Task[None]] = {}
        """Clients between the door and their first word: in TLS that takes a while."""

    @property
    def inside(self) -> list[HttpConnection]:
        """The connections that are served."""
        return [one for one in self.state.connections if isinstance(one, HttpConnection)]

    def has_room(self) -> bool:
        """Tell whether one more may come in, sending away who keeps us waiting for nothing."""
        still_arriving = sum(1 for one in self.arriving if one not in self.state.connections)
        if len(self.state.connections) + still_arriving < self.limits.connections:
            return True
        return self.make_room()

    def make_room(self) -> bool:
        """Send away whoever keeps us waiting longest; False when nobody does."""
        slowest = max(self.inside, key=lambda one: one.keeps_waiting_s, default=None)
        if slowest is not None and slowest.keeps_waiting_s > self.limits.evicted_after_s:
            slowest.evict()
            return True
        return self._stop_waiting_for_handshake()

    def look_after(self) -> None:
        """Hold every client to the limits."""
        for connection in self.inside:
            connection.look_after()

    def _stop_waiting_for_handshake(self) -> bool:
        for connection, task in self.arriving.items():  # the oldest comes first
            if connection.age_s <= self.limits.evicted_after_s:
                return False
            if connection not in self.state.connections and not task.cancelling():
                task.cancel()
                return True
        return False


class Door:
    """Accepts at one entrance until it is closed."""

    def __init__(self, entrance: Entrance, hall: Hall) -> None:
        self._entrance = entrance
        self._hall = hall
        self._loop = asyncio.get_running_loop()
        self._turned_away: set[socket.socket] = set()
        self._warned_s = -_WARNED_EVERY_S
        self._is_crowded = False
        entrance.socket.settimeout(0)
        self._accepting = self._loop.create_task(self._accept())

    def close(self) -> None:
        """Let nobody in any more."""
        self._accepting.cancel()
        self._entrance.socket.close()
        for client in tuple(self._turned_away):
            self._let_go(client)

    async def _accept(self) -> None:
        while True:
            try:
                client, _ = await self._loop.sock_accept(self._entrance.socket)
            except OSError as error:
                await self._rest(error)
                continue
            client.settimeout(0)
            if await self._has_room():
                self._admit(client)
            else:
                self._turn_away(client)
            await asyncio.sleep(0)  # whoever is inside comes before the next one

    async def _has_room(self) -> bool:
        """Wait a moment for room; when that was in vain, the next one is told at once."""
        ends_s = self._loop.time() + (0.0 if self._is_crowded else self._hall.limits.room_s)
        while not self._hall.has_room():
            if self._loop.time() >= ends_s:
                self._is_crowded = True
                return False
            await asyncio.sleep(_LOOKED_AGAIN_S)
        self._is_crowded = False
        return True

    async def _rest(self, error: OSError) -> None:
        if error.errno not in _NO_ROOM:
            await asyncio.sleep(0)
            return
        if self._loop.time() - self._warned_s >= _WARNED_EVERY_S:
            self._warned_s = self._loop.time()
            _LOG.warning("cannot accept connections; raise the limit of open files")
        await asyncio.sleep(_LOOKED_AGAIN_S if self._hall.make_room() else _REST_S)

    def _admit(self, client: socket.socket) -> None:
        hall = self._hall
        _set_options(client, hall.limits)
        connection = HttpConnection(
            hall.config,
            hall.state,
            self._entrance.app,
            limits=hall.limits,
            strict_transport=self._entrance.strict_transport,
        )
        task = self._loop.create_task(self._connect(connection, client))
        hall.arriving[connection] = task
        task.add_done_callback(lambda _: hall.arriving.pop(connection, None))

    async def _connect(self, connection: HttpConnection, client: socket.socket) -> None:
        make_context = self._entrance.context
        try:
            if make_context is None:
                await self._loop.connect_accepted_socket(lambda: connection, client)
                return
            await self._loop.connect_accepted_socket(
                lambda: connection,
                client,
                ssl=make_context(),
                ssl_handshake_timeout=self._hall.limits.handshake_s,
                ssl_shutdown_timeout=self._hall.limits.goodbye_s,
            )
        except (OSError, asyncio.CancelledError) as error:
            _LOG.debug("a client did not arrive", extra={"why": str(error)})
            client.close()

    def _turn_away(self, client: socket.socket) -> None:
        """Say that there is no room; under TLS nothing can be said yet."""
        if self._entrance.context or len(self._turned_away) >= self._hall.limits.turned_away:
            client.close()
            return
        with contextlib.suppress(OSError):
            client.send(refusals.render(refusals.FULL))
            client.shutdown(socket.SHUT_WR)
        self._turned_away.add(client)
        self._loop.call_later(self._hall.limits.goodbye_s, self._let_go, client)

    def _let_go(self, client: socket.socket) -> None:
        self._turned_away.discard(client)
        with contextlib.suppress(OSError):
            client.recv(_UNREAD_BYTES)
        client.close()


def _set_options(client: socket.socket, limits: Limits) -> None:
    """Let the system notice a client that is gone without a word."""
    with contextlib.suppress(OSError):
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            gone_ms = int(max(limits.stalled_write_s, limits.stalled_stream_s) * 1000)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, gone_ms)
