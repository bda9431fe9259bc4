"""Looks at directories that may not answer: a share that is gone must not hold up a page."""

import os
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

WAIT_S: Final = 2.0
FRESH_S: Final = 5.0


@dataclass(frozen=True, kw_only=True, slots=True)
class RootState:
    """How a directory is doing; ``answers`` is False while the system does not say."""

    answers: bool = True
    reachable: bool = False
    empty: bool = False
    writable: bool = False
    free_bytes: int | None = None


SILENT: Final = RootState(answers=False)


@dataclass(slots=True)
class _Probe:
    began_s: float = field(default_factory=time.monotonic)
    done: threading.Event = field(default_factory=threading.Event)
    state: RootState = SILENT
    ended_s: float = 0.0


class RootProbes:
    """Looks at each directory in a thread of its own, and never waits long for any.

    A directory that does not answer is not asked again before it does, and waited for once.
    """

    def __init__(self, *, wait_s: float = WAIT_S, fresh_s: float = FRESH_S) -> None:
        self._wait_s = wait_s
        self._fresh_s = fresh_s
        self._lock = threading.Lock()
        self._probes: dict[str, _Probe] = {}

    def look(self, paths: Iterable[Path]) -> dict[Path, RootState]:
        """Tell how each directory is doing; what was seen a moment ago is not looked at again."""
        wanted = {path: self._probe(os.fspath(path)) for path in paths}
        found: dict[Path, RootState] = {}
        for path, probe in wanted.items():
            is_done = probe.done.wait(max(0.0, probe.began_s + self._wait_s - time.monotonic()))
            found[path] = probe.state if is_done else SILENT
        return found

    def _probe(self, path: str) -> _Probe:
        with self._lock:
            known = self._probes.get(path)
            if known is not None and not self._is_stale(known):
                return known
            probe = self._probes[path] = _Probe()
        threading.Thread(target=_answer, args=(path, probe), name="probe", daemon=True).start()
        return probe

    def _is_stale(self, probe: _Probe) -> bool:
        return probe.done.is_set() and time.monotonic() - probe.ended_s >= self._fresh_s


def _answer(path: str, probe: _Probe) -> None:
    try:
        probe.state = _state_of(path)
    finally:
        probe.ended_s = time.monotonic()
        probe.done.set()


def _state_of(path: str) -> RootState:
    try:
        with os.scandir(path) as entries:
            is_empty = next(entries, None) is None
    except (OSError, ValueError):
        return RootState()
    return RootState(
        reachable=True,
        empty=is_empty,
        writable=os.access(path, os.W_OK),
        free_bytes=free_bytes_at(path),
    )


def existing_above(directory: Path) -> Path:
    """Give the directory, or the nearest above it that is there."""
    while not os.access(directory, os.F_OK) and directory != directory.parent:
        directory = directory.parent
    return directory


def free_bytes_at(path: str) -> int | None:
    """Give the bytes this process may still write there; None when nobody can say."""
    try:
        found = os.statvfs(path)
    except (OSError, ValueError, AttributeError):
        return None
    return found.f_bavail * found.f_frsize
