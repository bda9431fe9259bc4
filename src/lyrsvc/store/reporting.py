"""The short reports: queue summary, provider effectiveness, failure analysis.

Whole-queue counts are read from ``counts``; what is narrowed to a library or a time
is counted row by row. The two long reports are ``completions`` and ``instrumentals``.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from lyrsvc.core.errors import Refused
from lyrsvc.store import counts
from lyrsvc.store.moments import to_db
from lyrsvc.store.queue_listing import STATUSES
from lyrsvc.store.stock_taking import UNKNOWN, count_reasons, count_statuses, family

if TYPE_CHECKING:
    from lyrsvc.store.transaction import Tx

T = TypeVar("T")

TOTAL: Final = "total"
TROUBLED: Final = ("failed", "deferred")
"""Statuses that the failure analysis explains."""
MOST_ROWS: Final = 2**31
"""No page lies beyond; it also keeps every offset a number the database can hold."""

# The plus keeps the planner from starting with all targets of the library, once per item.
IN_LIBRARY: Final = """EXISTS (SELECT 1 FROM work_targets t
                     WHERE t.item_id = i.id AND +t.library_id = :library)"""
OF_LIBRARY: Final = "i.id IN (SELECT item_id FROM work_targets WHERE library_id = :library)"
"""The same, where the library is to lead and not its items to be asked one by one."""
# A library gives its items in the order of their ids, so their rows are met one by one.
STATUSES_OF_LIBRARY: Final = f"""
    SELECT {", ".join(f"count(*) FILTER (WHERE i.status = '{one}') AS {one}" for one in STATUSES)}
      FROM (SELECT DISTINCT item_id FROM work_targets WHERE library_id = :library) o
     CROSS JOIN work_items i
     WHERE i.id = o.item_id
"""  # noqa: S608 - the statuses are ours
REASONS_OF_LIBRARY: Final = f"""
    SELECT i.reason, count(*) AS n
      FROM work_items i
     WHERE i.status = :status AND {IN_LIBRARY}
     GROUP BY i.reason
"""  # noqa: S608 - the condition is ours
ATTEMPTS: Final = """
    SELECT lane AS name, count(*) AS attempts, sum(hit) AS hits
      FROM lane_attempts
     WHERE attempted_at >= :since AND attempted_at < :until
     GROUP BY lane
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Page(Generic[T]):
    """One numbered page of a long report, and how many rows there are in all."""

    rows: list[T]
    total: int


@dataclass(frozen=True, kw_only=True, slots=True)
class StatusCount:
    """A line of the queue summary; the last one counts all."""

    status: str
    count: int


@dataclass(frozen=True, kw_only=True, slots=True)
class LaneRecord:
    """How often a lane was asked and how often it served the winning result."""

    lane: str
    hits: int
    misses: int

    @property
    def attempts(self) -> int:
        """Give how many tracks the lane was asked about."""
        return self.hits + self.misses

    @property
    def hit_rate(self) -> float | None:
        """Give the share of hits; None when the lane was never asked."""
        return self.hits / self.attempts if self.attempts else None


@dataclass(frozen=True, kw_only=True, slots=True)
class FailureGroup:
    """Items of one status that wait for one reason."""

    status: str
    reason: str
    count: int


def queue_summary(tx: "Tx", *, library_id: int | None = None) -> list[StatusCount]:
    """Count the items of each status, then all; a library's items have a target in it."""
    if library_id is None:
        found = count_statuses(counts.read(tx))
    else:
        found = tx.first(STATUSES_OF_LIBRARY, library=library_id) or {}
    lines = [StatusCount(status=status, count=found.get(status, 0)) for status in STATUSES]
    return [*lines, StatusCount(status=TOTAL, count=sum(line.count for line in lines))]


def provider_effectiveness(
    tx: "Tx",
    *,
    lanes: Iterable[str] = (),
    since: datetime | None = None,
    until: datetime | None = None,
) -> list[LaneRecord]:
    """Tell how lanes fared: the configured ones in their order, then the others by name.

    A hit means the lane served the winning result, a miss that it was tried and did
    not win. A track counts once for each lane, with its latest attempt.
    """
    if since is None and until is None:
        numbers = counts.read(tx)
        attempts, hits = family(numbers, "attempts."), family(numbers, "attempt_hits.")
    else:
        rows = tx.all(ATTEMPTS, **time_bounds(since, until))
        attempts = {row["name"]: row["attempts"] for row in rows}
        hits = {row["name"]: row["hits"] for row in rows}
    asked = sorted(lane for lane, n in attempts.items() if n > 0)
    return [_record(lane, attempts, hits) for lane in dict.fromkeys((*lanes, *asked))]


def failure_analysis(
    tx: "Tx", *, status: str | None = None, library_id: int | None = None
) -> list[FailureGroup]:
    """Count failed and deferred items by status and reason, the most frequent first."""
    if status not in (None, *TROUBLED):
        raise Refused(f'"{status}" items have no reasons; use {" or ".join(TROUBLED)}')
    groups = [
        FailureGroup(status=one, reason=reason, count=n)
        for one in (TROUBLED if status is None else (status,))
        for reason, n in _reasons(tx, one, library_id).items()
    ]
    return sorted(groups, key=lambda group: (-group.count, group.status, group.reason))


def time_bounds(since: datetime | None, until: datetime | None) -> dict[str, str]:
    """Give both ends of a time as columns hold them; an open end is before or after all."""
    return {
        "since": "" if since is None else to_db(since),
        "until": "~" if until is None else to_db(until),
    }


def place_of(page: int, page_size: int) -> dict[str, int]:
    """Give limit and offset of a numbered page, whatever number was asked for."""
    size = max(page_size, 1)
    return {"limit": size, "offset": min(max(page - 1, 0) * size, MOST_ROWS)}


def _record(lane: str, attempts: Mapping[str, int], hits: Mapping[str, int]) -> LaneRecord:
    won = hits.get(lane, 0)
    return LaneRecord(lane=lane, hits=won, misses=attempts.get(lane, 0) - won)


def _reasons(tx: "Tx", status: str, library_id: int | None) -> dict[str, int]:
    if library_id is None:
        return count_reasons(counts.read(tx), status)
    rows = tx.all(REASONS_OF_LIBRARY, status=status, library=library_id)
    found: Counter[str] = Counter()
    for row in rows:
        found[row["reason"] or UNKNOWN] += row["n"]
    return found
