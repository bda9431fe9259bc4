"""The table ``announced_dirs``: directories that a webhook spoke of and that are to be scanned.

A row stands until a scan that began after it was written has gone over its directory.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from lyrsvc.core.ptext import from_ptext, to_ptext
from lyrsvc.store.moments import to_db

if TYPE_CHECKING:
    from lyrsvc.store.transaction import Tx


def insert(tx: "Tx", directories: Iterable[str], *, now: datetime) -> None:
    """Write directories down; one that is there already is as new as the others."""
    tx.many(
        """
        INSERT INTO announced_dirs (path, created_at, updated_at) VALUES (:path, :now, :now)
        ON CONFLICT (path) DO UPDATE SET updated_at = :now
        """,
        [{"path": to_ptext(directory), "now": to_db(now)} for directory in directories],
    )


def every(tx: "Tx") -> list[str]:
    """Give all of them, the oldest first."""
    rows = tx.tuples("SELECT path FROM announced_dirs ORDER BY created_at, path")
    return [from_ptext(path) for (path,) in rows]


def forget(tx: "Tx", directory: str, *, until: datetime) -> None:
    """Let go of a directory and those below it, unless they were announced again since."""
    path = to_ptext(directory.rstrip("/"))
    tx.run(
        """
        DELETE FROM announced_dirs
         WHERE (path = :path OR (path >= :least AND path < :most)) AND updated_at <= :until
        """,
        path=path,
        least=f"{path}/",
        most=f"{path}0",  # the sign behind the slash: only what is below lies between
        until=to_db(until),
    )
