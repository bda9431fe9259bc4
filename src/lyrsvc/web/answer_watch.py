"""One request on its way through the application, watched from the transport."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from lyrsvc.logs.request_ids import new_request_id, serving
from lyrsvc.web.client_line import ClientLine
from lyrsvc.web.refusals import BROKEN, STOPPING, Refusal, send_refusal
from lyrsvc.web.security_headers import STRICT_TRANSPORT

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
App = Callable[[Any, Receive, Send], Awaitable[None]]

WHOLE: Final = "lyrsvc.whole"
"""The extension that tells that the request had come in whole when it was handed on."""

_LOG = logging.getLogger("lyrsvc.http")
_STREAM_TYPE: Final = b"text/event-stream"
_STRICT_NAME: Final = STRICT_TRANSPORT[0].lower().encode()
_FORWARDED: Final = frozenset(
    (b"forwarded", b"via", b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto",
     b"x-real-ip", b"cf-connecting-ip", b"true-client-ip")
)  # fmt: skip


class AnswerWatch:
    """Hands a request to the application and looks at what it answers.

    An answer that begins before the request has come in whole ends the connection;
    the rest of the request might otherwise be taken for the next one.
    """

    def __init__(self, app: App, *, strict_transport: bool) -> None:
        self._app = app
        self._strict_transport = strict_transport
        self.cycle: RequestResponseCycle | None = None
        self.line: ClientLine | None = None
        self.is_stream = False
        """Whether the answer is an event stream, which may stay silent for longer."""
        self._has_length = False
        self._is_unframed = False

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:  # noqa: ANN401
        """Have the request answered, whatever the application does."""

        async def watched_send(message: Message) -> None:
            await self._pass_on(self._noted(scope, message), send)
            if self.cycle is not None and self.cycle.disconnected and message.get("more_body"):
                raise ConnectionResetError("the client went away")  # else a stream never ends

        if self._is_whole():
            scope["extensions"] = {**scope.get("extensions", {}), WHOLE: {}}
        try:
            await self._app(scope, receive, watched_send)
        except asyncio.CancelledError:
            await self._end_with(STOPPING, send)
        except Exception as error:  # noqa: BLE001 - somebody waits for an answer
            await self._tell_of(error, send)

    async def _pass_on(self, message: Message, send: Send) -> None:
        """Send a part of the answer; a head whose body is to follow at once goes with it."""
        line = self.line
        if line is not None and message["type"] == "http.response.start" and self._has_length:
            line.hold()
        await send(message)
        if line is not None and message["type"] == "http.response.body":
            line.release()

    def _is_whole(self) -> bool:
        cycle = self.cycle
        return cycle is not None and not (cycle.more_body or cycle.waiting_for_100_continue)

    def _noted(self, scope: Any, message: Message) -> Message:  # noqa: ANN401 - as the interface
        if message["type"] != "http.response.start":
            self._keep_unframed(message)
            return message
        headers = message.get("headers", ())
        names = {name.lower(): value for name, value in headers}
        self.is_stream = names.get(b"content-type", b"").startswith(_STREAM_TYPE)
        self._has_length = b"content-length" in names
        self._is_unframed = scope["http_version"] == "1.0" and not self._has_length
        self._keep_unframed(message)
        if self.cycle is not None and self.cycle.more_body:
            self.cycle.keep_alive = False
        is_strict = self._strict_transport and not _was_forwarded(scope)
        if not is_strict and _STRICT_NAME not in names:
            return message
        others = [(name, value) for name, value in headers if name.lower() != _STRICT_NAME]
        strict = [(_STRICT_NAME, STRICT_TRANSPORT[1].encode())] if is_strict else []
        return {**message, "headers": others + strict}

    def _keep_unframed(self, message: Message) -> None:
        """Keep chunks from a client of HTTP/1.0; what it is sent ends with the connection.

        The server library would divide every answer of unknown length into chunks, so each
        piece is made to look as if its length had been told.
        """
        if self._is_unframed and self.cycle is not None:
            self.cycle.chunked_encoding = False
            self.cycle.expected_content_length = len(message.get("body", b""))

    async def _tell_of(self, error: Exception, send: Send) -> None:
        if self.cycle is not None and self.cycle.disconnected:
            _LOG.debug("the client went away", exc_info=error)
            return
        request_id = new_request_id()
        with serving(request_id):
            _LOG.error("request broke", exc_info=error)
        await self._end_with(BROKEN._replace(extra={"request_id": request_id}), send)

    async def _end_with(self, refusal: Refusal, send: Send) -> None:
        cycle = self.cycle
        if cycle is None or cycle.response_started:
            if cycle is not None:
                cycle.transport.close()
                cycle.disconnected = True
            return
        cycle.keep_alive = False
        await send_refusal(send, refusal)


def answer_with(refusal: Refusal) -> App:
    """Make an application that knows one answer."""

    async def answer(_scope: Any, _receive: Receive, send: Send) -> None:  # noqa: ANN401
        await send_refusal(send, refusal)

    return answer


def _was_forwarded(scope: Any) -> bool:  # noqa: ANN401 - as the interface
    return any(name in _FORWARDED for name, _ in scope["headers"])
