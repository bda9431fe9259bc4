"""Measure lookups in a generated copy of the catalogue's dump.

    python bench/dump_lookup.py [--rows 1000000] [--dump PATH]

Prints the median and the 99th percentile of exact and of phrase lookups. With
``--dump`` the file is kept, and used again when it is there.
"""

import argparse
import logging
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from lyrsvc.core.errors import Miss
from lyrsvc.core.lyrics import Candidate
from lyrsvc.core.matching import judge_match
from lyrsvc.core.ports import LaneContext
from lyrsvc.core.recording import Recording
from lyrsvc.core.verdict import Verdict
from lyrsvc.providers.dump_normaliser import normalise
from lyrsvc.providers.lrclib_dump import LrclibDump

SCHEMA = """
    CREATE TABLE tracks (
        id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, name_lower TEXT, artist_name TEXT,
        artist_name_lower TEXT, album_name TEXT, album_name_lower TEXT, duration FLOAT,
        last_lyrics_id INTEGER, created_at DATETIME, updated_at DATETIME
    );
    CREATE TABLE lyrics (
        id INTEGER PRIMARY KEY AUTOINCREMENT, plain_lyrics TEXT, synced_lyrics TEXT,
        track_id INTEGER, has_plain_lyrics BOOLEAN, has_synced_lyrics BOOLEAN,
        instrumental BOOLEAN, source TEXT, created_at DATETIME, updated_at DATETIME
    );
"""
INDEXES = """
    CREATE INDEX idx_tracks_names
        ON tracks (name_lower, artist_name_lower, album_name_lower, duration);
    CREATE INDEX idx_tracks_name_lower ON tracks (name_lower);
    CREATE INDEX idx_tracks_artist_name_lower ON tracks (artist_name_lower);
    CREATE INDEX idx_tracks_last_lyrics_id ON tracks (last_lyrics_id);
    CREATE VIRTUAL TABLE tracks_fts USING fts5 (
        name_lower, album_name_lower, artist_name_lower, content='tracks', content_rowid='id'
    );
    INSERT INTO tracks_fts (tracks_fts) VALUES ('rebuild');
"""
WORDS = tuple(
    word
    for line in (
        "love night rain river paper lantern summer winter heart fire ghost light harbour",
        "window letter silver garden shadow morning train mirror ocean stone bridge feather",
        "radio glass city island thunder velvet copper orchard signal candle meadow static",
    )
    for word in line.split()
)
LYRICS = "\n".join(
    f"[00:{at:02d}.{at * at % 89:02d}]an invented line number {at}" for at in range(8, 40, 2)
)
BATCH = 50_000


def main() -> None:
    """Build or reuse the dump, and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--lookups", type=int, default=2_000)
    parser.add_argument("--dump", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        path = options.dump or Path(directory) / "dump.sqlite3"
        if not path.exists():
            build(path, options.rows)
        measure(path, options.rows, options.lookups)


def build(path: Path, rows: int) -> None:
    """Generate a dump of so many tracks."""
    started = time.monotonic()
    with closing(sqlite3.connect(path)) as db:
        db.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;" + SCHEMA)
        for start in range(0, rows, BATCH):
            numbers = range(start, min(start + BATCH, rows))
            db.executemany(
                "INSERT INTO tracks (id, name, name_lower, artist_name, artist_name_lower,"
                " album_name, album_name_lower, duration, last_lyrics_id)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                map(track, numbers),
            )
            db.executemany(
                "INSERT INTO lyrics (id, plain_lyrics, synced_lyrics, track_id, has_plain_lyrics,"
                " has_synced_lyrics, instrumental) VALUES (?, ?, ?, ?, 1, 1, 0)",
                ((number + 1, LYRICS, LYRICS, number + 1) for number in numbers),
            )
            db.commit()
        db.executescript(INDEXES)
        db.commit()
    size = path.stat().st_size / 1e6
    print(f"built {rows} tracks, {size:.0f} MB, in {time.monotonic() - started:.0f} s")


def names(number: int) -> tuple[str, str, str, float]:
    """Give title, artist, album and length of a track; titles repeat, as real ones do."""
    dice = random.Random(number)
    title = " ".join(dice.choices(WORDS, k=dice.randint(1, 4))).title()
    artist = f"The {' '.join(dice.choices(WORDS, k=2))} {number // 40}".title()
    album = " ".join(dice.choices(WORDS, k=3)).title()
    return title, artist, album, float(dice.randint(90, 400))


def track(number: int) -> tuple[object, ...]:
    """Give the row of a track."""
    title, artist, album, length = names(number)
    lower = normalise(title), normalise(artist), normalise(album)
    return (
        number + 1,
        title,
        lower[0],
        artist,
        lower[1],
        album,
        lower[2],
        length,
        number + 1,
    )


def measure(path: Path, rows: int, lookups: int) -> None:
    """Print how long each kind of lookup takes."""
    dice = random.Random(7)
    picked = [names(dice.randrange(rows)) for _ in range(lookups)]
    with closing(LrclibDump(path=path)) as lane:
        report("exact", lane, (as_asked(*song) for song in picked))
        report("exact, without length", lane, (as_asked(*song[:3], None) for song in picked))
        report("miss, by phrase", lane, (as_asked("Nowhere " + s[0], *s[1:]) for s in picked))
        # A word less in the artist's name cannot be found exactly.
        short = ((s[0], " ".join(s[1].split()[:-1]), *s[2:]) for s in picked[: lookups // 4])
        report("hit, by phrase", lane, (as_asked(*song) for song in short))


def as_asked(title: str, artist: str, album: str, length: float | None) -> Recording:
    """Describe a track as a file's tags would."""
    duration_ms = int(length * 1000) if length else None
    return Recording(title=title, artist=artist, album=album, duration_ms=duration_ms)


def report(kind: str, lane: LrclibDump, asked: Iterator[Recording]) -> None:
    """Run lookups of one kind and print their times."""
    times, found = [], 0
    for recording in asked:
        started = time.perf_counter()
        try:
            lane.lookup(recording, context(judged_for(recording)))
            found += 1
        except Miss:
            pass
        times.append((time.perf_counter() - started) * 1000)
    times.sort()
    median, p99 = times[len(times) // 2], times[len(times) * 99 // 100]
    print(f"{kind:24} median {median:8.3f} ms   p99 {p99:8.3f} ms   found {found}/{len(times)}")


def judged_for(recording: Recording) -> Callable[[Candidate], Verdict]:
    """Judge as the service does."""
    return lambda candidate: judge_match(recording, candidate.matched)


def context(judge: Callable[[Candidate], Verdict]) -> LaneContext:
    """Give a context without a network."""
    return LaneContext(
        http=None,  # type: ignore[arg-type]
        judge=judge,
        deadline=float("inf"),
        cancelled=lambda: False,
        log=logging.getLogger("bench"),
        version="bench",
    )


if __name__ == "__main__":
    main()
