"""One HTTP connection: what may come in, how fast, and how it ends.

The server library parses and answers; this class sees every byte before it and says
no. Whatever is refused ends the connection, because where the next request would
begin can no longer be known.
"""

import asyncio
import logging
from collections.abc import Callable
from enum import Enum
from typing import Final

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from lyrsvc.web import refusals
from lyrsvc.web.answer_watch import AnswerWatch, App, answer_with
from lyrsvc.web.client_line import ClientLine
from lyrsvc.web.head_faults import fault_of_head
from lyrsvc.web.limits import Limits
from lyrsvc.web.refusals import Refusal
from lyrsvc.web.security_headers import STRICT_TRANSPORT

_LOG = logging.getLogger("lyrsvc.http")
_PIECE_BYTES: Final = 16 * 1024
_LINE_END: Final = len(b": \r\n")


class Stage(Enum):
    """What is expected from the client next."""

    REQUEST = "request"
    HEAD = "head"
    BODY = "body"


class _Refused(Exception):
    pass


class HttpConnection(HttpToolsProtocol):
    """A connection with limits; ``look_after`` must be called often."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app: App,
        *,
        limits: Limits,
        strict_transport: bool = False,
    ) -> None:
        super().__init__(config, server_state, {}, asyncio.get_running_loop())
        self._limits = limits
        self._strict_transport = strict_transport
        self._answered_by = app
        self._watch: AnswerWatch | None = None
        self._clock: Callable[[], float] = self.loop.time
        self._stage = Stage.REQUEST
        self._came_s = self._since_s = self._clock()
        self._has_served = False
        self._is_deaf = False
        self._has_ended = False
        self._replays = False
        self._head_bytes = 0
        self._fed_bytes = 0
        self._begun = 0
        self._lines = 0
        self._framing_bytes = 0
        self._refusal: Refusal | None = None
        self._line: ClientLine | None = None

    @property
    def is_busy(self) -> bool:
        """Tell whether a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def keeps_waiting_s(self) -> float:
        """Tell how long the client has kept us waiting; 0 while it is our turn."""
        line = self._line
        if line is None:
            return 0.0
        if line.lingers_since_s is not None:
            return self._clock() - line.lingers_since_s
        is_our_turn = self.flow.read_paused if self._stage is Stage.BODY else self.is_busy
        return 0.0 if is_our_turn or line.is_closing() else self._clock() - self._since_s

    def look_after(self) -> None:
        """Drop the client that does not read, does not write, or does not leave."""
        line = self._line
        if line is None:
            return
        if line.stalled_s() > self._longest_stall_s():
            _LOG.debug("dropped a client that does not read", extra={"client": self.client})
            line.abort()
        elif line.lingers_since_s is not None:
            if self._clock() - line.lingers_since_s > self._limits.goodbye_s:
                line.hang_up()
        elif not line.is_closing():
            self._watch_stage()

    @property
    def age_s(self) -> float:
        """Tell how long ago the client came to the door."""
        return self._clock() - self._came_s

    def evict(self) -> None:
        """Give this connection's place to another client."""
        if self._line is not None:
            self._line.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin."""
        self._line = ClientLine(transport, is_sending=self._is_sending, clock=self._clock)
        self._since_s = self._clock()
        super().connection_made(self._line)

    def connection_lost(self, exc: Exception | None) -> None:
        """End; nothing of this connection is left for the search for garbage."""
        super().connection_lost(exc)
        if self._line is not None:
            self._line.forget_client()

    def data_received(self, data: bytes) -> None:
        """Parse in pieces no larger than a head may be, and stop at the first fault."""
        if self._line is None:
            return
        if self._is_deaf or self._line.is_closing():
            self._discard(len(data))
            return
        start = 0
        while start < len(data) and not (self._is_deaf or self._line.is_closing()):
            piece = data[start : start + self._piece_bytes()]
            start += len(piece)
            self._feed(piece)

    def eof_received(self) -> bool:  # type: ignore[override]
        """Still answer a client that has said everything and only listens."""
        stays = (
            self.scheme == "http"
            and self.is_busy
            and self._stage is Stage.REQUEST
            and not (self._watch and self._watch.is_stream)
        )
        if stays:
            self.cycle.keep_alive = False
            self._has_ended = True
        return stays

    def shutdown(self) -> None:
        """End as soon as the answer under way is given; an event stream ends at once."""
        is_stream = self._watch is not None and self._watch.is_stream
        if self._line is not None and (is_stream or not self.is_busy):
            self._line.hang_up()
            return
        super().shutdown()

    def on_message_begin(self) -> None:
        """Start to count anew."""
        if self._replays:
            return
        if len(self.pipeline) >= self._limits.pipelined:
            raise _Refused
        self._stage = Stage.HEAD
        self._since_s = self._clock()
        self._head_bytes = self._lines = 0
        self._begun += 1
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Count the request line."""
        if self._replays:
            return
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count the line; what comes after the body is no header of the request."""
        if self._replays:
            return
        self._lines += 1
        if self._lines > self._limits.header_lines:
            self._stop(refusals.HEAD_TOO_LARGE)
        if self._stage is Stage.HEAD:
            self._count(len(name) + len(value) + _LINE_END)
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Refuse what two programs could read in two ways; else have it answered."""
        if self._replays:
            return
        version, method = self.parser.get_http_version(), self.parser.get_method()
        if fault := fault_of_head(version, method, self.headers):
            self._stop(fault)
        self._stage = Stage.BODY
        self._since_s = self._clock()
        self._lines = self._framing_bytes = 0
        watch = AnswerWatch(self._answered_by, strict_transport=self._is_strict())
        self.app = watch
        super().on_headers_complete()
        watch.cycle, watch.line = self.cycle, self._line
        self._watch = watch

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body."""
        self._framing_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Note the end of the request; one that asked for an upgrade has not ended yet."""
        if self.parser.should_upgrade():
            return
        self._stage = Stage.REQUEST
        self._since_s = self._clock()
        self._replays = False
        if not self.cycle.response_complete:
            super().on_message_complete()

    def on_response_complete(self) -> None:
        """Note when the client may speak again."""
        self._has_served = True
        self._since_s = self._clock()
        super().on_response_complete()

    def timeout_keep_alive_handler(self) -> None:
        """Leave idle connections to ``look_after``."""

    def _piece_bytes(self) -> int:
        """Tell how much to parse at once: of a head, no more than it may still have."""
        if self._stage is Stage.BODY:
            return _PIECE_BYTES
        return self._limits.head_bytes - (self._fed_bytes if self._stage is Stage.HEAD else 0)

    def _feed(self, piece: bytes) -> None:
        before, self._begun = self._stage, 0
        self._framing_bytes += len(piece)
        try:
            self.parser.feed_data(piece)
        except httptools.HttpParserUpgrade as upgrade:
            self._go_on_without_upgrade(piece[upgrade.args[0] :])
            return
        except httptools.HttpParserError:
            self._refuse(self._refusal or refusals.MALFORMED)
            return
        self._note_size(len(piece), is_fresh=before is Stage.REQUEST)
        if self._stage is Stage.HEAD and self._fed_bytes >= self._limits.head_bytes:
            self._refuse(refusals.HEAD_TOO_LARGE)
        elif self._stage is Stage.BODY and self._framing_bytes > self._limits.head_bytes:
            self._refuse(refusals.MALFORMED)  # an endless chunk size line or trailer

    def _note_size(self, size: int, *, is_fresh: bool) -> None:
        if not self._begun:
            self._fed_bytes += size
        else:  # a head that began behind another request is counted from the next piece on
            self._fed_bytes = size if is_fresh and self._begun == 1 else 0

    def _go_on_without_upgrade(self, rest: bytes) -> None:
        """Read on as if no upgrade had been asked for; the parser would skip the body."""
        framing = [
            name + b": " + value
            for name, value in self.headers
            if name in (b"content-length", b"transfer-encoding")
        ]
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self._replays = True
        self.parser.feed_data(b"\r\n".join([b"POST / HTTP/1.1", *framing, b"", b""]))
        if rest:
            self._feed(rest)

    def _count(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > self._limits.head_bytes:
            self._stop(refusals.HEAD_TOO_LARGE)

    def _stop(self, refusal: Refusal) -> None:
        self._refusal = refusal
        raise _Refused

    def _refuse(self, refusal: Refusal) -> None:
        """Answer with the refusal where it can still be told, and end the connection."""
        self._is_deaf = True
        _LOG.debug("refused", extra={"status": refusal.status, "why": refusal.detail})
        if self.is_busy and self._stage is not Stage.BODY:
            self.cycle.keep_alive = False  # the answers to what came before are still due
            self.flow.pause_reading()
        elif self.is_busy and self.pipeline:
            self.pipeline[0] = (self.cycle, answer_with(refusal))
            self.cycle.keep_alive = False
        else:
            self._cut_off(refusal)

    def _cut_off(self, refusal: Refusal) -> None:
        told = self.is_busy and self.cycle.response_started
        if self.is_busy:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if not told:
            self.transport.write(refusals.render(refusal, self._own_headers()))
        self.transport.close()

    def _own_headers(self) -> list[tuple[str, str]]:
        strict = [STRICT_TRANSPORT] if self._is_strict() else []
        date = [
            (name.decode(), value.decode()) for name, value in self.server_state.default_headers
        ]
        return strict + date

    def _watch_stage(self) -> None:
        waited_s = self._clock() - self._since_s
        limits = self._limits
        if self._stage is Stage.BODY:
            if self.flow.read_paused:
                self._since_s = self._clock()  # it is us who do not read
            elif waited_s > limits.body_s:
                self._refuse(refusals.BODY_TOO_SLOW)
        elif self.is_busy:
            return
        elif self._stage is Stage.HEAD and waited_s > limits.head_s:
            self._refuse(refusals.HEAD_TOO_SLOW)
        elif waited_s > (limits.idle_s if self._has_served else limits.head_s):
            self.transport.close()

    def _longest_stall_s(self) -> float:
        is_stream = self._watch is not None and self._watch.is_stream
        return self._limits.stalled_stream_s if is_stream else self._limits.stalled_write_s

    def _is_sending(self) -> bool:
        """Tell whether the client may still be in the middle of saying something."""
        return not self._has_ended and (self._stage is not Stage.REQUEST or self._is_deaf)

    def _is_strict(self) -> bool:
        return self._strict_transport and self.scheme == "https"

    def _discard(self, size: int) -> None:
        line = self._line
        if line is None or line.lingers_since_s is None:
            return
        line.discarded_bytes += size
        if line.discarded_bytes > self._limits.discarded_bytes:
            line.abort()
