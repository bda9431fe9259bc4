"""What hashing passwords may cost, whoever asks: two at once, few in line, few a second."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, TypeVar

from lyrsvc.core.ports import Clock

T = TypeVar("T")

RETRY_AFTER_S: Final = 2


@dataclass(frozen=True, slots=True)
class Busy:
    """There is no room for another hash now."""

    retry_after_s: int = RETRY_AFTER_S


@dataclass(frozen=True, kw_only=True, slots=True)
class HashLimits:
    """How much is allowed; with the usual hash this is two cores and about 40 MiB."""

    at_once: int = 2
    waiting: int = 8
    wait_s: float = 5.0
    per_second: float = 5.0
    burst: int = 20


class HashBudget:
    """Runs hashes within the limits; surplus is turned away, not queued up."""

    def __init__(self, *, clock: Clock, limits: HashLimits | None = None) -> None:
        self._clock = clock
        self._limits = limits or HashLimits()
        self._slots = threading.Semaphore(self._limits.at_once)
        self._lock = threading.Lock()
        self._waiting = 0
        self._left = float(self._limits.burst)
        self._filled_s = clock.monotonic()
        # Always the same threads: each keeps the memory of one hash for good.
        self._hashers = ThreadPoolExecutor(self._limits.at_once, thread_name_prefix="hash")

    def run(self, work: Callable[[], T]) -> T | Busy:
        """Run one hash, perhaps after a short wait, or answer ``Busy``."""
        if not self._take():
            return Busy()
        if not self._slots.acquire(blocking=False) and not self._wait():
            self._give_back()
            return Busy()
        try:
            return self._hashers.submit(work).result()
        finally:
            self._slots.release()

    def _take(self) -> bool:
        limits = self._limits
        with self._lock:
            now_s = self._clock.monotonic()
            refill = (now_s - self._filled_s) * limits.per_second
            self._left = min(limits.burst, self._left + refill)
            self._filled_s = now_s
            if self._left < 1:
                return False
            self._left -= 1
            return True

    def _give_back(self) -> None:
        with self._lock:
            self._left = min(self._limits.burst, self._left + 1)

    def _wait(self) -> bool:
        with self._lock:
            if self._waiting >= self._limits.waiting:
                return False
            self._waiting += 1
        try:
            return self._slots.acquire(timeout=self._limits.wait_s)
        finally:
            with self._lock:
                self._waiting -= 1
