"""Measure realign where there is nothing to do: 100,000 sidecars, each beside its audio.

    python bench/realign.py [--albums 10000] [--rounds 5]

Walks the same tree with ``os.scandir`` in the same run and prints the ratio. The bar
is three times the cost of listing; the median of the rounds counts.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from lyrsvc.clock import SystemClock
from lyrsvc.core.library import Library
from lyrsvc.core.orphans import RealignPolicy
from lyrsvc.services.realigning import Realigner
from lyrsvc.store import libraries
from lyrsvc.store.database import Database

BAR = 3.0
TRACKS = 10


def main() -> None:
    """Build a library, then measure both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--albums", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    clock = SystemClock()
    with (
        tempfile.TemporaryDirectory() as place,
        Database.open(Path(place, "db"), create=True, clock=clock) as db,
    ):
        root = Path(place, "music")
        build(root, options.albums)
        library = db.write(lambda tx: libraries.add(tx, name="music", path=root, now=clock.now()))
        realigner = Realigner(db, clock=clock, policy=RealignPolicy(), chance=Random(1))
        report(
            [
                (timed(lambda: list_tree(root)), timed(lambda: realign(realigner, library)))
                for _ in range(options.rounds)
            ],
            options.albums * TRACKS,
        )


def build(root: Path, albums: int) -> None:
    """Make albums of ten tracks with ten sidecars and a cover."""
    for album in range(albums):
        folder = root / f"artist {album // 10}" / f"album {album}"
        folder.mkdir(parents=True)
        for track in range(TRACKS):
            for suffix in ("flac", "lrc"):
                (folder / f"{track:02d} - a title of usual length {track}.{suffix}").touch()
        (folder / "cover.jpg").touch()


def list_tree(root: Path) -> None:
    """List every directory, and nothing else."""
    waiting = [os.fspath(root)]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            waiting += [each.path for each in entries if each.is_dir(follow_symlinks=False)]


def realign(realigner: Realigner, library: Library) -> None:
    """Look for orphans; there are none."""
    found = realigner.preview(library)
    if found.orphans or found.errors:
        raise SystemExit(f"there should be nothing to do: {found}")


def timed(work: Callable[[], None]) -> float:
    """Give the seconds something takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def report(rounds: list[tuple[float, float]], sidecars: int) -> None:
    """Print the medians and whether they are good enough."""
    listed = statistics.median(first for first, _ in rounds)
    looked = statistics.median(second for _, second in rounds)
    ratio = statistics.median(second / first for first, second in rounds)
    verdict = "ok" if ratio <= BAR else "TOO SLOW"
    print(f"{sidecars} sidecars: listing {listed:.3f} s, realign {looked:.3f} s")
    print(f"ratio {ratio:.2f} (bar {BAR:.1f})  {verdict}")
    sys.exit(ratio > BAR)


if __name__ == "__main__":
    main()
