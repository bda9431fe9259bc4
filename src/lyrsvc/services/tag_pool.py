"""Has the tags of many files read at once, and outlives every reader.

The first files are read in this process, so that a small scan pays for nothing; when
more come, processes take over. A file whose reading takes too long costs its reader,
not the scan.
"""

import logging
import os
import queue
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from types import TracebackType
from typing import Final, Generic, Self, TypeVar

from lyrsvc.core.scan_facts import Unreadable
from lyrsvc.services.tag_channels import (
    Channel,
    Died,
    Facts,
    ProcessChannel,
    Read,
    Stuck,
    ThreadChannel,
    ask,
)
from lyrsvc.services.tag_reading import read_facts

TIMEOUT_S: Final = 30.0
MOST_STUCK: Final = 4
"""So many stuck readers mean that the disk, not a file, is the trouble."""
SMALL: Final = 192
WORTH_S: Final = 0.15
"""So many files, and so much time, are spent before processes are worth their start."""
CHUNK: Final = 32
_AHEAD: Final = 4
"""Chunks that wait for each reader."""
_PATIENCE_S: Final = 2.0

_LOG: Final = logging.getLogger("lyrsvc.scan")

T = TypeVar("T")
_Chunk = list[tuple[T, str]]


class TagPool(Generic[T]):
    """Takes jobs, gives them back with what was read, in any order."""

    def __init__(
        self,
        root: str,
        *,
        enrich: bool,
        workers: int,
        timeout_s: float = TIMEOUT_S,
        worth_s: float = WORTH_S,
        read: Read | None = None,
    ) -> None:
        self._root, self._enrich = root, enrich
        self._most = max(workers, 1)
        self._useful = min(self._most, max(_cores(), 2))
        """So many processes, until they are seen to wait for the disk: then all that may be."""
        self._timeout_s = timeout_s
        self._worth_from = time.monotonic() + worth_s
        self._read = read or (lambda path: read_facts(path, root, enrich=enrich))
        self._alone = read is not None
        self._waiting: _Chunk[T] = []
        self._asked: queue.SimpleQueue[_Chunk[T] | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[list[tuple[T, Facts]]] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._begun = 0
        self._open = 0
        self._lock = threading.Lock()
        self._stuck = 0
        self._is_relieved = threading.Event()

    @property
    def is_broken(self) -> bool:
        """Tell whether so many readers got stuck that going on is of no use."""
        return self._stuck >= MOST_STUCK

    @property
    def _is_large(self) -> bool:
        return self._begun > SMALL and time.monotonic() >= self._worth_from

    @property
    def is_full(self) -> bool:
        """Tell whether answers should be taken before more is asked."""
        return self._open >= _AHEAD * max(len(self._threads), 1)

    def ask(self, job: T, path: str) -> None:
        """Have one more file read."""
        self._waiting.append((job, path))
        if len(self._waiting) >= CHUNK:
            self.flush()

    def flush(self) -> None:
        """Hand over what has been collected."""
        if not self._waiting:
            return
        chunk, self._waiting = self._waiting, []
        self._begun += len(chunk)
        self._open += 1
        self._asked.put(chunk)
        if not self._threads or (self._is_large and len(self._threads) <= self._useful):
            self._start()

    def answers(self, *, wait_s: float | None = None) -> Iterator[tuple[T, Facts]]:
        """Give what has been read; with ``wait_s`` wait so long for something to come."""
        while self._open:
            try:
                done = self._answers.get(block=wait_s is not None, timeout=wait_s)
            except queue.Empty:
                return
            self._open -= 1
            wait_s = None
            yield from done

    @property
    def is_idle(self) -> bool:
        """Tell whether nothing is left to be read."""
        return not self._open and not self._waiting

    def close(self) -> None:
        """Send the readers home; what was not read yet stays unread.

        Readers that are at work are waited for, but not for long.
        """
        while True:
            try:
                self._asked.get_nowait()
            except queue.Empty:
                break
        for _ in self._threads:
            self._asked.put(None)
        until = time.monotonic() + _PATIENCE_S
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
        self._threads = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _start(self) -> None:
        opener = not self._threads
        thread = threading.Thread(
            target=self._serve_alone if opener else self._serve_process,
            name="tag-pool",
            daemon=True,
        )
        self._threads.append(thread)
        thread.start()

    def _serve_alone(self) -> None:
        """Read in this process until another one is ready to."""
        channel = self._open_thread()
        try:
            while (chunk := self._asked.get()) is not None:
                if self._is_relieved.is_set():
                    self._asked.put(chunk)
                    return
                self._send(channel, chunk)
                channel, answers, _ = self._receive(channel, chunk)
                self._answers.put(answers)
        finally:
            channel.close()

    def _serve_process(self) -> None:
        """Keep another process busy: the next chunk is on its way before an answer is here."""
        channel = self._open_process()
        sent: _Chunk[T] | None = None
        try:
            while True:
                chunk = sent or self._asked.get()
                if chunk is None:
                    return
                if sent is None:
                    self._send(channel, chunk)
                sent = self._send_ahead(channel)
                channel, answers, is_new = self._receive(channel, chunk)
                self._answers.put(answers)
                self._is_relieved.set()
                if isinstance(channel, ProcessChannel) and channel.is_waiting:
                    self._useful = self._most
                if sent is not None and is_new:
                    self._send(channel, sent)
        finally:
            channel.close()

    def _send(self, channel: Channel, chunk: "_Chunk[T]") -> None:
        """Hand a chunk over; that nobody is there shows when its answer does not come."""
        with suppress(Died):
            channel.send([path for _, path in chunk])

    def _send_ahead(self, channel: Channel) -> "_Chunk[T] | None":
        """Send what waits, if something does and the channel takes it."""
        try:
            chunk = self._asked.get_nowait()
        except queue.Empty:
            return None
        if chunk is None or not channel.takes_more([path for _, path in chunk]):
            self._asked.put(chunk)
            return None
        self._send(channel, chunk)
        return chunk

    def _receive(
        self, channel: Channel, chunk: "_Chunk[T]"
    ) -> tuple[Channel, list[tuple[T, Facts]], bool]:
        """Take an answer; when none comes, read one by one, over a new channel, what it was for."""
        try:
            facts = channel.receive(wait_s=self._timeout_s)
        except (Stuck, Died):
            channel = self._replace(channel)
        else:
            return (
                channel,
                [(job, each) for (job, _), each in zip(chunk, facts, strict=True)],
                False,
            )
        answers: list[tuple[T, Facts]] = []
        for job, path in chunk:
            channel, found = self._read_alone(channel, path)
            answers.append((job, found))
        return channel, answers, True

    def _read_alone(self, channel: Channel, path: str) -> tuple[Channel, Facts]:
        if self.is_broken:
            return channel, Unreadable("tag_timeout", "not read: too many readers are stuck")
        try:
            return channel, ask(channel, [path], wait_s=self._timeout_s)[0]
        except Stuck:
            with self._lock:
                self._stuck += 1
            _LOG.warning("reading tags takes too long", extra={"path": path})
            fault = Unreadable("tag_timeout", f"not read within {self._timeout_s:g} seconds")
        except Died:
            fault = Unreadable("bad_container", "the reader crashed on this file; replace it")
        return self._replace(channel), fault

    def _replace(self, channel: Channel) -> Channel:
        if isinstance(channel, ProcessChannel):
            channel.kill()
            return self._open_process()
        channel.close()
        return self._open_thread()

    def _open_thread(self) -> Channel:
        return ThreadChannel(self._read)

    def _open_process(self) -> Channel:
        if self._alone:
            return self._open_thread()
        try:
            return ProcessChannel(self._root, enrich=self._enrich)
        except OSError as error:
            _LOG.warning("tags are read in this process", extra={"reason": str(error)})
            return self._open_thread()


def _cores() -> int:
    """Give how many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        return os.cpu_count() or 1
