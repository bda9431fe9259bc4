"""The table ``lane_state``: the breaker and the pace of every lane, kept across restarts.

A change reads the row, asks a pure step what follows, and writes it, in one
operation: of all processes together, only one reserves a slot or takes the probe.
"""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from lyrsvc.core.pacing import LaneState
from lyrsvc.store.moments import from_db, to_db

if TYPE_CHECKING:
    from lyrsvc.store.engine import Row
    from lyrsvc.store.transaction import Tx


def read(tx: "Tx", lane: str) -> LaneState:
    """Give what is remembered about a lane; a lane never asked is ready."""
    row = tx.first("SELECT * FROM lane_state WHERE lane = :lane", lane=lane)
    return _state(row) if row else LaneState()


def read_all(tx: "Tx") -> dict[str, LaneState]:
    """Give what is remembered about every lane."""
    return {row["lane"]: _state(row) for row in tx.each("SELECT * FROM lane_state")}


def change(
    tx: "Tx",
    lane: str,
    step: Callable[[LaneState], LaneState],
    *,
    owner: str = "",
    now: datetime,
) -> tuple[LaneState, LaneState]:
    """Replace the state by what the step makes of it; give the one before and the new one.

    ``owner`` is remembered as the one who probes when the step takes the probe.
    """
    before = read(tx, lane)
    after = step(before)
    if after != before:
        _write(tx, lane, after, owner=owner if _takes_probe(before, after) else None, now=now)
    return before, after


def reset(tx: "Tx", lane: str, *, now: datetime) -> bool:
    """Let a closed lane be probed now; False when it is not closed."""
    changed = tx.run(
        """
        UPDATE lane_state
           SET state = 'probing', closed_until_at = :now, probe_until_at = NULL, probe_owner = '',
               updated_at = :now
         WHERE lane = :lane AND closed_until_at IS NOT NULL
        """,
        lane=lane,
        now=to_db(now),
    )
    return changed == 1


def _takes_probe(before: LaneState, after: LaneState) -> bool:
    return after.probe_until_at is not None and after.probe_until_at != before.probe_until_at


def _write(tx: "Tx", lane: str, state: LaneState, *, owner: str | None, now: datetime) -> None:
    tx.run(
        """
        INSERT INTO lane_state (lane, state, cause, trips, bad_streak, ok_streak, pace_level,
                                closed_until_at, probe_until_at, probe_owner, next_slot_at,
                                last_ok_at, last_throttle_at, created_at, updated_at)
        VALUES (:lane, :state, :cause, :trips, :bad_streak, :ok_streak, :pace_level,
                :closed_until, :probe_until, coalesce(:owner, ''), :next_slot,
                :last_ok, :last_throttle, :now, :now)
        ON CONFLICT (lane) DO UPDATE
           SET state = :state, cause = :cause, trips = :trips, bad_streak = :bad_streak,
               ok_streak = :ok_streak, pace_level = :pace_level, closed_until_at = :closed_until,
               probe_until_at = :probe_until,
               probe_owner = CASE WHEN :probe_until IS NULL THEN ''
                                  ELSE coalesce(:owner, lane_state.probe_owner) END,
               next_slot_at = :next_slot, last_ok_at = :last_ok,
               last_throttle_at = :last_throttle, updated_at = :now
        """,
        lane=lane,
        state=_name(state),
        cause=state.cause,
        trips=state.trips,
        bad_streak=state.bad_streak,
        ok_streak=state.ok_streak,
        pace_level=state.pace_level,
        closed_until=to_db(state.closed_until_at),
        probe_until=to_db(state.probe_until_at),
        owner=owner,
        next_slot=to_db(state.next_slot_at),
        last_ok=to_db(state.last_ok_at),
        last_throttle=to_db(state.last_throttle_at),
        now=to_db(now),
    )


def _name(state: LaneState) -> str:
    if state.closed_until_at is None:
        return "ready"
    return "closed" if state.probe_until_at is None else "probing"


def _state(row: "Row") -> LaneState:
    return LaneState(
        cause=row["cause"],
        trips=row["trips"],
        bad_streak=row["bad_streak"],
        ok_streak=row["ok_streak"],
        pace_level=row["pace_level"],
        closed_until_at=from_db(row["closed_until_at"]),
        probe_until_at=from_db(row["probe_until_at"]),
        next_slot_at=from_db(row["next_slot_at"]),
        last_ok_at=from_db(row["last_ok_at"]),
        last_throttle_at=from_db(row["last_throttle_at"]),
    )
