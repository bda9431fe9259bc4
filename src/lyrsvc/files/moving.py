"""Give a file another name, and never cost another file its place.

The system's own exclusive rename is tried first; where it is missing a hard link, then
a reserved name, do the same. Whatever happens in between, the bytes are at the old
name or at the new one, and a file that stands at the new one stays.
"""

import ctypes
import errno
import os
import shutil
import stat
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Final

from lyrsvc.core.display import escape_controls
from lyrsvc.core.errors import FileFault
from lyrsvc.durability import sync_directory
from lyrsvc.files.atomic import EXCLUSIVE, Announce, announced, temp_beside, write_fault
from lyrsvc.files.pairing import folded

_NO_REPLACE: Final = 1
_HERE: Final = -100
"""``AT_FDCWD``: paths are taken as they are."""
_UNSUPPORTED: Final = frozenset(
    {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM, errno.EMLINK}
)
_READ: Final = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)


class MoveResult(Enum):
    """What became of a move; ``TAKEN`` and ``GONE`` have changed nothing."""

    MOVED = "moved"
    TAKEN = "taken"
    GONE = "gone"


def move_file(old: Path, new: Path, *, announce: Announce | None = None) -> MoveResult:
    """Rename a regular file durably: the directory it goes to reaches the disk first.

    Raises ``FileFault`` when the system refuses; then the file has its old name.
    """
    try:
        facts = _facts(old)
        if facts is None:
            return MoveResult.GONE
        if not stat.S_ISREG(facts.st_mode):
            raise FileFault("write_error", f"{escape_controls(str(old))} is not a regular file")
        with announced(announce, old, new):
            result = _move(old, new, facts)
        if result is MoveResult.MOVED:
            sync_directory(new.parent)
            if new.parent != old.parent:
                sync_directory(old.parent)
    except OSError as error:
        raise write_fault(error, new) from error
    return result


def is_taken(old: Path, new: Path) -> bool:
    """Tell whether something stands at a new name that is not the file itself, spelled so."""
    there = _facts(new)
    here = _facts(old)
    if there is None:
        return False
    return here is None or not _is_same(here, there) or not _is_respelling(old, new)


def is_half_moved(old: Path, new: Path) -> bool:
    """Tell whether both names lead to one file: a move by hard link that was cut off."""
    here, there = _facts(old), _facts(new)
    return here is not None and there is not None and _is_same(here, there)


def _move(old: Path, new: Path, facts: os.stat_result) -> MoveResult:
    there = _facts(new)
    if there is not None:
        if not (_is_same(facts, there) and _is_respelling(old, new)):
            return MoveResult.TAKEN
        old.rename(new)  # the only entry there is, on a volume that does not tell cases apart
        return MoveResult.MOVED
    try:
        _rename(old, new)
    except FileExistsError:
        return MoveResult.TAKEN
    except FileNotFoundError:
        if _facts(old) is None:
            return MoveResult.GONE
        raise
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        return _carry_over(old, new, facts)
    return MoveResult.MOVED


def _rename(old: Path, new: Path) -> None:
    """Rename by the first way that this file system knows."""
    *first, last = _WAYS
    for way in first:
        try:
            return way(old, new)
        except OSError as error:
            if error.errno not in _UNSUPPORTED:
                raise
    return last(old, new)


def _rename_exclusively(old: Path, new: Path) -> None:
    rename = _exclusive_rename()
    if rename is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if rename(_HERE, os.fsencode(old), _HERE, os.fsencode(new), _NO_REPLACE) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), str(new))


def _link(old: Path, new: Path) -> None:
    try:
        os.link(old, new, follow_symlinks=False)
    except FileExistsError:
        if not is_half_moved(old, new):  # a network answer may be lost, and the link made
            raise
    try:
        old.unlink()
    except OSError:
        with suppress(OSError):
            new.unlink()
        raise


def _reserve(old: Path, new: Path) -> None:
    handle = os.open(new, EXCLUSIVE, 0o600)
    own = os.fstat(handle)
    os.close(handle)
    try:
        now = _facts(new)
        if now is None or not _is_same(own, now) or now.st_size:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(new))
        old.rename(new)
    except OSError:
        now = _facts(new)
        if now is not None and _is_same(own, now) and not now.st_size:
            with suppress(OSError):
                new.unlink()
        raise


_WAYS: Final[tuple[Callable[[Path, Path], None], ...]] = (_rename_exclusively, _link, _reserve)


def _carry_over(old: Path, new: Path, facts: os.stat_result) -> MoveResult:
    """Take a file to another file system: the copy is whole before it gets its name."""
    temp = temp_beside(new)
    try:
        _copy(old, temp, facts)
        result = _move(temp, new, temp.lstat())
    finally:
        with suppress(OSError):
            temp.unlink(missing_ok=True)
    if result is MoveResult.MOVED:
        sync_directory(new.parent)
        try:
            old.unlink()
        except OSError:
            with suppress(OSError):
                new.unlink()
            raise
    return result


def _copy(old: Path, temp: Path, facts: os.stat_result) -> None:
    with (
        os.fdopen(os.open(old, _READ), "rb") as source,
        os.fdopen(os.open(temp, EXCLUSIVE, 0o600), "wb") as copy,
    ):
        shutil.copyfileobj(source, copy)
        copy.flush()
        if hasattr(os, "fchown"):
            with suppress(OSError):
                os.fchown(copy.fileno(), facts.st_uid, facts.st_gid)
        with suppress(OSError):
            os.chmod(temp, stat.S_IMODE(facts.st_mode))  # noqa: PTH101 - beside the rest
        os.utime(temp, ns=(facts.st_atime_ns, facts.st_mtime_ns))
        os.fsync(copy.fileno())


def _is_respelling(old: Path, new: Path) -> bool:
    """Tell whether two names are one entry, and not two links to one file."""
    if old.parent != new.parent or folded(old.name) != folded(new.name):
        return False
    names = set(os.listdir(old.parent))  # noqa: PTH208 - names are all that is wanted
    return not (old.name != new.name and {old.name, new.name} <= names)


def _is_same(one: os.stat_result, other: os.stat_result) -> bool:
    return (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)


def _facts(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None


@cache
def _exclusive_rename() -> "Callable[..., int] | None":
    try:
        return getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    except (OSError, TypeError):
        return None
