"""How far apart requests for a token are.

The state is a value; every function gives back the next one. A request is
announced before it is sent, so that whoever crashes over it asks no earlier.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

FIRST_REST: Final = timedelta(minutes=30)
LONGEST_REST: Final = timedelta(hours=12)
SPREAD: Final = 0.1
FIRST_FAULT_REST: Final = timedelta(minutes=1)
_MOST_DOUBLINGS: Final = 16


@dataclass(frozen=True, kw_only=True, slots=True)
class Asking:
    """What is remembered about requests for a token; a new one is free to ask."""

    refusals: int = 0
    faults: int = 0
    not_before_at: datetime | None = None


def rest(asking: Asking, now: datetime) -> timedelta:
    """Give the time until the next request is allowed; a clock that ran ahead freezes nothing."""
    if asking.not_before_at is None:
        return timedelta()
    return min(max(asking.not_before_at - now, timedelta()), LONGEST_REST * (1 + SPREAD))


def announced(asking: Asking, now: datetime) -> Asking:
    """Give the state while a request is under way."""
    return replace(asking, not_before_at=now + FIRST_REST)


def after_refusal(
    asking: Asking, now: datetime, *, chance: float, retry_after: timedelta | None = None
) -> Asking:
    """Rest 30 minutes, doubling to 12 hours, and never less than the first or what was asked.

    ``chance`` lies between 0 and 1 and spreads the moment by a tenth either way.
    """
    refusals = asking.refusals + 1
    spread = _doubled(FIRST_REST, refusals, LONGEST_REST) * (1 + SPREAD * (2 * chance - 1))
    asked = min(retry_after or timedelta(), LONGEST_REST)
    return Asking(refusals=refusals, not_before_at=now + max(spread, FIRST_REST, asked))


def after_fault(asking: Asking, now: datetime) -> Asking:
    """Rest a minute, doubling to the first rest: nobody has refused, the way was not there."""
    faults = asking.faults + 1
    wait = _doubled(FIRST_FAULT_REST, faults, FIRST_REST)
    return replace(asking, faults=faults, not_before_at=now + wait)


def _doubled(first: timedelta, times: int, longest: timedelta) -> timedelta:
    return min(first * (1 << min(times - 1, _MOST_DOUBLINGS)), longest)
