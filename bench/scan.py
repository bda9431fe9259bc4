"""How fast libraries are scanned, beside what the disk and a tag library alone would take.

Usage: ``python bench/scan.py [files ...] [--real N] [--rounds N]``. Plain trees (default 1000
10000 100000) have ten tiny audio files, ten sidecars and a cover in every album folder. The
real tree (default 3000) has songs as libraries hold them: many tags, covers, megabytes of
audio, and no sidecars, so that every song is enqueued; a third, of tiny files without
sidecars, shows what filling the queue costs. What is compared is measured in turn, round by
round, and medians are shown, so that a busy machine slows all of it alike.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from _music import MIX, make_real_song

KINDS = ("flac", "mp3", "m4a", "flac", "mp3", "ogg", "flac", "mp3", "opus", "mp3")


class Measured(NamedTuple):
    """One measurement in a process of its own."""

    seconds: float
    parent_cpu: float = 0.0
    children_cpu: float = 0.0
    memory_mib: int = 0


def main() -> None:
    """Make the trees, run everything, print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=int, default=[1000, 10_000, 100_000])
    parser.add_argument("--real", type=int, default=3000, help="songs of the real tree, 0 = none")
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        for number in chosen.files:
            make_tree(place / "plain", number, with_sidecars=True)
            report(place, "plain", f"{number} tiny files with sidecars", number, chosen.rounds)
        queued = min(max(chosen.files), 10_000)
        make_tree(place / "queued", queued, with_sidecars=False)
        report(place, "queued", f"{queued} tiny files, all enqueued", queued, chosen.rounds)
        if chosen.real:
            make_real_tree(place / "real", chosen.real)
            report(place, "real", f"{chosen.real} songs, all enqueued", chosen.real, chosen.rounds)


def report(place: Path, name: str, title: str, number: int, rounds: int) -> None:
    """Print the figures of one tree, and remove it."""
    root = place / name
    print(f"\n{title}")
    scans: list[Measured] = []
    loops: list[Measured] = []
    rescans: list[Measured] = []
    finds: list[float] = []
    for _ in range(rounds):
        loops.append(alone("loop", root))
        database = Path(tempfile.mkdtemp(dir=place), "scan.db")
        scans.append(alone("scan", root, database))
        rescans.append(alone("scan", root, database))
        finds.append(timed(lambda: find(root)))
    scan, loop, rescan = (middle(each) for each in (scans, loops, rescans))
    find_s = statistics.median(finds)
    show("first scan", number, scan)
    show("mutagen.File, one loop", number, loop)
    ratios = [one.seconds / other.seconds for one, other in zip(loops, scans, strict=True)]
    print(f"{'':4}first scan is {statistics.median(ratios):.2f} x the loop; {spare(loop, scan)}")
    show("unchanged rescan", number, rescan)
    show("find -printf", number, Measured(find_s))
    print(f"{'':4}rescan / find {rescan.seconds / find_s:.2f}")
    alone("stages", root, place)
    subprocess.run(["rm", "-rf", root], check=True)


def spare(loop: Measured, scan: Measured) -> str:
    """Say what free cores would make of it: a busy machine has none for a second process."""
    cores = os.cpu_count() or 1
    best = loop.parent_cpu / (scan.parent_cpu + scan.children_cpu) * cores
    return f"by CPU time alone {best:.2f} x on {cores} free cores"


def alone(what: str, root: Path, place: Path | None = None) -> Measured:
    """Do something in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, root, place or root],
        capture_output=what != "stages",
        text=True,
        check=True,
        env={**os.environ, "SCAN_ONLY": what},
    )
    if what == "stages":
        return Measured(0)
    seconds, parent, children, memory = done.stdout.split()
    return Measured(float(seconds), float(parent), float(children), int(memory))


def do_here(what: str, root: Path, place: Path) -> None:
    """Do what this process was started for, and print what it cost."""
    if what == "stages":
        from _scan_stages import measure_stages

        print(f"{'':4}stages, each alone, CPU us a file:")
        for stage, microseconds in measure_stages(root, place).items():
            print(f"{'':8}{stage:20} {microseconds:7.1f}")
        return
    action = prepare_scan(root, place) if what == "scan" else prepare_loop(root)
    worked = time.process_time()
    seconds = timed(action)
    worked = time.process_time() - worked
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(seconds, worked, children.ru_utime + children.ru_stime, peak)


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


def prepare_loop(root: Path) -> Callable[[], None]:
    """Give a plain loop of the tag library's generic opener over the same files."""
    import mutagen

    paths = [
        f"{folder}/{name}"
        for folder, _, names in os.walk(root)
        for name in names
        if name.endswith(KINDS)
    ]
    for path in paths[:20]:  # what it loads at first use is not counted
        mutagen.File(path)

    def loop() -> None:
        for path in paths:
            mutagen.File(path)

    return loop


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


def make_real_tree(root: Path, number: int) -> None:
    """Make album folders of ten songs as libraries hold them."""
    for album in range(number // 10):
        folder = root / f"Artist {album // 10:05}" / f"Album {album:06}"
        folder.mkdir(parents=True)
        for track, kind in enumerate(MIX):
            make_real_song(folder / f"{track:02} - Title {track}.{kind}", kind, album, track)
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


def middle(measured: list[Measured]) -> Measured:
    """Give the one in the middle."""
    return sorted(measured)[len(measured) // 2]


def timed(action: Callable[[], object]) -> float:
    """Give the seconds of one run."""
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def show(what: str, number: int, measured: Measured) -> None:
    """Print one line."""
    seconds, parent, children, memory = measured
    cpu = ", ".join(
        f"{name} {spent / number * 1e6:.0f}"
        for name, spent in (("parent", parent), ("children", children))
        if spent
    )
    cpu = f"  CPU us a file: {cpu}" if cpu else ""
    peak = f"  peak {memory} MiB" if memory else ""
    print(f"{'':4}{what:24} {seconds:8.2f} s  {number / seconds:9.0f} files/s{cpu}{peak}")


if __name__ == "__main__":
    if wanted := os.environ.get("SCAN_ONLY"):
        do_here(wanted, Path(sys.argv[-2]), Path(sys.argv[-1]))
    else:
        main()
