"""Fill a database with a long, lived-in queue, quickly.

Half of the items are done, three tenths may be claimed, the rest wait for a
backoff or a cooldown. Every item has targets and scan results, those that were
looked up have attempts, and the maintained counts are true.
"""

import random
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from lyrsvc.clock import SystemClock
from lyrsvc.core.keys import match_key
from lyrsvc.core.waiting import RANDOM_BITS, TIER
from lyrsvc.store import counts
from lyrsvc.store.database import Database, Tx, to_db
from lyrsvc.store.searching import search_keys

NOW = datetime(2026, 1, 31, 14, 5, 6, tzinfo=UTC)
BATCH = 20_000
PATTERN = 50_000
"""So many items are thought up; the rest are copies with names and times of their own."""
TRACKS_OF_ALBUM = 12
LIBRARIES = (0.6, 0.85, 0.95, 1.0)
LANES = ("defaultprov", "lrclib", "lrclib-dump", "detector")
FAILED = ("network", "timeout", "upstream_error", "bad_response", "write_denied", "disk_full")
DEFERRED = ("not_found", "not_found", "no_lyrics", "restricted", "rejected_match")
WORDS = tuple(
    word
    for line in (
        "love night rain river paper lantern summer winter heart fire ghost light harbour",
        "window letter silver garden shadow morning train mirror ocean stone bridge feather",
        "radio glass city island thunder velvet copper orchard signal candle meadow café",
    )
    for word in line.split()
)
HOUR_STEP = 2**RANDOM_BITS

Row = dict[str, Any]


def fill(path: Path, items: int) -> None:
    """Make a database of so many items."""
    with Database.open(path, create=True, clock=SystemClock()) as db:
        indexes, beliefs = db.write(drop_indexes)
        db.write(add_libraries)
        pattern = min(items, PATTERN)
        add_rows(db, "work_items", work_items(pattern))
        add_rows(db, "work_targets", work_targets(pattern))
        for copy in range(1, -(-items // pattern)):
            db.write(copying(copy, pattern, items - copy * pattern), bulk=True)
        for statement in (*FOLLOWERS, *indexes):
            db.write(running(statement), bulk=True)
        db.write(lambda tx: restore(tx, beliefs))
        db.write(lambda tx: counts.correct(tx, now=NOW))


def drop_indexes(tx: Tx) -> tuple[list[str], list[Row]]:
    """Take the indexes away, as building them afterwards is much faster.

    Gives their texts and what the planner believes of them, which goes with them.
    """
    beliefs = tx.all("SELECT tbl, idx, stat FROM sqlite_stat1")
    rows = tx.all(
        """
        SELECT name, sql FROM sqlite_schema
         WHERE type = 'index' AND sql IS NOT NULL
           AND tbl_name IN ('work_items', 'work_targets', 'scan_results', 'lane_attempts')
        """
    )
    for row in rows:
        tx.run(f"DROP INDEX {row['name']}")
    return [row["sql"] for row in rows], beliefs


def restore(tx: Tx, beliefs: list[Row]) -> None:
    """Let the planner believe again what the schema told it."""
    tx.run("DELETE FROM sqlite_stat1")
    tx.many("INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (:tbl, :idx, :stat)", beliefs)
    tx.run("ANALYZE sqlite_schema")


def add_libraries(tx: Tx) -> None:
    """Register a big library and three smaller ones."""
    for number in range(1, len(LIBRARIES) + 1):
        tx.run(
            """
            INSERT INTO libraries (name, name_key, path, path_hash, last_ok_scan_at, created_at,
                                   updated_at)
            VALUES (:name, :name, :path, :name, :now, :now, :now)
            """,
            name=f"library {number}",
            path=f"/music/{number}",
            now=to_db(NOW),
        )


def add_rows(db: Database, table: str, rows: Iterator[Row]) -> None:
    """Insert rows in large transactions."""
    first = next(rows)
    names = ", ".join(first)
    places = ", ".join(f":{name}" for name in first)
    sql = f"INSERT INTO {table} ({names}) VALUES ({places})"
    batch = [first]
    for row in rows:
        batch.append(row)
        if len(batch) == BATCH:
            db.write(inserting(sql, batch), bulk=True)
            batch = []
    if batch:
        db.write(inserting(sql, batch), bulk=True)


def inserting(sql: str, rows: list[Row]) -> Callable[[Tx], None]:
    """Give the operation that inserts the rows."""
    return lambda tx: tx.many(sql, rows)


def copying(copy: int, pattern: int, most: int) -> Callable[[Tx], None]:
    """Give the operation that copies the pattern once more, or its first rows."""

    def copy_all(tx: Tx) -> None:
        for statement in COPIES:
            tx.run(statement, copy=copy, shift=copy * pattern, most=min(most, pattern))

    return copy_all


def running(sql: str) -> Callable[[Tx], int]:
    """Give the operation that runs one statement."""
    return lambda tx: tx.run(sql, now=to_db(NOW)) if ":now" in sql else tx.run(sql)


def work_items(count: int) -> Iterator[Row]:
    """Give items in the order in which scans and webhooks made them."""
    dice = random.Random(7)
    for number in range(count):
        title = " ".join(dice.choices(WORDS, k=3)).title() + f" {number}"
        album_number = number // TRACKS_OF_ALBUM
        album = f"{WORDS[album_number % len(WORDS)]} {WORDS[album_number // 7 % len(WORDS)]}"
        artist = f"The {WORDS[album_number // 3 % len(WORDS)]} {album_number // 3}".title()
        whole_album = f"{album} {album_number}".title()
        artist_key, title_key = match_key(artist), match_key(title)
        made = to_db(NOW - timedelta(minutes=(count - number) / count * 500_000))
        yield {
            "id": number + 1,
            "artist": artist,
            "title": title,
            "album": whole_album,
            "artist_key": artist_key,
            "title_key": title_key,
            "search_keys": search_keys(artist_key, title_key, whole_album),
            "duration_bucket": dice.randint(20, 80),
            "duration_ms": dice.randint(100_000, 400_000),
            "isrc": f"XX{number:010d}",
            "mbid": f"00000000-0000-4000-8000-{number:012d}",
            "provider_set_version": 1387,
            "detect_instrumental": dice.random() < 0.3,
            "detect_origin": dice.choice(("global", "global", "library", "explicit")),
            "created_at": made,
            "updated_at": made,
            **standing(dice),
        }


def standing(dice: random.Random) -> Row:
    """Give status and all that hangs on it."""
    lot = dice.random()
    if lot < 0.5:
        return finished(dice)
    if lot < 0.8:
        return ready(dice)
    if lot < 0.8 + 1e-4:
        lease = to_db(NOW + timedelta(seconds=120))
        return {**UNTOUCHED, "status": "processing", "lease_until_at": lease}
    return waiting(dice)


UNTOUCHED: Mapping[str, Any] = {
    "status": "pending",
    "reason": "",
    "priority": 0,
    "route": 1,
    "ready_key": None,
    "due_at": None,
    "lease_until_at": None,
    "misses": 0,
    "completed_at": None,
    "lane": "",
    "outcome": "",
    "detector_verdict": None,
}


def finished(dice: random.Random) -> Row:
    """Give an item that is done."""
    outcome = dice.choices(
        ("synced", "unsynced", "instrumental", "miss", "rejected"), (60, 25, 9, 4, 2)
    )[0]
    lane = "" if outcome in ("miss", "rejected") else dice.choices(LANES, (55, 30, 14, 0))[0]
    verdict = None if dice.random() < 0.97 else 0
    if outcome == "instrumental" and dice.random() < 0.11:
        lane, verdict = "detector", 1
    return {
        **UNTOUCHED,
        "status": "done",
        "completed_at": to_db(NOW - timedelta(seconds=dice.randrange(30_000_000))),
        "lane": lane,
        "outcome": outcome,
        "detector_verdict": verdict,
    }


def ready(dice: random.Random) -> Row:
    """Give an item that may be claimed now."""
    due = NOW - timedelta(hours=dice.randrange(500))
    priority = 10 if dice.random() < 0.001 else 0
    key = int(due.timestamp()) // 3600 * HOUR_STEP + dice.getrandbits(20)
    return {
        **UNTOUCHED,
        "priority": priority,
        "route": int(dice.random() < 0.97),
        "due_at": to_db(due),
        "ready_key": key if priority else TIER + key,
    }


def waiting(dice: random.Random) -> Row:
    """Give an item that waits for its backoff or cooldown."""
    failed = dice.random() < 0.15
    return {
        **UNTOUCHED,
        "status": "failed" if failed else "deferred",
        "reason": dice.choice(FAILED if failed else DEFERRED),
        "priority": 0 if failed else -100,
        "misses": 0 if failed else dice.randint(1, 14),
        "due_at": to_db(NOW + timedelta(seconds=dice.randrange(60, 604_800))),
    }


def work_targets(count: int) -> Iterator[Row]:
    """Give one target for most items, two for some, one without a file for a few."""
    dice = random.Random(11)
    now = to_db(NOW)
    for number in range(count):
        lot = dice.random()
        library = next(place + 1 for place, upto in enumerate(LIBRARIES) if lot <= upto)
        without_file = dice.random() < 0.02
        for copy in range(2 if dice.random() < 0.05 else 1):
            album = number // TRACKS_OF_ALBUM
            folder = f"/music/{library}/artist {album // 3}/album {album}"
            stem = f"{number % TRACKS_OF_ALBUM + 1:02d} track {number}" + " (2)" * copy
            yield {
                "item_id": number + 1,
                "library_id": None if without_file else library,
                "origin": "metadata" if without_file else "inventory",
                "source_path": "" if without_file else f"{folder}/{stem}.flac",
                "source_hash": "" if without_file else f"{dice.getrandbits(128):032x}",
                "out_dir": "/output/album" if without_file else folder,
                "out_stem": stem,
                "out_hash": f"00{number:028x}{copy:02x}",
                "created_at": now,
                "updated_at": now,
            }


COPIES = (
    """
    INSERT INTO work_items (id, artist, title, album, artist_key, title_key, search_keys,
        duration_bucket, duration_ms, isrc, mbid, provider_set_version, detect_instrumental,
        detect_origin, created_at, updated_at, status, reason, priority, route, ready_key, due_at,
        lease_until_at, misses, completed_at, lane, outcome, detector_verdict)
    SELECT id + :shift, artist || ' ' || :copy, title, album || ' ' || :copy,
           artist_key || ' ' || :copy, title_key, search_keys, duration_bucket, duration_ms, isrc,
           mbid, provider_set_version, detect_instrumental, detect_origin, created_at, updated_at,
           CASE status WHEN 'processing' THEN 'pending' ELSE status END, reason, priority, route,
           ready_key + :copy, due_at, NULL, misses,
           substr(completed_at, 1, 20) || printf('%03dZ', :copy), lane, outcome, detector_verdict
      FROM work_items WHERE id <= :most
    """,
    """
    INSERT INTO work_targets (item_id, library_id, origin, source_path, source_hash, out_dir,
                              out_stem, out_hash, created_at, updated_at)
    SELECT item_id + :shift, library_id, origin, replace(source_path, '/album', '/' || :copy),
           CASE WHEN source_hash <> '' THEN printf('%02x', :copy) || substr(source_hash, 3)
                ELSE '' END,
           replace(out_dir, '/album', '/' || :copy), out_stem,
           printf('%02x', :copy) || substr(out_hash, 3), created_at, updated_at
      FROM work_targets WHERE item_id <= :most
     ORDER BY id
    """,
)

FOLLOWERS = (
    """
    UPDATE work_targets SET status = 'done', result = 'written', kind = 'lrc'
     WHERE item_id IN (SELECT id FROM work_items WHERE status = 'done')
    """,
    """
    INSERT INTO scan_dirs (id, library_id, name, rel_path, path_hash, created_at, updated_at)
    SELECT min(id), library_id, out_dir, substr(out_dir, 10), out_dir, :now, :now
      FROM work_targets WHERE library_id IS NOT NULL GROUP BY library_id, out_dir
    """,
    """
    INSERT INTO scan_results (library_id, dir_id, name, artist, title, album, artist_key,
                              alt_artist_key, title_key, key_version, duration_ms, out_stem,
                              status, target_id, mtime_ns, size, inode, created_at, updated_at)
    SELECT t.library_id, d.id, t.out_stem || '.flac', i.artist, i.title, i.album, i.artist_key,
           i.artist_key, i.title_key, 1, i.duration_ms, t.out_stem,
           CASE WHEN i.status IN ('done', 'failed', 'deferred') THEN i.status ELSE 'pending' END,
           t.id, 1000000000 * t.id, 30000000 + t.id, t.id, :now, :now
      FROM work_targets t
      JOIN work_items i ON i.id = t.item_id
      JOIN scan_dirs d ON d.library_id = t.library_id AND d.path_hash = t.out_dir
     ORDER BY t.id
    """,
    """
    INSERT INTO lane_attempts (queue_id, lane, hit, verdict, attempted_at)
    SELECT id, 'defaultprov', lane = 'defaultprov', '', coalesce(completed_at, created_at)
      FROM work_items WHERE status IN ('done', 'failed', 'deferred')
    """,
    """
    INSERT INTO lane_attempts (queue_id, lane, hit, verdict, attempted_at)
    SELECT id, 'lrclib', lane = 'lrclib', '', coalesce(completed_at, created_at)
      FROM work_items WHERE status IN ('done', 'failed', 'deferred') AND lane <> 'defaultprov'
    """,
    """
    INSERT INTO lane_attempts (queue_id, lane, hit, verdict, attempted_at)
    SELECT id, lane, 1, '', completed_at
      FROM work_items WHERE lane IN ('lrclib-dump', 'detector')
    """,
    """
    INSERT INTO lane_counters (lane, hits, misses, created_at, updated_at)
    SELECT lane, sum(hit), count(*) - sum(hit), :now, :now FROM lane_attempts GROUP BY lane
    """,
    """
    INSERT INTO lane_state (lane, created_at, updated_at)
    SELECT lane, :now, :now FROM lane_counters
    """,
)
"""What follows from items and targets: inventory, attempts and counters."""
