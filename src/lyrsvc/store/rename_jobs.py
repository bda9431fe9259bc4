"""The table ``rename_jobs``: audio files that were renamed, whose sidecars are to follow.

A job waits until somebody has looked at it; then it is done, or ignored because its
paths are none of ours. Jobs are taken in the order they came: a name that was given
up may be another file's new one.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Literal, NamedTuple

from lyrsvc.core.ptext import clean_text, from_ptext, to_ptext
from lyrsvc.store.moments import to_db

if TYPE_CHECKING:
    from lyrsvc.store.transaction import Tx


class RenameJob(NamedTuple):
    """One renamed file; paths are as Python's file functions take them.

    Jobs of one event have their ``created_at`` in common.
    """

    id: int
    old_path: str
    new_path: str
    created_at: str


def insert(tx: "Tx", pairs: Iterable[tuple[str, str]], *, now: datetime) -> int:
    """Write pairs of old and new path down; give how many were not waiting already."""
    latest: dict[str, tuple[str, str]] = {}
    for job in waiting(tx):
        latest[job.old_path] = latest[job.new_path] = (job.old_path, job.new_path)
    fresh: list[tuple[str, str]] = []
    for pair in pairs:
        old, new = pair
        if latest.get(old) == pair and latest.get(new) == pair:
            continue  # nothing that came later speaks of these names
        latest[old] = latest[new] = pair
        fresh.append(pair)
    tx.many(
        """
        INSERT INTO rename_jobs (old_path, new_path, created_at, updated_at)
        VALUES (:old, :new, :now, :now)
        """,
        [{"old": to_ptext(old), "new": to_ptext(new), "now": to_db(now)} for old, new in fresh],
    )
    return len(fresh)


def waiting(tx: "Tx", limit: int | None = None, *, after: int = 0) -> list[RenameJob]:
    """Give the oldest jobs that wait, in their order, behind an id; all without a limit."""
    rows = tx.tuples(
        """
        SELECT id, old_path, new_path, created_at FROM rename_jobs
         WHERE state = 'waiting' AND id > :after ORDER BY id LIMIT :limit
        """,
        after=after,
        limit=-1 if limit is None else limit,
    )
    return [
        RenameJob(job_id, from_ptext(old), from_ptext(new), created_at)
        for job_id, old, new, created_at in rows
    ]


def former_paths(tx: "Tx", path: str) -> list[str]:
    """Give what a file was called before the renames that still wait, the latest name first."""
    found: list[str] = []
    for job in reversed(waiting(tx)):
        if job.new_path == path:
            path = job.old_path
            found.append(path)
    return found


def settle(
    tx: "Tx", job_id: int, *, state: Literal["done", "ignored"], error: str = "", now: datetime
) -> bool:
    """Close a job; False when it did not wait any more."""
    changed = tx.run(
        """
        UPDATE rename_jobs SET state = :state, error = :error, updated_at = :now
         WHERE id = :id AND state = 'waiting'
        """,
        id=job_id,
        state=state,
        error=clean_text(error),
        now=to_db(now),
    )
    return changed > 0
