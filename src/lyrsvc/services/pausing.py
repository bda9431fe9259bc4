"""The gate before every claim: whether work may be taken now, and if not, why and until when.

While the primary lane is throttled nothing is claimed at all, except the one item
that probes it. A closed fallback pauses nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from lyrsvc.core.errors import StoreError
from lyrsvc.core.pacing import Standing
from lyrsvc.services.lanes import Lane, Outlook
from lyrsvc.services.steadying import Steady


class PauseCause(StrEnum):
    """Why nothing is claimed."""

    THROTTLED = "throttled"
    LANES_CLOSED = "lanes_closed"
    NO_LANE = "no_lane"
    STORAGE = "storage"
    SHUTDOWN = "shutdown"


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing is claimed; ``until`` is None when no moment is known, ``fault`` is the storage's."""

    cause: PauseCause
    until: datetime | None = None
    fault: StoreError | None = None


@dataclass(frozen=True, slots=True)
class Opening:
    """Work may be taken; ``lane`` is the first that can be asked.

    With ``probe`` it has rested, and one item alone may try it.
    """

    lane: Lane
    probe: bool = False


class Gate:
    """Looks at lanes, storage and the end of the program, each time anew."""

    def __init__(
        self,
        lanes: Sequence[Lane],
        *,
        steady: Steady,
        is_stopping: Callable[[], bool],
    ) -> None:
        self._lanes = tuple(lanes)
        self._steady = steady
        self._is_stopping = is_stopping

    def look(self) -> Opening | Pause:
        """Say whether an item may be claimed now."""
        if self._is_stopping():
            return Pause(PauseCause.SHUTDOWN)
        if self._steady.rest_s:
            return Pause(PauseCause.STORAGE, self._steady.retry_at, self._steady.fault)
        active = [lane for lane in self._lanes if lane.active]
        if not active:
            return Pause(PauseCause.NO_LANE)
        outlooks = [(lane, lane.outlook) for lane in active]
        if active[0] is self._lanes[0] and _is_throttled(outlooks[0][1]):
            return _probe_or_wait(outlooks[:1], PauseCause.THROTTLED)
        ready = (lane for lane, outlook in outlooks if outlook.standing is Standing.READY)
        if (first := next(ready, None)) is not None:
            return Opening(first)
        return _probe_or_wait(outlooks, PauseCause.LANES_CLOSED)


def _is_throttled(outlook: Outlook) -> bool:
    return outlook.standing is not Standing.READY and outlook.cause == "throttled"


def _probe_or_wait(outlooks: Sequence[tuple[Lane, Outlook]], cause: PauseCause) -> Opening | Pause:
    """Let one item try the first lane that has rested, or wait for the earliest to do so."""
    for lane, outlook in outlooks:
        if outlook.is_free:
            return Opening(lane, probe=True)
    return Pause(cause, min(outlook.until for _, outlook in outlooks if outlook.until))
