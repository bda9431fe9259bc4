"""Library names for shell completion: a glance that leaves no trace.

Nothing is created, changed, migrated or waited for; whatever goes wrong means
that there are no names. Meant for short-lived processes that have not opened the
database otherwise: closing a file gives up all locks of the process on it.
"""

import os
import stat
import sys
import time
from typing import Final

from lyrsvc.core.errors import StoreError

LIMIT_S: Final = 0.2
STEPS_BETWEEN_LOOKS: Final = 1000

_SHARED_LOCK_AT: Final = 0x40000002
_SHARED_LOCK_BYTES: Final = 510


def library_names(path: str) -> list[tuple[int, str]]:
    """Give id and name of every library, by name; empty when that cannot be told at once."""
    import apsw

    try:
        options = _options(path)
        return [] if options is None else _ask(path, options)
    except (OSError, ValueError, apsw.Error, StoreError):
        return []


def _options(path: str) -> str | None:
    """Choose how to open: without locks when at rest, else beside the process that has it open."""
    if not stat.S_ISREG(os.stat(path).st_mode) or _is_locked(path):  # noqa: PTH116 - start-up time
        return None
    if not _has_content(f"{path}-wal"):
        return "immutable=1"
    if _has_content(f"{path}-shm"):
        return "readonly_shm=1"
    return None


def _ask(path: str, options: str) -> list[tuple[int, str]]:
    from lyrsvc.store.sqlite_link import READ_ONLY, connect

    until = time.monotonic() + LIMIT_S
    connection = connect(path, flags=READ_ONLY, options=options)
    try:
        connection.set_busy_timeout(int(LIMIT_S * 1000))
        connection.set_progress_handler(lambda: time.monotonic() > until, STEPS_BETWEEN_LOOKS)
        rows = connection.execute("SELECT id, name FROM libraries ORDER BY name, id")
        return [(int(id_), str(name)) for id_, name in rows]
    finally:
        connection.close(force=True)


def _has_content(path: str) -> bool:
    try:
        return os.stat(path).st_size > 0  # noqa: PTH116 - start-up time
    except FileNotFoundError:
        return False


def _is_locked(path: str) -> bool:
    """Tell whether another process keeps even readers out."""
    if sys.platform == "win32":
        return False
    import fcntl

    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        fcntl.lockf(handle, fcntl.LOCK_SH | fcntl.LOCK_NB, _SHARED_LOCK_BYTES, _SHARED_LOCK_AT)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False
