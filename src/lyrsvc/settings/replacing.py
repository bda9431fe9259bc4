"""Replacing the settings file so that a crash leaves the old one or the new one.

The usual way is a temporary file and a rename. Where that cannot be (a single
file mounted into a container, a directory that is not ours) the file is
rewritten in place, with its old bytes kept in a saved copy until that is done.
"""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from lyrsvc.core.errors import Refused
from lyrsvc.durability import sync_directory
from lyrsvc.settings.save_errors import DiskFailed, SettingsReadOnly
from lyrsvc.settings.save_target import Target, exists, is_plain

_IN_PLACE = frozenset({errno.EBUSY, errno.EXDEV, errno.EACCES, errno.EPERM, errno.EROFS})
_NOT_OURS = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.ELOOP})
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_NEW_FILE = 0o600
_NEW_FILE_IN_SHARED_DIRECTORY = 0o640


class FileChanged(Exception):
    """Somebody else wrote the file since it was read."""


def read_text(path: Path) -> str:
    """Read the file as it is now; a missing one is empty."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError:
        raise Refused(f"{path} is not UTF-8 text; save it as UTF-8") from None
    except OSError as error:
        raise _refusal(path, error) from error


def is_writable(path: Path) -> bool:
    """Tell whether the file could be saved; one that nobody may write is nobody's to change."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        there = next(parent for parent in path.parents if exists(parent))
        return _may_write(there)
    except OSError:
        return False
    return bool(mode & 0o222) and _may_write(path)


def require_writable(target: Target) -> None:
    """Refuse to save a file that nobody may write."""
    path = target.path
    if exists(path) and not is_writable(path):
        raise SettingsReadOnly(f"cannot save {path}: it is read-only; {_remedy(path)}")


def replace_text(target: Target, old: str, new: str) -> None:
    """Put the new text in place of the old one; raise ``FileChanged`` when it is another by now."""
    path = target.path
    require_writable(target)
    try:
        _replace(target, old, new.encode())
    except OSError as error:
        if error.errno not in _IN_PLACE or not exists(path):
            raise _refusal(path, error) from error
        _require_unchanged(path, old)
        _rewrite(target, old.encode(), new.encode())


def has_left_overs(target: Target) -> bool:
    """Tell whether a killed save left anything behind."""
    return bool(target.drafts() or target.copies())


def tidy_up(target: Target) -> str | None:
    """Undo an interrupted rewrite and remove what a killed save left; the lock is held."""
    told = None
    for draft in target.drafts():
        with suppress(OSError):
            draft.unlink()
    for copy in target.copies():
        old = _read_copy(copy, target.path)
        if old is None:
            continue
        try:
            _write_in_place(target.path, old)
            copy.unlink()
        except OSError as error:
            raise _refusal(target.path, error) from error
        _sync_names(copy.parent)
        told = f"{target.path}: an interrupted save was undone"
    return told


def _replace(target: Target, old: str, data: bytes) -> None:
    """Write beside the file, look once more whether it is still the old one, rename."""
    path = target.path
    draft = target.draft_in(path.parent)
    try:
        with _create(draft) as file:
            file.write(data)
            file.flush()
            _take_over_identity(file.fileno(), path)
            os.fsync(file.fileno())
        _require_unchanged(path, old)
        draft.replace(path)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise
    _sync_names(path.parent)


def _take_over_identity(descriptor: int, path: Path) -> None:
    """Give the new file owner and mode of the old one; a first one belongs to its directory's."""
    if os.name != "posix":
        return
    try:
        there = path.stat()
    except FileNotFoundError:
        above = path.parent.stat()
        with suppress(OSError):  # only root can, and only root's file would shut the service out
            os.fchown(descriptor, above.st_uid, above.st_gid)
        shared = above.st_mode & stat.S_ISGID
        os.fchmod(descriptor, _NEW_FILE_IN_SHARED_DIRECTORY if shared else _NEW_FILE)
        return
    mine = os.fstat(descriptor)
    if (mine.st_uid, mine.st_gid) != (there.st_uid, there.st_gid):
        os.fchown(descriptor, there.st_uid, there.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(there.st_mode))
    _take_over_attributes(descriptor, path)


def _take_over_attributes(descriptor: int, path: Path) -> None:
    """Keep access lists and labels where the system has them and lets us."""
    if not hasattr(os, "listxattr"):
        return
    with suppress(OSError):
        for name in os.listxattr(path):
            with suppress(OSError):
                os.setxattr(descriptor, name, os.getxattr(path, name))


def _rewrite(target: Target, old: bytes, new: bytes) -> None:
    """Rewrite in place, with the old bytes safe in a copy until the new ones are."""
    path = target.path
    copy = _save_copy(target, old)
    try:
        _write_in_place(path, new)
    except BaseException as error:
        _put_back(path, old, copy)
        if isinstance(error, OSError):
            raise _refusal(path, error) from error
        raise
    copy.unlink()
    _sync_names(copy.parent)


def _put_back(path: Path, old: bytes, copy: Path) -> None:
    """Undo a rewrite; when even this fails, the copy stays for the next start."""
    try:
        _write_in_place(path, old)
    except OSError as error:
        raise DiskFailed(
            f"cannot save {path}: {error.strerror}; the old settings are in {copy} "
            "and are put back at the next start"
        ) from error
    copy.unlink()


def _save_copy(target: Target, data: bytes) -> Path:
    """Keep bytes beside the file or else beside the database; they get their name when complete."""
    failure: OSError | None = None
    for directory in target.directories:
        draft = target.draft_in(directory)
        try:
            with _create(draft) as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            copy = draft.replace(target.copy_of(draft))
        except OSError as error:
            failure = error
            with suppress(OSError):
                draft.unlink()
            continue
        _sync_names(directory)
        return copy
    if failure is not None and failure.errno in _FULL:
        raise _refusal(target.path, failure)
    raise SettingsReadOnly(
        f"there is no place for a copy of {target.path}; make its directory writable"
    )


def _read_copy(copy: Path, path: Path) -> bytes | None:
    """Read a saved copy, unless it may have been planted by a user who may not write the file."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(copy, flags), "rb") as file:
            there = os.fstat(file.fileno())
            if not is_plain(there) or (os.name == "posix" and not _is_trusted(there, path)):
                return None
            return file.read()
    except OSError:
        return None


def _is_trusted(copy: os.stat_result, path: Path) -> bool:
    return copy.st_uid in (0, os.geteuid(), path.stat().st_uid)


def _write_in_place(path: Path, data: bytes) -> None:
    with path.open("r+b") as file:
        file.write(data)
        file.flush()
        file.truncate()
        os.fsync(file.fileno())
    if path.read_bytes() != data:
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))


def _create(draft: Path) -> BinaryIO:
    """Make a file that only we may read."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    return os.fdopen(os.open(draft, flags, _NEW_FILE), "wb")


def _require_unchanged(path: Path, old: str) -> None:
    if read_text(path) != old:
        raise FileChanged


def _sync_names(directory: Path) -> None:
    """Make names durable; what is in place already stays so, whatever the disk says to this."""
    with suppress(OSError):
        sync_directory(directory)


def _may_write(path: Path) -> bool:
    as_effective = os.access in os.supports_effective_ids
    return os.access(path, os.W_OK, effective_ids=as_effective)


def _remedy(path: Path) -> str:
    if not path.stat().st_mode & 0o222:
        return f"if it may be changed: chmod u+w {path}"
    return "save as the right user, for example: sudo lyrsvc config set KEY VALUE"


def _refusal(path: Path, error: OSError) -> Refused:
    """Say why the disk did not do it, and what helps."""
    if error.errno in _FULL:
        return DiskFailed(f"cannot save {path}: the disk is full; free some space, then try again")
    if error.errno in _NOT_OURS:
        remedy = "save as the right user, for example: sudo lyrsvc config set KEY VALUE"
        return SettingsReadOnly(f"cannot save {path}: {error.strerror}; {remedy}")
    return DiskFailed(f"cannot save {path}: {error.strerror}; look at the disk, then try again")
