"""The HTTP application: what the server library says becomes an exchange, and a reply goes out."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final

from lyrsvc.core.networks import Standing, TrustPolicy, judge
from lyrsvc.logs.request_ids import accepted, new_request_id, serving
from lyrsvc.serving import Service
from lyrsvc.web.answer_watch import WHOLE
from lyrsvc.web.answering import Receive, Switchboard, problem_of
from lyrsvc.web.exchange import Exchange
from lyrsvc.web.replies import Reply, Turned
from lyrsvc.web.route import Route
from lyrsvc.web.routes import all_routes
from lyrsvc.web.security_headers import HEADERS

Scope = Mapping[str, Any]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Sleep = Callable[[float], Awaitable[None]]
Header = tuple[bytes, bytes]

_LOG = logging.getLogger("lyrsvc.http")
_QUIET: Final = frozenset({"/healthz", "/readyz", "/ping", "/metrics"})


def create_app(service: Service, *, sleep: Sleep = asyncio.sleep) -> "App":
    """Make the application of a service; pages exist only while they are on."""
    routes = all_routes(pages=service.settings.server.web_ui_enabled)
    return App(service, routes, sleep=sleep)


class App:
    """Answers every request with the headers, the id and the log line all of them get."""

    def __init__(
        self, service: Service, routes: Iterable[Route], *, sleep: Sleep = asyncio.sleep
    ) -> None:
        server = service.settings.server
        networks = server.trusted_networks
        self._service = service
        self._sleep = sleep
        self._base = server.base_path
        self._switchboard = Switchboard(routes, max_body_bytes=server.max_body_bytes)
        self._trust = TrustPolicy(
            cidrs=networks.cidrs,
            proxies=networks.trusted_proxies,
            allowed_hosts=server.allowed_hosts,
        )
        self._has_warned = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        began_s = time.monotonic()
        exchange = self._exchange(scope)
        with serving(exchange.request_id):
            reply = await self._reply(exchange, receive)
            if reply.delay_s:
                await self._sleep(reply.delay_s)
            size = await _send(exchange, reply, receive, send)
            _log_access(exchange, reply.status, size, time.monotonic() - began_s)

    def close(self) -> None:
        """Let go of the threads."""
        self._switchboard.close()

    async def _reply(self, exchange: Exchange, receive: Receive) -> Reply:
        try:
            route = self._switchboard.find(exchange)
            return await self._switchboard.answer(route, exchange, receive)
        except Turned as turned:
            return turned.reply
        except Exception as error:  # noqa: BLE001 - whatever it is, somebody waits for an answer
            return await self._switchboard.explain(problem_of(error, exchange), exchange)

    def _exchange(self, scope: Scope) -> Exchange:
        headers = tuple(
            (name.decode("latin-1").lower(), value.decode("latin-1"))
            for name, value in scope["headers"]
        )
        peer = scope.get("client")
        standing = judge(
            self._trust,
            peer=peer[0] if peer else "",
            headers=headers,
            http_version=scope["http_version"],
            tls=scope["scheme"] == "https",
        )
        self._warn_of_proxy(standing)
        return Exchange(
            service=self._service,
            method=scope["method"],
            path=self._own_path(scope["path"]),
            query_string=scope["query_string"].decode("latin-1"),
            headers=headers,
            standing=standing,
            request_id=_request_id(standing, headers),
            base_path=self._base,
            is_whole=WHOLE in scope.get("extensions", ()),
        )

    def _own_path(self, path: str) -> str:
        """Take the base path off; proxies that strip it and proxies that keep it both work."""
        if self._base and (path == self._base or path.startswith(self._base + "/")):
            return path[len(self._base) :] or "/"
        return path

    def _warn_of_proxy(self, standing: Standing) -> None:
        if standing.undeclared_proxy and not standing.trusted and not self._has_warned:
            self._has_warned = True
            self._service.marks.add("proxy_not_declared")
            _LOG.warning(
                "a proxy on this machine passes requests on and is not declared; "
                "set server.trusted_networks.trusted_proxies"
            )


async def _send(exchange: Exchange, reply: Reply, receive: Receive, send: Send) -> int:
    """Send the reply; give how many bytes its body had."""
    headers = _headers(exchange, reply)
    body = b"" if reply.stream is not None else reply.body
    if reply.stream is None and reply.status not in (204, 304):
        headers.append(_header("content-length", str(len(body))))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    if reply.stream is not None and exchange.method != "HEAD":
        return await _send_stream(reply, receive, send)
    await send({"type": "http.response.body", "body": body})
    return len(body)


async def _send_stream(reply: Reply, receive: Receive, send: Send) -> int:
    """Send piece by piece until the stream ends or the client goes."""
    assert reply.stream is not None  # noqa: S101 - asked by the caller
    sent = 0
    stream = reply.stream

    async def pump() -> None:
        nonlocal sent
        async for piece in stream:
            sent += len(piece)
            await send({"type": "http.response.body", "body": piece, "more_body": True})

    async def leave() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    tasks = [asyncio.ensure_future(pump()), asyncio.ensure_future(leave())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        closing = getattr(stream, "aclose", None)
        if closing is not None:
            await closing()
    if isinstance(ends[0], Exception):
        raise ends[0]  # the connection is cut, so that what was sent does not look whole
    with contextlib.suppress(OSError):
        await send({"type": "http.response.body", "body": b""})
    return sent


def _headers(exchange: Exchange, reply: Reply) -> list[Header]:
    own = dict(_header(*each) for each in reply.headers.items())
    headers = [each for each in _ALWAYS if each[0] not in own]
    if reply.status != 204 and not (reply.status == 303 and reply.text == b""):
        headers.append(_header("content-type", reply.content_type))
    headers += own.items()
    headers += (_header("set-cookie", cookie) for cookie in reply.cookies)
    headers.append(_header("x-request-id", exchange.request_id))
    return headers


def _header(name: str, value: str) -> Header:
    """Give a header as the server library sends it."""
    return name.lower().encode(), value.encode("latin-1", "replace")


_ALWAYS: Final = tuple(_header(*each) for each in HEADERS)


def _request_id(standing: Standing, headers: Iterable[tuple[str, str]]) -> str:
    given = next((value for name, value in headers if name == "x-request-id"), "")
    return given if standing.via_proxy and accepted(given) else new_request_id()


def _log_access(exchange: Exchange, status: int, size: int, seconds: float) -> None:
    quiet = exchange.path in _QUIET or exchange.path.startswith("/static/")
    _LOG.log(
        logging.DEBUG if quiet else logging.INFO,
        "request",
        extra={
            "method": exchange.method,
            "path": exchange.path,
            "status": status,
            "ms": round(seconds * 1000, 1),
            "bytes": size,
            "client": exchange.standing.client,
        },
    )
