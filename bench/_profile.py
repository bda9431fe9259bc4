"""The short profile that says why: the functions that keep the processor."""

import cProfile
import pstats
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from lyrsvc.store.database import Database, Tx

MOST = 5


def top_of(work: Callable[[], object], most: int = MOST) -> tuple[str, ...]:
    """Run the work once more under the profiler, and give the functions that cost most."""
    profiler = cProfile.Profile()
    profiler.enable()
    try:
        work()
    finally:
        profiler.disable()
    return top_lines(pstats.Stats(profiler), most)


def top_lines(stats: pstats.Stats, most: int = MOST) -> tuple[str, ...]:
    """Give the functions that cost most by themselves, a line each."""
    found, total = stats.stats, stats.total_tt or 1.0  # type: ignore[attr-defined]  # not in stubs
    rows = sorted(found.items(), key=lambda row: -row[1][2])[:most]
    return tuple(
        f"{own / total:5.0%} {own:8.3f} s {calls:>9,} calls  {_name(*place)}"
        for place, (_, calls, own, _, _) in rows
    )


def split_lines(parts: dict[str, float], unit: str, most: int = 8) -> tuple[str, ...]:
    """Give the largest parts of a whole, a line each."""
    total = sum(parts.values()) or 1.0
    largest = sorted(parts.items(), key=lambda part: -part[1])[:most]
    return tuple(f"{value / total:5.0%} {value:9.3f} {unit}  {name}" for name, value in largest)


def _name(file: str, line: int, function: str) -> str:
    if file == "~":
        return function
    path = Path(file)
    return f"{path.parent.name}/{path.name}:{line} {function}"


class ProfiledWriter:
    """A database whose write operations are profiled where they run: in the writer's thread."""

    def __init__(self, db: "Database") -> None:
        self._db = db
        self._profiler = cProfile.Profile()
        self._inside_s = self._total_s = 0.0

    def read(self, **options: float | None) -> "AbstractContextManager[Tx]":
        """Open a read."""
        return self._db.read(**options)

    def write(self, operation: "Callable[[Tx], object]", *, bulk: bool = False) -> object:
        """Run an operation until it is durable."""
        began = time.perf_counter()
        try:
            return self._db.write(lambda tx: self._profiled(operation, tx), bulk=bulk)
        finally:
            self._total_s += time.perf_counter() - began

    def lines(self, most: int = MOST) -> tuple[str, ...]:
        """Say where the time of the writes went."""
        rest_s = self._total_s - self._inside_s
        parts = {"in the operations": self._inside_s, "hand-over, waiting and commit": rest_s}
        return (*split_lines(parts, "s"), *top_lines(pstats.Stats(self._profiler), most))

    def _profiled(self, operation: "Callable[[Tx], object]", tx: "Tx") -> object:
        began = time.perf_counter()
        try:
            return self._profiler.runcall(operation, tx)
        finally:
            self._inside_s += time.perf_counter() - began
