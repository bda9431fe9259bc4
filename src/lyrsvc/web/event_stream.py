"""``/api/v1/events``: what happens, as it happens, to whoever listens."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from lyrsvc.core.errors import LyrsvcError
from lyrsvc.services.announcing import Announcement, Stream, TooManyStreams
from lyrsvc.services.news_sources import QueueNews
from lyrsvc.web.exchange import Exchange
from lyrsvc.web.gates import API
from lyrsvc.web.problems import Problem
from lyrsvc.web.provider_api import lane_of
from lyrsvc.web.replies import Reply, encode
from lyrsvc.web.route import get
from lyrsvc.web.scan_api import scan_of
from lyrsvc.web.settled_items import settled_item_of
from lyrsvc.web.system_api import trouble_of
from lyrsvc.web.task_api import task_of

STREAM_TYPE: Final = "text/event-stream"
RETRY_MS: Final = 5_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Pace:
    """How often a silent stream says that it is there, and how often a listener is judged anew."""

    keep_s: float = 15.0
    judge_s: float = 60.0


PACE: Final = Pace()


def stream_events(exchange: Exchange) -> Reply:
    """Send events until the client goes, or may not listen any more."""
    headers = {"X-Accel-Buffering": "no", "Cache-Control": "no-store"}
    if exchange.method == "HEAD":
        return Reply(stream=_nothing(), content_type=STREAM_TYPE, headers=headers)
    bell = Bell()
    service = exchange.service
    try:
        stream = service.announcer.open(
            wake=bell.ring, last_id=exchange.header("last-event-id").strip()
        )
    except TooManyStreams as error:
        raise Problem("busy", str(error), headers={"Retry-After": "5"}) from error
    try:
        opening = _opening(stream, service.noticer.present("queue"))
    except BaseException:
        stream.close()
        raise
    lines = EventLines(stream, bell, opening=opening, may_listen=lambda: may_listen(exchange))
    return Reply(stream=lines, content_type=STREAM_TYPE, headers=headers)


def may_listen(exchange: Exchange) -> bool:
    """Tell whether whoever began to listen still may; a database that is busy says nothing."""
    assert API.admit is not None  # noqa: S101 - this gate has a rule
    try:
        return API.admit(exchange).actor == exchange.identity.actor
    except Problem as problem:
        return problem.status >= 500
    except LyrsvcError:
        return True


class Bell:
    """Wakes the one who waits for events, from any thread."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._rung = asyncio.Event()

    def ring(self) -> None:
        """Wake; before anybody waits it is simply remembered."""
        loop = self._loop
        if loop is None:
            self._rung.set()
            return
        try:
            loop.call_soon_threadsafe(self._rung.set)
        except RuntimeError:  # the loop is over, and with it whoever waited
            return

    async def wait(self, seconds: float) -> None:
        """Wait for a ring, but no longer than this."""
        self._loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(seconds):
                await self._rung.wait()
        except TimeoutError:
            return
        self._rung.clear()


class EventLines(AsyncIterator[bytes]):
    """A stream as bytes, piece by piece; ``aclose`` frees its place."""

    def __init__(
        self,
        stream: Stream,
        bell: Bell,
        *,
        opening: bytes,
        may_listen: Callable[[], bool],
        pace: Pace = PACE,
    ) -> None:
        self._stream = stream
        self._bell = bell
        self._opening = opening
        self._may_listen = may_listen
        self._pace = pace
        self._judged_s = time.monotonic()
        self._sent_s = time.monotonic()

    async def __anext__(self) -> bytes:
        """Give the next piece: what has happened, or a sign of life."""
        opening, self._opening = self._opening, b""
        piece = opening or await self._next()
        self._sent_s = time.monotonic()
        return piece

    async def aclose(self) -> None:
        """Listen no more."""
        self._stream.close()

    async def _next(self) -> bytes:
        while not self._stream.ended:
            if news := self._stream.take():
                return b"".join(map(written, news))
            await self._judge()
            rest_s = self._sent_s + self._pace.keep_s - time.monotonic()
            if rest_s <= 0:
                return b": keep\n\n"
            await self._bell.wait(min(rest_s, self._until_judged_s))
        raise StopAsyncIteration

    @property
    def _until_judged_s(self) -> float:
        return max(0.0, self._judged_s + self._pace.judge_s - time.monotonic())

    async def _judge(self) -> None:
        """Ask once a minute whether whoever listens still may."""
        if self._until_judged_s > 0:
            return
        self._judged_s = time.monotonic()
        if not await asyncio.to_thread(self._may_listen):
            self._stream.close()


def written(announcement: Announcement) -> bytes:
    """Write an event down; its data is one line of JSON."""
    return _event(announcement.event, announcement.data, announcement.id)


async def _nothing() -> AsyncIterator[bytes]:
    """Stand in for a stream whose head alone is asked for; no length of it is told."""
    return
    yield b""


def _opening(stream: Stream, queue: list[object]) -> bytes:
    """Begin with how things stand; whoever missed something is told to load everything anew.

    Events that are still to be replayed have older ids, so the first one has none then.
    """
    is_new = not stream.resumes or not stream.has_unsent
    last_id = stream.last_id if is_new else ""
    parts = [f"retry: {RETRY_MS}\n\n".encode()]
    parts += [_event("queue", news, last_id) for news in queue]
    if not stream.resumes:
        parts.append(_event("reset", {}, last_id))
    return b"".join(parts)


def _event(name: str, data: object, event_id: str) -> bytes:
    head = f"id: {event_id}\n" if event_id else ""
    shape = SHAPES.get(name)
    body = encode(shape(data) if shape else data).rstrip(b"\n")
    return f"{head}event: {name}\ndata: ".encode() + body + b"\n\n"


def _queue(news: QueueNews) -> dict[str, Any]:
    lanes = {
        name: {"hits": lane.hits, "misses": lane.misses, "state": lane.state}
        for name, lane in news.lanes.items()
    }
    return {**news.statuses, "instrumental": news.instrumental, "lanes": lanes}


SHAPES: Final[Mapping[str, Callable[[Any], object]]] = {
    "queue": _queue,
    "outcome": settled_item_of,
    "lane": lane_of,
    "scan": scan_of,
    "task": task_of,
    "health": lambda entries: [trouble_of(entry) for entry in entries],
    "settings": lambda names: {"restart_pending": list(names)},
}
"""How the thing of each event is written down."""

ROUTES: Final = (
    get("/api/v1/events", API, stream_events, media=(STREAM_TYPE,), refusals=("busy",)),
)
