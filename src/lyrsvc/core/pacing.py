"""A lane's manners: how far apart requests are, and how long it rests when told to.

The state is a value; every function gives back the next one. Whoever holds it
in memory or in the database keeps it, so a restart asks no earlier.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from lyrsvc.core.outcome import Answer

LONGEST_REST: Final = timedelta(hours=6)
"""What an upstream may ask for, and the rest after a spent allowance."""
MOST_PACE_LEVELS: Final = 3
CLEAN_ANSWERS: Final = 5
QUIET_TIME: Final = timedelta(minutes=20)
BAD_STREAK: Final = 5


class Standing(StrEnum):
    """Whether a lane may be asked."""

    READY = "ready"
    CLOSED = "closed"
    PROBING = "probing"


@dataclass(frozen=True, kw_only=True, slots=True)
class RestPolicy:
    """How long a throttled lane rests: the base, doubling up to the cap."""

    base: timedelta = timedelta(seconds=60)
    cap: timedelta = timedelta(seconds=1800)


@dataclass(frozen=True, kw_only=True, slots=True)
class LaneState:
    """What is remembered about a lane."""

    cause: str = ""
    trips: int = 0
    bad_streak: int = 0
    ok_streak: int = 0
    pace_level: int = 0
    closed_until_at: datetime | None = None
    next_slot_at: datetime | None = None
    last_ok_at: datetime | None = None
    last_throttle_at: datetime | None = None


def standing(state: LaneState, now: datetime) -> Standing:
    """Tell whether a lane is open, resting, or due for one careful question."""
    if state.closed_until_at is None:
        return Standing.READY
    return Standing.CLOSED if now < state.closed_until_at else Standing.PROBING


def reserve(state: LaneState, now: datetime, cooldown: timedelta) -> tuple[datetime, LaneState]:
    """Take the next slot; give its moment and the state in which the one after it is later."""
    interval = cooldown * 2**state.pace_level
    slot = max(now, _within(state.next_slot_at, now, interval * 8) or now)
    return slot, replace(state, next_slot_at=slot + interval)


def count_from_end(state: LaneState, now: datetime, cooldown: timedelta) -> LaneState:
    """Let the wait begin when the answer is in, for lanes that ask for it."""
    return replace(state, next_slot_at=now + cooldown * 2**state.pace_level)


def after(
    state: LaneState,
    answer: Answer,
    *,
    now: datetime,
    policy: RestPolicy,
    retry_after: timedelta | None = None,
) -> LaneState:
    """Give the lane's state after an answer."""
    match answer:
        case Answer.HIT | Answer.MISS | Answer.MISMATCH:
            return _after_clean(state, now)
        case Answer.THROTTLED:
            trips = state.trips + 1
            rest = max(_rest(trips, policy), min(retry_after or timedelta(), LONGEST_REST))
            level = min(state.pace_level + 1, MOST_PACE_LEVELS)
            closed = _closed(state, "throttled", now + rest, trips=trips)
            return replace(closed, pace_level=level, last_throttle_at=now)
        case Answer.QUOTA:
            rest = min(retry_after or LONGEST_REST, LONGEST_REST)
            return _closed(state, "quota", now + rest, trips=state.trips)
        case Answer.TOKEN_FINISHED | Answer.IDENTITY_REFUSED:
            return _closed(state, "refused", now + policy.cap, trips=state.trips)
        case Answer.MALFORMED | Answer.TRANSIENT:
            return _after_fault(state, answer, now, policy)
        case Answer.SKIPPED:
            return state


def _after_clean(state: LaneState, now: datetime) -> LaneState:
    streak = state.ok_streak + 1
    level = state.pace_level
    quiet = state.last_throttle_at is None or now - state.last_throttle_at >= QUIET_TIME
    if level and (streak % CLEAN_ANSWERS == 0 or quiet):
        level -= 1
    return replace(
        state,
        cause="",
        trips=0,
        bad_streak=0,
        ok_streak=streak,
        pace_level=level,
        closed_until_at=None,
        last_ok_at=now,
    )


def _after_fault(state: LaneState, answer: Answer, now: datetime, policy: RestPolicy) -> LaneState:
    streak = state.bad_streak + 1
    probed = state.closed_until_at is not None
    if streak < BAD_STREAK and not probed:
        return replace(state, bad_streak=streak, ok_streak=0)
    cause = "malformed" if answer is Answer.MALFORMED else "unreachable"
    trips = max(state.trips, 1)
    closed = _closed(state, cause, now + _rest(trips, policy), trips=trips)
    return replace(closed, bad_streak=streak)


def _closed(state: LaneState, cause: str, until: datetime, *, trips: int) -> LaneState:
    return replace(state, cause=cause, trips=trips, closed_until_at=until, ok_streak=0)


def _rest(trips: int, policy: RestPolicy) -> timedelta:
    doubled: timedelta = policy.base * 2 ** min(trips - 1, 20)
    return min(doubled, policy.cap)


def _within(moment: datetime | None, now: datetime, longest: timedelta) -> datetime | None:
    """Never trust a stored moment further ahead than it can legally be."""
    return None if moment is None else min(moment, now + longest)
