"""The dump lane: a real SQLite file, read and never written."""

import json
import os
import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from lyrsvc.core.errors import ConfigError, Miss, Transient
from lyrsvc.core.matching import judge_match
from lyrsvc.core.recording import Recording
from lyrsvc.providers import lrclib_dump
from lyrsvc.providers.dump_normaliser import normalise
from lyrsvc.providers.lrclib_dump import LrclibDump
from providers_data import BODIES

VECTORS = json.loads((BODIES / "lrclib" / "dump_normaliser.json").read_text("utf-8"))["vectors"]
SCHEMA = """
    CREATE TABLE tracks (
        id INTEGER PRIMARY KEY, name TEXT, name_lower TEXT, artist_name TEXT,
        artist_name_lower TEXT, album_name TEXT, album_name_lower TEXT, duration FLOAT,
        last_lyrics_id INTEGER, created_at DATETIME
    );
    CREATE TABLE lyrics (
        id INTEGER PRIMARY KEY, plain_lyrics TEXT, synced_lyrics TEXT, track_id INTEGER,
        has_plain_lyrics BOOLEAN, has_synced_lyrics BOOLEAN, instrumental BOOLEAN, source TEXT
    );
    CREATE INDEX by_names ON tracks (name_lower, artist_name_lower, album_name_lower, duration);
    CREATE VIRTUAL TABLE tracks_fts USING fts5 (
        name_lower, album_name_lower, artist_name_lower, content='tracks', content_rowid='id'
    );
"""
SYNCED = "[00:10.00]one line\n[00:13.50]another line"


class Dump:
    """Builds a small dump."""

    def __init__(self, path: Path):
        self.path = path
        with closing(sqlite3.connect(path)) as db:
            db.executescript(SCHEMA)

    def add(self, title, artist, album="", seconds=200.0, *, lower=None, synced=SYNCED, **lyrics):
        with closing(sqlite3.connect(self.path)) as db, db:
            names = lower or (normalise(title), normalise(artist))
            row = db.execute(
                "INSERT INTO tracks (name, name_lower, artist_name, artist_name_lower, album_name,"
                " album_name_lower, duration) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (title, names[0], artist, names[1], album, normalise(album), seconds),
            )
            track = row.lastrowid
            has_synced = synced is not None
            plain = lyrics.get("plain", "one line\nanother line")
            text = db.execute(
                "INSERT INTO lyrics (plain_lyrics, synced_lyrics, track_id, has_synced_lyrics,"
                " instrumental) VALUES (?, ?, ?, ?, ?)",
                (plain, synced, track, has_synced, lyrics.get("instrumental", False)),
            )
            db.execute("UPDATE tracks SET last_lyrics_id = ? WHERE id = ?", (text.lastrowid, track))
            db.execute(
                "INSERT INTO tracks_fts (rowid, name_lower, album_name_lower, artist_name_lower)"
                " VALUES (?, ?, ?, ?)",
                (track, names[0], normalise(album), names[1]),
            )
            return track

    def run(self, sql):
        with closing(sqlite3.connect(self.path)) as db, db:
            db.execute(sql)


@pytest.fixture
def dump(tmp_path):
    return Dump(tmp_path / "db#1 100% ü?.sqlite3")


@pytest.fixture
def lane(dump):
    opened = LrclibDump(path=dump.path)
    yield opened
    opened.close()


def song(title="Song", artist="Band", seconds=200.0, **more):
    return Recording(
        title=title, artist=artist, duration_ms=int(seconds * 1000) if seconds else None, **more
    )


def state_of(path):
    return path.read_bytes(), path.stat().st_mtime_ns, sorted(path.parent.iterdir())


def ids(candidates):
    return [int(candidate.matched.ids[0]) for candidate in candidates]


@pytest.mark.spec("P-29")
def test_every_vector_is_found_and_the_file_stays_as_it_was(dump, context):
    for vector in VECTORS:
        if vector["out"]:
            dump.add(vector["in"], "Band", lower=(vector["out"], "band"))
    os.utime(dump.path, ns=(1, 1))
    dump.path.chmod(0o444)
    before = state_of(dump.path)

    with closing(LrclibDump(path=dump.path)) as lane:
        for vector in VECTORS:
            if vector["out"]:
                assert lane.lookup(song(vector["in"]), context())[0].cues

    assert state_of(dump.path) == before


def test_a_row_becomes_a_candidate(dump, lane, context):
    number = dump.add("Söng", "Bänd", "Album", 201.4)

    (found,) = lane.lookup(song("SONG", "band"), context())

    matched = found.matched
    assert (matched.title, matched.artist, matched.album) == ("Söng", "Bänd", "Album")
    assert (matched.duration_ms, matched.ids) == (201_400, (str(number),))
    assert [cue.ms for cue in found.cues] == [10_000, 13_500]
    assert found.plain == "one line\nanother line"


def test_the_nearest_length_comes_first_and_far_ones_not_at_all(dump, lane, context):
    far = dump.add("Song", "Band", "a", 208.1)
    near = [
        dump.add("Song", "Band", album, s) for album, s in (("b", 207.0), ("c", 199.0), ("d", 202))
    ]
    plain = dump.add("Song", "Band", "e", 200.0, synced=None)

    found = ids(lane.lookup(song(), context()))

    assert found == [near[1], near[2], near[0], plain]
    assert far not in found
    assert far in ids(lane.lookup(song(seconds=None), context()))


def test_a_row_without_a_length_is_only_found_when_none_is_asked(dump, lane, context):
    number = dump.add("Song", "Band", seconds=None)

    assert ids(lane.lookup(song(seconds=None), context())) == [number]


def test_the_base_title_and_each_credited_name_are_tried_too(dump, lane, context):
    number = dump.add("Song", "Second")
    asked = song("Song (Remastered 2011)", "First, Second & Third")

    assert ids(lane.lookup(asked, context(asked))) == [number]


def test_a_title_of_signs_is_found_among_the_artists_nameless_rows(dump, lane, context):
    for n in range(120):
        dump.add("!" * (n + 2), "Band", f"{n}", 100 + n)
    number = dump.add("?", "Band", "Album", 200)
    dump.add("Named", "Band")
    asked = song("?")

    found = lane.lookup(asked, context(asked))

    assert len(found) <= 50
    accepted = [c for c in found if judge_match(asked, c.matched).accepted]
    assert ids(accepted) == [number]


def test_a_phrase_finds_what_the_exact_names_do_not(dump, lane, context):
    number = dump.add("Song of the Weir (Album Version)", "Band and Friends")
    dump.add("Weir of the Song", "Band and Friends")

    assert ids(lane.lookup(song("Song of the Weir"), context())) == [number]


def test_a_dump_without_phrase_table_is_searched_exactly_only(dump, context):
    dump.add("Song of the Weir (Album Version)", "Band")
    dump.run("DROP TABLE tracks_fts")

    with closing(LrclibDump(path=dump.path)) as lane, pytest.raises(Miss):
        lane.lookup(song("Song of the Weir"), context())


@pytest.mark.parametrize(
    "title", ['"', 'a" OR name_lower : "b', "NEAR(", "* ^", "→", "'; DROP", "a AND"]
)
def test_no_name_can_break_the_phrase(dump, lane, context, title):
    dump.add("Other", "Band")

    with pytest.raises(Miss):
        lane.lookup(song(title), context())


def test_metadata_alone_and_missing_lyrics_are_a_miss(dump, lane, context):
    dump.add("Song", "Band", synced=None, plain=None)
    dump.add("Bare", "Band")
    dump.run("UPDATE tracks SET last_lyrics_id = NULL WHERE name = 'Bare'")

    for title in ("Song", "Bare"):
        with pytest.raises(Miss) as caught:
            lane.lookup(song(title), context())
        assert caught.value.reason == "no_lyrics"
    with pytest.raises(Miss) as caught:
        lane.lookup(song("Absent"), context())
    assert caught.value.reason == "not_found"


def test_an_instrumental_row_is_a_claim(dump, lane, context):
    dump.add("Song", "Band", synced=None, plain=None, instrumental=True)

    assert lane.lookup(song(), context())[0].instrumental


def test_bytes_that_are_no_utf8_break_nothing(dump, lane, context):
    number = dump.add("Song", "Band")
    dump.run("UPDATE lyrics SET plain_lyrics = CAST(X'61FF62' AS TEXT)")

    assert ids(lane.lookup(song(), context())) == [number]


def test_an_unbounded_phrase_search_is_given_up(dump, lane, context, monkeypatch):
    dump.add("Song of the Weir (Album Version)", "Band")
    monkeypatch.setattr(lrclib_dump, "PHRASE_LIMIT_S", -1.0)
    monkeypatch.setattr(lrclib_dump, "STEPS_BETWEEN_CHECKS", 1)

    with pytest.raises(Miss):
        lane.lookup(song("Song of the Weir"), context())


def test_a_cancelled_lookup_ends_at_once(dump, lane, context, monkeypatch):
    dump.add("Song", "Band")
    monkeypatch.setattr(lrclib_dump, "STEPS_BETWEEN_CHECKS", 1)

    with pytest.raises(Transient) as caught:
        lane.lookup(song(), context(cancelled=lambda: True))
    assert caught.value.reason == "timeout"


def test_a_damaged_page_is_transient_and_names_no_path(dump, context):
    for n in range(400):
        dump.add(f"Song {n}", "Band")
    with closing(LrclibDump(path=dump.path)) as lane:
        size = dump.path.stat().st_size
        with dump.path.open("r+b") as file:
            file.seek(8192)
            file.write(b"\xff" * (size - 8192))
        with pytest.raises(Transient) as caught:
            lane.lookup(song("Song 7"), context())
    assert "SQLITE_CORRUPT" in str(caught.value)
    assert str(dump.path.parent) not in str(caught.value)


def test_every_thread_has_its_own_connection(dump, lane, context):
    dump.add("Song", "Band")
    found = []

    def work():
        for _ in range(20):
            found.extend(lane.lookup(song(), context()))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(found) == 80
    assert len(lane._open) == 4


def test_closing_twice_is_fine_and_a_closed_lane_is_transient(dump, lane, context):
    dump.add("Song", "Band")
    lane.lookup(song(), context())
    lane.close()
    lane.close()

    with pytest.raises(Transient):
        lane.lookup(song(), context())


def test_a_probe_reads_the_file(dump, lane, context):
    lane.probe(context())
    lane.close()
    with pytest.raises(Transient):
        lane.probe(context())


def fault_of(path) -> str:
    with pytest.raises(ConfigError) as caught:
        LrclibDump(path=path)
    (fault,) = caught.value.faults
    assert fault.startswith("providers.lrclib_dump.path: ")
    return fault


@pytest.mark.spec("P-30")
def test_a_missing_file_a_directory_and_foreign_bytes_are_refused(tmp_path):
    assert "No such file" in fault_of(tmp_path / "absent.sqlite3")
    assert "cannot be read" in fault_of(tmp_path)
    (tmp_path / "text").write_text("no database")
    (tmp_path / "empty").touch()
    assert "no SQLite database" in fault_of(tmp_path / "text")
    assert "no SQLite database" in fault_of(tmp_path / "empty")


@pytest.mark.spec("P-30")
@pytest.mark.parametrize("name", ["dump.sqlite3.gz", "dump.sqlite3"])
def test_a_compressed_dump_is_to_be_unpacked(tmp_path, name):
    import gzip

    (tmp_path / name).write_bytes(gzip.compress(b"SQLite format 3\0"))

    assert "unpack" in fault_of(tmp_path / name)


@pytest.mark.spec("P-30")
def test_a_missing_table_or_column_is_named(dump):
    dump.run("ALTER TABLE lyrics DROP COLUMN synced_lyrics")
    assert "table lyrics has no column synced_lyrics" in fault_of(dump.path)
    dump.run("DROP TABLE tracks")
    assert "table tracks is missing" in fault_of(dump.path)


def test_unfinished_writes_beside_the_dump_are_refused(dump):
    wal = dump.path.with_name(dump.path.name + "-wal")
    wal.write_bytes(b"")
    LrclibDump(path=dump.path).close()
    wal.write_bytes(b"x")

    assert "checkpoint" in fault_of(dump.path)


def test_a_truncated_database_is_refused_at_start(dump):
    dump.path.write_bytes(dump.path.read_bytes()[:100])

    assert "SQLITE_" in fault_of(dump.path)


@pytest.mark.spec("P-29")
def test_a_write_ahead_dump_on_a_read_only_directory_works(dump, context):
    dump.add("Song", "Band")
    with closing(sqlite3.connect(dump.path)) as db:
        db.execute("PRAGMA journal_mode = WAL")
    dump.path.parent.chmod(0o555)
    try:
        with closing(LrclibDump(path=dump.path)) as lane:
            assert lane.lookup(song(), context())
        assert list(dump.path.parent.iterdir()) == [dump.path]
    finally:
        dump.path.parent.chmod(0o755)


def test_an_album_artist_that_is_nobody_asks_nothing(dump, lane, context):
    dump.add("Song", "Various Artists")

    with pytest.raises(Miss):
        lane.lookup(replace(song(), artist="Various Artists"), context())


def test_an_artist_with_company_is_found_without_a_phrase(dump, context):
    guest = dump.add("Song", "Band feat. Guest")
    dump.add("Song", "Bandits")
    dump.add("Song", "Band feat. Guest", seconds=300.0)
    dump.run("DROP TABLE tracks_fts")
    asked = song()
    with closing(LrclibDump(path=dump.path)) as lane:
        assert ids(lane.lookup(asked, context(asked))) == [guest]
