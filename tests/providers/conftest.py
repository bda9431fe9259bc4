"""What the lane tests share: real servers on loopback, a context, and the asked recording."""

import logging
from collections.abc import Callable, Iterator
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
from raw_servers import RawServers

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


@pytest.fixture
def raw_server() -> Iterator[RawServers]:
    servers = RawServers()
    yield servers
    servers.close()
