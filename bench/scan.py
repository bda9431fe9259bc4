"""How fast libraries are scanned, beside what the disk and a tag library alone would take.

Usage: ``python bench/scan.py [files ...]`` (default 1000 10000 100000). Each tree has ten
audio files, ten sidecars and a cover in every album folder; a second, smaller tree without
sidecars shows what filling the queue costs. Every number is one run, one after another.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

KINDS = ("flac", "mp3", "m4a", "flac", "mp3", "ogg", "flac", "mp3", "opus", "mp3")
SAMPLE = 2000
"""Files of the loops that only serve to compare."""


def main() -> None:
    """Make the trees, run everything, print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=int, default=[1000, 10_000, 100_000])
    chosen = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as directory:
        for number in chosen.files:
            root = Path(directory, f"tree-{number}")
            make_tree(root, number, with_sidecars=True)
            report(root, Path(directory, f"{number}.db"), number)
        queued = min(max(chosen.files), 10_000)
        root = Path(directory, "queued")
        make_tree(root, queued, with_sidecars=False)
        print(f"\n{queued} files without sidecars, all of them enqueued")
        show("first scan", queued, *scan(root, Path(directory, "queued.db")))
        show("unchanged rescan", queued, *scan(root, Path(directory, "queued.db")))


def report(root: Path, database: Path, number: int) -> None:
    """Print the figures of one tree."""
    print(f"\n{number} files with sidecars")
    paths = [f"{folder}/{name}" for folder, _, names in os.walk(root) for name in names]
    audio = [path for path in paths if path.endswith(KINDS)]
    show("first scan", number, *scan(root, database))
    find_s = timed(lambda: find(root))
    rescan_s, memory = scan(root, database)
    show("unchanged rescan", number, rescan_s, memory)
    show("find -printf", number, find_s)
    print(f"{'':4}rescan / find {rescan_s / find_s:.2f}")
    some = Random(1).sample(audio, min(SAMPLE, len(audio)))
    show("64 KiB of each file", len(some), timed(lambda: read_heads(some)))
    show("mutagen.File, one loop", len(some), timed(lambda: read_with_library(some)))
    show("our reader, one loop", len(some), timed(lambda: read_with_ours(some, root)))


def scan(root: Path, database: Path) -> tuple[float, int]:
    """Scan in a process of its own; give the seconds and its peak memory in MiB."""
    done = subprocess.run(
        [sys.executable, __file__, "--", "scan", root, database],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "SCAN_ONLY": "1"},
    )
    seconds, memory = done.stdout.split()
    return float(seconds), int(memory)


def scan_here(root: Path, database: Path) -> None:
    """Scan once and print seconds and peak memory."""
    from lyrsvc.clock import SystemClock
    from lyrsvc.services.enqueueing import Terms
    from lyrsvc.services.scanning import Scanner, ScanSetup
    from lyrsvc.store import libraries
    from lyrsvc.store.database import Database

    clock = SystemClock()
    with Database.open(database, create=True, clock=clock) as db:
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
        with clocked() as spent:
            scanner.scan(library, started_by="cli")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(spent[0], peak)


def make_tree(root: Path, number: int, *, with_sidecars: bool) -> None:
    """Make album folders of ten files; without sidecars every file is a song of its own."""
    bodies: dict[str, bytes] = {}
    for album in range(number // 10):
        folder = root / f"Artist {album // 10:05}" / f"Album {album:06}"
        folder.mkdir(parents=True)
        for track, kind in enumerate(KINDS):
            path = folder / f"{track:02} - Title {track}.{kind}"
            if not with_sidecars:
                make_song(path, kind, album, track)
                continue
            if kind not in bodies:
                bodies[kind] = make_song(path, kind, album, track).read_bytes()
            path.write_bytes(bodies[kind])
            path.with_suffix(".lrc").write_text("[00:01.00]words\n")
        (folder / "cover.jpg").write_bytes(b"x" * 1000)


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


def find(root: Path) -> None:
    """Have every entry listed by the system's own program."""
    subprocess.run(
        ["find", root, "-printf", "%T@ %s %i %p\n"], stdout=subprocess.DEVNULL, check=True
    )


def read_heads(paths: list[str]) -> None:
    """Read the beginning of every file."""
    for path in paths:
        handle = os.open(path, os.O_RDONLY)
        os.read(handle, 64 * 1024)
        os.close(handle)


def read_with_library(paths: list[str]) -> None:
    """Read with the tag library's generic opener."""
    import mutagen

    for path in paths:
        mutagen.File(path)


def read_with_ours(paths: list[str], root: Path) -> None:
    """Read as a scan does, without processes."""
    from lyrsvc.services.tag_reading import read_facts

    for path in paths:
        read_facts(path, str(root), enrich=True)


def timed(action: Callable[[], None]) -> float:
    """Give the seconds of one run."""
    with clocked() as spent:
        action()
    return spent[0]


@contextmanager
def clocked() -> Iterator[list[float]]:
    """Measure a block."""
    spent: list[float] = []
    began = time.perf_counter()
    yield spent
    spent.append(time.perf_counter() - began)


def show(what: str, number: int, seconds: float, memory: int = 0) -> None:
    """Print one line."""
    peak = f"  peak {memory} MiB" if memory else ""
    print(f"{'':4}{what:24} {seconds:8.2f} s  {number / seconds:9.0f} files/s{peak}")


if __name__ == "__main__":
    if os.environ.get("SCAN_ONLY"):
        scan_here(Path(sys.argv[-2]), Path(sys.argv[-1]))
    else:
        main()
