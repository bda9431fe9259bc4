"""Reports, metrics and the queue's own operations at growing lengths of the queue.

python bench/work_queue.py [--sizes 10000,1000000] [--only WORD] [--directory PATH]

Every figure stands beside its floor of the same run: for reads one indexed row, for writes
one durable commit of one row. What must be flat is also compared with the shortest queue.
"""

import argparse
import os
import statistics
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import count
from pathlib import Path

import _queue_operations as operations
from _filled_queue import LANES, NOW, fill
from _meter import metered, percentile
from _profile import ProfiledWriter, top_of
from _queue_operations import Bench, reading
from _script import run_script, say
from _table import Bar, Row, explained
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
from lyrsvc.store.measuring import take_metrics
from lyrsvc.store.reporting import failure_analysis, provider_effectiveness, queue_summary
from lyrsvc.store.stock_taking import take_stock
from lyrsvc.store.upcoming import up_next

SIZES = "10000,1000000"
FULL_SIZES = "10000,100000,1000000"
MILLION = 1_000_000
WEEK = NOW - timedelta(days=7)
BREATH_S = 0.01
FLAT = Bar(limit=2.0, ratio=True, size=MILLION)
"""What is flat may be this much slower on the longest queue."""
PROFILED_RUNS = 10
NOISE_MS = 0.05
"""Medians below this are compared as if they were this long."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """Times of one measurement, in milliseconds."""

    median: float
    p99: float
    stolen: float | None


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One thing to measure; ``run`` does it once and gives the seconds that count."""

    name: str
    run: "Callable[[Bench], float]"
    runs: int = 20
    floor: str = "read"
    p99_ms: float | None = None
    median_ms: float | None = None
    flat: bool = False
    company: "Callable[[Bench], AbstractContextManager[None]]" = lambda _bench: nullcontext()


def measure(options: argparse.Namespace) -> Iterator[Row]:
    """Fill and measure, from the shortest queue to the longest."""
    sizes = sorted(
        int(size) for size in (options.sizes or (FULL_SIZES if options.full else SIZES)).split(",")
    )
    chosen = [one for one in MEASUREMENTS if one.floor == "" or options.only in one.name]
    found: dict[int, dict[str, Figure]] = {}
    with tempfile.TemporaryDirectory(dir=options.directory, prefix="lyrsvc-bench-") as folder:
        for size in sizes:
            path = Path(folder, f"{size}.db")
            say(f"filling a queue of {size:,} items")
            fill(path, size)
            os.sync()  # what filling left to be written would be measured as well
            with Database.open(path, create=False, clock=SystemClock()) as db:
                bench = Bench(db, size)
                found[size] = {}
                for one in chosen:
                    found[size][one.name] = figure_of(bench, one)
                    if size == sizes[-1] and one.floor:
                        yield from rows_of(bench, one, found, sizes[0])
                check_counts(db)
            for leftover in path.parent.glob(f"{path.name}*"):
                leftover.unlink()


def check_counts(db: Database) -> None:
    """Break off when what was measured did something wrong."""
    with db.read(deadline_s=None) as tx:
        wrong = counts.differences(tx)
    if wrong:
        raise SystemExit(f"counts are wrong: {wrong}")


def figure_of(bench: Bench, one: Measurement) -> Figure:
    """Run one measurement; the first run warms up and does not count."""
    with one.company(bench), metered() as spent:
        one.run(bench)
        times = [one.run(bench) * 1000 for _ in range(one.runs)]
    say(f"{one.name} at {bench.size:,}: median {statistics.median(times):.3f} ms")
    return Figure(median=statistics.median(times), p99=percentile(times, 0.99), stolen=spent.stolen)


def rows_of(
    bench: Bench, one: Measurement, found: dict[int, dict[str, Figure]], shortest: int
) -> Iterator[Row]:
    """Give the rows of one measurement: each of its bars, and whether it is flat."""
    here = found[bench.size]
    figure = here[one.name]
    floor = here.get(f"floor: {one.floor}")
    bars = [
        ("p99", figure.p99, one.p99_ms, floor.p99 if floor else None),
        ("median", figure.median, one.median_ms, floor.median if floor else None),
    ]
    given = [bar for bar in bars if bar[2] is not None] or bars[1:]
    for kind, value, limit, floor_ms in given:
        row = Row(
            work=f"{one.name}, {kind}, {bench.size:,} items",
            figure=value,
            unit="ms",
            peer={"read": "one row read", "commit": "one commit"}.get(one.floor, ""),
            peer_figure=floor_ms,
            bar=Bar(limit=limit, size=MILLION) if limit is not None else None,
            size=bench.size,
            stolen=figure.stolen,
        )
        yield explained(row, lambda: profile(bench, one))
    if one.flat and bench.size > shortest:
        before = max(found[shortest][one.name].median, NOISE_MS)
        row = Row(
            work=f"{one.name}, median, {bench.size:,} against {shortest:,} items",
            figure=max(figure.median, NOISE_MS),
            unit="ms",
            peer=f"at {shortest:,}",
            peer_figure=before,
            bar=FLAT,
            size=bench.size,
            stolen=figure.stolen,
        )
        yield explained(row, lambda: profile(bench, one))


def profile(bench: Bench, one: Measurement) -> tuple[str, ...]:
    """Say where the time of a measurement goes; writes run in the writer's thread."""
    runs = min(one.runs, PROFILED_RUNS)
    with one.company(bench):
        if one.floor == "read":
            return top_of(lambda: [one.run(bench) for _ in range(runs)])
        writer = ProfiledWriter(bench.db)
        watched = replace(bench, db=writer)  # type: ignore[arg-type]
        for _ in range(runs):
            one.run(watched)
        bench.turns, bench.batch = watched.turns, watched.batch
        return writer.lines()


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


def add_options(parser: argparse.ArgumentParser) -> None:
    """Take the lengths of the queue and what to measure."""
    parser.add_argument("--sizes")
    parser.add_argument("--only", default="")
    parser.add_argument("--directory")


if __name__ == "__main__":
    sys.exit(run_script(__doc__, measure, add_options))
