"""The lock that lets one server at a time live on a database."""

import contextlib
import os
import sys
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from lyrsvc.core.errors import Refused, StorageFailed
from lyrsvc.store.hindrances import what_hinders

_LONGEST_NOTE: Final = 4096


class ServeLock:
    """An exclusive lock on ``<database>.lock``; held until closed, or until the process ends.

    The file stays behind: removing it would let two servers hold two files of one name.
    """

    def __init__(self, database: str | os.PathLike[str]) -> None:
        self._database = os.fspath(database)
        resolved = Path(database).resolve()
        self._file = resolved.with_name(f"{resolved.name}.lock")
        self._handle: int | None = None

    def hold(self) -> Self:
        """Take the lock, or raise ``Refused`` naming the database and who holds it."""
        if self._handle is not None:
            return self
        try:
            self._file.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
            handle = os.open(self._file, os.O_RDWR | os.O_CREAT, 0o640)
        except OSError as error:
            raise self._failed("open", error) from error
        if not _lock(handle):
            holder = _first_line(os.read(handle, 32))
            os.close(handle)
            raise Refused(
                f"the database {self._database} is already served by process "
                f"{holder or 'unknown'}; stop it or set LYRSVC_DB_PATH to another file"
            )
        try:
            os.ftruncate(handle, 0)
            os.lseek(handle, 0, os.SEEK_SET)
            os.write(handle, f"{os.getpid()}\n".encode())
        except OSError as error:
            os.close(handle)
            raise self._failed("write", error) from error
        self._handle = handle
        return self

    def note(self, text: str) -> None:
        """Leave a line for those who look for the holder; where that fails, there is none."""
        if self._handle is not None:
            with contextlib.suppress(OSError):
                os.write(self._handle, f"{text}\n".encode())

    def close(self) -> None:
        """Give the lock up; may be called twice."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    def _failed(self, verb: str, error: OSError) -> StorageFailed:
        why = what_hinders(self._database) or (
            f"cannot {verb} {self._file}: {(error.strerror or 'unknown error').lower()}; "
            "check owner and mode of its directory"
        )
        return StorageFailed(why)

    def __enter__(self) -> Self:
        return self.hold()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def is_served(database: str | os.PathLike[str]) -> bool:
    """Tell whether a server holds the database now; creates nothing."""
    resolved = Path(database).resolve()
    try:
        handle = os.open(resolved.with_name(f"{resolved.name}.lock"), os.O_RDWR)
    except OSError:
        return False
    try:
        return not _lock(handle)
    finally:
        os.close(handle)


def left_note(database: str | os.PathLike[str]) -> str:
    """Give the line that the latest server left, be it gone by now; blank when there is none.

    The lock is not tried for it: a server that starts just now must not find it taken.
    """
    resolved = Path(database).resolve()
    try:
        with resolved.with_name(f"{resolved.name}.lock").open("rb") as file:
            return _first_line(file.read(_LONGEST_NOTE).partition(b"\n")[2])
    except OSError:
        return ""


def _first_line(data: bytes) -> str:
    return data.partition(b"\n")[0].decode("ascii", "replace").strip()


def _lock(handle: int) -> bool:
    if sys.platform == "win32":
        import msvcrt

        try:
            # Far behind the number that others read from the file.
            os.lseek(handle, 1 << 20, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
