"""Measure group commit beside one commit for each row, on the same disk, in one run.

Four threads write 10,000 rows of history; every row is durable before it counts.
Beside it, two ways without shared commits: each row alone through the writer, as a
caller would meet it, and on a bare connection, which has no hand-over to a thread.
Run it as ``python bench/group_commit.py [directory]``. It fails when group commit is
less than 5 times as fast as the first; the second is shown for an honest picture: the
faster the disk syncs, and the more indexes a row has, the smaller both ratios are.
"""

import sys
import tempfile
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

from lyrsvc.store.database import Database, Tx, to_db
from lyrsvc.store.sqlite import SqliteEngine

THREADS = 4
ROWS = 10_000
LEAST_RATIO = 5.0


class WallClock:
    """The real time, for the stamps of a new database."""

    def now(self) -> datetime:
        """Give the present moment."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Give seconds that never run backwards."""
        return time.monotonic()

    def wait(self, seconds: float) -> bool:
        """Wait; nothing ends it early."""
        time.sleep(seconds)
        return False


def main() -> int:
    """Print both rates and their ratio."""
    directory = sys.argv[1] if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory(dir=directory, prefix="lyrsvc-bench-") as folder:
        grouped = rate_of(Path(folder, "grouped.db"), submit_all)
        single = rate_of(Path(folder, "single.db"), commit_each)
        bare = rate_of(Path(folder, "bare.db"), commit_each_bare)
    print(f"group commit                       {grouped:10,.0f} rows/s")
    print(f"one commit per row, by the writer  {single:10,.0f} rows/s")
    print(f"one commit per row, bare           {bare:10,.0f} rows/s")
    print(
        f"ratio to the writer                {grouped / single:10.1f}   (at least {LEAST_RATIO:g})"
    )
    print(f"ratio to the bare connection       {grouped / bare:10.1f}")
    return 0 if grouped / single >= LEAST_RATIO else 1


def rate_of(path: Path, write_share) -> float:
    """Give rows per second over all threads; check that every row is there."""
    with Database.open(path, create=True, clock=WallClock()) as db:
        db.write(lambda tx: tx.value("SELECT 1"))
        share = ROWS // THREADS
        threads = [
            threading.Thread(target=write_share, args=(db, number * share, share))
            for number in range(THREADS)
        ]
        began = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took = time.perf_counter() - began
        with db.read() as tx:
            assert tx.value("SELECT count(*) FROM history") == ROWS
    return ROWS / took


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


def insertion(number: int):
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

if __name__ == "__main__":
    sys.exit(main())
