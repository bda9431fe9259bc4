"""What each stage of a first scan costs, in CPU time per file: one after another."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

from lyrsvc.clock import SystemClock
from lyrsvc.core.library import Library
from lyrsvc.core.scan_decision import ScanRules
from lyrsvc.core.scan_run import ScanReport
from lyrsvc.files.tags import READER_VERSION
from lyrsvc.files.tree import walk
from lyrsvc.services.enqueueing import Terms, enqueue
from lyrsvc.services.scan_batches import ScanBatches
from lyrsvc.services.scan_gate import ScanGate, in_portions
from lyrsvc.services.scan_rows import Change, read_change
from lyrsvc.services.tag_messages import LENGTH_SIZE, packed, unpacked
from lyrsvc.services.tag_pool import CHUNK
from lyrsvc.services.tag_reading import read_facts
from lyrsvc.store import libraries, scan_runs
from lyrsvc.store.database import Database

BATCH = 200


def measure_stages(root: Path, directory: Path) -> dict[str, float]:
    """Give the microseconds each stage takes for one file."""
    spent: dict[str, float] = {}
    with opened(directory / "stages.db") as (db, library):
        with clocked(spent, "list"):
            listings = list(walk(root))
        rules = ScanRules(enrich=True, reader_version=READER_VERSION)
        gate = ScanGate(db, library.id, str(root), rules)
        with clocked(spent, "compare"):
            findings = [
                finding
                for portion in in_portions(iter(listings))
                for finding in gate.compare(portion).to_read
            ]
        with clocked(spent, "tag read (child)"):
            facts = [read_facts(each.path, str(root), enrich=True) for each in findings]
        with clocked(spent, "channel (both ends)"):
            for at in range(0, len(facts), CHUNK):
                unpacked(packed([each.path for each in findings[at : at + CHUNK]])[LENGTH_SIZE:])
                unpacked(packed([tuple(each) for each in facts[at : at + CHUNK]])[LENGTH_SIZE:])
        with clocked(spent, "rows"):
            changes = [
                read_change(finding, fact, rules, library.id)
                for finding, fact in zip(findings, facts, strict=True)
            ]
        write(db, library, changes, spent)
    with opened(directory / "wishes.db") as (db, library):
        spent["of that: enqueue"] = time_enqueueing(db, changes)
    for suffix in ("", "-wal", "-shm"):
        for name in ("stages.db", "wishes.db"):
            (directory / f"{name}{suffix}").unlink(missing_ok=True)
    return {stage: seconds / len(findings) * 1e6 for stage, seconds in spent.items()}


def write(db: Database, library: Library, changes: list[Change], spent: dict[str, float]) -> None:
    """Write the rows as a scan does, each batch on its own."""
    clock = SystemClock()
    run_id = db.write(
        lambda tx: scan_runs.begin(
            tx, library.id, started_by="cli", scope="", mode="normal", now=clock.now()
        )
    )
    report = ScanReport(run_id=run_id, library_id=library.id, library_name="x")
    timed = TimedDatabase(db)
    batches = ScanBatches(timed, report, clock=clock, terms=terms, wake=lambda: None)  # type: ignore[arg-type]
    for change in changes:
        batches.add(change)
    batches.finish()
    spent["write"] = timed.inside_s
    spent["commit"] = timed.total_s - timed.inside_s


def time_enqueueing(db: Database, changes: list[Change]) -> float:
    """Enqueue what the changes wish, and nothing else."""
    wishes = [change.wish for change in changes if change.wish is not None]
    timed = TimedDatabase(db)
    for at in range(0, len(wishes), BATCH):
        part = wishes[at : at + BATCH]
        now = SystemClock().now()
        timed.submit(lambda tx, part=part, now=now: enqueue(tx, part, terms(now)), bulk=True)
    return timed.inside_s


class TimedDatabase:
    """Runs one operation after another, and notes how long each kept the writer."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.inside_s = self.total_s = 0.0

    @property
    def is_wanted(self) -> bool:
        """Tell whether somebody else waits."""
        return self._db.is_wanted

    def submit(self, operation: Callable[..., Any], **options: Any) -> Any:
        """Wait for the commit before anything else happens."""
        began = time.process_time()
        pending = self._db.submit(lambda tx: self._timed(operation, tx), **options)
        pending.result()
        self.total_s += time.process_time() - began
        return pending

    def _timed(self, operation: Callable[..., Any], tx: Any) -> Any:
        began = time.thread_time()
        found = operation(tx)
        self.inside_s += time.thread_time() - began
        return found


def terms(now: datetime) -> Terms:
    """Give what a scan enqueues with."""
    return Terms(now=now, chance=Random(1), output_dir="/nowhere")


@contextmanager
def opened(path: Path) -> Iterator[tuple[Database, Library]]:
    """Open a new database with one library."""
    clock = SystemClock()
    with Database.open(path, create=True, clock=clock) as db:
        root = Path(os.sep, "music")
        yield db, db.write(lambda tx: libraries.add(tx, name="x", path=root, now=clock.now()))


@contextmanager
def clocked(spent: dict[str, float], stage: str) -> Iterator[None]:
    """Note how long a block takes."""
    began = time.process_time()
    yield
    spent[stage] = time.process_time() - began
