"""Group commit beside one commit for each row, on the same disk, in one run.

python bench/group_commit.py [--directory PATH] [--rows N]

Four threads write rows of history; every row is durable before it counts. Beside it, two
ways without shared commits: each row alone through the writer, as a caller would meet it,
and on a bare connection, which has no hand-over to a thread. The faster the disk syncs,
and the more indexes a row has, the smaller both ratios are.
"""

import argparse
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from _meter import Spent, metered, stolen_over
from _profile import split_lines
from _script import run_script
from _table import Bar, Row, explained
from lyrsvc.clock import SystemClock
from lyrsvc.store.database import Database, Tx, to_db
from lyrsvc.store.sqlite import SqliteEngine

THREADS = 4
LEAST = Bar(limit=5.0, ratio=True, least=True)
SYNCS = 200


def measure(options: argparse.Namespace) -> Iterator[Row]:
    """Write the same rows in three ways."""
    rows = options.rows or (40_000 if options.full else 10_000)
    with tempfile.TemporaryDirectory(dir=options.directory, prefix="lyrsvc-bench-") as folder:
        place = Path(folder)
        grouped = cost_of(place / "grouped.db", submit_all, rows)
        single = cost_of(place / "single.db", commit_each, rows)
        bare = cost_of(place / "bare.db", commit_each_bare, rows)
        for peer, other, bar in (("one commit a row", single, LEAST), ("bare", bare, None)):
            row = Row(
                work=f"group commit of {rows:,} rows",
                figure=rows / grouped.wall_s,
                unit="rows/s",
                peer=peer,
                peer_figure=rows / other.wall_s,
                bar=bar,
                stolen=stolen_over([grouped, other]),
            )
            yield explained(row, lambda: split(place, grouped, single, rows))


def split(place: Path, grouped: Spent, single: Spent, rows: int) -> tuple[str, ...]:
    """Say what a row costs in either way, and what one sync of this disk costs."""
    parts = {
        "one commit a row: wall": single.wall_s / rows * 1000,
        "one commit a row: processor": single.own_s / rows * 1000,
        "group commit: wall": grouped.wall_s / rows * 1000,
        "group commit: processor": grouped.own_s / rows * 1000,
        "one fdatasync of 4 KiB": sync_ms(place / "sync"),
    }
    return split_lines(parts, "ms")


def sync_ms(path: Path) -> float:
    """Measure what the disk takes to make one page durable."""
    with path.open("wb", buffering=0) as file:
        began = time.perf_counter()
        for _ in range(SYNCS):
            file.write(bytes(4096))
            os.fdatasync(file.fileno())
        return (time.perf_counter() - began) / SYNCS * 1000


def cost_of(path: Path, write_share: Callable[[Database, int, int], None], rows: int) -> Spent:
    """Measure all threads together; check that every row is there."""
    with Database.open(path, create=True, clock=SystemClock()) as db:
        db.write(lambda tx: tx.value("SELECT 1"))
        share = rows // THREADS
        threads = [
            threading.Thread(target=write_share, args=(db, number * share, share))
            for number in range(THREADS)
        ]
        with metered() as spent:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        with db.read() as tx:
            assert tx.value("SELECT count(*) FROM history") == share * THREADS
    return spent


def submit_all(db: Database, first: int, count: int) -> None:
    """Submit every row as its own operation, then wait for all of them."""
    pending = [db.submit(insertion(number)) for number in range(first, first + count)]
    for one in pending:
        one.result()


ONE_AT_A_TIME = threading.Lock()


def commit_each(db: Database, first: int, count: int) -> None:
    """Wait for each row, alone in the writer, so that no commit is shared."""
    for number in range(first, first + count):
        with ONE_AT_A_TIME:
            db.write(insertion(number))


def commit_each_bare(db: Database, first: int, count: int) -> None:
    """Begin and commit around each row, one thread after the other."""
    with ONE_AT_A_TIME:
        link = SqliteEngine(db.location).open_writer(5)
        try:
            for number in range(first, first + count):
                link.begin(wait_s=5)
                insertion(number)(Tx(link))
                link.commit()
        finally:
            link.close()


def insertion(number: int) -> Callable[[Tx], int]:
    """Give the operation that adds one line of history."""

    def insert(tx: Tx) -> int:
        return tx.run(
            """
            INSERT INTO history (at, event, item_id, artist, title)
            VALUES (:at, 'enqueued', :item_id, :artist, :title)
            """,
            at=STAMP,
            item_id=number,
            artist=f"artist {number % 500}",
            title=f"title {number}",
        )

    return insert


STAMP = to_db(datetime(2026, 1, 31, 14, 5, 6, tzinfo=UTC))


def add_options(parser: argparse.ArgumentParser) -> None:
    """Take where and how much to write."""
    parser.add_argument("--directory", help="a directory of the disk to measure")
    parser.add_argument("--rows", type=int)


if __name__ == "__main__":
    sys.exit(run_script(__doc__, measure, add_options))
