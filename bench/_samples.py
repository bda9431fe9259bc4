"""Have a service sample itself, and read what it found."""

import json
from pathlib import Path

HERE = Path(__file__).parent / "_sampling"
MOST = 5


def sampled(into: Path) -> dict[str, str]:
    """Give the variables that make a Python process write its samples there."""
    return {"PYTHONPATH": str(HERE), "BENCH_SAMPLES": str(into)}


def sample_lines(into: Path, most: int = MOST) -> tuple[str, ...]:
    """Say where the threads that used the processor were seen."""
    if not into.exists():
        return ("no samples were taken",)
    counts = [each for each in json.loads(into.read_text()) if each[0] != "imports"]
    total = sum(count for _, count in counts) or 1
    return tuple(
        f"{count / total:5.0%} of its processor time  {place}" for place, count in counts[:most]
    )
