"""The line to one client: how much of what was said has left, and how it is hung up."""

import asyncio
from collections.abc import Callable
from typing import Any


class ClientLine(asyncio.Transport):
    """Passes everything on to the real transport, and ends it politely.

    A client that is still sending when it is answered must be able to read the
    answer: closing at once would reset the connection. So ``close`` first ends our
    own direction, and what still comes in is thrown away for a while.
    """

    def __init__(
        self,
        inner: asyncio.Transport,
        *,
        is_sending: Callable[[], bool],
        clock: Callable[[], float],
    ) -> None:
        super().__init__()
        self._inner = inner
        self._is_sending = is_sending
        self._clock = clock
        self._held: list[bytes | bytearray | memoryview] | None = None
        self._written = 0
        self._left = 0
        self._progress_s = clock()
        self.discarded_bytes = 0
        self.lingers_since_s: float | None = None
        """Since when the client is only listened to; None while it is served."""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send, unless the line is ending."""
        if self.is_closing():
            return
        self._written += len(data)
        if self._held is not None:
            self._held.append(data)
        else:
            self._inner.write(data)

    def hold(self) -> None:
        """Keep what is written until ``release``, so that it leaves in one piece."""
        self._held = []

    def release(self) -> None:
        """Send what was kept, and whatever comes from now on at once."""
        held, self._held = self._held, None
        if held and not self.is_closing():
            self._inner.write(b"".join(held))

    def close(self) -> None:
        """End the line; a client that still sends is heard out first."""
        self.release()
        if self.is_closing():
            return
        if not self._is_sending():
            self._inner.close()
            return
        self.lingers_since_s = self._clock()
        if self._inner.can_write_eof():
            self._inner.write_eof()
        self._inner.resume_reading()

    def hang_up(self) -> None:
        """End the line without hearing the client out; what was written is still sent."""
        self.release()
        self._inner.close()

    def abort(self) -> None:
        """Drop the line and whatever was not sent."""
        self._inner.abort()

    def forget_client(self) -> None:
        """Let go of whoever told whether the client is sending; there is none any more."""
        self._is_sending = _is_nobody_sending

    def stalled_s(self) -> float:
        """Tell for how long nothing has left although something waits to leave."""
        waiting = self._inner.get_write_buffer_size()
        left = self._written - waiting
        if not waiting or left != self._left:
            self._left = left
            self._progress_s = self._clock()
        return self._clock() - self._progress_s

    def is_closing(self) -> bool:
        """Tell whether the line is ending."""
        return self.lingers_since_s is not None or self._inner.is_closing()

    def pause_reading(self) -> None:
        """Let the client wait."""
        if not self.is_closing():
            self._inner.pause_reading()

    def resume_reading(self) -> None:
        """Listen again."""
        if not self.is_closing():
            self._inner.resume_reading()

    def is_reading(self) -> bool:
        """Tell whether the client is listened to."""
        return self._inner.is_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:  # noqa: ANN401 - as inherited
        """Tell facts of the real transport."""
        return self._inner.get_extra_info(name, default)

    def get_write_buffer_size(self) -> int:
        """Tell how many bytes have not left yet."""
        return self._inner.get_write_buffer_size()

    def get_protocol(self) -> asyncio.BaseProtocol:
        """Give who is told of what comes in."""
        return self._inner.get_protocol()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Set who is told of what comes in."""
        self._inner.set_protocol(protocol)


def _is_nobody_sending() -> bool:
    return False
