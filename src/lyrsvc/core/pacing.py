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
SLOTS_AHEAD: Final = 8
"""How many intervals ahead a reserved slot may lie."""
PROBE_TIME: Final = timedelta(seconds=120)
"""How long a probe keeps the others away; afterwards its process counts as dead."""
SENDING_TIME: Final = timedelta(milliseconds=250)
"""A request reaches the upstream at most so much later than its slot, for the pace."""


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
    probe_until_at: datetime | None = None
    next_slot_at: datetime | None = None
    last_ok_at: datetime | None = None
    last_throttle_at: datetime | None = None


def standing(state: LaneState, now: datetime) -> Standing:
    """Tell whether a lane is open, resting, or due for one careful question."""
    if state.closed_until_at is None:
        return Standing.READY
    return Standing.CLOSED if now < state.closed_until_at else Standing.PROBING


def reopens_at(state: LaneState, now: datetime) -> datetime | None:
    """Give the moment a lane may be asked again; None when it may be asked now."""
    if standing(state, now) is Standing.CLOSED:
        return state.closed_until_at
    probe = _within(state.probe_until_at, now, PROBE_TIME)
    return probe if state.closed_until_at and probe and now < probe else None


def trusted(state: LaneState, now: datetime, policy: RestPolicy) -> LaneState:
    """Cut moments further ahead than they can legally be.

    Whoever reads a state that is cut writes it down: a moment that is cut anew each
    time would never come.
    """
    return replace(
        state,
        closed_until_at=_within(state.closed_until_at, now, longest_rest(state, policy)),
        probe_until_at=_within(state.probe_until_at, now, PROBE_TIME),
    )


def admit(state: LaneState, now: datetime, policy: RestPolicy) -> tuple[bool, LaneState]:
    """Ask to use the lane; of all who come to a lane that has rested only one may."""
    cut = trusted(state, now, policy)
    if reopens_at(cut, now) is not None:
        return False, cut
    if standing(cut, now) is Standing.PROBING:
        return True, replace(cut, probe_until_at=now + PROBE_TIME)
    return True, cut


def end_probe(state: LaneState) -> LaneState:
    """Give back a probe that was not used, so that the next who comes may take it."""
    return replace(state, probe_until_at=None)


def longest_rest(state: LaneState, policy: RestPolicy) -> timedelta:
    """Give the longest a lane may be closed for its cause."""
    named = state.cause in ("throttled", "quota")
    return max(policy.cap, LONGEST_REST) if named else policy.cap


def interval(state: LaneState, cooldown: timedelta) -> timedelta:
    """Give the distance of two requests at the present pace."""
    return cooldown * (1 << state.pace_level)


def reserve(state: LaneState, now: datetime, cooldown: timedelta) -> tuple[datetime, LaneState]:
    """Take the next slot; give its moment and the state in which the one after it is later."""
    apart = interval(state, cooldown)
    slot = max(now, _within(state.next_slot_at, now, apart * SLOTS_AHEAD) or now)
    return slot, replace(state, next_slot_at=slot + apart)


def give_back(state: LaneState, slot: datetime, cooldown: timedelta) -> LaneState:
    """Return a slot that was not used, unless somebody has reserved a later one."""
    unused = state.next_slot_at == slot + interval(state, cooldown)
    return replace(state, next_slot_at=slot) if unused else state


def count_from(
    state: LaneState, sent_at: datetime, ended_at: datetime, cooldown: timedelta
) -> LaneState:
    """Keep the distance from a request that was sent later than its slot said."""
    apart = min(ended_at, sent_at + SENDING_TIME) + interval(state, cooldown)
    return replace(state, next_slot_at=max(apart, state.next_slot_at or apart))


def count_from_end(state: LaneState, now: datetime, cooldown: timedelta) -> LaneState:
    """Let the wait begin when the answer is in, for lanes that ask for it."""
    return replace(state, next_slot_at=now + interval(state, cooldown))


def after(
    state: LaneState,
    answer: Answer,
    *,
    now: datetime,
    policy: RestPolicy,
    retry_after: timedelta | None = None,
    repeated: bool = False,
) -> LaneState:
    """Give the lane's state after an answer; ``repeated`` faults of one item count once."""
    match answer:
        case Answer.HIT | Answer.MISS | Answer.MISMATCH:
            return _after_clean(state, now)
        case Answer.THROTTLED:
            trips = state.trips + 1
            asked = min(retry_after or timedelta(), LONGEST_REST)
            level = min(state.pace_level + 1, MOST_PACE_LEVELS)
            until = now + max(rest(trips, policy), asked)
            closed = _closed(state, "throttled", until, trips=trips)
            return replace(closed, pace_level=level, last_throttle_at=now)
        case Answer.QUOTA:
            allowance = LONGEST_REST if retry_after is None else min(retry_after, LONGEST_REST)
            return _closed(state, "quota", now + allowance, trips=state.trips)
        case Answer.TOKEN_FINISHED | Answer.IDENTITY_REFUSED:
            return _closed(state, "refused", now + policy.cap, trips=state.trips)
        case Answer.MALFORMED | Answer.TRANSIENT:
            streak = max(state.bad_streak + (not repeated), 1)
            return _after_fault(replace(state, bad_streak=streak), answer, now, policy)
        case Answer.SKIPPED:
            return state


def trip(state: LaneState, cause: str, *, now: datetime, policy: RestPolicy) -> LaneState:
    """Close a lane at its first fault, each time for longer; only a clean answer ends that."""
    trips = state.trips + 1
    return _closed(state, cause, now + rest(trips, policy), trips=trips)


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
        probe_until_at=None,
        last_ok_at=now,
    )


def _after_fault(state: LaneState, answer: Answer, now: datetime, policy: RestPolicy) -> LaneState:
    probed = state.closed_until_at is not None
    if state.bad_streak < BAD_STREAK and not probed:
        return replace(state, ok_streak=0)
    cause = "malformed" if answer is Answer.MALFORMED else "unreachable"
    trips = max(state.trips, 1)
    return _closed(state, cause, now + rest(trips, policy), trips=trips)


def _closed(state: LaneState, cause: str, until: datetime, *, trips: int) -> LaneState:
    return replace(
        state,
        cause=cause,
        trips=trips,
        closed_until_at=until,
        probe_until_at=None,
        ok_streak=0,
    )


def rest(trips: int, policy: RestPolicy) -> timedelta:
    """Give how long a lane is closed after so many trips in a row."""
    doubled: timedelta = policy.base * 2 ** min(trips - 1, 20)
    return min(doubled, policy.cap)


def _within(moment: datetime | None, now: datetime, longest: timedelta) -> datetime | None:
    """Never trust a stored moment further ahead than it can legally be."""
    return None if moment is None else min(moment, now + longest)
