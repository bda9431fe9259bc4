"""Replace a file whole or not at all.

The new bytes go to a temporary file in the same directory, reach the disk, and
take the old file's place in one step; then the directory reaches the disk too.
Whatever happens in between, a reader finds the old file or the new one.
"""

import errno
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

from lyrsvc.brand import PROGRAM
from lyrsvc.core.display import escape_controls
from lyrsvc.core.errors import FileFault
from lyrsvc.durability import sync_directory

STALE_AFTER: Final = timedelta(hours=1)
_STALE_S: Final = STALE_AFTER.total_seconds()

Announce = Callable[[Path], Callable[[], object] | None]
"""Told of every path before it is touched, so that a watcher knows our own writes.

What it gives back, if anything, is called once the path has been touched.
"""
Guard = Callable[[], AbstractContextManager[object]]

_TEMP_NAME: Final = re.compile(rf"\.{PROGRAM}-[0-9a-f]{{8}}\.tmp")
_REASONS: Final = {
    errno.EACCES: "write_denied",
    errno.EPERM: "write_denied",
    errno.EROFS: "read_only",
    errno.ENOSPC: "disk_full",
    errno.EDQUOT: "disk_full",
    errno.ENAMETOOLONG: "name_too_long",
}
_REMEDIES: Final = {
    "write_denied": "give the service's user write access to the directory",
    "read_only": "mount the file system writable",
    "disk_full": "free some space or raise the quota",
    "name_too_long": "shorten the file name",
    "write_error": "check the file system",
}
_A_FILE_THERE: Final = "a file stands where a directory is to be; name another place or move it"
_NEARER_REMEDIES: Final = {
    errno.EISDIR: "give the directory another name",
    errno.EEXIST: _A_FILE_THERE,
    errno.ENOTDIR: _A_FILE_THERE,
}
EXCLUSIVE: Final = (
    os.O_WRONLY
    | os.O_CREAT
    | os.O_EXCL
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_BINARY", 0)
)
"""How a file is opened that must not be there yet, neither as a link."""
_NEW_FILE_MODE: Final = 0o666
"""The system takes the umask off it."""
_PRIVATE_MODE: Final = 0o600


def replace_file(  # noqa: PLR0913 - one keyword for each thing a caller may say
    path: Path,
    data: bytes,
    *,
    mode: int | None = None,
    guard: Guard = nullcontext,
    still_wanted: Callable[[], bool] | None = None,
    announce: Announce | None = None,
    folder: int | None = None,
) -> bool:
    """Write a file durably; False when ``still_wanted`` said no at the last moment.

    ``guard`` is entered around each change of the directory's names. With ``folder``,
    a handle of the directory, the file goes there wherever its path leads by now.

    A file that exists keeps its mode and, where permitted, its owner; a new one
    gets ``mode``, or what the umask leaves. A symbolic link is replaced, not
    followed. Raises ``FileFault``; then the old file is as it was.
    """
    try:
        return _replace(path, data, mode, _Steps(guard, still_wanted, announce, folder))
    except OSError as error:
        raise write_fault(error, path) from error


def remove_file(
    path: Path,
    *,
    guard: Guard = nullcontext,
    announce: Announce | None = None,
    folder: int | None = None,
) -> None:
    """Remove a file durably, from ``folder`` when it is held; one that is gone is fine."""
    try:
        with announced(announce, path), guard(), suppress(FileNotFoundError):
            os.unlink(_entry(path, folder), dir_fd=folder)
        sync_directory(path.parent, folder=folder)
    except OSError as error:
        raise write_fault(error, path) from error


@contextmanager
def announced(announce: Announce | None, *paths: Path) -> Iterator[None]:
    """Announce paths that are touched within, each before and after."""
    done = [announce(path) for path in paths] if announce else []
    try:
        yield
    finally:
        for tell in done:
            if tell is not None:
                tell()


def write_fault(error: OSError, path: Path) -> FileFault:
    """Translate a system error into a reason code with its remedy."""
    reason = _REASONS.get(error.errno or 0, "write_error")
    remedy = _NEARER_REMEDIES.get(error.errno or 0, _REMEDIES[reason])
    cause = (error.strerror or "unknown error").lower()
    shown = escape_controls(str(path))
    return FileFault(reason, f"cannot write {shown}: {cause}; {remedy}")


def temp_beside(path: Path) -> Path:
    """Make up a name for a temporary file in the same directory."""
    return path.with_name(f".{PROGRAM}-{secrets.token_hex(4)}.tmp")


def is_temp_name(name: str) -> bool:
    """Tell whether a name is one of our temporary files."""
    return _TEMP_NAME.fullmatch(name) is not None


def remove_stale_temp(path: Path, *, now: datetime) -> bool:
    """Remove a temporary file of ours that a crash left behind an hour or more ago."""
    if not is_temp_name(path.name):
        return False
    with suppress(OSError):
        facts = path.lstat()
        if stat.S_ISREG(facts.st_mode) and now.timestamp() - facts.st_mtime >= _STALE_S:
            path.unlink()
            return True
    return False


class _Steps(NamedTuple):
    guard: Guard
    still_wanted: Callable[[], bool] | None
    announce: Announce | None
    folder: int | None


def _entry(path: Path, folder: int | None) -> str | Path:
    """Give how a file is called: by its name in a directory that is held, else by its path."""
    return path if folder is None else path.name


def _replace(
    path: Path,
    data: bytes,
    mode: int | None,
    steps: "_Steps",
) -> bool:
    temp = temp_beside(path)
    folder = steps.folder
    old = _regular(path, folder)
    try:
        with announced(steps.announce, temp, path):
            _write_temp(temp, data, old, mode, steps)
            wanted = steps.still_wanted is None or steps.still_wanted()
            if wanted:
                with steps.guard():
                    names = _entry(temp, folder), _entry(path, folder)
                    os.replace(*names, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        _discard(temp, folder)
        raise
    if not wanted:
        _discard(temp, folder)
        return False
    sync_directory(path.parent, folder=folder)
    return True


def _write_temp(
    temp: Path,
    data: bytes,
    old: os.stat_result | None,
    mode: int | None,
    steps: "_Steps",
) -> None:
    access = _NEW_FILE_MODE if old is None and mode is None else _PRIVATE_MODE
    with steps.guard():
        name = _entry(temp, steps.folder)
        handle = os.open(name, EXCLUSIVE, access, dir_fd=steps.folder)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        if old is not None:
            _adopt(file.fileno(), old)
        elif mode is not None and hasattr(os, "fchmod"):
            os.fchmod(file.fileno(), mode)
        os.fsync(file.fileno())


def _adopt(handle: int, old: os.stat_result) -> None:
    """Give a new file the owner and mode of the old one, as far as the system permits."""
    if not hasattr(os, "fchown"):
        return
    for owner, group in ((-1, old.st_gid), (old.st_uid, -1)):
        with suppress(OSError):
            os.fchown(handle, owner, group)
    with suppress(OSError):
        os.fchmod(handle, stat.S_IMODE(old.st_mode))


def _regular(path: Path, folder: int | None) -> os.stat_result | None:
    try:
        facts = os.stat(_entry(path, folder), dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return facts if stat.S_ISREG(facts.st_mode) else None


def _discard(temp: Path, folder: int | None) -> None:
    with suppress(OSError):
        os.unlink(_entry(temp, folder), dir_fd=folder)
