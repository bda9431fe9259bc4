"""One writer per log file, held until the process ends or lets go."""

import os
import sys
from pathlib import Path


def take_lock(path: Path) -> int | None:
    """Open and lock the file; None when another process, or handler, holds it.

    Closing the descriptor lets go. Where nothing can be locked, the file is
    merely opened: a log that might interleave is better than no log.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        _lock(descriptor)
    except (BlockingIOError, PermissionError):
        os.close(descriptor)
        return None
    except OSError:  # a filesystem without locks
        return descriptor
    return descriptor


if sys.platform == "win32":

    def _lock(descriptor: int) -> None:
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:

    def _lock(descriptor: int) -> None:
        try:
            import fcntl
        except ImportError:
            return
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
