"""One piece of what ``scan.py`` measures, in a process of its own."""

import hashlib
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from _meter import Spent, timed

AUDIO = ("flac", "mp3", "m4a", "ogg", "opus")
WATCHED = ("scan_dirs", "scan_results", "work_items", "work_targets")


class Measured(NamedTuple):
    """What a piece cost."""

    seconds: float
    parent_cpu: float
    children_cpu: float
    memory_mib: int
    stolen: float | None

    @property
    def spent(self) -> Spent:
        """Give it as the meter does."""
        return Spent(self.seconds, self.parent_cpu, self.children_cpu, self.stolen)


def alone(what: str, root: Path, place: Path | None = None) -> Measured:
    """Do something in a process of its own, and give what it cost."""
    return Measured(*json.loads(_run(what, root, place or root)))


def told(what: str, root: Path, place: Path) -> list[str]:
    """Have something found out in a process of its own, and give its lines."""
    return _run(what, root, place).splitlines()


def _run(what: str, root: Path, place: Path) -> str:
    return subprocess.run(
        [sys.executable, __file__, what, root, place], stdout=subprocess.PIPE, text=True, check=True
    ).stdout


def do_here(what: str, root: Path, place: Path) -> None:
    """Do what this process was started for."""
    if what in TELLERS:
        print("\n".join(TELLERS[what](root, place)))
        return
    spent = timed(COSTS[what](root, place))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps([spent.wall_s, spent.own_s, spent.children_s, peak, spent.stolen]))


def prepare_scan(root: Path, database: Path) -> Callable[[], object]:
    """Give a scan that is ready to begin."""
    from random import Random

    from lyrsvc.clock import SystemClock
    from lyrsvc.services.enqueueing import Terms
    from lyrsvc.services.scanning import Scanner, ScanSetup
    from lyrsvc.store import libraries
    from lyrsvc.store.database import Database

    clock = SystemClock()
    db = Database.open(database, create=True, clock=clock)
    with db.read() as tx:
        known = libraries.all_libraries(tx)
    library = (
        known[0]
        if known
        else db.write(lambda tx: libraries.add(tx, name="x", path=root, now=clock.now()))
    )
    scanner = Scanner(
        db,
        clock=clock,
        setup=ScanSetup(),
        terms=lambda now: Terms(now=now, chance=Random(1), output_dir="/nowhere"),
    )
    return lambda: scanner.scan(library, started_by="cli")


def prepare_loop(root: Path, _place: Path) -> Callable[[], None]:
    """Give a plain loop of the tag library's generic opener over the same files."""
    import mutagen

    paths = audio_below(root)
    for path in paths[:20]:  # what it loads at first use is not counted
        mutagen.File(path)

    def loop() -> None:
        for path in paths:
            mutagen.File(path)

    return loop


def prepare_pool(root: Path, _place: Path) -> Callable[[], None]:
    """Give the readers of a scan at work on the same files, as many as it has."""
    from lyrsvc.services.scanning import ScanSetup
    from lyrsvc.services.tag_pool import TagPool

    paths = audio_below(root)

    def read() -> None:
        pool: TagPool[None] = TagPool(str(root), enrich=True, workers=ScanSetup().tag_workers)
        with pool:
            for path in paths:
                pool.ask(None, path)
                while pool.is_full:
                    list(pool.answers(wait_s=1.0))
            pool.flush()
            while not pool.is_idle:
                list(pool.answers(wait_s=1.0))

    return read


def audio_below(root: Path) -> list[str]:
    """List the audio files of a tree."""
    return [
        f"{folder}/{name}"
        for folder, _, names in os.walk(root)
        for name in names
        if name.endswith(AUDIO)
    ]


def tell_stages(root: Path, place: Path) -> list[str]:
    """Say what each stage costs, in processor time."""
    from _scan_stages import measure_stages

    return [f"{spent:8.1f} {stage}" for stage, spent in measure_stages(root, place).items()]


def tell_profile(root: Path, database: Path) -> tuple[str, ...]:
    """Say where the time of one more scan goes."""
    from _profile import top_of

    return top_of(prepare_scan(root, database))


def tell_changes(root: Path, database: Path) -> list[str]:
    """Count the rows that one more scan adds, changes or removes."""
    before = digests(database)
    prepare_scan(root, database)()
    return [str(len(before ^ digests(database)))]


def digests(database: Path) -> set[tuple[str, bytes]]:
    """Give a digest of every row that a rescan must leave alone."""
    import sqlite3

    with sqlite3.connect(database) as db:
        return {
            (table, hashlib.blake2b(repr(row).encode("utf-8", "replace"), digest_size=12).digest())
            for table in WATCHED
            for row in db.execute(f"SELECT * FROM {table}")
        }


COSTS = {"scan": prepare_scan, "loop": prepare_loop, "pool": prepare_pool}
TELLERS = {"stages": tell_stages, "profile": tell_profile, "changes": tell_changes}

if __name__ == "__main__":
    do_here(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
