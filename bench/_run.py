"""Run every measurement in a process of its own, and print one table.

python bench/_run.py [--full] [--json FILE] [NAME ...]
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from _meter import stolen_s, stolen_share
from _table import BAD, Row, failure, render, row_from, to_json

HERE = Path(__file__).parent
LIMIT_S = 1200.0
FULL_LIMIT_S = 7200.0
BY_NAME_ONLY = "\nBY_NAME_ONLY = True\n"
"""The line of a script that is too long for a run of all."""


def main(words: Sequence[str] | None = None) -> int:
    """Run what is named, or everything; give 1 when a bar is missed or something broke."""
    parser = argparse.ArgumentParser(prog="dev.py bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these measurements")
    parser.add_argument("--full", action="store_true", help="measure at the sizes of the bars")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there as well")
    chosen = parser.parse_args(words)
    scripts = [
        script for script in all_scripts() if not chosen.names or script.stem in chosen.names
    ]
    began, taken = time.monotonic(), stolen_s()
    rows: list[Row] = []
    for script in scripts:
        rows += rows_of(script, full=chosen.full)
        if chosen.json:  # after each, so that a long run that is cut short has said something
            chosen.json.write_text(to_json(rows), "utf-8")
    took = time.monotonic() - began
    print(render(rows))
    share = stolen_share(taken, took)
    stolen = "" if share is None else f", the host took {share:.0%} of the processors' time"
    print(f"took {took / 60:.1f} min on {os.cpu_count()} cores{stolen}")
    return int(any(row.verdict in BAD for row in rows))


def all_scripts(folder: Path = HERE) -> list[Path]:
    """Give the measurements, each a script whose name begins with a letter."""
    scripts = sorted(folder.glob("[!_]*.py"))
    return [script for script in scripts if BY_NAME_ONLY not in script.read_text("utf-8")]


def rows_of(script: Path, *, full: bool = False, limit_s: float | None = None) -> list[Row]:
    """Run one script; whatever becomes of it, there are rows."""
    print(f"-- {script.stem}", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(prefix="lyrsvc-bench-") as place:
        into = Path(place, "rows")
        words = [sys.executable, str(script), "--into", str(into), *(["--full"] if full else [])]
        ending = _ending(words, Path(place), limit_s or (FULL_LIMIT_S if full else LIMIT_S))
        lines = into.read_text("utf-8").splitlines() if into.exists() else []
    rows = [row_from(json.loads(line)) for line in lines]
    is_told = any(row.failed for row in rows)
    if ending and not is_told:
        rows.append(failure(f"the rest of {script.stem}", ending))
    elif not rows:
        rows.append(failure(script.stem, "it gave no row"))
    return [replace(row, bench=script.stem) for row in rows]


def _ending(words: list[str], place: Path, limit_s: float) -> str:
    """Run a script to its end; say how it ended when that was not by itself.

    Temporary files go below a place that is removed, even after a kill.
    """
    child = subprocess.Popen(
        words, stdout=sys.stderr, env={**os.environ, "TMPDIR": str(place)}, start_new_session=True
    )
    try:
        code = child.wait(limit_s)
    except subprocess.TimeoutExpired:
        return f"ended after {limit_s:.0f} s"
    finally:
        _end_group(child)
    if code < 0:
        return f"ended by signal {-code}"
    return "" if code in (0, 1) else f"ended with code {code}"


def _end_group(child: "subprocess.Popen[bytes]") -> None:
    """End what a script left running."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that no script is left behind
    sys.exit(main())
