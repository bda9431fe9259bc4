"""Staying calm while the storage fails: the same step is tried again until it works."""

import logging
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, TypeVar

from lyrsvc.core.errors import StorageFailed, StoreBusy, StoreError
from lyrsvc.core.pacing import LaneState
from lyrsvc.core.ports import Clock
from lyrsvc.services.lane_turns import Cancelled, Memory

T = TypeVar("T")

RETRY_S: Final = 15.0
PASSING: Final = (StoreBusy, StorageFailed)
"""Faults that go away by themselves: another program holds the database, the disk is full."""

_LOG = logging.getLogger("lyrsvc.worker")


class Steady:
    """Knows whether the storage works, and repeats what it refused.

    An attempt that has an answer in hand keeps it until it can be written down, so
    a full disk costs neither a question nor a result.
    """

    def __init__(self, clock: Clock, *, retry_s: float = RETRY_S) -> None:
        self._clock = clock
        self._retry_s = retry_s
        self._lock = threading.Lock()
        self._due_s: float | None = None
        self._fault: StoreError | None = None

    @property
    def rest_s(self) -> float | None:
        """Give the seconds until the storage is tried again; None while it works."""
        due_s = self._due_s
        return None if due_s is None else max(0.0, due_s - self._clock.monotonic())

    @property
    def retry_at(self) -> datetime | None:
        """Give the moment the storage is tried again; None while it works."""
        rest_s = self.rest_s
        return None if rest_s is None else self._clock.now() + timedelta(seconds=rest_s)

    @property
    def fault(self) -> StoreError | None:
        """Give what the storage said last; None while it works."""
        return self._fault

    def run(self, step: Callable[[], T]) -> T:
        """Run a step until the storage lets it through; ``Cancelled`` when the program stops."""
        while True:
            try:
                result = step()
            except PASSING as fault:
                self.note(fault)
                if self._clock.wait(self._retry_s):
                    raise Cancelled("stopped while the storage fails") from fault
            else:
                self.note_success()
                return result

    def note(self, fault: StoreError) -> None:
        """Take note of a fault; each cause is told once, until it is over."""
        with self._lock:
            told = self._fault is not None and self._fault.code == fault.code
            self._fault = fault
            self._due_s = self._clock.monotonic() + self._retry_s
        if not told:
            _LOG.error(
                "worker paused: the database cannot be used; free some space, or end the program "
                "that holds it",
                extra={"cause": fault.code, "why": str(fault), "retry_s": round(self._retry_s)},
            )

    def note_success(self) -> None:
        """Take note that the storage works."""
        if self._due_s is None:
            return
        with self._lock:
            failed, self._due_s, self._fault = self._due_s is not None, None, None
        if failed:
            _LOG.info("the database can be used again")


class SteadyMemory:
    """A lane's memory whose changes outlast a storage that fails for a while."""

    def __init__(self, memory: Memory, steady: Steady) -> None:
        self._memory = memory
        self._steady = steady

    def read(self) -> LaneState:
        """Give the state as it is now."""
        return self._steady.run(self._memory.read)

    def change(self, step: Callable[[LaneState], LaneState]) -> tuple[LaneState, LaneState]:
        """Replace the state by what the step makes of it; give the one before and the new one."""
        return self._steady.run(lambda: self._memory.change(step))
