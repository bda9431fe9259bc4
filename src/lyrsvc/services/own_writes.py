"""Which events are only the echo of our own writing."""

import os
import threading
from collections.abc import Callable
from functools import partial
from math import inf
from pathlib import Path
from typing import Final

from lyrsvc.core.ports import Clock
from lyrsvc.files.atomic import is_temp_name

MOST_KNOWN: Final = 10_000
"""Above this the files that were touched longest ago are forgotten."""
Facts = tuple[int, int]
"""Size and modification time."""
_GONE: Final = (-1, -1)


class _Note:
    """One path of ours: how often it is being touched just now, and how it looked afterwards."""

    __slots__ = ("facts", "touching", "until")

    def __init__(self) -> None:
        self.touching = 0
        self.facts: Facts | None = None
        self.until = inf


class OwnWrites:
    """Paths that we touch ourselves; any thread may announce.

    Whatever happens to a path while we touch it is ours. From then on the file is known: an
    event that finds it otherwise is somebody else's.
    """

    def __init__(self, clock: Clock, *, window_s: float, most: int = MOST_KNOWN) -> None:
        self._clock = clock
        self._window_s = window_s
        self._most = most
        self._lock = threading.Lock()
        self._notes: dict[str, _Note] = {}

    def __len__(self) -> int:
        return len(self._notes)

    def announce(self, path: Path) -> Callable[[], None] | None:
        """Say that a path is about to be touched; what is given back says that it was."""
        if is_temp_name(path.name):
            return None
        real = os.path.join(os.path.realpath(path.parent), path.name)  # noqa: PTH118 - exact text
        with self._lock:
            self._forget_old()
            note = self._newest(real)
            note.touching += 1
            note.until = inf
        return partial(self._know, real)

    def covers(self, real: str) -> bool:
        """Tell whether what just happened to a path, its links resolved, was our doing."""
        if not self._notes:
            return False
        with self._lock:
            note = self._notes.get(real)
            if note is None or note.until < self._clock.monotonic():
                return False
            return bool(note.touching) or note.facts == _facts(real)

    def _know(self, real: str) -> None:
        with self._lock:
            note = self._newest(real)
            note.touching = max(0, note.touching - 1)
            note.facts = _facts(real)
            if not note.touching:
                note.until = self._clock.monotonic() + self._window_s

    def _newest(self, real: str) -> _Note:
        """Give the note on a path, put behind all others."""
        note = self._notes.pop(real, None) or _Note()
        self._notes[real] = note
        return note

    def _forget_old(self) -> None:
        now = self._clock.monotonic()
        while self._notes:
            oldest = next(iter(self._notes))
            if self._notes[oldest].until >= now and len(self._notes) < self._most:
                return
            del self._notes[oldest]


def _facts(path: str) -> Facts:
    try:
        found = os.lstat(path)
    except OSError:
        return _GONE
    return found.st_size, found.st_mtime_ns
