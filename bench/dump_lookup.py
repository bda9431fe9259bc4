"""Lookups in a generated copy of the catalogue's dump, beside one bare indexed row.

python bench/dump_lookup.py [--rows 1000000] [--lookups N] [--dump PATH]

The 99th percentile counts. With ``--dump`` the file is kept, and used again when it is there.
"""

import argparse
import logging
import os
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from _meter import Spent, metered, percentile
from _profile import top_of
from _script import run_script, say
from _table import Bar, Row, explained
from lyrsvc.core.errors import Miss
from lyrsvc.core.lyrics import Candidate
from lyrsvc.core.matching import judge_match
from lyrsvc.core.ports import LaneContext
from lyrsvc.core.recording import Recording
from lyrsvc.core.verdict import Verdict
from lyrsvc.providers.dump_normaliser import normalise
from lyrsvc.providers.lrclib_dump import LrclibDump

MILLION = 1_000_000
EXACT = Bar(limit=10, size=MILLION)
PHRASE = Bar(limit=2000, size=MILLION)
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


@dataclass(frozen=True)
class Kind:
    """One way to ask, and how long it may take."""

    name: str
    asked: list[Recording]
    bar: Bar


def measure(options: argparse.Namespace) -> Iterator[Row]:
    """Build or reuse the dump, and ask it in every way."""
    with tempfile.TemporaryDirectory() as directory:
        path = options.dump or Path(directory) / "dump.sqlite3"
        if not path.exists():
            build(path, options.rows)
        with closing(sqlite3.connect(path)) as db:
            rows = db.execute("SELECT max(id) FROM tracks").fetchone()[0]
            floor_ms = bare_ms(db, rows)
        with closing(LrclibDump(path=path)) as lane:
            ask(lane, as_asked(*names(0)), [])  # what it loads at first use is not counted
            for kind in kinds(rows, options.lookups):
                yield measured(kind, lane, rows, floor_ms)


def kinds(rows: int, lookups: int) -> Iterator[Kind]:
    """Give the ways to ask for tracks of the dump."""
    dice = random.Random(7)
    picked = [names(dice.randrange(rows)) for _ in range(lookups)]
    yield Kind("exact", [as_asked(*song) for song in picked], EXACT)
    yield Kind("exact, without length", [as_asked(*song[:3], None) for song in picked], EXACT)
    unknown = [as_asked("Nowhere " + song[0], *song[1:]) for song in picked]
    yield Kind("miss, by phrase", unknown, PHRASE)
    # A word less in the artist's name cannot be found exactly.
    short = [(song[0], " ".join(song[1].split()[:-1]), *song[2:]) for song in picked]
    yield Kind("hit, by phrase", [as_asked(*song) for song in short[: lookups // 4]], PHRASE)


def measured(kind: Kind, lane: LrclibDump, rows: int, floor_ms: float) -> Row:
    """Ask in one way."""
    found: list[bool] = []
    with metered() as spent:
        times = [ask(lane, recording, found) for recording in kind.asked]
    row = Row(
        work=f"dump of {rows:,} rows: {kind.name}, p99",
        figure=percentile(times, 0.99),
        unit="ms",
        peer="one indexed row",
        peer_figure=floor_ms,
        bar=kind.bar,
        size=rows,
        stolen=spent.stolen,
        note=told(times, found, spent),
    )
    slowest = sorted(zip(times, kind.asked, strict=True), key=lambda pair: -pair[0])[:20]
    return explained(
        row, lambda: top_of(lambda: [ask(lane, recording, []) for _, recording in slowest])
    )


def told(times: list[float], found: list[bool], spent: Spent) -> str:
    """Say a few words beside the figure."""
    return (
        f"median {statistics.median(times):.2f} ms, processor {spent.own_s / len(times) * 1000:.2f}"
        f" ms a lookup, {sum(found)} of {len(found)} found"
    )


def ask(lane: LrclibDump, recording: Recording, found: list[bool]) -> float:
    """Look one recording up, and give the milliseconds."""
    started = time.perf_counter()
    try:
        lane.lookup(recording, context(judged_for(recording)))
        found.append(True)
    except Miss:
        found.append(False)
    return (time.perf_counter() - started) * 1000


def bare_ms(db: sqlite3.Connection, rows: int) -> float:
    """Measure one row by its names, without anything around it."""
    dice, times = random.Random(5), []
    for _ in range(500):
        title, artist, _, _ = names(dice.randrange(rows))
        asked = (normalise(title), normalise(artist))
        started = time.perf_counter()
        db.execute(
            "SELECT * FROM tracks WHERE name_lower = ? AND artist_name_lower = ?", asked
        ).fetchall()
        times.append((time.perf_counter() - started) * 1000)
    return percentile(times, 0.99)


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
    os.sync()  # what is left to be written would be measured as well
    size = path.stat().st_size / 1e6
    say(f"built {rows} tracks, {size:.0f} MB, in {time.monotonic() - started:.0f} s")


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


def as_asked(title: str, artist: str, album: str, length: float | None) -> Recording:
    """Describe a track as a file's tags would."""
    duration_ms = int(length * 1000) if length else None
    return Recording(title=title, artist=artist, album=album, duration_ms=duration_ms)


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


def add_options(parser: argparse.ArgumentParser) -> None:
    """Take the size of the dump, or one that is there."""
    parser.add_argument("--rows", type=int, default=MILLION)
    parser.add_argument("--lookups", type=int, default=1_000)
    parser.add_argument("--dump", type=Path)


if __name__ == "__main__":
    sys.exit(run_script(__doc__, measure, add_options))
