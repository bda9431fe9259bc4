"""What is remembered about a lane and its results, kept in the database.

A restart keeps breaker, pace and slots, so that no upstream is asked earlier because
of it; several processes share them.
"""

from collections.abc import Callable
from datetime import datetime

from lyrsvc.core.pacing import LaneState
from lyrsvc.core.ports import Clock
from lyrsvc.store import claims, lane_state
from lyrsvc.store.database import Database, Tx


class StoredLaneMemory:
    """A lane's state in the store; what ``LaneMemory`` is for one process.

    ``owner`` names this process, as the one who probes a lane that has rested.
    """

    def __init__(self, db: Database, lane: str, *, clock: Clock, owner: str) -> None:
        self._db = db
        self._lane = lane
        self._clock = clock
        self._owner = owner

    def read(self) -> LaneState:
        """Give the state as it is now."""
        with self._db.read() as tx:
            return lane_state.read(tx, self._lane)

    def change(self, step: Callable[[LaneState], LaneState]) -> tuple[LaneState, LaneState]:
        """Replace the state by what the step makes of it; give the one before and the new one.

        The step runs in the writer's thread, one at a time over all processes.
        """
        now = self._clock.now()
        return self._db.write(
            lambda tx: lane_state.change(tx, self._lane, step, owner=self._owner, now=now)
        )


def open_early(tx: Tx, name: str, *, now: datetime) -> bool:
    """Let a closed lane be probed now, by a track that waits for it; False when it is open."""
    if not lane_state.reset(tx, name, now=now):
        return False
    claims.hasten_released(tx, now=now)
    return True
