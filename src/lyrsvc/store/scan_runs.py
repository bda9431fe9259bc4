"""The table ``scan_runs``: what every scan came to."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from lyrsvc.core.ptext import to_ptext
from lyrsvc.core.scan_run import ScanCounts, ScanReport
from lyrsvc.store.moments import to_db

if TYPE_CHECKING:
    from lyrsvc.store.engine import Row
    from lyrsvc.store.transaction import Tx

_COUNTERS: Final = ", ".join(f'"{name}" = :{name}' for name in ScanCounts().as_dict())
_SAVE: Final = f"UPDATE scan_runs SET {_COUNTERS} WHERE id = :id"  # noqa: S608 - our own names


def begin(
    tx: "Tx", library_id: int, *, started_by: str, scope: str, mode: str, now: datetime
) -> int:
    """Write down that a run begins; an earlier one of the library that never ended is over."""
    tx.run(
        """
        UPDATE scan_runs SET state = 'failed', reason = 'aborted', ended_at = :now
         WHERE library_id = :library AND state = 'running'
        """,
        library=library_id,
        now=to_db(now),
    )
    run_id = tx.value(
        """
        INSERT INTO scan_runs (library_id, started_by, scope, mode, started_at)
        VALUES (:library, :by, :scope, :mode, :now) RETURNING id
        """,
        library=library_id,
        by=started_by,
        scope=to_ptext(scope),
        mode=mode,
        now=to_db(now),
    )
    return int(run_id)


def save_counts(tx: "Tx", run_id: int, counts: Mapping[str, int]) -> None:
    """Write down how far a run is."""
    tx.run(_SAVE, **counts, id=run_id)


def end(tx: "Tx", report: ScanReport, *, now: datetime) -> None:
    """Write down how a run ended."""
    save_counts(tx, report.run_id, report.counts.as_dict())
    sample = [{**error, "path": to_ptext(error["path"])} for error in report.errors]
    tx.run(
        """
        UPDATE scan_runs
           SET state = :state, reason = :reason, ended_at = :now, error_sample = :sample
         WHERE id = :id
        """,
        id=report.run_id,
        state=str(report.state),
        reason=str(report.reason),
        sample=json.dumps(sample, ensure_ascii=False),
        now=to_db(now),
    )


def get(tx: "Tx", run_id: int) -> "dict[str, Any] | None":
    """Give one run."""
    return tx.first("SELECT * FROM scan_runs WHERE id = :id", id=run_id)


def running(tx: "Tx") -> "list[Row]":
    """Give the runs that have begun and not ended, by id."""
    return tx.all("SELECT * FROM scan_runs WHERE state = 'running' ORDER BY id")


def recent(tx: "Tx", *, limit: int = 20) -> "list[Row]":
    """Give the newest runs of all, the newest first."""
    return tx.all("SELECT * FROM scan_runs ORDER BY id DESC LIMIT :limit", limit=limit)


def last_of_each(tx: "Tx") -> "list[Row]":
    """Give the newest run over a whole library that has ended, of every library, by library."""
    return tx.all(
        """
        SELECT r.* FROM libraries l
          JOIN scan_runs r
            ON r.id = (SELECT o.id FROM scan_runs o
                        WHERE o.library_id = l.id AND o.state <> 'running' AND o.scope = ''
                        ORDER BY o.id DESC LIMIT 1)
         ORDER BY l.id
        """
    )


def abandon(tx: "Tx", run_id: int, *, now: datetime) -> None:
    """Write down that nobody carries a run on any more."""
    tx.run(
        """
        UPDATE scan_runs SET state = 'failed', reason = 'aborted', ended_at = :now
         WHERE id = :id AND state = 'running'
        """,
        id=run_id,
        now=to_db(now),
    )
