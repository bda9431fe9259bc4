"""The backup of realign: every move is on disk here before it is made.

One JSON object a line, plain ASCII; swapping its two paths undoes the move. A line
whose move did not come about is taken back. Only one process writes a file at a time.
"""

import errno
import json
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from lyrsvc.core.display import escape_controls
from lyrsvc.core.errors import Refused
from lyrsvc.durability import sync_directory
from lyrsvc.files.byte_source import read_at

LARGEST_LINE: Final = 256 * 1024
_FLAGS: Final = (
    os.O_RDWR
    | os.O_CREAT
    | os.O_APPEND
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
)
_MODE: Final = 0o600
_BEGINNING: Final = b'{"old_path": '
_LOCKED: Final = frozenset({errno.EAGAIN, errno.EACCES, errno.EWOULDBLOCK})


@dataclass(frozen=True, kw_only=True, slots=True)
class LoggedMove:
    """One line; paths are as Python's file functions take them."""

    old_path: str
    new_path: str
    library_id: int | None
    method: str


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that tells of no move; ``is_cut_off`` when a crash left it unfinished."""

    number: int
    reason: str
    is_cut_off: bool = False


class MoveLog:
    """A backup file that is made with its first line; to be used with ``with``.

    ``wait`` is called while another process writes the file, and says whether to give up.
    """

    def __init__(self, path: Path, *, wait: Callable[[], bool] = lambda: True) -> None:
        self.path = path
        self._wait = wait
        self._handle: int | None = None
        self.is_used = False
        """Whether anything was to be written down."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def open(self) -> None:
        """Make sure that lines can be written; raise ``Refused`` when they cannot."""
        self.open_early()
        self.is_used = True

    def open_early(self) -> None:
        """Open the file before anything is to be written down, while we still may."""
        if self._handle is None:
            try:
                self._handle = _open(self.path, self._wait)
            except OSError as error:
                why = (error.strerror or "unknown error").lower()
                raise Refused(
                    f"cannot open the backup {escape_controls(str(self.path))}: {why}; "
                    "nothing was moved, name another place with --backup"
                ) from error

    def append(self, move: LoggedMove) -> int:
        """Write a line down, durably; give the length of the file before it."""
        self.open()
        handle = self._opened()
        before = os.fstat(handle).st_size
        try:
            _write(handle, _line(move))
            os.fsync(handle)
        except OSError:
            with suppress(OSError):
                self.take_back(before)
            raise
        return before

    def take_back(self, length: int) -> None:
        """Cut the file to a former length: what was to come did not."""
        handle = self._opened()
        os.ftruncate(handle, length)
        os.fsync(handle)

    def close(self) -> None:
        """Let go of the file; may be called twice."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    def _opened(self) -> int:
        if self._handle is None:
            raise RuntimeError("the backup is not open")
        return self._handle


def read_moves(path: Path) -> Iterator[LoggedMove | BadLine]:
    """Give the lines of a backup in their order; raise ``Refused`` when it cannot be read.

    Blank lines, which an editor may have left, tell of nothing.
    """
    with _reading(path) as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield _read_line(line, number)


def rotate(path: Path, *, largest: int, kept: int) -> None:
    """Put a file that has grown large aside as ``<name>.1``, the older ones behind it."""
    try:
        if path.stat().st_size < largest:
            return
        for number in range(kept - 1, 0, -1):
            with suppress(FileNotFoundError):
                _numbered(path, number).replace(_numbered(path, number + 1))
        path.replace(_numbered(path, 1))
        sync_directory(path.parent)
    except FileNotFoundError:
        return


def _numbered(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}")


def _open(path: Path, wait: Callable[[], bool]) -> int:
    while True:
        existed = os.path.lexists(path)
        handle = os.open(path, _FLAGS, _MODE)
        try:
            _require_backup(handle)
            _lock(handle, wait)
            if not _is_still(path, handle):  # it was put aside while we waited
                os.close(handle)
                continue
            _end_last_line(handle)
            if not existed:
                sync_directory(path.parent)
        except BaseException:
            with suppress(OSError):
                os.close(handle)
            raise
        return handle


def _require_backup(handle: int) -> None:
    """Refuse a file that is something else, before a line is put into it."""
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        raise OSError(errno.EINVAL, "not a regular file")
    head = read_at(handle, LARGEST_LINE, 0)
    first, end, _ = head.partition(b"\n")
    is_ours = head.startswith(_BEGINNING) or not isinstance(_read_line(first + end, 1), BadLine)
    if head and not is_ours:
        raise OSError(errno.EEXIST, "a file that is no backup of moves stands there")


def _lock(handle: int, wait: Callable[[], bool]) -> None:
    try:
        import fcntl
    except ImportError:  # no such locks on this system
        return
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in _LOCKED:
                return  # a file system without locks
            if wait():
                raise OSError(errno.EBUSY, "another process writes it") from error
        else:
            return


def _is_still(path: Path, handle: int) -> bool:
    try:
        there, own = path.lstat(), os.fstat(handle)
    except FileNotFoundError:
        return False
    return (there.st_dev, there.st_ino) == (own.st_dev, own.st_ino)


def _end_last_line(handle: int) -> None:
    size = os.fstat(handle).st_size
    if size and read_at(handle, 1, size - 1) != b"\n":
        _write(handle, b"\n")


def _write(handle: int, data: bytes) -> None:
    while data:
        data = data[os.write(handle, data) :]


def _line(move: LoggedMove) -> bytes:
    fields = {
        "old_path": move.old_path,
        "new_path": move.new_path,
        "library_id": move.library_id,
        "method": move.method,
    }
    return json.dumps(fields).encode("ascii") + b"\n"


@contextmanager
def _reading(path: Path) -> Iterator[Iterator[bytes]]:
    try:
        with path.open("rb") as file:
            yield iter(lambda: file.readline(LARGEST_LINE), b"")
    except OSError as error:
        why = (error.strerror or "unknown error").lower()
        shown = escape_controls(str(path))
        raise Refused(f"cannot read {shown}: {why}; name a backup that realign made") from error


def _read_line(line: bytes, number: int) -> LoggedMove | BadLine:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        if not line.endswith(b"\n"):
            return BadLine(number, "it was cut off before its move", is_cut_off=True)
        return BadLine(number, "it is not JSON")
    if not isinstance(found, dict):
        return BadLine(number, "it is no object")
    old, new = found.get("old_path"), found.get("new_path")
    library_id, method = found.get("library_id"), found.get("method", "")
    if not (isinstance(old, str) and isinstance(new, str) and isinstance(method, str)):
        return BadLine(number, "old_path and new_path are missing")
    if not _is_path(old) or not _is_path(new):
        return BadLine(number, "its paths are no absolute paths")
    known = library_id if isinstance(library_id, int) else None
    return LoggedMove(old_path=old, new_path=new, library_id=known, method=method)


def _is_path(text: str) -> bool:
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return text.startswith("/") and "\0" not in text
