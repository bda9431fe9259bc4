"""The HTTP server of the process: its doors, its beat, its end."""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import uvicorn

from lyrsvc.web.answer_watch import Receive, Send
from lyrsvc.web.doors import Door, Entrance, Hall
from lyrsvc.web.limits import Limits

_TALKATIVE: Final = "uvicorn.error"
_LAST_WORDS_S: Final = 0.3


class HttpServer(uvicorn.Server):
    """Serves every entrance in one event loop; signals are ours, not its.

    ``stop`` may be called from any thread and from a signal handler.
    """

    def __init__(
        self,
        entrances: Sequence[Entrance],
        *,
        limits: Limits | None = None,
        on_started: Callable[[], None] = lambda: None,
    ) -> None:
        limits = limits or Limits()
        config = uvicorn.Config(
            _nobody,
            http="httptools",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=limits.stop_s,  # type: ignore[arg-type]  # passed to asyncio
        )
        super().__init__(config)
        config.load()
        logging.getLogger(_TALKATIVE).setLevel(logging.WARNING)
        self._entrances = tuple(entrances)
        self._hall = Hall(config, self.server_state, limits)
        self._doors: list[Door] = []
        self._on_started = on_started

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield

    def stop(self) -> None:
        """End: accept nobody, finish what is being answered."""
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:  # noqa: ARG002
        """Open the doors."""
        self.servers = []
        await self.on_tick(0)  # answers carry the date from the first one on
        self._doors = [Door(entrance, self._hall) for entrance in self._entrances]
        self.started = True
        self._on_started()

    async def on_tick(self, counter: int) -> bool:
        """Hold clients to the limits, ten times a second."""
        self._hall.look_after()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close the doors, then wait for the answers that are under way."""
        for door in self._doors:
            door.close()
        for task in tuple(self._hall.arriving.values()):
            task.cancel()
        await super().shutdown(sockets)
        if self.server_state.tasks:  # cancelled by now; they may still say why
            await asyncio.wait(self.server_state.tasks, timeout=_LAST_WORDS_S)
        for connection in self._hall.inside:
            connection.evict()


async def _nobody(_scope: object, _receive: Receive, _send: Send) -> None:
    """Stand in for an application; each entrance has its own."""
