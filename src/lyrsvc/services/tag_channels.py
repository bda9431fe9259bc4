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
from lyrsvc.services.tag_messages import LENGTH_SIZE, length_of, packed, unpacked

Facts = TagFacts | Unreadable
Read = Callable[[str], Facts]

_BOOT: Final = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
    "from lyrsvc.services.tag_child import main; main()"
)
_END_S: Final = 1.0
_PIECE: Final = 1 << 16
_FITS: Final = 1 << 14
"""A message so short is taken by a pipe at once, though nobody reads it yet."""


class Stuck(Exception):
    """A reader did not answer in time."""


class Died(Exception):
    """A reader ended without an answer."""


class Channel(Protocol):
    """Somebody who reads files."""

    def send(self, paths: Sequence[str]) -> None:
        """Hand files over; raise ``Died`` when nobody is there to read them."""
        ...

    def receive(self, *, wait_s: float) -> list[Facts]:
        """Give what the files sent first came to, or raise ``Stuck`` or ``Died``."""
        ...

    def takes_more(self, paths: Sequence[str]) -> bool:
        """Tell whether these may be sent before the answer to others has been received."""
        ...

    def close(self) -> None:
        """Let go, without waiting for a reader that is stuck."""
        ...


def ask(channel: Channel, paths: Sequence[str], *, wait_s: float) -> list[Facts]:
    """Send files and wait for their answer."""
    channel.send(paths)
    return channel.receive(wait_s=wait_s)


class ThreadChannel:
    """Reads in this process; a stuck thread is left behind."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._asked: queue.SimpleQueue[Sequence[str] | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[list[Facts]] = queue.SimpleQueue()
        threading.Thread(target=self._serve, name="tag-reader", daemon=True).start()

    def send(self, paths: Sequence[str]) -> None:
        """Hand the files over."""
        self._asked.put(paths)

    def receive(self, *, wait_s: float) -> list[Facts]:
        """Wait for the thread."""
        try:
            return self._answers.get(timeout=wait_s)
        except queue.Empty:
            raise Stuck from None

    def takes_more(self, _paths: Sequence[str]) -> bool:
        """Keep one after the other: a thread that gets stuck keeps what it was sent."""
        return False

    def close(self) -> None:
        """Let the thread end when it has nothing left to do."""
        self._asked.put(None)

    def _serve(self) -> None:
        while (paths := self._asked.get()) is not None:
            self._answers.put([self._read(path) for path in paths])


class ProcessChannel:
    """Reads in a child process; raises ``OSError`` when none can be started."""

    def __init__(self, root: str, *, enrich: bool) -> None:
        self.is_waiting = False
        """Whether the child had to wait for the disk for each file of its last answer."""
        self._head = (root, enrich)
        self._rest = bytearray()
        if not sys.executable:
            raise OSError("the interpreter is not known")
        if not hasattr(select, "poll"):
            raise OSError("this system cannot wait for the answer of a process")
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

    def send(self, paths: Sequence[str]) -> None:
        """Write one message."""
        stdin = self._process.stdin
        if stdin is None or stdin.closed:
            raise Died
        try:
            stdin.write(packed((*self._head, list(paths))))
            stdin.flush()
        except OSError:
            raise Died from None

    def receive(self, *, wait_s: float) -> list[Facts]:
        """Wait for one message."""
        until = time.monotonic() + wait_s
        length = length_of(self._bytes(LENGTH_SIZE, until))
        found, waits = unpacked(self._bytes(length, until))
        self.is_waiting = waits >= max(len(found), 1)
        return [_facts(each) for each in found]

    def takes_more(self, paths: Sequence[str]) -> bool:
        """Tell whether the message is short: writing a long one would wait for the child."""
        return sum(map(len, paths)) * 4 < _FITS

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

    def _bytes(self, size: int, until: float) -> bytes:
        stdout = self._process.stdout
        if stdout is None or stdout.closed:
            raise Died
        rest, handle = self._rest, stdout.fileno()
        ready = select.poll()  # unlike select, it takes any number a descriptor may have
        ready.register(handle, select.POLLIN)
        while len(rest) < size:
            if not ready.poll(max(0.0, until - time.monotonic()) * 1000):
                raise Stuck
            piece = os.read(handle, _PIECE)
            if not piece:
                raise Died
            rest += piece
        found = bytes(rest[:size])
        del rest[:size]
        return found


def _facts(values: tuple[Any, ...]) -> Facts:
    return Unreadable(*values) if len(values) == len(Unreadable._fields) else TagFacts(*values)
