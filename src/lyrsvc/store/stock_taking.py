"""What the maintained counts say: badges, tiles and everything shown on every page.

Every write that changes a row changes the counts of it in the same transaction, so
a handful of rows answers exactly what counting a million would.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lyrsvc.store import counts
from lyrsvc.store.queue_listing import STATUSES

if TYPE_CHECKING:
    from lyrsvc.store.transaction import Tx

UNKNOWN: Final = "unknown"
"""The reason of items that carry none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stock:
    """How many there are of what; all five statuses are always there.

    ``due`` items may be claimed now, ``backing_off`` and ``cooling_down`` are the
    failed and the deferred ones that may not. ``files`` goes by library id.
    """

    statuses: dict[str, int]
    due: int
    backing_off: int
    cooling_down: int
    instrumental: int
    wanted_missing: int
    wanted_unsynced: int
    files: dict[int, int]

    @property
    def total(self) -> int:
        """Give the number of all items."""
        return sum(self.statuses.values())


def take_stock(tx: "Tx") -> Stock:
    """Count what is there now."""
    numbers = counts.read(tx)
    statuses, ready = count_statuses(numbers), family(numbers, "ready.")
    return Stock(
        statuses=statuses,
        due=sum(ready.values()),
        backing_off=statuses["failed"] - ready.get("failed", 0),
        cooling_down=statuses["deferred"] - ready.get("deferred", 0),
        instrumental=numbers.get("instrumental", 0),
        wanted_missing=numbers.get("wanted_missing", 0),
        wanted_unsynced=numbers.get("wanted_unsynced", 0),
        files={int(library): n for library, n in family(numbers, "files.").items()},
    )


def count_statuses(numbers: Mapping[str, int]) -> dict[str, int]:
    """Give the number of items of each of the five statuses."""
    return {status: numbers.get(f"status.{status}", 0) for status in STATUSES}


def count_reasons(numbers: Mapping[str, int], status: str) -> dict[str, int]:
    """Give the number of items of one status by reason; only reasons that have some."""
    reasons = {reason: n for reason, n in family(numbers, f"reason.{status}.").items() if n > 0}
    silent = numbers.get(f"status.{status}", 0) - sum(reasons.values())
    if silent > 0:
        reasons[UNKNOWN] = reasons.get(UNKNOWN, 0) + silent
    return reasons


def family(numbers: Mapping[str, int], prefix: str) -> dict[str, int]:
    """Give the counts whose names begin alike, by what follows."""
    return {name.removeprefix(prefix): n for name, n in numbers.items() if name.startswith(prefix)}
