"""From a request to a reply: gate first, then the body, then the handler in its room."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeVar

from lyrsvc.core.errors import LyrsvcError
from lyrsvc.modesty import make_way_for_other_threads
from lyrsvc.web.exchange import Exchange
from lyrsvc.web.parsing_requests import NoQuery, read_body, read_form, read_path, read_query
from lyrsvc.web.problems import Problem, translate
from lyrsvc.web.refusals import BROKEN
from lyrsvc.web.replies import Reply, Unfinished
from lyrsvc.web.room_threads import RoomThreads, tell_loop
from lyrsvc.web.route import Payload, Room, Route

T = TypeVar("T")
Receive = Callable[[], Awaitable[Any]]

BODY_WITHIN_S: Final = 20.0
"""The server library ends a slow body after 15 s; this is for one that never tells."""
REPORT_NICENESS: Final = 10
"""Whoever reads a report waits a little longer, so that a webhook does not."""
LULL_S: Final = 0.025
LONGEST_LULL_S: Final = 0.5
"""While webhooks come one after the other, a report begins in a lull, or after so long."""
_LOG = logging.getLogger("lyrsvc.web")


class Switchboard:
    """Finds the route of a path and has it answered."""

    def __init__(self, routes: Iterable[Route], *, max_body_bytes: int) -> None:
        self._max_body_bytes = max_body_bytes
        self._fixed: dict[str, dict[str, Route]] = {}
        self._patterns: list[tuple[Route, dict[str, Route]]] = []
        by_path: dict[str, dict[str, Route]] = {}
        for route in routes:
            methods = by_path.setdefault(route.path, {})
            for method in route.methods:
                methods[method] = route
            if "GET" in route.methods:
                methods["HEAD"] = route
            if "{" in route.path:
                if len(methods) == len(route.methods) + ("GET" in route.methods):
                    self._patterns.append((route, methods))
            else:
                self._fixed[route.path] = methods
        self._rooms = {
            room: RoomThreads(
                f"web-{room.name.lower()}",
                room.value.most,
                usual=room.value.usual,
                begin=_make_way if room is Room.REPORT else None,
            )
            for room in Room
            if room.value.most
        }

    def find(self, exchange: Exchange) -> Route:
        """Find the route, noting the parts of the path."""
        methods, params = self._match(exchange.path)
        if methods is None:
            raise Problem("not_found", "there is nothing at this address")
        route = methods.get(exchange.method)
        if route is None:
            raise Problem(
                "method_not_allowed",
                "this address does not take this method",
                headers={"Allow": ", ".join(sorted(methods))},
            )
        exchange.params = params
        return route

    async def answer(self, route: Route, exchange: Exchange, receive: Receive) -> Reply:
        """Let the request through its gate, read it, and have it handled.

        One that is here whole goes through gate and handler in one go: going into a thread
        and back costs as much as many a handler. Who may not pass is told so and nothing else.
        """
        reply = await self._handled(route, exchange, receive)
        if isinstance(reply, Unfinished):
            reply = Reply(status=route.status, data=await self._finished(route.room, reply))
        if reply.pieces is None:
            return reply
        return replace(reply, stream=self._made(route.room, reply.pieces), pieces=None)

    async def _handled(
        self, route: Route, exchange: Exchange, receive: Receive
    ) -> Reply | Unfinished[Any]:
        if route.payload is Payload.NOTHING:
            return await self._run(route.room, _admit_and_handle, route, exchange, None)
        if exchange.is_whole:
            fault = await self._take(route, exchange, receive)
            return await self._run(route.room, _admit_and_handle, route, exchange, fault)
        if route.gate.admit is not None:
            exchange.identity = await self._run(route.room, route.gate.admit, exchange)
        exchange.body = await self._read(route, exchange, receive)
        return await self._run(route.room, _handle, route, exchange)

    async def explain(self, problem: Problem, exchange: Exchange) -> Reply:
        """Give the answer to a request that could not be served: a page for people, or JSON."""
        plain = Reply(status=problem.status, data=problem.body, headers=problem.headers)
        if not exchange.service.settings.server.web_ui_enabled:
            return plain
        from lyrsvc.web import error_pages  # brings the templates with it

        if not error_pages.is_for_people(exchange):
            return plain
        try:
            return await self._run(Room.ORDINARY, error_pages.show_problem, exchange, problem)
        except Exception:  # noqa: BLE001 - an error's page must not hide the error
            _LOG.exception("the page of an error broke")
            return plain

    def close(self) -> None:
        """Let go of the threads."""
        for room in self._rooms.values():
            room.close()

    async def _run(self, room: Room, work: Callable[..., T], *args: object) -> T:
        if room is Room.INSTANT:
            return work(*args)
        if room is Room.REPORT:
            await self._wait_for_lull()
        return await self._rooms[room].run(work, *args)

    async def _finished(self, room: Room, unfinished: Unfinished[T]) -> T:
        """Wait without a thread; for one that is not there in time, in a thread."""
        if (pending := unfinished.pending) is None:
            return unfinished.finish()
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        pending.then(partial(tell_loop, loop, _settle, ready))
        late = loop.call_later(pending.patience_s, _settle, ready)
        try:
            await ready
        finally:
            late.cancel()
        if pending.is_answered:
            return unfinished.finish()
        return await self._run(room, unfinished.finish)

    async def _made(self, room: Room, pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
        """Make each piece when the one before it has been sent."""
        while (piece := await self._run(room, next, pieces, None)) is not None:
            if piece:
                yield piece

    async def _wait_for_lull(self) -> None:
        webhooks = self._rooms[Room.WEBHOOK]
        until = time.monotonic() + LONGEST_LULL_S
        while webhooks.quiet_s < LULL_S and time.monotonic() < until:
            await asyncio.sleep(LULL_S)

    async def _take(self, route: Route, exchange: Exchange, receive: Receive) -> Problem | None:
        """Take the body that is here; what is wrong with it is for those who may pass to know."""
        try:
            exchange.body = await _collect(receive, self._limit(route, exchange))
        except Problem as problem:
            return problem
        return None

    def _limit(self, route: Route, exchange: Exchange) -> int:
        """Give how large the body may be, after a look at what it says about itself."""
        limit = route.payload.value if route.payload.value >= 0 else self._max_body_bytes
        refuse_encoding(exchange)
        declared = exchange.header("content-length")
        if declared.isdigit() and int(declared) > limit:
            raise too_large(limit)
        return limit

    async def _read(self, route: Route, exchange: Exchange, receive: Receive) -> bytes:
        limit = self._limit(route, exchange)
        try:
            async with asyncio.timeout(BODY_WITHIN_S):
                return await _collect(receive, limit)
        except TimeoutError as error:
            raise Problem(
                "timeout", "the body did not arrive in time", headers={"Connection": "close"}
            ) from error

    def _match(self, path: str) -> tuple[Mapping[str, Route] | None, dict[str, str]]:
        if (methods := self._fixed.get(path)) is not None:
            return methods, {}
        for first, methods in self._patterns:
            if found := first.pattern.fullmatch(path):
                return methods, found.groupdict()
        return None, {}


def _settle(ready: "asyncio.Future[None]") -> None:
    if not ready.done():
        ready.set_result(None)


def _make_way() -> None:
    make_way_for_other_threads(REPORT_NICENESS)


def refuse_encoding(exchange: Exchange) -> None:
    """Refuse a body that is packed."""
    if exchange.header("content-encoding", "identity").strip().lower() != "identity":
        raise Problem(
            "unsupported_encoding",
            "the body must not be compressed",
            headers={"Connection": "close"},
        )


def too_large(limit: int) -> Problem:
    """Refuse a body beyond the limit."""
    return Problem(
        "payload_too_large",
        f"the body is larger than {limit} bytes",
        headers={"Connection": "close"},
        extra={"limit": limit},
    )


def _admit_and_handle(
    route: Route, exchange: Exchange, fault: Problem | None
) -> Reply | Unfinished[Any]:
    """Let a request through its gate, then handle it or tell what is wrong with its body."""
    if route.gate.admit is not None:
        exchange.identity = route.gate.admit(exchange)
    if fault is not None:
        raise fault
    return _handle(route, exchange)


def _handle(route: Route, exchange: Exchange) -> Reply | Unfinished[Any]:
    """Read what the handler asks for and call it; runs in a thread."""
    arguments: dict[str, Any] = read_path(exchange.params, route.path_types)
    if route.payload is Payload.FORM:
        exchange.form = read_form(exchange)
    if route.gate.confirm is not None:
        route.gate.confirm(exchange)
    if route.takes_form:
        arguments["form"] = exchange.form
    if (kind := route.query_type) is not None:
        arguments["query"] = read_query(exchange, kind)
    elif route.gate.name == "api":
        read_query(exchange, NoQuery)
    if (kind := route.body_type) is not None:
        arguments["body"] = read_body(exchange, kind)
    answer = route.handler(exchange, **arguments)
    if isinstance(answer, Reply | Unfinished):
        return answer
    return Reply(status=route.status, data=answer)


async def _collect(receive: Receive, limit: int) -> bytes:
    pieces, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Problem("invalid_request", "the client went away")
        piece = message.get("body", b"")
        size += len(piece)
        if size > limit:
            raise too_large(limit)
        pieces.append(piece)
        if not message.get("more_body"):
            return b"".join(pieces)


def problem_of(error: Exception, exchange: Exchange) -> Problem:
    """Give the problem behind an error; what nobody expected goes to the log."""
    match error:
        case Problem():
            problem, cause = error, error.__cause__
        case LyrsvcError():
            problem, cause = translate(error), error
        case _:
            return _unexpected(error, exchange)
    if problem.status >= 500 and isinstance(cause, LyrsvcError):
        _LOG.warning("request failed", extra={"error": str(cause)})
    return problem


def _unexpected(error: Exception, exchange: Exchange) -> Problem:
    _LOG.error("request broke", exc_info=error)
    return Problem(BROKEN.code, BROKEN.detail, extra={"request_id": exchange.request_id})
