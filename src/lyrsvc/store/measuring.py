"""What ``/metrics`` measures, asked of one state of the database.

Every series that must exist does, at zero when nothing happened yet. No value holds
a path or free text: reasons are codes of a closed list.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from lyrsvc.store import counts, lane_attempts
from lyrsvc.store.moments import from_db, to_db
from lyrsvc.store.stock_taking import UNKNOWN, count_reasons, count_statuses

if TYPE_CHECKING:
    from lyrsvc.store.engine import Row
    from lyrsvc.store.transaction import Tx

FAILURE_REASONS: Final = frozenset(
    {
        "network",
        "timeout",
        "upstream_error",
        "bad_response",
        "write_denied",
        "read_only",
        "disk_full",
        "name_too_long",
        "path_escape",
        "write_error",
        "internal",
        UNKNOWN,
    }
)
"""Why an item can have failed; whatever else a row says is shown as unknown."""

NOT_READY: Final = ("closed", "probing")
"""States of a lane that takes no ordinary request."""

OLDEST_READY: Final = "SELECT min(due_at) FROM work_items WHERE ready_key IS NOT NULL"
OLDEST_WAITING: Final = """
    SELECT min(due_at)
      FROM work_items
     WHERE ready_key IS NULL AND status IN ('pending', 'failed', 'deferred') AND due_at <= :now
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Metrics:
    """The values behind each family; a missing moment is shown as 0."""

    queue_items: dict[str, int]
    queue_failures: dict[str, int]
    provider_hits: dict[str, int]
    provider_misses: dict[str, int]
    instrumental_tracks: int
    lane_closed: dict[str, bool]
    oldest_due_at: datetime | None
    last_scans: dict[int, datetime | None]


def take_metrics(tx: "Tx", *, lanes: Iterable[str], now: datetime) -> Metrics:
    """Measure everything; ``lanes`` are the configured ones, the detector too when it is on."""
    configured = tuple(lanes)
    numbers = counts.read(tx)
    counters = lane_attempts.counters(tx)
    names = sorted({*configured, *counters})
    closed = _closed_lanes(tx)
    return Metrics(
        queue_items=count_statuses(numbers),
        queue_failures=_failures(count_reasons(numbers, "failed")),
        provider_hits={lane: _counter(counters, lane, "hits") for lane in names},
        provider_misses={lane: _counter(counters, lane, "misses") for lane in names},
        instrumental_tracks=numbers.get("instrumental", 0),
        lane_closed={lane: lane in closed for lane in sorted({*configured})},
        oldest_due_at=oldest_due(tx, now=now),
        last_scans=_last_scans(tx),
    )


def oldest_due(tx: "Tx", *, now: datetime) -> datetime | None:
    """Give since when the longest-due unclaimed item is due; None when none is."""
    moments = (tx.value(OLDEST_READY), tx.value(OLDEST_WAITING, now=to_db(now)))
    return from_db(min(filter(None, moments), default=None))


def _failures(by_code: dict[str, int]) -> dict[str, int]:
    failures: dict[str, int] = {}
    for code, n in by_code.items():
        reason = code if code in FAILURE_REASONS else UNKNOWN
        failures[reason] = failures.get(reason, 0) + n
    return dict(sorted(failures.items()))


def _counter(counters: "dict[str, Row]", lane: str, name: str) -> int:
    counter: int = counters[lane][name] if lane in counters else 0
    return counter


def _closed_lanes(tx: "Tx") -> set[str]:
    rows = tx.all("SELECT lane, state FROM lane_state")
    return {row["lane"] for row in rows if row["state"] in NOT_READY}


def _last_scans(tx: "Tx") -> dict[int, datetime | None]:
    rows = tx.all("SELECT id, last_ok_scan_at FROM libraries ORDER BY id")
    return {row["id"]: from_db(row["last_ok_scan_at"]) for row in rows}
