"""What a question costs in a dump: bytes read, at two sizes; the clock proves nothing here."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from lyrsvc.core.errors import Miss
from lyrsvc.core.recording import Recording
from lyrsvc.providers.lrclib_dump import LrclibDump

IO = Path("/proc/self/io")
FEW, MANY = 1_000, 30_000
SMALL_CHANGE = 600_000
"""Bytes: a few dozen pages of every index, whatever the size of the dump."""

SCHEMA = """
    CREATE TABLE tracks (
        id INTEGER PRIMARY KEY, name TEXT, name_lower TEXT, artist_name TEXT,
        artist_name_lower TEXT, album_name TEXT, album_name_lower TEXT, duration FLOAT,
        last_lyrics_id INTEGER
    );
    CREATE TABLE lyrics (
        id INTEGER PRIMARY KEY, plain_lyrics TEXT, synced_lyrics TEXT, track_id INTEGER,
        has_plain_lyrics BOOLEAN, has_synced_lyrics BOOLEAN, instrumental BOOLEAN
    );
    CREATE INDEX by_names ON tracks (name_lower, artist_name_lower, album_name_lower, duration);
    CREATE VIRTUAL TABLE tracks_fts USING fts5 (
        name_lower, album_name_lower, artist_name_lower, content='tracks', content_rowid='id'
    );
"""
WORDS = ("tide", "lantern", "ferry", "harbour", "kitchen", "orchard", "glass", "paper", "radio")


def title_of(number: int) -> str:
    return f"{WORDS[number % 9]} {WORDS[number // 9 % 9]} song{number}"


def artist_of(number: int) -> str:
    return f"the {WORDS[number % 7]} band{number % 500}"


def make(path: Path, rows: int) -> Path:
    with closing(sqlite3.connect(path)) as db, db:
        db.executescript(SCHEMA)
        db.executemany(
            "INSERT INTO tracks VALUES (?, ?, ?, ?, ?, 'Album', 'album', 200.0, ?)",
            (
                (n, title_of(n), title_of(n), artist_of(n), artist_of(n), n)
                for n in range(1, rows + 1)
            ),
        )
        text = "a line of words that takes some room on its page\n" * 12
        stamped = "[00:10.00]one line\n[00:13.50]another line"
        db.executemany(
            "INSERT INTO lyrics VALUES (?, ?, ?, ?, 1, 1, 0)",
            ((n, text, stamped, n) for n in range(1, rows + 1)),
        )
        db.execute("INSERT INTO tracks_fts (tracks_fts) VALUES ('rebuild')")
    return path


def bytes_read() -> int:
    return int(re.search(r"rchar: (\d+)", IO.read_text())[1])


def cost(path: Path, context, recording: Recording) -> int:
    """Give the bytes that a question reads with nothing in memory yet."""
    with closing(LrclibDump(path=path)) as lane:
        before = bytes_read()
        try:
            found = lane.lookup(recording, context())
            assert found[0].matched.title == title_of(777)
        except Miss:
            assert "nobody" in recording.title
        return bytes_read() - before


@pytest.fixture(scope="module")
def dumps(tmp_path_factory) -> tuple[Path, Path]:
    place = tmp_path_factory.mktemp("dumps")
    return make(place / "few.sqlite3", FEW), make(place / "many.sqlite3", MANY)


def song(title: str, artist: str) -> Recording:
    return Recording(title=title, artist=artist, duration_ms=200_000)


@pytest.mark.spec("P-31")
@pytest.mark.skipif(not IO.exists(), reason="the system does not count bytes")
@pytest.mark.parametrize(
    ("asked", "what"),
    [
        (song(title_of(777), artist_of(777)), "exact"),
        (song(title_of(777).partition(" ")[2], artist_of(777)), "phrase"),
        (song("nobody sings this", artist_of(777)), "neither"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_question_costs_the_same_in_a_large_dump(dumps, context, asked, what) -> None:
    few, many = dumps
    assert many.stat().st_size > 20 * few.stat().st_size
    small, large = cost(few, context, asked), cost(many, context, asked)
    assert large < SMALL_CHANGE
    assert large < 4 * small + 200_000
    assert large * 20 < many.stat().st_size
