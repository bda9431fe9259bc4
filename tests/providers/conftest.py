"""What the lane tests share: real servers on loopback, a context, and the asked recording."""

import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from lyrsvc.core.lyrics import Candidate
from lyrsvc.core.matching import judge_match
from lyrsvc.core.ports import LaneContext
from lyrsvc.core.recording import Recording
from lyrsvc.core.verdict import Decision, Verdict
from lyrsvc.providers.upstream import Connections, Limits, Upstream

NOW = datetime(2026, 1, 31, 14, 0, tzinfo=UTC)


@pytest.fixture
def asked() -> Recording:
    return Recording(
        title="Paper Lantern Weather",
        artist="The Quiet Ferrymen",
        album="Low Tide Almanac",
        duration_ms=214_000,
    )


@pytest.fixture
def connect() -> Iterator[Callable[..., Connections]]:
    opened = []

    def connect(**options: Any) -> Connections:
        opened.append(Connections(version="9.9.9", now=lambda: NOW, **options))
        return opened[-1]

    yield connect
    for connections in opened:
        connections.close()


@pytest.fixture
def upstream(connect) -> Upstream:
    return Upstream(connect(limits=Limits(total_s=5, connect_s=2)))


@dataclass
class Context:
    """Builds lane contexts and remembers what was noted."""

    http: Upstream
    faults: list = field(default_factory=list)

    def __call__(self, recording: Recording | None = None, **more) -> LaneContext:
        """Judge by the real match guard when a recording is given, else accept all."""

        def judge(candidate: Candidate) -> Verdict:
            if recording is None:
                return Verdict(decision=Decision.ACCEPT, reason="ok")
            return judge_match(recording, candidate.matched)

        return LaneContext(
            http=self.http,
            judge=judge,
            deadline=float("inf"),
            cancelled=more.get("cancelled", lambda: False),
            log=logging.getLogger("test"),
            version="9.9.9",
            note_fault=self.faults.append,
        )


@pytest.fixture
def context(upstream) -> Context:
    return Context(upstream)


class RawServers:
    """Servers that play a function on every raw connection, once the request was read."""

    def __init__(self) -> None:
        self._listeners: list[socket.socket] = []
        self._threads: list[threading.Thread] = []

    def __call__(self, play: Callable[[socket.socket], None]) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        self._listeners.append(listener)
        self._run(self._accept, play, listener)
        return f"http://127.0.0.1:{listener.getsockname()[1]}"

    def close(self) -> None:
        for listener in self._listeners:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        for thread in self._threads:
            thread.join(10)

    def _run(self, work, *args) -> None:
        thread = threading.Thread(target=work, args=args)
        self._threads.append(thread)
        thread.start()

    def _accept(self, play, listener) -> None:
        with suppress(OSError):
            while True:
                self._run(self._answer, play, listener.accept()[0])

    def _answer(self, play, conn) -> None:
        with conn, suppress(OSError):
            conn.settimeout(5)
            seen = b""
            while b"\r\n\r\n" not in seen:
                if not (part := conn.recv(65536)):
                    return
                seen += part
            play(conn)
            conn.shutdown(socket.SHUT_WR)


@pytest.fixture
def raw_server() -> Iterator[RawServers]:
    servers = RawServers()
    yield servers
    servers.close()
