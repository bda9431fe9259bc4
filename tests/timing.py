"""How long something takes, told apart from a machine that stands still for a moment."""

import time
from collections.abc import Callable

TRIES = 3


def seconds_of(work: Callable[[], object]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


def is_within(limit_s: float, work: Callable[[], object]) -> bool:
    """Tell whether the work can be done in time; a machine rarely stands still thrice running."""
    return any(seconds_of(work) < limit_s for _ in range(TRIES))
