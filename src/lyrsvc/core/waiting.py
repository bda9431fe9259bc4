"""How long things wait: the formulas, the order of claims, and the limits of trust.

A stored moment in the future is never trusted beyond the longest distance it can
legally have, so a clock that once ran ahead freezes nothing.
"""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final

from lyrsvc.core.item import WAITING, Priority, Status, WorkItem

LEASE: Final = timedelta(seconds=120)
RENEW_EVERY: Final = timedelta(seconds=30)
LEASE_GIVEN_UP: Final = timedelta(seconds=90)
"""A worker that could not renew for so long writes no further file."""

FIRST_BACKOFF: Final = timedelta(seconds=60)
LONGEST_BACKOFF: Final = timedelta(days=1)
LONGEST_RELEASE: Final = timedelta(hours=6)
SPREAD: Final = timedelta(hours=24)
"""Items looked at again because the lanes changed come due over so much time."""

TIER: Final = 10**15
HANDICAP_HOURS: Final = 72
RANDOM_BITS: Final = 20

_MOST_DOUBLINGS: Final = 30
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_HOUR: Final = timedelta(hours=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class WaitPolicy:
    """How long tracks without lyrics wait, and how many misses are enough; 0 = never enough."""

    miss_base: timedelta = timedelta(hours=168)
    miss_cap: timedelta = timedelta(hours=168)
    max_misses: int = 15

    @property
    def longest_cooldown(self) -> timedelta:
        """Give the longest a miss may wait."""
        return max(self.miss_base, self.miss_cap)


@dataclass(frozen=True, kw_only=True, slots=True)
class Moment:
    """When something is settled, under which policy, and the chance it is left to."""

    now: datetime
    chance: Random
    policy: WaitPolicy = field(default_factory=WaitPolicy)


def backoff(attempts: int, chance: Random) -> timedelta:
    """Give F(n): the wait after the n-th hard failure in a row."""
    doubled = FIRST_BACKOFF * (1 << min(max(attempts, 1) - 1, _MOST_DOUBLINGS))
    return min(doubled, LONGEST_BACKOFF) * chance.uniform(0.9, 1.1)


def miss_cooldown(misses: int, policy: WaitPolicy) -> timedelta:
    """Give M(n): the wait after the n-th miss; fixed unless the cap is larger than the base."""
    limit = policy.longest_cooldown
    doublings = min(max(misses, 1) - 1, _MOST_DOUBLINGS)
    return (
        limit
        if policy.miss_base > limit / (1 << doublings)
        else policy.miss_base * (1 << doublings)
    )


def release_wait(releases: int, chance: Random) -> timedelta:
    """Give R(k): the wait after k releases in a row because a lane could not be asked."""
    doubled = FIRST_BACKOFF * (1 << min(max(releases, 0), _MOST_DOUBLINGS))
    return min(doubled, LONGEST_RELEASE) * chance.uniform(1.0, 1.1)


def ready_key(moment: datetime, priority: int, chance: Random) -> int:
    """Give the place in the queue of an item that became ready at a moment.

    Webhook work first; then by the hour, shuffled inside it, so that the upstream
    never sees an alphabetical sweep. Re-checks stand 72 hours behind, and so are
    overtaken only by what became ready less than that after them.
    """
    return earliest_key(moment, priority) + chance.getrandbits(RANDOM_BITS)


def earliest_key(moment: datetime, priority: int) -> int:
    """Give the foremost place that chance may give an item."""
    tier = 0 if priority >= Priority.WEBHOOK else TIER
    return tier + _hours(moment, priority) * (1 << RANDOM_BITS)


def highest_legal_key(now: datetime, *, tier: int) -> int:
    """Give the first key that no item can have now; larger ones are of a clock that ran ahead."""
    return tier + ((now - _EPOCH) // _HOUR + HANDICAP_HOURS + 1) * (1 << RANDOM_BITS)


def lined_up(item: WorkItem, now: datetime, chance: Random) -> WorkItem:
    """Give the item with a ready key exactly when it can be claimed; a kept place stays."""
    claimable = item.status in WAITING and item.due_at is not None and item.due_at <= now
    if not claimable:
        return item if item.ready_key is None else replace(item, ready_key=None)
    if item.ready_key is not None:
        return item
    return replace(item, ready_key=ready_key(item.due_at or now, item.priority, chance))


def longest_wait(status: Status, policy: WaitPolicy) -> timedelta:
    """Give the longest legal distance of the moment an item is due."""
    match status:
        case Status.FAILED:
            return LONGEST_BACKOFF * 1.1
        case Status.DEFERRED:
            return policy.longest_cooldown
        case _:
            return LONGEST_RELEASE * 1.1


def _hours(moment: datetime, priority: int) -> int:
    return (moment - _EPOCH) // _HOUR + (HANDICAP_HOURS if priority < Priority.SCAN else 0)
