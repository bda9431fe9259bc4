"""Which schema a database has, told without reading any migration."""

import os
from typing import TYPE_CHECKING

from lyrsvc.core.errors import StoreError, StoreTooNew

if TYPE_CHECKING:
    from lyrsvc.store.engine import Engine
    from lyrsvc.store.transaction import Tx


def newest_version(directory: str) -> int:
    """Give the number of the last step in a directory, by the file names alone."""
    with os.scandir(directory) as entries:
        return max(
            (int(entry.name[:4]) for entry in entries if entry.name.endswith(".sql")), default=0
        )


def refuse_newer(found: int, known: int) -> None:
    """Raise when the database was written by a newer program."""
    if found > known:
        raise StoreTooNew(
            f"database schema {found} is newer than this program ({known}); "
            "upgrade lyrsvc or restore a backup"
        )


def require_current(engine: "Engine", tx: "Tx") -> None:
    """Raise unless the database has exactly this program's schema; never change it."""
    applied = engine.applied_steps(tx) or []
    found = max((row["version"] for row in applied), default=0)
    known = newest_version(engine.steps_directory)
    refuse_newer(found, known)
    if found < known:
        raise StoreError(
            f"database schema {found} is older than this program ({known}); "
            "start lyrsvc serve once, it upgrades the database and keeps a copy"
        )
