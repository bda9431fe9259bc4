"""Realign where there is nothing to do: every sidecar lies beside its audio.

python bench/realign.py [--albums N] [--rounds N]

Lists the same tree with ``os.scandir`` in the same run; the median of the ratios counts.
"""

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

from _meter import median_ratio, stolen_over, timed
from _profile import top_of
from _script import run_script, say
from _table import Bar, Row, explained
from lyrsvc.clock import SystemClock
from lyrsvc.core.library import Library
from lyrsvc.core.orphans import RealignPolicy
from lyrsvc.services.realigning import Realigner
from lyrsvc.store import libraries
from lyrsvc.store.database import Database

TRACKS = 10
MOST = Bar(limit=3.0, ratio=True, size=100_000)


def measure(options: argparse.Namespace) -> Iterator[Row]:
    """Build a library, then measure both in turn."""
    clock = SystemClock()
    with (
        tempfile.TemporaryDirectory() as place,
        Database.open(Path(place, "db"), create=True, clock=clock) as db,
    ):
        root = Path(place, "music")
        say(f"making {options.albums:,} albums")
        build(root, options.albums)
        library = db.write(lambda tx: libraries.add(tx, name="music", path=root, now=clock.now()))
        realigner = Realigner(db, clock=clock, policy=RealignPolicy(), chance=Random(1))
        list_tree(root)
        rounds = [
            (timed(lambda: list_tree(root)), timed(lambda: realign(realigner, library)))
            for _ in range(options.rounds)
        ]
        listed, looked = zip(*rounds, strict=True)
        row = Row(
            work=f"realign of {options.albums * TRACKS:,} sidecars, nothing to do",
            figure=statistics.median(one.wall_s for one in looked),
            unit="s",
            peer="os.scandir",
            peer_figure=statistics.median(one.wall_s for one in listed),
            paired_ratio=median_ratio([o.wall_s for o in looked], [o.wall_s for o in listed]),
            processor_ratio=median_ratio([o.own_s for o in looked], [o.own_s for o in listed]),
            bar=MOST,
            size=options.albums * TRACKS,
            stolen=stolen_over([*listed, *looked]),
        )
        yield explained(row, lambda: top_of(lambda: realign(realigner, library)))


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


def add_options(parser: argparse.ArgumentParser) -> None:
    """Take the size of the library."""
    parser.add_argument("--albums", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)


if __name__ == "__main__":
    sys.exit(run_script(__doc__, measure, add_options))
