"""The program on a terminal of its own, with somebody who types."""

import os
import pty
import select
import sys
from pathlib import Path


def on_a_terminal(home: Path, *words: str) -> tuple[int, int]:
    """Start the program with a terminal of its own; give its process and our end of it."""
    environ = {"HOME": str(home), "PATH": os.environ["PATH"], "TERM": "xterm"}
    child, screen = pty.fork()
    if child == 0:
        os.execve(sys.executable, [sys.executable, "-m", "lyrsvc", *words], environ)
    return child, screen


def read_until(screen: int, end: bytes | None) -> bytes:
    """Read what the terminal shows until it shows ``end``, or to its own end."""
    seen = b""
    while end is None or end not in seen:
        ready, _, _ = select.select([screen], [], [], 20)
        assert ready, seen
        try:
            part = os.read(screen, 4096)
        except OSError:  # the other end is closed
            part = b""
        if not part:
            assert end is None, seen
            break
        seen += part
    return seen
