"""Whose turn it is to send a lane's next request.

Every single request takes a slot, and slots are an interval apart. A worker takes
its turn before it claims an item, so that whatever is most urgent when the slot
comes is what is asked for; a turn that was not needed is given back.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Protocol

from lyrsvc.core import pacing
from lyrsvc.core.errors import LyrsvcError
from lyrsvc.core.pacing import LaneState, RestPolicy
from lyrsvc.core.ports import Clock

LOOK_AGAIN_S: Final = 0.25
"""How often someone who waits for another's lookup to end looks whether the program stops."""


class Cancelled(LyrsvcError):
    """The program stops; what was being asked is asked again another time."""

    code = "cancelled"


class Waiting(Protocol):
    """How a wait for a slot is spent; a countdown on a terminal, plain waiting elsewhere."""

    def __call__(self, seconds: float, lane: str, /) -> bool:
        """Wait; answer True when the program stops."""
        ...


class Memory(Protocol):
    """Where a lane's state is kept."""

    def read(self) -> LaneState:
        """Give the state as it is now."""
        ...

    def change(self, step: Callable[[LaneState], LaneState]) -> tuple[LaneState, LaneState]:
        """Replace the state by what the step makes of it; give the one before and the new one."""
        ...


class LaneMemory:
    """Keeps a lane's state for this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._state = LaneState()

    def read(self) -> LaneState:
        """Give the state as it is now."""
        return self._state

    def change(self, step: Callable[[LaneState], LaneState]) -> tuple[LaneState, LaneState]:
        """Replace the state by what the step makes of it; give the one before and the new one."""
        with self._lock:
            before, self._state = self._state, step(self._state)
            return before, self._state


@dataclass(frozen=True, kw_only=True, slots=True)
class Manners:
    """How a lane is to be asked."""

    cooldown: timedelta = timedelta()
    from_end: bool = False
    """The wait counts from the end of the last answer, and there is one request at a time."""
    rest: RestPolicy = field(default_factory=RestPolicy)
    token_source: str = ""
    """Where the operator's token comes from, to be named when it may be stale."""


class Turnstile:
    """Lets the requests of one lane through, each when it is its turn."""

    def __init__(
        self, lane: str, manners: Manners, *, memory: Memory, clock: Clock, waiting: Waiting
    ) -> None:
        self._lane = lane
        self._manners = manners
        self._memory = memory
        self._clock = clock
        self._waiting = waiting
        self._alone = threading.Lock()
        self._own = _Own()

    def take_turn(self) -> None:
        """Wait until the next request may be sent by this thread; raise ``Cancelled`` on a stop."""
        self.begin_lookup()
        try:
            self._own.slot = self._wait_for_slot()
        except BaseException:
            self.end_lookup()
            raise

    def give_turn_back(self) -> None:
        """Return a turn of this thread that was not used; without one nothing happens."""
        slot, self._own.slot = self._own.slot, None
        if slot is not None:
            self._return(slot)
        self.end_lookup()

    def begin_lookup(self) -> None:
        """Keep others out, where a lane wants one request at a time."""
        if not self._manners.from_end or self._own.is_alone:
            return
        while not self._alone.acquire(timeout=LOOK_AGAIN_S):
            if self._waiting(0.0, self._lane):
                raise Cancelled("stopped while waiting for another lookup")
        self._own.is_alone = True

    def end_lookup(self) -> None:
        """Let others in again; may be called twice."""
        if self._own.is_alone:
            self._own.is_alone = False
            self._alone.release()

    def begin_request(self) -> None:
        """Wait for the slot of one request; a turn taken before is used up."""
        slot, self._own.slot = self._own.slot, None
        if slot is None:
            self._wait_for_slot()
        self._own.sent_at = self._clock.now()

    def end_request(self) -> None:
        """Note that an answer is in, whatever it was."""
        now = self._clock.now()
        cooldown = self._manners.cooldown
        if self._manners.from_end:
            self._memory.change(lambda state: pacing.count_from_end(state, now, cooldown))
            return
        sent_at = self._own.sent_at or now
        self._memory.change(lambda state: pacing.count_from(state, sent_at, now, cooldown))

    def _wait_for_slot(self) -> datetime:
        slot = reserve_slot(self._memory, self._clock, self._manners.cooldown)
        try:
            self._wait_until(slot)
        except BaseException:
            self._return(slot)
            raise
        return slot

    def _wait_until(self, slot: datetime) -> None:
        seconds = (slot - self._clock.now()).total_seconds()
        if seconds > 0 and self._waiting(seconds, self._lane):
            raise Cancelled("stopped while waiting for a slot")

    def _return(self, slot: datetime) -> None:
        cooldown = self._manners.cooldown
        self._memory.change(lambda state: pacing.give_back(state, slot, cooldown))


class _Own(threading.local):
    """What one thread holds of a lane."""

    def __init__(self) -> None:
        self.slot: datetime | None = None
        self.sent_at: datetime | None = None
        self.is_alone = False


def reserve_slot(memory: Memory, clock: Clock, cooldown: timedelta) -> datetime:
    """Take the next free moment at which a lane may be asked."""
    taken: list[datetime] = []

    def step(state: LaneState) -> LaneState:
        slot, following = pacing.reserve(state, clock.now(), cooldown)
        taken.append(slot)
        return following

    memory.change(step)
    return taken[-1]
