"""Two ways to have tags read: a thread of this process, or a process of its own.

Both answer a list of files within a time, or raise ``Stuck``; a channel that got
stuck is closed and never used again.
"""

import json
import os
import queue
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, Protocol

from lyrsvc.core.scan_facts import TagFacts, Unreadable

Facts = TagFacts | Unreadable
Read = Callable[[str], Facts]

_BOOT: Final = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
    "from lyrsvc.services.tag_child import main; main()"
)
_END_S: Final = 1.0
_PIECE: Final = 1 << 16


class Stuck(Exception):
    """A reader did not answer in time."""


class Died(Exception):
    """A reader ended without an answer."""


class Channel(Protocol):
    """Somebody who reads files."""

    def ask(self, paths: Sequence[str], *, wait_s: float) -> list[Facts]:
        """Read these files, or raise ``Stuck`` or ``Died``."""
        ...

    def close(self) -> None:
        """Let go, without waiting for a reader that is stuck."""
        ...


class ThreadChannel:
    """Reads in this process; a stuck thread is left behind."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._asked: queue.SimpleQueue[Sequence[str] | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[list[Facts]] = queue.SimpleQueue()
        threading.Thread(target=self._serve, name="tag-reader", daemon=True).start()

    def ask(self, paths: Sequence[str], *, wait_s: float) -> list[Facts]:
        """Hand the files over and wait."""
        self._asked.put(paths)
        try:
            return self._answers.get(timeout=wait_s)
        except queue.Empty:
            raise Stuck from None

    def close(self) -> None:
        """Let the thread end when it has nothing left to do."""
        self._asked.put(None)

    def _serve(self) -> None:
        while (paths := self._asked.get()) is not None:
            self._answers.put([self._read(path) for path in paths])


class ProcessChannel:
    """Reads in a child process; raises ``OSError`` when none can be started."""

    def __init__(self, root: str, *, enrich: bool) -> None:
        self._head = (root, enrich)
        self._rest = b""
        if not sys.executable:
            raise OSError("the interpreter is not known")
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [
                *(sys.executable, "-I", "-S", "-X", f"utf8={sys.flags.utf8_mode}"),
                *("-c", _BOOT, json.dumps([path for path in sys.path if path])),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # an interrupt at the keyboard is ours to answer
        )

    def ask(self, paths: Sequence[str], *, wait_s: float) -> list[Facts]:
        """Send one line, wait for one line."""
        stdin = self._process.stdin
        if stdin is None:
            raise Died
        until = time.monotonic() + wait_s
        try:
            stdin.write(json.dumps([*self._head, list(paths)]).encode() + b"\n")
            stdin.flush()
        except OSError:
            raise Died from None
        return [_facts(each) for each in json.loads(self._line(until))]

    def close(self) -> None:
        """End the process; one that does not listen is killed, and not waited for."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        try:
            self._process.wait(_END_S if self._process.poll() is None else 0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_END_S)

    def kill(self) -> None:
        """End a process that is stuck."""
        self._process.kill()
        self.close()

    def _line(self, until: float) -> bytes:
        stdout = self._process.stdout
        if stdout is None:
            raise Died
        handle = stdout.fileno()
        pieces = [self._rest]
        while b"\n" not in pieces[-1]:
            ready, _, _ = select.select([handle], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                raise Stuck
            piece = os.read(handle, _PIECE)
            if not piece:
                raise Died
            pieces.append(piece)
        line, _, self._rest = b"".join(pieces).partition(b"\n")
        return line


def _facts(values: list[Any]) -> Facts:
    if len(values) == 2:
        return Unreadable(*values)
    values[2], values[5] = tuple(values[2]), tuple(values[5])
    return TagFacts(*values)
