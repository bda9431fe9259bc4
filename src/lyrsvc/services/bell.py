"""The bell that wakes whoever waits for work."""

import threading
from collections.abc import Callable
from typing import Final

from lyrsvc.core.ports import Clock

_TICK_S: Final = 1.0
"""The longest time until a stop is noticed that nobody rang for."""


class Bell:
    """Counts its rings, so that one that comes before the wait is not lost."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._rings = 0
        self._end = threading.Event()

    @property
    def rings(self) -> int:
        """Give how often it has rung."""
        return self._rings

    @property
    def ended(self) -> bool:
        """Tell whether it has rung for the last time."""
        return self._end.is_set()

    def ring(self) -> None:
        """Wake everybody who waits; any thread may."""
        with self._changed:
            self._rings += 1
            self._changed.notify_all()

    def end(self) -> None:
        """Wake everybody, and let nobody wait any more."""
        with self._changed:
            self._end.set()
            self._changed.notify_all()

    def wait(self, seen: int, seconds: float) -> None:
        """Wait until it rings once more than was ``seen``, or the time is over."""
        with self._changed:
            self._changed.wait_for(lambda: self.ended or self._rings != seen, max(0.0, seconds))

    def wait_for_end(self, seconds: float) -> None:
        """Wait until it has rung for the last time, or the time is over; no other ring wakes."""
        if seconds > 0:
            self._end.wait(seconds)


def work_on_rings(bell: Bell, clock: Clock, step: Callable[[], float]) -> None:
    """Take a step at every ring, and after the time each says, until the program stops."""
    while not clock.wait(0):
        seen = bell.rings
        until = clock.monotonic() + step()
        while bell.rings == seen and (left := until - clock.monotonic()) > 0:
            bell.wait(seen, min(left, _TICK_S))
            if clock.wait(0):
                return
