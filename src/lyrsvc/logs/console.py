"""The handlers of the terminal: stderr, and the memory before there is a set-up."""

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import TextIO

Through = Callable[[], AbstractContextManager[None]]
"""Gives a context in which a line may be written although a progress line is on screen."""


class Console(logging.Handler):
    """Writes lines to stderr, through the progress line if there is one."""

    def __init__(self, stream: TextIO | None) -> None:
        super().__init__()
        self._stream = stream
        self._through: Through = nullcontext

    def draw_through(self, through: Through | None) -> None:
        """Write every line inside this context from now on; None ends it."""
        self._through = through or nullcontext

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line; a missing, closed or broken stream is nobody's fault."""
        stream = self._stream
        if stream is None:
            return
        line = encodable(self.format(record), stream)
        with suppress(OSError, ValueError), self._through():
            stream.write(f"{line}\n")
            stream.flush()


def encodable(line: str, stream: TextIO) -> str:
    """Give the line with everything escaped that the stream's encoding does not know."""
    if line.isascii():
        return line
    encoding = encoding_of(stream)
    try:
        line.encode(encoding)
    except UnicodeEncodeError:
        return line.encode(encoding, "backslashreplace").decode(encoding)
    return line


def encoding_of(stream: TextIO | None) -> str:
    """Name the encoding of a stream; one that has none takes everything."""
    return getattr(stream, "encoding", None) or "utf-8"
