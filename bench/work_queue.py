"""Measure reports, metrics and the queue's own operations at growing lengths of the queue.

    python bench/work_queue.py [--sizes 10000,100000,1000000] [--only WORD] [--directory PATH]

Every figure stands beside its floor of the same run: for reads one indexed row, for
writes one durable commit of one row. The last column of the closing table says how
much slower the longest queue is than the shortest. A bar that is missed fails the run.
"""

import argparse
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from pathlib import Path

import _queue_operations as operations
from _filled_queue import LANES, NOW, fill
from _queue_operations import Bench, reading
from lyrsvc.clock import SystemClock
from lyrsvc.store import counts
from lyrsvc.store.completions import (
    DASHBOARD_ROWS,
    OutcomeFilter,
    outcomes_page,
    recent_outcomes,
)
from lyrsvc.store.database import Database, Tx
from lyrsvc.store.instrumentals import InstrumentalFilter, instrumentals_page
from lyrsvc.store.measuring import processing_now, take_metrics, up_next
from lyrsvc.store.reporting import failure_analysis, provider_effectiveness, queue_summary
from lyrsvc.store.stock_taking import take_stock

SIZES = "10000,100000,1000000"
WEEK = NOW - timedelta(days=7)
BREATH_S = 0.01
FLAT = 2.0
"""What is flat may be this much slower on the longest queue."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """Times of one measurement, in milliseconds."""

    median: float
    p99: float


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One row of the table; ``run`` does it once and gives the seconds that count."""

    name: str
    run: "Callable[[Bench], float]"
    runs: int = 20
    floor: str = "read"
    p99_ms: float | None = None
    median_ms: float | None = None
    flat: bool = False
    company: "Callable[[Bench], AbstractContextManager[None]]" = lambda _bench: nullcontext()


def main() -> int:
    """Fill, measure and compare."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", default=SIZES)
    parser.add_argument("--only", default="")
    parser.add_argument("--directory")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    chosen = [one for one in MEASUREMENTS if one.floor == "" or options.only in one.name]
    found: dict[int, dict[str, Figure]] = {}
    with tempfile.TemporaryDirectory(dir=options.directory, prefix="lyrsvc-bench-") as folder:
        for size in sizes:
            path = Path(folder, f"{size}.db")
            began = time.perf_counter()
            fill(path, size)
            took = time.perf_counter() - began
            print(f"\n{size:,} items, {path.stat().st_size / 1e6:,.0f} MB, filled in {took:.0f} s")
            found[size] = measure(path, size, chosen)
            for leftover in path.parent.glob(f"{path.name}*"):
                leftover.unlink()
    missed = compare(chosen, found)
    print("\n" + (f"missed: {', '.join(missed)}" if missed else "every bar holds"))
    return 1 if missed else 0


def measure(path: Path, size: int, chosen: list[Measurement]) -> dict[str, Figure]:
    """Print every measurement of one database."""
    figures: dict[str, Figure] = {}
    with Database.open(path, create=False, clock=SystemClock()) as db:
        bench = Bench(db, size)
        print(f"{'':50}{'median ms':>11}{'p99 ms':>10}{'x floor':>9}")
        for one in chosen:
            figure = figures[one.name] = timed(bench, one)
            floor = figures.get(f"floor: {one.floor}", figure)
            print(
                f"{one.name:50}{figure.median:11.3f}{figure.p99:10.3f}"
                f"{figure.median / floor.median:9.1f}",
                flush=True,
            )
        with db.read(deadline_s=None) as tx:
            wrong = counts.differences(tx)
        if wrong:
            raise SystemExit(f"counts are wrong: {wrong}")
    return figures


def timed(bench: Bench, one: Measurement) -> Figure:
    """Run one measurement; the first run warms up and does not count."""
    with one.company(bench):
        one.run(bench)
        times = sorted(one.run(bench) * 1000 for _ in range(one.runs))
    return Figure(
        median=statistics.median(times), p99=times[min(len(times) * 99 // 100, len(times) - 1)]
    )


def compare(chosen: list[Measurement], found: dict[int, dict[str, Figure]]) -> list[str]:
    """Print the growth of every median and its bars at the longest queue; name what missed."""
    shortest, longest = min(found), max(found)
    missed = []
    print(f"\n{shortest:,} against {longest:,}")
    print(f"{'':50}{'median ms':>11}{'median ms':>11}{'ratio':>8}  bar")
    for one in chosen:
        before, after = found[shortest][one.name], found[longest][one.name]
        ratio = after.median / before.median
        bars = [
            (f"p99 {after.p99:.1f} < {one.p99_ms} ms", after.p99, one.p99_ms),
            (f"median {after.median:.1f} < {one.median_ms} ms", after.median, one.median_ms),
            (f"ratio {ratio:.1f} < {FLAT}", ratio, FLAT if one.flat else None),
        ]
        held = [(text, value < bar) for text, value, bar in bars if bar is not None]
        missed += [f"{one.name} ({text})" for text, is_held in held if not is_held]
        verdict = ", ".join(text if is_held else f"MISSED {text}" for text, is_held in held)
        print(f"{one.name:50}{before.median:11.3f}{after.median:11.3f}{ratio:8.1f}  {verdict}")
    return missed


# Readers must not delay writers


@contextmanager
def readers(bench: Bench) -> Iterator[None]:
    """Measure while reports and metrics are read without pause."""
    with threads([read_on(bench, question) for question in BUSY_QUESTIONS]):
        yield


@contextmanager
def readers_and_scan(bench: Bench) -> Iterator[None]:
    """Measure while reports are read and a scan enqueues."""
    other = Bench(bench.db, bench.size, numbers=count(10_000_000))
    loops = [read_on(bench, question) for question in BUSY_QUESTIONS]
    with threads([*loops, lambda: operations.enqueue_batch(other)]):
        yield


def read_on(bench: Bench, question: Callable[[Tx], object]) -> Callable[[], object]:
    """Give one turn of a reader's loop."""
    return lambda: reading(question)(bench)


@contextmanager
def threads(turns: list[Callable[[], object]]) -> Iterator[None]:
    """Repeat each turn in a thread of its own until the block ends, with a breath in between."""
    ended = threading.Event()

    def repeat(turn: Callable[[], object]) -> None:
        while not ended.is_set():
            turn()
            ended.wait(BREATH_S)

    started = [threading.Thread(target=repeat, args=(turn,)) for turn in turns]
    for thread in started:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in started:
            thread.join()


BUSY_QUESTIONS: tuple[Callable[[Tx], object], ...] = (
    lambda tx: take_metrics(tx, lanes=LANES, now=NOW),
    lambda tx: outcomes_page(tx, OutcomeFilter(text="harbour")),
    lambda tx: queue_summary(tx, library_id=1),
)


# The table

MEASUREMENTS = (
    Measurement(name="floor: read", run=operations.point_read, runs=500, floor=""),
    Measurement(name="floor: commit", run=operations.one_commit, runs=300, floor=""),
    Measurement(
        name="metrics: all families",
        run=reading(lambda tx: take_metrics(tx, lanes=LANES, now=NOW)),
        runs=200,
        p99_ms=50,
        flat=True,
    ),
    Measurement(name="stock: badges and tiles", run=reading(take_stock), runs=200, flat=True),
    Measurement(
        name="dashboard: all of it",
        run=reading(
            lambda tx: (
                take_stock(tx),
                provider_effectiveness(tx, lanes=LANES),
                list(recent_outcomes(tx, limit=DASHBOARD_ROWS)),
                up_next(tx),
                processing_now(tx),
            )
        ),
        runs=200,
        p99_ms=50,
        flat=True,
    ),
    Measurement(
        name="report: queue summary", run=reading(queue_summary), runs=200, p99_ms=20, flat=True
    ),
    Measurement(
        name="report: failure analysis",
        run=reading(failure_analysis),
        runs=200,
        p99_ms=20,
        flat=True,
    ),
    Measurement(
        name="report: provider effectiveness",
        run=reading(lambda tx: provider_effectiveness(tx, lanes=LANES)),
        runs=200,
        p99_ms=20,
        flat=True,
    ),
    Measurement(
        name="report: recent outcomes, first page",
        run=reading(outcomes_page),
        runs=200,
        p99_ms=5,
        flat=True,
    ),
    Measurement(
        name="report: recent outcomes, last page",
        run=reading(lambda tx: outcomes_page(tx, page=outcomes_page(tx).total // 50)),
        median_ms=500,
    ),
    Measurement(
        name="report: recent outcomes, a week",
        run=reading(lambda tx: outcomes_page(tx, OutcomeFilter(since=WEEK))),
        median_ms=500,
    ),
    Measurement(
        name="report: instrumental inventory, first page",
        run=reading(instrumentals_page),
        p99_ms=50,
    ),
    *(
        Measurement(name=f"filtered: {name}", run=reading(question), runs=5, median_ms=500)
        for name, question in (
            ("outcomes by class", lambda tx: outcomes_page(tx, OutcomeFilter(result="synced"))),
            ("outcomes by missed", lambda tx: outcomes_page(tx, OutcomeFilter(result="miss"))),
            ("outcomes by lane", lambda tx: outcomes_page(tx, OutcomeFilter(lane="detector"))),
            ("outcomes by library", lambda tx: outcomes_page(tx, OutcomeFilter(library_id=1))),
            ("outcomes by text", lambda tx: outcomes_page(tx, OutcomeFilter(text="harbour 99"))),
            ("summary by library", lambda tx: queue_summary(tx, library_id=1)),
            ("failures by library", lambda tx: failure_analysis(tx, library_id=1)),
            ("effectiveness by time", lambda tx: provider_effectiveness(tx, since=WEEK)),
            (
                "inventory by library and text",
                lambda tx: instrumentals_page(tx, InstrumentalFilter(library_id=1, text="cafe")),
            ),
        )
    ),
    Measurement(
        name="queue: claim", run=operations.claim, runs=300, floor="commit", p99_ms=5, flat=True
    ),
    Measurement(
        name="queue: claim, while reports run",
        run=operations.claim,
        runs=200,
        floor="commit",
        company=readers,
    ),
    Measurement(
        name="queue: settle, served",
        run=operations.settle_served,
        runs=200,
        floor="commit",
        flat=True,
    ),
    Measurement(
        name="queue: settle, missed",
        run=operations.settle_missed,
        runs=200,
        floor="commit",
        flat=True,
    ),
    Measurement(
        name="queue: promote nothing",
        run=operations.promote_nothing,
        runs=200,
        floor="commit",
        median_ms=1,
    ),
    Measurement(
        name="queue: promote 500", run=operations.promote_many, runs=2, floor="commit", median_ms=50
    ),
    Measurement(
        name="queue: enqueue 20 tracks",
        run=operations.enqueue_request,
        runs=100,
        floor="commit",
        p99_ms=50,
    ),
    Measurement(
        name="queue: enqueue 20, while reports and a scan run",
        run=operations.enqueue_request,
        runs=50,
        floor="commit",
        p99_ms=50,
        company=readers_and_scan,
    ),
    Measurement(
        name="queue: enqueue a scan batch", run=operations.enqueue_batch, runs=5, floor="commit"
    ),
    Measurement(
        name="commit, while reports run",
        run=operations.one_commit,
        runs=300,
        floor="commit",
        p99_ms=50,
        company=readers,
    ),
)

if __name__ == "__main__":
    sys.exit(main())
