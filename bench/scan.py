"""How fast libraries are scanned, beside what the disk and a tag library alone would take.

python bench/scan.py [files ...] [--real N] [--rounds N]

Plain trees have ten tiny audio files, ten sidecars and a cover in every album folder. The
real tree has songs as libraries hold them: many tags, covers, megabytes of audio, and no
sidecars, so that every song is enqueued; a third, of tiny files without sidecars, shows what
filling the queue costs, and a fourth has all its files in one directory. What is compared is
measured in turn, round by round, so that a busy machine slows all of it alike.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from _meter import Spent, median_ratio, stolen_over, timed
from _music import MIX, make_real_song
from _scan_here import Measured, alone, told
from _script import run_script, say
from _table import Bar, Row, explained

KINDS = ("flac", "mp3", "m4a", "flac", "mp3", "ogg", "flac", "mp3", "opus", "mp3")
ALBUM = 10
LARGE = 100_000
MILLION = 1_000_000
LOOP = Bar(limit=4.0, ratio=True, least=True)
READER = Bar(limit=0.9, ratio=True, least=True)
STORAGE = Bar(limit=5000, least=True)
RESCAN = Bar(limit=3.0, ratio=True, size=LARGE)
FLAT = Bar(limit=64, size=LARGE)
UNTOUCHED = Bar(limit=0)


@dataclass(frozen=True, kw_only=True)
class Tree:
    """A library to scan."""

    name: str
    files: int
    make: Callable[[Path, int], None]
    rounds: int
    is_barred: bool = False
    """The bar of the rescan is meant for this kind of tree."""
    beside_loop: bool = True
    """Read it with the tag library and with the readers alone as well."""


@dataclass(kw_only=True)
class Rounds:
    """What the rounds of one tree came to."""

    scans: list[Measured]
    rescans: list[Measured]
    loops: list[Measured]
    pools: list[Measured]
    finds: list[Spent]
    database: Path


def measure(options: argparse.Namespace) -> Iterator[Row]:
    """Make one tree after the other, and scan it."""
    peaks: dict[str, Measured] = {}
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        for tree in trees(options):
            root = place / "music"
            say(f"making {tree.files:,} files: {tree.name}")
            tree.make(root, tree.files)
            rounds = run_rounds(tree, root, place)
            peaks[f"{tree.files:,} files: {tree.name}"] = max(
                rounds.scans, key=lambda one: one.memory_mib
            )
            yield from rows_of(tree, rounds, root, place)
            shutil.rmtree(root)
            shutil.rmtree(rounds.database.parent)
    yield from memory_rows(peaks)


def trees(options: argparse.Namespace) -> Iterator[Tree]:
    """Give the libraries, the smallest first."""
    rounds = options.rounds or 3
    sizes = options.files or ([10_000, LARGE, MILLION] if options.full else [10_000, LARGE])
    for files in sorted(sizes):
        small = files < LARGE
        turns = rounds if small or options.full else 1
        yield Tree(
            name="tiny, with sidecars",
            files=files,
            make=make_plain_tree,
            rounds=1 if files >= MILLION else turns,
            is_barred=True,
            beside_loop=small or (options.full and files < MILLION),
        )
    queued = min(max(sizes), 10_000)
    yield Tree(name="tiny, all enqueued", files=queued, make=make_queued_tree, rounds=rounds)
    if real := (2_000 if options.real is None else options.real):
        yield Tree(name="real songs", files=real, make=make_real_tree, rounds=rounds)
    flat = LARGE if options.full else min(max(sizes), 30_000)
    yield Tree(name="one directory", files=flat, make=make_flat_tree, rounds=1, beside_loop=False)


def run_rounds(tree: Tree, root: Path, place: Path) -> Rounds:
    """Do everything once a round; a rescan and its listing at least three times."""
    found = Rounds(scans=[], rescans=[], loops=[], pools=[], finds=[], database=Path())
    for turn in range(tree.rounds):
        if tree.beside_loop:
            found.loops.append(alone("loop", root))
            found.pools.append(alone("pool", root))
        if turn:
            shutil.rmtree(found.database.parent)
        found.database = Path(tempfile.mkdtemp(dir=place), "scan.db")
        found.scans.append(alone("scan", root, found.database))
        say(f"{tree.name}: first scan took {found.scans[-1].seconds:.1f} s")
    for _ in range(max(3, tree.rounds)):
        found.rescans.append(alone("scan", root, found.database))
        found.finds.append(timed(lambda: find(root)))
    return found


def rows_of(tree: Tree, rounds: Rounds, root: Path, place: Path) -> Iterator[Row]:
    """Give the rows of one tree."""
    title = f"{tree.files:,} files, {tree.name}"
    scan_s = statistics.median(one.seconds for one in rounds.scans)
    stolen = stolen_over([one.spent for one in (*rounds.scans, *rounds.loops, *rounds.pools)])
    stages = told("stages", root, place) if tree.beside_loop else []
    first = Row(
        work=f"first scan, {title}",
        figure=tree.files / scan_s,
        unit="files/s",
        stolen=stolen,
        note=costs(rounds, tree.files),
    )
    if not tree.beside_loop:
        yield first
    else:
        yield from beside(first, rounds, tree.files, stages)
        yield storage(title, stages, stolen)
    yield rescan(title, tree, rounds, root)
    yield Row(
        work=f"rows written by an unchanged rescan, {title}",
        figure=written(rounds.database, root),
        unit="rows",
        bar=UNTOUCHED,
    )


def beside(first: Row, rounds: Rounds, files: int, stages: list[str]) -> Iterator[Row]:
    """Give a first scan beside the tag library's loop and beside the readers alone."""
    for peer, others, bar in (
        ("mutagen.File loop", rounds.loops, LOOP),
        ("tag readers alone", rounds.pools, READER),
    ):
        row = Row(
            work=first.work,
            figure=first.figure,
            unit=first.unit,
            peer=peer,
            peer_figure=files / statistics.median(one.seconds for one in others),
            paired_ratio=median_ratio(
                [one.seconds for one in others], [one.seconds for one in rounds.scans]
            ),
            processor_ratio=median_ratio(
                [free_s(one) for one in others], [free_s(one) for one in rounds.scans]
            ),
            bar=bar,
            stolen=first.stolen,
            note=first.note if bar is LOOP else "",
        )
        yield explained(row, partial(stage_lines if bar is LOOP else own, stages))


def stage_lines(stages: list[str]) -> list[str]:
    """Say what every stage costs."""
    return ["processor us a file, each stage alone:", *stages]


def own(stages: list[str]) -> list[str]:
    """Say what a scan does besides reading tags, which shares the cores with the readers."""
    spent = costs_of(stages)
    reading = spent.pop("tag read (child)")
    spent.pop("of that: enqueue", None)
    return [
        f"{sum(spent.values()):.1f} us a file of its own beside {reading:.1f} us of the readers, "
        f"on {os.cpu_count()} cores"
    ]


def costs_of(stages: list[str]) -> dict[str, float]:
    """Read the stages' lines."""
    return {line[9:].strip(): float(line[:9]) for line in stages}


def free_s(measured: Measured) -> float:
    """Give the seconds it would take on free cores: of the parent, or of all spread evenly.

    A loop in one process has no other to spread to.
    """
    cores = os.cpu_count() or 1
    spread = (measured.parent_cpu + measured.children_cpu) / cores
    return max(measured.parent_cpu, spread)


def storage(title: str, stages: list[str], stolen: float | None) -> Row:
    """Give how many rows a second the store alone takes."""
    each_us = costs_of(stages)
    row = Row(
        work=f"storage alone, {title}",
        figure=1e6 / (each_us["write"] + each_us["commit"]),
        unit="rows/s",
        bar=STORAGE,
        stolen=stolen,
        note="by processor time",
    )
    return explained(row, lambda: stage_lines(stages))


def rescan(title: str, tree: Tree, rounds: Rounds, root: Path) -> Row:
    """Give an unchanged rescan beside the system's own listing."""
    seconds = [one.seconds for one in rounds.rescans]
    row = Row(
        work=f"unchanged rescan, {title}",
        figure=statistics.median(seconds),
        unit="s",
        peer="find -printf",
        peer_figure=statistics.median(one.wall_s for one in rounds.finds),
        paired_ratio=median_ratio(seconds, [one.wall_s for one in rounds.finds]),
        processor_ratio=median_ratio(
            [one.parent_cpu + one.children_cpu for one in rounds.rescans],
            [one.children_s for one in rounds.finds],
        ),
        bar=RESCAN if tree.is_barred else None,
        size=tree.files,
        stolen=stolen_over([*(one.spent for one in rounds.rescans), *rounds.finds]),
    )
    return explained(row, lambda: told("profile", root, rounds.database))


def memory_rows(peaks: dict[str, Measured]) -> Iterator[Row]:
    """Give how much more memory larger libraries take than the first."""
    (base, smallest), *others = peaks.items()
    for title, peak in others:
        files = int(title.partition(" ")[0].replace(",", ""))
        if files <= 10_000:
            continue
        yield Row(
            work=f"memory of a first scan, {title.replace(':', ',')}, growth",
            figure=max(0.0, float(peak.memory_mib - smallest.memory_mib)),
            unit="MiB",
            peer=f"peak at {base.partition(' ')[0]}",
            peer_figure=float(smallest.memory_mib),
            bar=FLAT,
            size=files,
            note=f"peak {peak.memory_mib} MiB",
        )


def costs(rounds: Rounds, files: int) -> str:
    """Say what a file costs in processor time."""
    scan = sorted(rounds.scans)[len(rounds.scans) // 2]
    said = (
        f"processor us a file: parent {scan.parent_cpu / files * 1e6:.0f}, "
        f"readers {scan.children_cpu / files * 1e6:.0f}"
    )
    if rounds.loops:
        loop = sorted(rounds.loops)[len(rounds.loops) // 2]
        said += f", mutagen.File {loop.parent_cpu / files * 1e6:.0f}"
    return f"{said}; peak {scan.memory_mib} MiB"


def written(database: Path, root: Path) -> float:
    """Count the rows that one more rescan changes."""
    return float(told("changes", root, database)[0])


def find(root: Path) -> None:
    """Have every entry listed by the system's own program."""
    subprocess.run(
        ["find", root, "-printf", "%T@ %s %i %p\n"], stdout=subprocess.DEVNULL, check=True
    )


# The trees


def make_plain_tree(root: Path, files: int) -> None:
    """Make album folders of ten files that are alike, with their sidecars."""
    bodies: dict[str, bytes] = {}
    for album in range(files // ALBUM):
        folder = album_folder(root, album)
        for track, kind in enumerate(KINDS):
            path = folder / f"{track:02} - Title {track}.{kind}"
            if kind not in bodies:
                bodies[kind] = make_song(path, kind, album, track).read_bytes()
            path.write_bytes(bodies[kind])
            path.with_suffix(".lrc").write_text("[00:01.00]words\n")


def make_queued_tree(root: Path, files: int) -> None:
    """Make album folders of ten files, each a song of its own, without sidecars."""
    for album in range(files // ALBUM):
        folder = album_folder(root, album)
        for track, kind in enumerate(KINDS):
            make_song(folder / f"{track:02} - Title {track}.{kind}", kind, album, track)


def make_flat_tree(root: Path, files: int) -> None:
    """Make one directory that holds everything."""
    from builders import minimal_flac

    for number in range(files):
        path = root / f"{number:06} - Title.flac"
        minimal_flac(path, seconds=200.0, title=f"Title {number}", artist=f"Artist {number // 50}")


def make_real_tree(root: Path, files: int) -> None:
    """Make album folders of ten songs as libraries hold them."""
    for album in range(files // ALBUM):
        folder = album_folder(root, album)
        for track, kind in enumerate(MIX):
            make_real_song(folder / f"{track:02} - Title {track}.{kind}", kind, album, track)


def album_folder(root: Path, album: int) -> Path:
    """Make the folder of an album, with its cover."""
    folder = root / f"Artist {album // 10:05}" / f"Album {album:06}"
    folder.mkdir(parents=True)
    (folder / "cover.jpg").write_bytes(b"x" * 1000)
    return folder


def make_song(path: Path, kind: str, album: int, track: int) -> Path:
    """Make one tagged file."""
    from builders import make_audio

    artist = f"Artist {album // 10}"
    return make_audio(
        path,
        kind,
        title=f"Title {album} {track}",
        artist=artist,
        album=f"Album {album}",
        album_artist=artist,
        isrc="GBAYE0000351",
    )


def add_options(parser: argparse.ArgumentParser) -> None:
    """Take the sizes of the trees."""
    parser.add_argument("files", nargs="*", type=int, help="sizes of the plain trees")
    parser.add_argument("--real", type=int, help="songs of the real tree, 0 = none")
    parser.add_argument("--rounds", type=int)


if __name__ == "__main__":
    sys.exit(run_script(__doc__, measure, add_options))
