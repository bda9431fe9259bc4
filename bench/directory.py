"""Measure directory mode: tags, lookups in a local dump, judging, writing.

    python bench/directory.py [--rows 1000000] [--files 2000] [--dump PATH] [--profile]

Makes real tagged files whose songs are in the dump, once as albums and once all in
one directory, and runs the command over them in process. Prints files per second
and how the time is spent; the rest is the walk, names and printing. The bar is 200
files a second in both layouts.
"""

import argparse
import cProfile
import io
import pstats
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import dump_lookup
from builders import minimal_flac, minimal_mp3
from lyrsvc.cli.call import World
from lyrsvc.cli.running import main as run_command
from lyrsvc.clock import SystemClock
from lyrsvc.files import atomic, sidecar_writing
from lyrsvc.providers.lrclib_dump import LrclibDump
from lyrsvc.services import fetching, lookup

BAR = 200.0
ALBUM = 12


def main() -> None:
    """Build what is missing, and measure both layouts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--files", type=int, default=2_000)
    parser.add_argument("--dump", type=Path)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        dump = options.dump or place / "dump.sqlite3"
        if not dump.exists():
            dump_lookup.build(dump, options.rows)
        numbers = random.Random(11).sample(range(options.rows), options.files)
        for layout, folder in (("albums", by_album), ("one directory", lambda _: "all")):
            music = place / layout
            for place_in_list, number in enumerate(numbers):
                make_file(music / folder(place_in_list), place_in_list, number)
            measure(layout, music, dump, profile=options.profile)


def by_album(place: int) -> str:
    """Name the folder of a file when each album has its own."""
    return f"artist {place // (ALBUM * 3)}/album {place // ALBUM}"


def make_file(folder: Path, place: int, number: int) -> None:
    """Make a tagged file of a few hundred bytes."""
    title, artist, album, length = dump_lookup.names(number)
    tags = {"title": title, "artist": artist, "album": album, "album_artist": artist}
    make, suffix = (minimal_flac, "flac") if place % 2 else (minimal_mp3, "mp3")
    make(folder / f"{place:04d} {title}.{suffix}", seconds=length, **tags)


def measure(layout: str, music: Path, dump: Path, *, profile: bool) -> None:
    """Run the command once over fresh files and once over finished ones."""
    for kind in ("first run", "all present"):
        profiler = cProfile.Profile() if profile and kind == "first run" else None
        with timed_parts() as parts:
            started, worked = time.perf_counter(), time.process_time()
            if profiler:
                profiler.enable()
            lines = fetch(music, dump)
            if profiler:
                profiler.disable()
            took, worked = time.perf_counter() - started, time.process_time() - worked
        rate = len(lines) / took
        states = {line.split("\t")[0] for line in lines}
        verdict = "ok" if rate >= BAR else "TOO SLOW"
        print(f"{layout:14} {kind:12} {rate:8.0f} files/s  {verdict}  {sorted(states)}")
        told = {**parts, "rest": took - sum(parts.values()), "(processor)": worked}
        for name, seconds in told.items():
            print(f"    {name:18} {seconds * 1000 / len(lines):7.3f} ms a file")
        if profiler:
            pstats.Stats(profiler).sort_stats("tottime").print_stats(30)


def fetch(music: Path, dump: Path) -> list[str]:
    """Run ``lyrsvc DIRECTORY`` in process."""
    out, err = io.StringIO(), io.StringIO()
    environ = {"HOME": str(music.parent), "LYRSVC_LRCLIB_DUMP_PATH": str(dump)}
    world = World(environ, music.parent, "bench", io.StringIO(), out, err, SystemClock())
    code = run_command(["--provider", "lrclib-dump", str(music)], world)
    if code not in (0, 3):
        raise SystemExit(err.getvalue())
    return out.getvalue().splitlines()


@contextmanager
def timed_parts() -> Iterator[dict[str, float]]:
    """Measure the parts of the work by wrapping the functions that do them."""
    spent: dict[str, float] = {}
    stack: list[str] = []
    clock = [time.perf_counter()]

    def switch() -> None:
        now = time.perf_counter()
        if stack:
            spent[stack[-1]] = spent.get(stack[-1], 0.0) + now - clock[0]
        clock[0] = now

    def timed(name: str, function: Callable) -> Callable:
        def call(*args, **options):
            switch()
            stack.append(name)
            try:
                return function(*args, **options)
            finally:
                switch()
                stack.pop()

        return call

    wrapped = (
        (fetching, "read_tags", "tags"),
        (fetching, "render", "render"),
        (lookup, "judge", "judging"),
        (LrclibDump, "lookup", "lookup"),
        (sidecar_writing.SidecarWriter, "look", "look"),
        (sidecar_writing.SidecarWriter, "write", "write"),
        (atomic, "_write_temp", "temp file, fsync"),
        (atomic, "sync_directory", "directory fsync"),
    )
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in wrapped]
    for (owner, name, function), (_, _, label) in zip(before, wrapped, strict=True):
        setattr(owner, name, timed(label, function))
    try:
        yield spent
    finally:
        for owner, name, function in before:
            setattr(owner, name, function)


if __name__ == "__main__":
    main()
