"""Looking at disks that may never answer: a few threads, and a time after which we go on."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Mapping
from queue import Empty, SimpleQueue
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

THREADS: Final = 4
MOST_THREADS: Final = 64
"""Of all requests together; only a disk that hangs brings about as many."""
PATIENCE_S: Final = 0.002
"""One thread is enough for a disk that answers at once; after this another one joins it."""
IDLE_S: Final = 5.0
"""A thread without work ends after this."""


class Probes:
    """Answers questions to the file system side by side; what takes too long stays unknown."""

    def __init__(
        self, *, threads: int = THREADS, most: int = MOST_THREADS, purpose: str = "webhook"
    ) -> None:
        self._threads = threads
        self._crew = _Crew(most, f"{purpose} files")
        self._log = logging.getLogger(f"lyrsvc.{purpose}")

    def ask(self, questions: Mapping[K, Callable[[], T]], *, until: float) -> dict[K, T]:
        """Give the answers there are at a moment of ``time.monotonic``, by question."""
        if not questions:
            return {}
        round_ = _Round(questions)
        helpers = min(self._threads, len(questions))
        if round_.begin(self._crew, wait_s=_left(until)):
            while helpers > 1 and not round_.await_end(min(PATIENCE_S, _left(until))):
                helpers -= 1
                if not round_.begin(self._crew):
                    break
        answers = round_.close(_left(until))
        if len(answers) < len(questions):
            missing = len(questions) - len(answers)
            self._log.warning("files did not answer in time", extra={"files": missing})
        return answers


def _left(until: float) -> float:
    return max(0.0, until - time.monotonic())


class _Round(Generic[K, T]):
    """The questions of one call; any number of threads work on them."""

    def __init__(self, questions: Mapping[K, Callable[[], T]]) -> None:
        self._left = deque(questions.items())
        self._changed = threading.Condition()
        self._answers: dict[K, T] = {}
        self._running = 0

    def begin(self, crew: "_Crew", *, wait_s: float = 0.0) -> bool:
        """Have one more thread work on it, when one is free within this time."""
        with self._changed:
            self._running += 1
        if crew.lend(self._work, wait_s=wait_s):
            return True
        with self._changed:
            self._running -= 1
        return False

    def await_end(self, wait_s: float) -> bool:
        """Wait for the threads to come to an end; tell whether they have."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._running, wait_s)

    def close(self, wait_s: float) -> dict[K, T]:
        """Wait once more, then take what there is; nothing further is begun."""
        with self._changed:
            self._changed.wait_for(lambda: not self._running, wait_s)
            self._left.clear()
            return dict(self._answers)

    def _work(self) -> None:
        try:
            while (question := self._next()) is not None:
                answer = question[1]()
                with self._changed:
                    self._answers[question[0]] = answer
        finally:
            with self._changed:
                self._running -= 1
                if not self._running:
                    self._changed.notify_all()

    def _next(self) -> tuple[K, Callable[[], T]] | None:
        with self._changed:
            return self._left.popleft() if self._left else None


class _Crew:
    """Threads that are used again; one that hangs is only missed, until it comes back.

    The one that was busy last is taken first: its memory is warm, and those that only a
    crowd needed come to their end although there is always something to do.
    """

    def __init__(self, most: int, name: str = "webhook files") -> None:
        self._name = name
        self._changed = threading.Condition()
        self._places = most
        self._idle: list[_Seat] = []

    def lend(self, work: Callable[[], None], *, wait_s: float) -> bool:
        """Have a thread do the work; False when none was free within this time."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._idle or self._places > 0, wait_s):
                return False
            if self._idle:
                self._idle.pop().put(work)
                return True
            self._places -= 1
        # No thread of ours may keep the program from ending, even one that hangs.
        thread = threading.Thread(target=self._serve, args=(work,), name=self._name, daemon=True)
        try:
            thread.start()
        except RuntimeError:
            self._leave()
            raise
        return True

    def _serve(self, first: Callable[[], None]) -> None:
        work: Callable[[], None] | None = first
        seat: _Seat = SimpleQueue()
        try:
            while work is not None:
                work()
                work = self._next(seat)
        finally:
            self._leave()

    def _next(self, seat: "_Seat") -> Callable[[], None] | None:
        """Wait for work; None when there was none for a while, and the thread is to end."""
        with self._changed:
            self._idle.append(seat)
            self._changed.notify()
        try:
            return seat.get(timeout=IDLE_S)
        except Empty:
            with self._changed:
                if seat in self._idle:
                    self._idle.remove(seat)
                    return None
            return seat.get()  # given at the last moment

    def _leave(self) -> None:
        with self._changed:
            self._places += 1
            self._changed.notify()


_Seat = SimpleQueue[Callable[[], None]]
"""Where a thread waits for its next piece of work."""
