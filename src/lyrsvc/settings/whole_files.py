"""Reading what settings lie in: a file, or a pipe into which somebody writes."""

import errno
import os
import stat
from pathlib import Path
from typing import Final

WRITER_WAIT_S: Final = 5.0
"""How long a pipe may be without anybody who writes into it."""


def read_whole(path: Path, limit: int = -1) -> bytes:
    """Read a file; raise ``OSError`` also for a pipe that stays without a writer."""
    with open(path, "rb", opener=_open_at_once) as file:
        first = b""
        if os.name == "posix":
            if stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):
                first = _await_writer(file.fileno())
            os.set_blocking(file.fileno(), True)
        return first + file.read(limit)


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _await_writer(handle: int) -> bytes:
    """Wait until there is something in a pipe; one with a writer who takes his time is fine."""
    import select

    poll = select.poll()
    poll.register(handle, select.POLLIN)
    if poll.poll(round(WRITER_WAIT_S * 1000)):
        return b""
    try:
        first = os.read(handle, 1)
    except BlockingIOError:
        return b""
    if not first:
        raise TimeoutError(errno.ETIMEDOUT, "nobody writes into this pipe")
    return first
