"""What a measurement costs: wall time, processor time, and what the host took away."""

import os
import resource
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_STEAL = 8
"""Its place in the first line of ``/proc/stat``."""


@dataclass
class Spent:
    """What a block cost; filled in at its end."""

    wall_s: float = 0.0
    own_s: float = 0.0
    children_s: float = 0.0
    stolen: float | None = None

    @property
    def processor_s(self) -> float:
        """Give the processor time of this process and of the children it waited for."""
        return self.own_s + self.children_s


@contextmanager
def metered() -> Iterator[Spent]:
    """Measure a block."""
    spent = Spent()
    taken, children = stolen_s(), children_s()
    own, began = time.process_time(), time.perf_counter()
    try:
        yield spent
    finally:
        spent.wall_s = time.perf_counter() - began
        spent.own_s = time.process_time() - own
        spent.children_s = children_s() - children
        spent.stolen = stolen_share(taken, spent.wall_s)


def timed(work: Callable[[], object]) -> Spent:
    """Measure one call."""
    with metered() as spent:
        work()
    return spent


def stolen_s() -> float | None:
    """Give the processor time the host has taken away since it started; None where unknown."""
    try:
        first = Path("/proc/stat").read_text().partition("\n")[0].split()
        return int(first[_STEAL]) * TICK_S
    except (OSError, IndexError, ValueError):
        return None


def stolen_share(before_s: float | None, wall_s: float) -> float | None:
    """Give the share of all processors' time that was taken away since then."""
    now_s = stolen_s()
    if before_s is None or now_s is None or wall_s <= 0:
        return None
    return min(1.0, (now_s - before_s) / (wall_s * (os.cpu_count() or 1)))


def children_s() -> float:
    """Give the processor time of the children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def processor_s(pid: int) -> float:
    """Give the processor time a process has used, in all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK_S


def memory_mib(pid: int) -> float:
    """Give the memory a process holds now."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def percentile(values: Sequence[float], share: float) -> float:
    """Give the value below which this share of them lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def stolen_over(spents: Sequence[Spent]) -> float | None:
    """Give what the host took over several blocks, weighed by their length."""
    known = [(one.stolen, one.wall_s) for one in spents if one.stolen is not None]
    wall = sum(wall_s for _, wall_s in known)
    return sum(stolen * wall_s for stolen, wall_s in known) / wall if wall else None


def median_ratio(above: Sequence[float], below: Sequence[float]) -> float:
    """Give the median of the ratios of rounds that were measured in turn."""
    return statistics.median(one / other for one, other in zip(above, below, strict=True) if other)
