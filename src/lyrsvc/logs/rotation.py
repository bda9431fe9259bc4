"""The log file: one writer, rotated by size, never a torn line, never a raised error."""

import logging
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from lyrsvc.core.ports import Clock
from lyrsvc.logs.old_logs import TICK, FilePlan, Tidier, name_old_log
from lyrsvc.logs.writer_lock import take_lock

DIRECTORY_MODE: Final = 0o750
FILE_MODE: Final = 0o600
RETRY_S: Final = 30.0
"""How often a lock or a rotation that was refused is tried again."""
TIDY_S: Final = 24 * 3600.0

_FLAGS: Final = (
    os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
)


class RotatingFile(logging.Handler):
    """Appends whole lines to a file that only this process writes.

    While another process holds the file, records pass by; ``warn(what, why)`` is
    told once, unless we are a ``guest`` beside whoever writes it, and the lock is
    tried again from time to time. ``warn`` also hears of a disk that refuses, once
    for every spell of trouble.
    """

    def __init__(
        self,
        plan: FilePlan,
        *,
        clock: Clock,
        warn: Callable[[str, str], None],
        guest: bool = False,
    ) -> None:
        super().__init__()
        self._path = Path(os.path.realpath(plan.path))
        self._max_bytes = plan.max_bytes
        self._clock = clock
        self._warn = warn
        self._guest = guest
        self._tidier = Tidier(replace(plan, path=self._path), clock=clock, warn=warn)
        self._owner = os.getpid()
        self._file: int | None = None
        self._lock_file: int | None = None
        self._in_trouble = False
        self._is_writing = False
        self._reopen_wanted = False
        self._rotated_at = datetime.min.replace(tzinfo=UTC)
        self._lock_at = self._rotate_at = self._tidy_at = clock.monotonic()

    def open(self) -> None:
        """Make the directory, take the lock and open the file, or raise ``OSError``."""
        _make_directories(self._path.parent)
        if self._path.exists() and not self._path.is_file():
            raise OSError(f"{self._path} is not a regular file")
        if self._has_lock():
            self._open_file()

    def emit(self, record: logging.LogRecord) -> None:
        """Append one line; whatever the disk says, the caller hears nothing of it."""
        self._is_writing = True
        try:
            if self._is_ready():
                self._append(f"{self.format(record)}\n".encode("utf-8", "backslashreplace"))
                self._in_trouble = False
        except OSError as fault:
            self._report("log file cannot be written", str(fault))
        finally:
            self._is_writing = False

    def reopen(self) -> None:
        """Follow the path anew; safe in a signal handler, even while a line is written."""
        self._reopen_wanted = True
        lock = self.lock
        if lock is None or self._is_writing or not lock.acquire(blocking=False):
            return  # the next line does it
        try:
            self._is_ready()
        except OSError as fault:
            self._report("log file cannot be opened again", str(fault))
        finally:
            lock.release()

    def close(self) -> None:
        """Finish tidying and let go of file and lock; may be called twice."""
        self._tidier.close()
        self.acquire()
        try:
            self._close_file()
            if self._lock_file is not None:
                os.close(self._lock_file)
                self._lock_file = None
        finally:
            self.release()
        super().close()

    def _is_ready(self) -> bool:
        if os.getpid() != self._owner:
            return False  # a forked child: the file is its parent's
        if not self._has_lock():
            if not self._guest:
                self._report("log file is written by another process", str(self._path))
            return False
        if self._reopen_wanted:
            self._reopen_wanted = False
            self._close_file()
        if self._file is None:
            _make_directories(self._path.parent)
            self._open_file()
        return True

    def _has_lock(self) -> bool:
        if self._lock_file is None and self._clock.monotonic() >= self._lock_at:
            self._lock_at = self._clock.monotonic() + RETRY_S
            self._lock_file = take_lock(self._path.with_name(f".{self._path.name}.lock"))
        return self._lock_file is not None

    def _open_file(self) -> int:
        self._file = file = os.open(self._path, _FLAGS, FILE_MODE)
        if size := os.fstat(file).st_size:
            os.lseek(file, size - 1, os.SEEK_SET)
            if os.read(file, 1) != b"\n":  # the last writer was cut off in mid-line
                os.write(file, b"\n")
        self._wake_tidier()
        return file

    def _close_file(self) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            with suppress(OSError):
                os.close(file)

    def _append(self, line: bytes) -> None:
        file = self._file if self._file is not None else self._open_file()
        facts = os.fstat(file)
        if not facts.st_nlink:  # somebody deleted it, as to make room
            self._close_file()
            _make_directories(self._path.parent)
            file = self._open_file()
            facts = os.fstat(file)
        size = facts.st_size
        if size and size + len(line) > self._max_bytes and self._may_rotate():
            file = self._rotate()
            size = os.fstat(file).st_size
        _write_whole(file, line, size)
        if self._clock.monotonic() >= self._tidy_at:
            self._wake_tidier()

    def _may_rotate(self) -> bool:
        return self._clock.monotonic() >= self._rotate_at

    def _rotate(self) -> int:
        self._close_file()
        try:
            # Later than the last one, or the newest would be taken for the oldest.
            moment = max(self._clock.now(), self._rotated_at + TICK)
            old, self._rotated_at = name_old_log(self._path, moment)
            self._path.rename(old)
        except OSError as fault:
            self._rotate_at = self._clock.monotonic() + RETRY_S
            self._report("log file cannot be rotated", str(fault))
        return self._open_file()

    def _wake_tidier(self) -> None:
        self._tidy_at = self._clock.monotonic() + TIDY_S
        self._tidier.wake()

    def _report(self, what: str, why: str) -> None:
        if not self._in_trouble:
            self._in_trouble = True
            self._warn(f"{what}; its lines are on stderr only", why)


def _write_whole(file: int, line: bytes, size: int) -> None:
    rest = memoryview(line)
    try:
        while rest:
            rest = rest[os.write(file, rest) :]
    except OSError:
        if len(rest) < len(line):
            with suppress(OSError):
                os.ftruncate(file, size)  # half a line helps nobody
        raise


def _make_directories(directory: Path) -> None:
    missing = []
    while not directory.exists():
        missing.append(directory)
        directory = directory.parent
    for one in reversed(missing):
        one.mkdir(mode=DIRECTORY_MODE, exist_ok=True)
