"""Running a program with a limit to its time and its output; nothing of it is left behind."""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Final

from lyrsvc.core.detection import ListeningStopped

LOOK_AGAIN_S: Final = 0.25
"""How often a running program is looked after."""
CHUNK_BYTES: Final = 64 * 1024
SAID_BYTES: Final = 2048
"""How much of a program's complaints is kept: the end."""
NICENESS: Final = 19
"""The lowest priority; the one for input and output follows it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ran:
    """What came of a program; ``cut`` says why it was ended: its time or its output."""

    output: bytes
    said: str
    code: int
    cut: str = ""


def run_bounded(
    command: Sequence[str],
    *,
    limit_s: float,
    most_bytes: int,
    is_stopping: Callable[[], bool] = lambda: False,
) -> Ran:
    """Run a program to its end or to its limit, then end whatever it has started.

    Raises ``OSError`` when it cannot be started, ``ListeningStopped`` when we stop.
    """
    process = subprocess.Popen(  # noqa: S603 - a program the operator names, no shell
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        _make_way(process.pid)
        return _followed(process, time.monotonic() + limit_s, most_bytes, is_stopping)
    finally:
        _end(process)


def _followed(
    process: subprocess.Popen[bytes],
    deadline: float,
    most_bytes: int,
    is_stopping: Callable[[], bool],
) -> Ran:
    output, said, cut = bytearray(), bytearray(), ""
    with selectors.DefaultSelector() as ready:
        for pipe, kept in ((process.stdout, output), (process.stderr, said)):
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)
                ready.register(pipe, selectors.EVENT_READ, kept)
        while ready.get_map() and not cut:
            if is_stopping():
                raise ListeningStopped("stopped while sampling")
            for key, _ in ready.select(LOOK_AGAIN_S):
                if not _take(key.fileobj, key.data):  # type: ignore[arg-type]
                    ready.unregister(key.fileobj)
            del said[:-SAID_BYTES]
            cut = _limit(len(output), most_bytes, deadline)
    code = _ended(process, deadline) if not cut else None
    text = said.decode("utf-8", "replace").strip()
    cut = cut or ("timeout" if code is None else "")
    return Ran(output=bytes(output[:most_bytes]), said=text, code=-1 if cut else code or 0, cut=cut)


def _take(pipe: IO[bytes], kept: bytearray) -> bool:
    """Move what is there; False at the end of the pipe."""
    try:
        data = os.read(pipe.fileno(), CHUNK_BYTES)
    except BlockingIOError:
        return True
    kept += data
    return bool(data)


def _limit(held: int, most_bytes: int, deadline: float) -> str:
    if held > most_bytes:
        return "output"
    return "timeout" if time.monotonic() >= deadline else ""


def _ended(process: subprocess.Popen[bytes], deadline: float) -> int | None:
    """Wait for a program that has closed its pipes; None when its time runs out."""
    try:
        return process.wait(timeout=max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return None


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the whole group, also what a wrapper has left running."""
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def _make_way(pid: int) -> None:
    """Let everything else on the machine go first, where that is possible."""
    with suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PGRP, pid, NICENESS)
