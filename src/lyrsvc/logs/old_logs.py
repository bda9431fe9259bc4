"""The log files that were rotated away: their names, compression and end.

``lyrsvc.log`` becomes ``lyrsvc-20260131T140506123Z.log``, in the background
``lyrsvc-20260131T140506123Z.log.gz``, and is deleted when it is too old or too
many came after it. Only the process that holds the writer's lock tidies.
"""

import os
import re
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from lyrsvc.core.ports import Clock

LAST_WAIT_S: Final = 10.0
"""How long the end of the program waits for a running compression."""

TICK: Final = timedelta(milliseconds=1)
"""The smallest difference two names can show."""

_CHUNK: Final = 256 * 1024
_STAMP: Final = "%Y%m%dT%H%M%S"
_UNFINISHED: Final = ".tmp"


@dataclass(frozen=True, kw_only=True, slots=True)
class FilePlan:
    """Where the log goes and how much of it is kept."""

    path: Path
    max_bytes: int
    max_files: int
    max_age_days: int
    compress: bool


@dataclass(frozen=True, order=True, slots=True)
class OldLog:
    """A rotated file; they sort by age, the oldest first."""

    stamp: str
    path: Path

    @property
    def written_at(self) -> datetime:
        """Tell when its last line was written: the earlier of name and file time."""
        named = datetime.strptime(self.stamp[:15], _STAMP).replace(tzinfo=UTC)
        try:
            return min(named, datetime.fromtimestamp(self.path.stat().st_mtime, UTC))
        except (OSError, OverflowError, ValueError):
            return named


def name_old_log(path: Path, moment: datetime) -> tuple[Path, datetime]:
    """Find a free name for the file that is rotated away now, and the moment it tells."""
    while True:
        stamp = f"{moment.astimezone(UTC):{_STAMP}}{moment.microsecond // 1000:03}Z"
        old = path.with_name(f"{path.name.removesuffix('.log')}-{stamp}.log")
        if not old.exists() and not _compressed(old).exists():
            return old, moment
        moment += TICK


def find_old_logs(path: Path) -> list[OldLog]:
    """List what was rotated away from this path, the oldest first."""
    pattern = re.compile(
        re.escape(path.name.removesuffix(".log")) + r"-(\d{8}T\d{9}Z)\.log(?:\.gz)?"
    )
    return sorted(
        OldLog(match[1], path.with_name(entry))
        for entry in os.listdir(path.parent)  # noqa: PTH208 names are all that is needed
        if (match := pattern.fullmatch(entry)) and _is_moment(match[1])
    )


class Tidier:
    """Compresses and deletes in the background, one run at a time."""

    def __init__(self, plan: FilePlan, *, clock: Clock, warn: Callable[[str, str], None]) -> None:
        self._plan = plan
        self._clock = clock
        self._warn = warn
        self._state = threading.Lock()
        self._wanted = False
        self._thread: threading.Thread | None = None
        self._ending = threading.Event()

    def wake(self) -> None:
        """Start a run if there is anything to do; a running one goes round once more."""
        with self._state:
            self._wanted = True
            if self._thread is None and not self._ending.is_set() and self._has_work():
                thread = threading.Thread(target=self._run, name="log-tidier", daemon=True)
                with suppress(RuntimeError):  # the interpreter is on its way out
                    thread.start()
                    self._thread = thread

    def close(self) -> None:
        """Let a running compression finish, but not for ever."""
        thread = self._thread
        if thread is not None:
            thread.join(LAST_WAIT_S)
        self._ending.set()

    def _run(self) -> None:
        while True:
            with self._state:
                if not self._wanted or self._ending.is_set():
                    self._thread = None
                    return
                self._wanted = False
            try:
                self._tidy()
            except OSError as fault:
                if not self._ending.is_set():
                    self._warn("old log files cannot be tidied up", str(fault))

    def _tidy(self) -> None:
        for old in self._outlived():
            old.path.unlink(missing_ok=True)
        if self._plan.compress:
            for left_over in self._left_over():
                left_over.unlink(missing_ok=True)
            for old in find_old_logs(self._plan.path):
                if old.path.suffix != ".gz":
                    self._compress(old.path)

    def _has_work(self) -> bool:
        try:
            old_logs = find_old_logs(self._plan.path)
        except OSError:
            return False
        raw = self._plan.compress and any(old.path.suffix != ".gz" for old in old_logs)
        return raw or bool(self._outlived())

    def _outlived(self) -> list[OldLog]:
        old_logs = find_old_logs(self._plan.path)
        oldest_at = self._clock.now() - timedelta(days=self._plan.max_age_days)
        too_many = old_logs[: -self._plan.max_files]
        kept = old_logs[-self._plan.max_files :]
        return too_many + [old for old in kept if old.written_at < oldest_at]

    def _left_over(self) -> list[Path]:
        path = self._plan.path
        return list(path.parent.glob(f"{path.name.removesuffix('.log')}-*.log.gz{_UNFINISHED}"))

    def _compress(self, raw: Path) -> None:
        from gzip import GzipFile

        finished = _compressed(raw)
        unfinished = finished.with_name(finished.name + _UNFINISHED)
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as target, raw.open("rb") as source:
                with GzipFile(filename="", fileobj=target, mode="wb", compresslevel=6) as packed:
                    while chunk := source.read(_CHUNK):
                        self._go_on_or_raise()
                        packed.write(chunk)
                target.flush()
                os.fsync(target.fileno())
                times = os.fstat(source.fileno())
            os.utime(unfinished, ns=(times.st_atime_ns, times.st_mtime_ns))
            unfinished.replace(finished)
            raw.unlink(missing_ok=True)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise

    def _go_on_or_raise(self) -> None:
        if self._ending.is_set():
            raise InterruptedError("the program ends; the next one compresses this file")


def _compressed(path: Path) -> Path:
    return path.with_name(path.name + ".gz")


def _is_moment(stamp: str) -> bool:
    try:
        datetime.strptime(stamp[:15], _STAMP).replace(tzinfo=UTC)
    except ValueError:
        return False
    return True
