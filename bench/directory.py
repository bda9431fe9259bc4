"""Directory mode: tags, lookups in a local dump, judging, writing.

python bench/directory.py [--rows N] [--files N] [--dump PATH]

Makes real tagged files whose songs are in the dump, once as albums and once all in one
directory, and runs the command over them in process, once over fresh files and once over
finished ones. The floor writes as many small files durably and does nothing else.
"""

import argparse
import io
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import dump_lookup
from _meter import Spent, metered, timed
from _profile import split_lines
from _script import run_script
from _table import Bar, Row, explained
from builders import minimal_flac, minimal_mp3
from lyrsvc.cli.call import World
from lyrsvc.cli.running import main as run_command
from lyrsvc.clock import SystemClock
from lyrsvc.files import atomic, sidecar_writing
from lyrsvc.providers.lrclib_dump import LrclibDump
from lyrsvc.services import fetching, lookup

LEAST = Bar(limit=200, least=True)
ALBUM = 12


def measure(options: argparse.Namespace) -> Iterator[Row]:
    """Build what is missing, and measure both layouts."""
    rows = options.rows or (1_000_000 if options.full else 100_000)
    files = options.files or (2_000 if options.full else 1_000)
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        dump = options.dump or place / "dump.sqlite3"
        if not dump.exists():
            dump_lookup.build(dump, rows)
        numbers = random.Random(11).sample(range(rows), files)
        for layout, folder in (("albums", by_album), ("one directory", lambda _: "all")):
            music = place / layout
            for place_in_list, number in enumerate(numbers):
                make_file(music / folder(place_in_list), place_in_list, number)
            beside = place / f"{layout} floor"
            floor = timed(partial(write_durably, beside, files))
            for kind in ("first run", "all present"):
                yield measured(f"{layout}, {kind}", music, dump, floor)


def by_album(place: int) -> str:
    """Name the folder of a file when each album has its own."""
    return f"artist {place // (ALBUM * 3)}/album {place // ALBUM}"


def make_file(folder: Path, place: int, number: int) -> None:
    """Make a tagged file of a few hundred bytes."""
    title, artist, album, length = dump_lookup.names(number)
    tags = {"title": title, "artist": artist, "album": album, "album_artist": artist}
    make, suffix = (minimal_flac, "flac") if place % 2 else (minimal_mp3, "mp3")
    make(folder / f"{place:04d} {title}.{suffix}", seconds=length, **tags)


def measured(name: str, music: Path, dump: Path, floor: Spent) -> Row:
    """Run the command once over a directory."""
    with timed_parts() as parts, metered() as spent:
        lines = fetch(music, dump)
    states = ", ".join(sorted({line.split("\t")[0] for line in lines}))
    row = Row(
        work=f"directory mode, {name}",
        figure=len(lines) / spent.wall_s,
        unit="files/s",
        peer="durable writes alone",
        peer_figure=len(lines) / floor.wall_s,
        bar=LEAST,
        stolen=spent.stolen,
        note=f"{len(lines)} files {states}; {spent.own_s / len(lines) * 1000:.2f} ms processor",
    )
    each_ms = {part: seconds * 1000 / len(lines) for part, seconds in parts.items()}
    each_ms["rest"] = spent.wall_s * 1000 / len(lines) - sum(each_ms.values())
    return explained(row, lambda: split_lines(each_ms, "ms a file"))


def write_durably(folder: Path, files: int) -> None:
    """Write as many small files as safely as sidecars are written."""
    folder.mkdir()
    for number in range(files):
        draft = folder / f".{number}"
        with draft.open("wb") as file:
            file.write(b"[00:01.00]words\n" * 30)
            file.flush()
            os.fsync(file.fileno())
        draft.rename(folder / f"{number}.lrc")
        handle = os.open(folder, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)


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

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
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


def add_options(parser: argparse.ArgumentParser) -> None:
    """Take the sizes, or a dump that is there."""
    parser.add_argument("--rows", type=int)
    parser.add_argument("--files", type=int)
    parser.add_argument("--dump", type=Path)


if __name__ == "__main__":
    sys.exit(run_script(__doc__, measure, add_options))
