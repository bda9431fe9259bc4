"""Opening a music file without being caught by what only looks like one."""

import os
import stat
from types import TracebackType
from typing import Final

from lyrsvc.core.errors import FileFault
from lyrsvc.files.byte_source import ByteSource

AnyPath = str | bytes | os.PathLike[str] | os.PathLike[bytes]

_FLAGS: Final = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
)


def open_audio(path: AnyPath) -> "OpenAudio":
    """Open a regular, non-empty file for reading; raise ``FileFault`` otherwise."""
    return OpenAudio(path)


def fault_of(failure: OSError) -> FileFault:
    """Translate a failure of the operating system into its reason code."""
    if isinstance(failure, PermissionError):
        return FileFault("open_denied", "the file may not be read; check its permissions")
    cause = failure.strerror or type(failure).__name__
    return FileFault("io_error", f"the file cannot be read ({cause}); check the disk")


class OpenAudio:
    """An open file, closed at the end of its block; its troubles leave as a ``FileFault``."""

    __slots__ = ("_fd",)

    def __init__(self, path: AnyPath) -> None:
        self._fd = _open(path)

    def __enter__(self) -> ByteSource:
        try:
            found = os.fstat(self._fd)
            _require_audio(found)  # the name may have changed hands since the first look
        except BaseException as failure:
            self.__exit__(type(failure), failure, None)
            raise
        return ByteSource(self._fd, found.st_size)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        failure: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._fd)
        if isinstance(failure, OSError):
            raise fault_of(failure) from failure


def _open(path: AnyPath) -> int:
    try:
        _require_audio(os.stat(path))  # noqa: PTH116 - also takes names that are bytes
        return os.open(path, _FLAGS)
    except OSError as failure:
        raise fault_of(failure) from failure
    except ValueError as failure:  # a NUL inside the name
        raise FileFault("io_error", "the file name is not valid") from failure


def _require_audio(found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise FileFault("not_regular", "this is no regular file; move it out of the library")
    if found.st_size == 0:
        raise FileFault("empty_file", "the file is empty; copy it again")
