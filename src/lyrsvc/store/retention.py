"""Removing rows that nobody will ask for again, a thousand at a time."""

from datetime import datetime
from typing import TYPE_CHECKING, Final

from lyrsvc.store.moments import to_db

if TYPE_CHECKING:
    from lyrsvc.store.transaction import Tx

CHUNK: Final = 1000
RUNS_KEPT: Final = 200
"""Scan runs that are kept of each library."""


def forget_history(tx: "Tx", *, before: datetime) -> int:
    """Remove old rows of the history."""
    return tx.run(
        """
        DELETE FROM history
         WHERE id IN (SELECT id FROM history WHERE at < :before ORDER BY at, id LIMIT :most)
        """,
        before=to_db(before),
        most=CHUNK,
    )


def forget_audit(tx: "Tx", *, before: datetime) -> int:
    """Remove old audit rows."""
    return tx.run(
        """
        DELETE FROM audit_log
         WHERE id IN (SELECT id FROM audit_log WHERE at < :before ORDER BY at, id LIMIT :most)
        """,
        before=to_db(before),
        most=CHUNK,
    )


def forget_sessions(tx: "Tx", *, before: datetime) -> int:
    """Remove sessions that have ended."""
    return tx.run(
        """
        DELETE FROM sessions
         WHERE token_hash IN (SELECT token_hash FROM sessions
                               WHERE expires_at < :before ORDER BY expires_at LIMIT :most)
        """,
        before=to_db(before),
        most=CHUNK,
    )


def forget_attempts(tx: "Tx", *, before: datetime) -> int:
    """Remove old attempts of items that are gone; those of present items stay."""
    return tx.run(
        """
        DELETE FROM lane_attempts
         WHERE (queue_id, lane) IN
               (SELECT a.queue_id, a.lane
                  FROM lane_attempts a
                 WHERE a.attempted_at < :before
                   AND NOT EXISTS (SELECT 1 FROM work_items i WHERE i.id = a.queue_id)
                 LIMIT :most)
        """,
        before=to_db(before),
        most=CHUNK,
    )


def forget_renames(tx: "Tx", *, before: datetime) -> int:
    """Remove rename jobs that were finished long ago."""
    return tx.run(
        """
        DELETE FROM rename_jobs
         WHERE id IN (SELECT id FROM rename_jobs
                       WHERE state <> 'waiting' AND updated_at < :before LIMIT :most)
        """,
        before=to_db(before),
        most=CHUNK,
    )


def forget_runs(tx: "Tx") -> int:
    """Remove all but the newest scan runs of each library; one that is running stays."""
    return tx.run(
        """
        DELETE FROM scan_runs
         WHERE id IN (SELECT r.id
                        FROM scan_runs r
                       WHERE r.state <> 'running'
                         AND (SELECT count(*) FROM scan_runs n
                               WHERE n.library_id = r.library_id AND n.id > r.id) >= :kept
                       LIMIT :most)
        """,
        kept=RUNS_KEPT,
        most=CHUNK,
    )
