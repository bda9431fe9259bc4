"""The table ``counts``: numbers that pages show, exact at every commit.

Whoever changes a row that is counted changes its count in the same transaction. A
``Tally`` gathers the differences of one operation and writes each number once.
"""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from lyrsvc.core.item import WAITING, Status, WorkItem
from lyrsvc.store.moments import to_db

if TYPE_CHECKING:
    from lyrsvc.store.transaction import Tx

WITH_REASON: Final = (Status.FAILED, Status.DEFERRED)

_AT_ONCE: Final = 16
"""So many numbers one statement changes."""

ALWAYS_THERE: Final = (
    *(f"status.{status}" for status in Status),
    *(f"ready.{status}" for status in WAITING),
    "instrumental",
    "wanted_missing",
    "wanted_unsynced",
)
"""Counts that have a row even when they are zero."""


class Tally:
    """Differences of counts, gathered during one operation."""

    def __init__(self) -> None:
        self._differences: Counter[str] = Counter()

    def add(self, name: str, difference: int = 1) -> None:
        """Note that a number changes."""
        self._differences[name] += difference

    def item(self, before: WorkItem | None, after: WorkItem | None) -> None:
        """Note that an item was made, changed or deleted."""
        if before is not None:
            self._differences.subtract(names_of(before))
        if after is not None:
            self._differences.update(names_of(after))

    def write(self, tx: "Tx", *, now: datetime) -> None:
        """Write the numbers that changed, and start anew."""
        changed = [(name, n) for name, n in sorted(self._differences.items()) if n]
        self._differences.clear()
        for at in range(0, len(changed), _AT_ONCE):
            portion = changed[at : at + _AT_ONCE]
            names = {f"name{number}": name for number, (name, _) in enumerate(portion)}
            numbers = {f"n{number}": n for number, (_, n) in enumerate(portion)}
            tx.run(_add_sql(len(portion)), **names, **numbers, now=to_db(now))


@lru_cache(maxsize=_AT_ONCE)
def _add_sql(rows: int) -> str:
    values = ", ".join(f"(:name{number}, :n{number}, :now, :now)" for number in range(rows))
    return f"""
        INSERT INTO counts (name, n, created_at, updated_at) VALUES {values}
        ON CONFLICT (name) DO UPDATE SET n = counts.n + excluded.n, updated_at = :now
    """  # noqa: S608 - only names of parameters are put in


def names_of(item: WorkItem) -> Iterator[str]:
    """Name every count an item is part of."""
    yield f"status.{item.status}"
    if item.ready_key is not None:
        yield f"ready.{item.status}"
    if item.status in WITH_REASON and item.reason:
        yield f"reason.{item.status}.{item.reason}"
    if item.detector.verdict:
        yield "instrumental"


def read(tx: "Tx") -> dict[str, int]:
    """Give every count by name."""
    return {row["name"]: row["n"] for row in tx.each("SELECT name, n FROM counts")}


def recount(tx: "Tx") -> dict[str, int]:
    """Count the rows themselves; only what is not zero, and what is always there."""
    found = Counter(dict.fromkeys(ALWAYS_THERE, 0))
    for sql in _RECOUNTS:
        for row in tx.each(sql):
            found[row["name"]] += row["n"]
    return dict(found)


def differences(tx: "Tx") -> dict[str, tuple[int, int]]:
    """Compare what is kept with a real count: name, kept number, true number."""
    kept, real = read(tx), recount(tx)
    return {
        name: (kept.get(name, 0), real.get(name, 0))
        for name in sorted(kept.keys() | real.keys())
        if kept.get(name, 0) != real.get(name, 0)
    }


def correct(tx: "Tx", *, now: datetime) -> dict[str, tuple[int, int]]:
    """Replace every wrong number by a true one; give what was wrong, for the log."""
    wrong = differences(tx)
    tally = Tally()
    for name, (kept, real) in wrong.items():
        tally.add(name, real - kept)
    tally.write(tx, now=now)
    return wrong


_RECOUNTS: Final = (
    """
    SELECT 'status.' || status AS name, count(*) AS n FROM work_items GROUP BY status
    """,
    """
    SELECT 'ready.' || status AS name, count(*) AS n
      FROM work_items WHERE ready_key IS NOT NULL GROUP BY status
    """,
    """
    SELECT 'reason.' || status || '.' || reason AS name, count(*) AS n
      FROM work_items WHERE status IN ('failed', 'deferred') AND reason <> ''
     GROUP BY status, reason
    """,
    "SELECT 'instrumental' AS name, count(*) AS n FROM work_items WHERE detector_verdict = 1",
    "SELECT 'attempts.' || lane AS name, count(*) AS n FROM lane_attempts GROUP BY lane",
    """
    SELECT 'attempt_hits.' || lane AS name, count(*) AS n
      FROM lane_attempts WHERE hit = 1 GROUP BY lane
    """,
    """
    SELECT 'wanted_missing' AS name, count(*) AS n
      FROM scan_results WHERE missing_since_at IS NULL AND sidecar_class = ''
    """,
    """
    SELECT 'wanted_unsynced' AS name, count(*) AS n
      FROM scan_results WHERE missing_since_at IS NULL AND sidecar_class = 'txt' AND ours = 1
    """,
    """
    SELECT 'files.' || library_id AS name, count(*) AS n FROM scan_results GROUP BY library_id
    """,
    """
    SELECT 'missing.' || library_id AS name, count(*) AS n
      FROM scan_results WHERE missing_since_at IS NULL AND sidecar_class = ''
     GROUP BY library_id
    """,
)
