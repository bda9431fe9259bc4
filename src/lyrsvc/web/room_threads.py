"""The threads of one room: as many as there is work for, and few when it is quiet."""

import asyncio
import contextvars
import itertools
import threading
import time
from collections import deque
from collections.abc import Callable
from math import inf
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeVar

T = TypeVar("T")

IDLE_S: Final = 10.0
"""How long a thread stays that nobody needs."""
HELD_UP_S: Final = 0.05
"""Whoever takes longer over a piece of work waits for something: a disk, or another process."""


class RoomThreads:
    """Has work done in threads; the one that was busy last is taken first.

    So steady work keeps to few threads, whose memory is warm, and those that a crowd
    needed end when it is gone. With ``usual`` given, there are more than that only for
    those that are held up: threads that compute only take the interpreter from each other.
    """

    def __init__(
        self,
        name: str,
        most: int,
        *,
        usual: int | None = None,
        begin: Callable[[], None] | None = None,
        idle_s: float = IDLE_S,
    ) -> None:
        self._name = name
        self._most = most
        self._usual = most if usual is None else usual
        self._begin = begin
        self._idle_s = idle_s
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._count = 0
        self._idle: list[_Seat] = []
        self._busy_since_s: dict[_Seat, float] = {}
        self._watching: asyncio.AbstractEventLoop | None = None
        self._waiting: deque[_Job] = deque()
        self._closed = False
        self._rests_since_s = -inf

    def __len__(self) -> int:
        return self._count

    @property
    def quiet_s(self) -> float:
        """Tell for how long nothing has been done here; 0 while something is."""
        if self._count > len(self._idle):
            return 0.0
        return time.monotonic() - self._rests_since_s

    async def run(self, work: Callable[..., T], *args: object) -> T:
        """Have work done in a thread, within the context of the caller."""
        job = _Job(work, args)
        self._give(job)
        return await job.done  # type: ignore[no-any-return]  # what the work gives

    def close(self) -> None:
        """End the idle threads, and those at work when they are through; drop what waits."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            waiting, self._waiting = self._waiting, deque()
        for seat in idle:
            seat.put(None)
        for job in waiting:
            job.drop()

    def _give(self, job: "_Job") -> None:
        with self._lock:
            if self._closed:
                raise RuntimeError("the service is stopping")
            if self._idle:
                seat = self._idle.pop()
                self._busy_since_s[seat] = time.monotonic()
                seat.put(job)
            elif not (self._has_room() and self._open_seat(job)):
                self._waiting.append(job)
                self._watch(job.loop)

    def _has_room(self) -> bool:
        """Tell whether one more thread may be started."""
        if self._count < self._usual:
            return True
        if self._count >= self._most:
            return False
        long_since = time.monotonic() - HELD_UP_S
        return sum(since > long_since for since in self._busy_since_s.values()) < self._usual

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Look again soon whether those at work are held up while others wait."""
        is_watched = self._watching is not None and not self._watching.is_closed()
        if self._waiting and self._count < self._most and not is_watched:
            self._watching = loop
            loop.call_later(HELD_UP_S, self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._lock:
            self._watching = None
            while self._waiting and self._has_room() and self._open_seat(self._waiting[0]):
                self._waiting.popleft()
            self._watch(loop)

    def _open_seat(self, job: "_Job") -> bool:
        """Start one more thread; where the system has none left, those that are there do."""
        seat: _Seat = SimpleQueue()
        seat.put(job)
        name = f"{self._name}_{next(self._numbers)}"
        thread = threading.Thread(target=self._serve, args=(seat,), name=name, daemon=True)
        try:
            thread.start()
        except RuntimeError:
            if not self._count:
                raise
            return False
        self._count += 1
        self._busy_since_s[seat] = time.monotonic()
        return True

    def _serve(self, seat: "_Seat") -> None:
        if self._begin is not None:
            self._begin()
        job = seat.get()
        while job is not None:
            job.do()
            del job  # nothing of it stays while this thread rests
            job = self._next(seat)

    def _next(self, seat: "_Seat") -> "_Job | None":
        """Wait for the next piece of work; nothing when this thread is to end."""
        with self._lock:
            if self._waiting:
                self._busy_since_s[seat] = time.monotonic()
                return self._waiting.popleft()
            del self._busy_since_s[seat]
            if self._closed:
                return None
            self._idle.append(seat)
            self._rests_since_s = time.monotonic()
        try:
            job = seat.get(timeout=self._idle_s)
        except Empty:
            if self._leave(seat):
                return None
            job = seat.get()  # given at the last moment
        return job

    def _leave(self, seat: "_Seat") -> bool:
        """Give an idle thread's place up, unless it has been given work just now."""
        with self._lock:
            if seat not in self._idle:
                return False
            self._idle.remove(seat)
            self._count -= 1
        return True


class _Job:
    """One piece of work and who waits for it."""

    __slots__ = ("_args", "_context", "_work", "done", "loop")

    def __init__(self, work: Callable[..., Any], args: tuple[object, ...]) -> None:
        self._work, self._args = work, args
        self._context = contextvars.copy_context()
        self.loop = asyncio.get_running_loop()
        self.done: asyncio.Future[Any] = self.loop.create_future()

    def do(self) -> None:
        """Do the work, unless nobody waits for it any more, and tell its end to the loop."""
        if self.done.cancelled():
            return
        self._tell(*_outcome(self._context, self._work, self._args))

    def drop(self) -> None:
        """Say that the work is not going to be done."""
        self._tell(None, RuntimeError("the service is stopping"))

    def _tell(self, result: object, error: BaseException | None) -> None:
        tell_loop(self.loop, self._settle, result, error)

    def _settle(self, result: object, error: BaseException | None) -> None:
        done = self.done
        del self.done  # an error refers to the calls it came through, and so to this job
        if done.done():
            return
        if error is None:
            done.set_result(result)
        else:
            done.set_exception(error)


def _outcome(
    context: contextvars.Context, work: Callable[..., T], args: tuple[object, ...]
) -> tuple[T | None, BaseException | None]:
    """Do work; give what it gives or raises, without keeping either."""
    try:
        return context.run(work, *args), None
    except StopIteration as raised:  # a future does not take it
        return None, RuntimeError(repr(raised))
    except BaseException as raised:  # noqa: BLE001 - whoever waits is to have it
        return None, raised


def tell_loop(
    loop: asyncio.AbstractEventLoop, listener: Callable[..., object], *args: object
) -> None:
    """Have a loop call somebody, from any thread; one that is closed has nobody to tell."""
    try:
        loop.call_soon_threadsafe(listener, *args)
    except RuntimeError:
        if not loop.is_closed():
            raise


_Seat = SimpleQueue[_Job | None]
"""Where a thread waits for its next piece of work."""
