"""What the server holds, read from outside every moment: memory, descriptors, files."""

import csv
import os
import statistics
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

MIB = 1024 * 1024
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Sample:
    """One look at the server and its children; sizes in bytes, times in seconds."""

    at_s: float
    rss: int
    anonymous: int
    pss: int
    descriptors: int
    threads: int
    children: int
    children_pss: int
    processor_s: float
    database: int
    wal: int
    queue: int
    answered: int
    failed: int


def look(pid: int, database: Path, *, at_s: float, queue: int, counts: tuple[int, int]) -> Sample:
    """Sample the process; raises OSError when it is gone."""
    status = _status(pid)
    children = _children(pid)
    return Sample(
        at_s=at_s,
        rss=_kib(status, "VmRSS"),
        anonymous=_kib(status, "RssAnon"),
        pss=_pss(pid),
        descriptors=sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir()),
        threads=int(status["Threads"]),
        children=len(children),
        children_pss=sum(map(_pss, children)),
        processor_s=_processor_s(pid),
        database=_size(database),
        wal=_size(Path(f"{database}-wal")),
        queue=queue,
        answered=counts[0],
        failed=counts[1],
    )


def write_csv(samples: Sequence[Sample], path: Path) -> None:
    """Write every sample down, a line each."""
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow([field.name for field in fields(Sample)])
        rows.writerows(astuple(sample) for sample in samples)


def slope(samples: Sequence[Sample], value: Callable[[Sample], float]) -> float:
    """Give the growth in ten minutes: the median over all pairs, which no spike moves."""
    points = [(sample.at_s, value(sample)) for sample in samples]
    rises = [
        (y2 - y1) / (x2 - x1)
        for place, (x1, y1) in enumerate(points)
        for x2, y2 in points[place + 1 :]
    ]
    return statistics.median(rises) * 600 if rises else 0.0


def _status(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: rest.strip() for name, _, rest in (line.partition(":") for line in lines)}


def _kib(status: dict[str, str], name: str) -> int:
    return int(status[name].split()[0]) * 1024


def _pss(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # a child that has just ended
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            found += map(int, (task / "children").read_text().split())
        except OSError:  # a thread that has just ended
            continue
    return found + [grandchild for child in found for grandchild in _grandchildren(child)]


def _grandchildren(pid: int) -> list[int]:
    try:
        return _children(pid)
    except OSError:
        return []


def _processor_s(pid: int) -> float:
    rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, rest[11:15])) / _TICK


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
