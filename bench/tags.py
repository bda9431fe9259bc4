"""Files per second of the tag readers over one tree: ours, the library's, and the floor.

Usage: ``python bench/tags.py [files per format]``. Every reader reads every file in
turn, round by round, so that a busy machine slows all of them alike.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

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


def main() -> None:
    """Make the tree, run every reader, print the medians."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    with tempfile.TemporaryDirectory() as directory:
        paths = make_tree(Path(directory), count)
        times: dict[str, list[float]] = {name: [] for name in READERS}
        for _ in range(ROUNDS):
            for name, reader in READERS.items():
                start = time.perf_counter()
                for path in paths:
                    reader(path)
                times[name].append(time.perf_counter() - start)
    print(f"{len(paths)} files, {', '.join(FORMATS)}; median of {ROUNDS} rounds")
    for name, seconds in times.items():
        median = statistics.median(seconds)
        print(f"{name:28} {len(paths) / median:9.0f} files/s  {median / len(paths) * 1e6:7.0f} us")


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


READERS: dict[str, Callable[[str], None]] = {
    "read_tags": read_ours,
    "read_tags, no enrichment": read_names_only,
    "mutagen.File": read_library,
    "open + read 64 KiB": read_floor,
}

if __name__ == "__main__":
    main()
