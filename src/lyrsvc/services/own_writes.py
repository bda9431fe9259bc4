"""Which events are only the echo of our own writing."""

import os
import threading
from pathlib import Path
from typing import Final

from lyrsvc.core.ports import Clock
from lyrsvc.files.atomic import is_temp_name

Facts = tuple[int, int]
"""Size and modification time."""
_GONE: Final = (-1, -1)


class _Note:
    """One announced path: until when it counts, and how the file looked after our touch."""

    __slots__ = ("facts", "until")

    def __init__(self, until: float) -> None:
        self.until = until
        self.facts: Facts | None = None


class OwnWrites:
    """Paths that are about to be touched by ourselves; any thread may announce.

    The first event on an announced path is ours. From then on the file is known: an
    event that finds it otherwise is somebody else's.
    """

    def __init__(self, clock: Clock, *, window_s: float) -> None:
        self._clock = clock
        self._window_s = window_s
        self._lock = threading.Lock()
        self._notes: dict[str, _Note] = {}

    def __len__(self) -> int:
        return len(self._notes)

    def announce(self, path: Path) -> None:
        """Say that this path is about to be written, removed or renamed."""
        if is_temp_name(path.name):
            return
        real = os.path.join(os.path.realpath(path.parent), path.name)  # noqa: PTH118 - exact text
        now = self._clock.monotonic()
        with self._lock:
            self._forget_old(now)
            self._notes.pop(real, None)
            self._notes[real] = _Note(now + self._window_s)

    def covers(self, real: str) -> bool:
        """Tell whether what just happened to a path, its links resolved, was our doing."""
        if not self._notes:
            return False
        with self._lock:
            note = self._notes.get(real)
            if note is None or note.until < self._clock.monotonic():
                return False
            facts = _facts(real)
            if note.facts is None:
                note.facts = facts
            return facts in (note.facts, _GONE)

    def _forget_old(self, now: float) -> None:
        while self._notes:
            oldest = next(iter(self._notes))
            if self._notes[oldest].until >= now:
                return
            del self._notes[oldest]


def _facts(path: str) -> Facts:
    try:
        found = os.lstat(path)
    except OSError:
        return _GONE
    return found.st_size, found.st_mtime_ns
