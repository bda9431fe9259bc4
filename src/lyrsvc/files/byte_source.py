"""Bytes of an open file, read by position and within a budget.

A file is material from strangers: a header may claim any size. Readers ask for
what they need and skip the rest, so a picture is stepped over, never loaded.
What a hostile header could still demand is stopped by the budget.
"""

import io
import os
from collections.abc import Callable
from typing import Final, Protocol

WINDOW: Final = 8 * 1024
"""Bytes fetched at least per read of the disk: most headers fit in one."""
BUDGET: Final = 32 * 1024 * 1024
CALLS: Final = 200_000


def _seek_and_read(handle: int, length: int, at: int) -> bytes:
    os.lseek(handle, at, os.SEEK_SET)
    return os.read(handle, length)


read_at: Final[Callable[[int, int, int], bytes]] = getattr(os, "pread", _seek_and_read)
"""Reads so many bytes of an open file at a position; not every system can at once."""


class Truncated(ValueError):
    """The file ends before the structure it promises."""


class Unreasonable(ValueError):
    """The file asks for more work than any honest one; no second opinion is wanted."""


class View(Protocol):
    """Anything whose bytes are read by position."""

    def read(self, at: int, length: int) -> bytes:
        """Give exactly these bytes, or raise ``Truncated``."""
        ...

    def peek(self, at: int, length: int) -> bytes:
        """Give these bytes, fewer where there are no more."""
        ...

    def ahead(self, at: int, least: int) -> bytes:
        """Give what is at hand from here on: so many bytes or more, fewer at the end."""
        ...


class ByteSource:
    """An open regular file; remembers its beginning, and one other window of it."""

    __slots__ = ("_beginning", "_fd", "_left", "_start", "_window", "failure", "size")

    def __init__(self, fd: int, size: int, *, budget: int = BUDGET) -> None:
        self.size = size
        self.failure: OSError | None = None
        self._fd = fd
        self._left = budget
        self._start = 0
        self._window = self._beginning = b""

    def read(self, at: int, length: int) -> bytes:
        """Give exactly these bytes, or raise ``Truncated``."""
        begin = at - self._start
        if begin >= 0 <= length and begin + length <= len(self._window):
            return self._window[begin : begin + length]
        if at >= 0 <= length and at + length <= len(self._beginning):
            return self._beginning[at : at + length]
        if at < 0 or length < 0 or at + length > self.size:
            raise Truncated
        found = self._fetch(at, length)
        if len(found) < length:
            raise Truncated
        return found[:length]

    def peek(self, at: int, length: int) -> bytes:
        """Give these bytes, fewer where the file ends."""
        at = max(at, 0)
        return self.read(at, max(0, min(length, self.size - at))) if at < self.size else b""

    def ahead(self, at: int, least: int) -> bytes:
        """Give what one read of the disk brings from here on: so many bytes, or up to the end."""
        least = min(least, self.size - at)
        if at < 0 or least <= 0:
            return b""
        begin = at - self._start
        if begin >= 0 and len(self._window) - begin >= least:
            return self._window[begin:]
        if len(self._beginning) - at >= least:
            return self._beginning[at:]
        return self._fetch(at, least)

    def again(self, budget: int) -> "ByteSource":
        """Give the same file with a budget of its own."""
        return ByteSource(self._fd, self.size, budget=budget)

    def _fetch(self, at: int, length: int) -> bytes:
        wanted = max(length, WINDOW)
        self._left -= wanted
        if self._left < 0:
            raise Unreasonable("reading this file would take too much memory")
        try:
            found = read_at(self._fd, wanted, at)
        except OSError as failure:
            self.failure = failure
            raise
        if length <= WINDOW:
            self._start, self._window = at, found
            if at == 0:
                self._beginning = found
        return found


class MemoryView:
    """Bytes already in memory, read like a file."""

    __slots__ = ("_data", "size")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.size = len(data)

    def read(self, at: int, length: int) -> bytes:
        """Give exactly these bytes, or raise ``Truncated``."""
        found = self._data[at : at + length]
        if at < 0 or length < 0 or len(found) < length:
            raise Truncated
        return found

    def peek(self, at: int, length: int) -> bytes:
        """Give these bytes, fewer where there are no more."""
        return self._data[at : at + length]

    def ahead(self, at: int, least: int) -> bytes:
        """Give these bytes and a window full behind them, fewer where there are no more."""
        return self._data[at : at + max(least, WINDOW)]


class BoundedFile(io.RawIOBase):
    """A source in the shape of a file object, for the tag library."""

    def __init__(self, source: ByteSource, name: str) -> None:
        super().__init__()
        self.name = name
        self._source = source
        self._at = 0
        self._calls = CALLS

    def readable(self) -> bool:
        """Tell that this can be read."""
        return True

    def seekable(self) -> bool:
        """Tell that this can be positioned."""
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        """Give up to so many bytes from the present position."""
        self._count()
        left = max(0, self._source.size - self._at)
        wanted = left if size is None or size < 0 else min(size, left)
        found = self._source.peek(self._at, wanted)
        self._at += len(found)
        return found

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Move the position; before the beginning is an error as in any file."""
        self._count()
        origin = {os.SEEK_CUR: self._at, os.SEEK_END: self._source.size}.get(whence, 0)
        if origin + offset < 0:
            raise OSError("position before the beginning")
        self._at = origin + offset
        return self._at

    def tell(self) -> int:
        """Give the position."""
        return self._at

    def _count(self) -> None:
        self._calls -= 1
        if self._calls < 0:
            raise Unreasonable("reading this file would take too long")
