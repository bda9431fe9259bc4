"""What keeps a database from being used, as far as its place tells; SQLite only says that it is."""

import os
import stat
from pathlib import Path
from typing import Final

from lyrsvc import brand

ROOM_BYTES: Final = 64 * 1024
"""SQLite needs half of it for the index of its log before anything is written."""


def what_hinders(path: str) -> str:
    """Name what is wrong with a place and what helps; empty when nothing is seen."""
    return wrong_kind(path) or _wrong_disk(path)


def wrong_kind(path: str) -> str:
    """Name a path that is there and can be no database: opening a pipe would wait for ever."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 - asked at every opening
    except (OSError, ValueError):
        return ""
    if stat.S_ISDIR(mode):
        file = Path(path, brand.DATABASE_NAME)
        return f"{path} is a directory, not a database; name the file itself, such as {file}"
    if not stat.S_ISREG(mode):
        return f"{path} is no regular file; choose another path for the database"
    return ""


def is_read_only(directory: Path) -> bool:
    """Tell whether nothing can be written because of how the file system is mounted."""
    disk = _disk_of(directory)
    return disk is not None and bool(disk.f_flag & os.ST_RDONLY)


def _wrong_disk(path: str) -> str:
    directory = Path(path).parent
    disk = _disk_of(directory)
    if disk is None:
        return ""
    if is_read_only(directory):
        return f"the database {path} lies on a read-only file system; mount it writable"
    room = disk.f_bavail * disk.f_frsize
    if room < ROOM_BYTES or (disk.f_files and not disk.f_favail):
        return f"no room for the database {path}; free some space"
    return ""


def _disk_of(directory: Path) -> "os.statvfs_result | None":
    if not hasattr(os, "statvfs"):
        return None
    try:
        return os.statvfs(directory)
    except (OSError, ValueError):
        return None
