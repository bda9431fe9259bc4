"""Files per second of the tag readers over one tree: ours, the library's, and the floor.

python bench/tags.py [files per format]

Every reader reads every file in turn, round by round, so that a busy machine slows all of
them alike. The floor opens a file, reads 64 KiB and closes it.
"""

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from _meter import Spent, median_ratio, stolen_over, timed
from _script import run_script
from _table import Row

FORMATS = ("mp3", "flac", "m4a", "ogg", "opus", "wma")
ROUNDS = 5
TAGS = {
    "title": "Harbour Lights",
    "artist": "Wishmaker feat. Somebody",
    "artists": ["Wishmaker", "Somebody"],
    "album": "Northern Harbours",
    "album_artist": "Wishmaker",
    "isrc": "GBAYE0000351",
    "mbid": "f1d1d1d1-0000-4000-8000-000000000001",
}


def measure(options: argparse.Namespace) -> Iterator[Row]:
    """Make the tree, run every reader, compare."""
    with tempfile.TemporaryDirectory() as directory:
        paths = make_tree(Path(directory), options.files or (500 if options.full else 100))
        spent: dict[str, list[Spent]] = {name: [] for name in READERS}
        for _ in range(ROUNDS):
            for name, reader in READERS.items():
                spent[name].append(timed(partial(read_all, reader, paths)))
    ours = "read_tags"
    for work, peer in ((ours, "mutagen.File"), (ours, FLOOR), ("names only", "mutagen.File")):
        yield compared(work, peer, spent, len(paths))


def compared(work: str, peer: str, spent: dict[str, list[Spent]], files: int) -> Row:
    """Give one reader beside another, as rates."""
    mine, other = spent[work], spent[peer]
    return Row(
        work=f"{work} of {files} files in {len(FORMATS)} formats",
        figure=files / statistics.median(one.wall_s for one in mine),
        unit="files/s",
        peer=peer,
        peer_figure=files / statistics.median(one.wall_s for one in other),
        processor_ratio=median_ratio([one.own_s for one in other], [one.own_s for one in mine]),
        stolen=stolen_over([*mine, *other]),
    )


def make_tree(root: Path, count: int) -> list[str]:
    """Make as many files of each format, as long as honest ones where that is possible."""
    from builders import make_audio

    paths = []
    for kind in FORMATS:
        first = make_audio(root / f"000.{kind}", kind, **TAGS).read_bytes()
        if kind not in ("ogg", "opus"):  # their length stands in the last page
            first += bytes(200_000)
        for number in range(count):
            path = root / f"{number:03}.{kind}"
            path.write_bytes(first)
            paths.append(str(path))
    return paths


def read_all(reader: Callable[[str], None], paths: list[str]) -> None:
    """Read every file with one reader."""
    for path in paths:
        reader(path)


def read_ours(path: str) -> None:
    """Read as a scan does."""
    from lyrsvc.files.tags import read_tags

    read_tags(path, enrich=True)


def read_names_only(path: str) -> None:
    """Read without enrichment."""
    from lyrsvc.files.tags import read_tags

    read_tags(path, enrich=False)


def read_library(path: str) -> None:
    """Read with the tag library's generic opener."""
    import mutagen

    mutagen.File(path)


def read_floor(path: str) -> None:
    """Open, read 64 KiB, close: no reader can be faster."""
    fd = os.open(path, os.O_RDONLY)
    os.read(fd, 65536)
    os.close(fd)


FLOOR = "open + read 64 KiB"
READERS: dict[str, Callable[[str], None]] = {
    "read_tags": read_ours,
    "names only": read_names_only,
    "mutagen.File": read_library,
    FLOOR: read_floor,
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Take the size of the tree."""
    parser.add_argument("files", nargs="?", type=int, help="files of each format")


if __name__ == "__main__":
    sys.exit(run_script(__doc__, measure, add_options))
