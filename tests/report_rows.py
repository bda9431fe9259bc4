"""A small queue with a bit of everything, for reports and metrics."""

from datetime import UTC, datetime, timedelta

from lyrsvc.core.keys import match_key
from lyrsvc.core.ptext import to_ptext
from lyrsvc.store import counts
from lyrsvc.store.database import to_db
from lyrsvc.store.searching import search_keys

NOW = datetime(2026, 1, 31, 14, 5, 6, tzinfo=UTC)
TITLES = {
    1: "Tidewater",
    2: "Saltgrass",
    3: "Ember",
    4: "Nothing Known",
    5: "Wrong Words",
    6: "Far Bell",
    7: "Slow Tide",
    8: "Torn Page",
    9: "Late Train",
    10: "Iron Rain",
    11: "Quiet Field",
    12: "In Hand",
    13: "Old Debt",
}
MISS = {"status": "deferred", "priority": -100}
DONE = {"status": "done"}
FAIL = {"status": "failed"}

ITEMS = {
    1: {**DONE, "lane": "lrclib", "outcome": "synced", "completed_at": NOW - timedelta(hours=1)},
    2: {**DONE, "lane": "defaultprov", "outcome": "unsynced", "completed_at": NOW},
    3: {**DONE, "lane": "detector", "outcome": "instrumental", "completed_at": NOW},
    4: {**DONE, "outcome": "miss", "completed_at": NOW - timedelta(days=2)},
    5: {**DONE, "outcome": "rejected", "completed_at": NOW - timedelta(days=400)},
    6: {**MISS, "reason": "not_found", "due_at": NOW + timedelta(days=3)},
    7: {**MISS, "reason": "not_found", "due_at": NOW - timedelta(hours=2), "ready_key": 900},
    8: {**FAIL, "reason": "network", "due_at": NOW + timedelta(minutes=1)},
    9: {**FAIL, "reason": "network", "due_at": NOW - timedelta(minutes=5)},
    10: {**FAIL, "reason": "disk_full", "due_at": NOW, "ready_key": 100, "route": 0},
    11: {"status": "pending", "due_at": NOW - timedelta(hours=1), "ready_key": 500},
    12: {"status": "processing", "claimed_from": "deferred", "lease_until_at": NOW},
    13: {**MISS, "reason": "no_lyrics", "due_at": None},
}
ALBUMS = {1: "Northern Pier", 2: "Café Noir", 3: "Rock & Roll", 4: "Don't Wait", 6: "Б"}
DETECTED = {
    3: {"detect_origin": "library", "detector_verdict": 1},
    11: {"detect_origin": "explicit", "detector_verdict": 1},
    13: {"detector_verdict": 1},
    6: {"detect_origin": "global", "detector_verdict": 0},
}
TARGETS = [
    (1, 1, "/music/rock/a.flac"),
    (1, 2, "/music/jazz/a.flac"),
    (2, 1, "/music/rock/b.flac"),
    (3, 1, "/music/rock/c.flac"),
    (3, 2, b"/music/jazz/caf\xe9.flac"),
    (4, None, ""),
    (6, 2, "/music/jazz/f.flac"),
    (8, 2, "/music/jazz/h.flac"),
    (8, 2, "/music/jazz/h2.flac"),
    (10, 1, "/music/rock/j.flac"),
    (13, None, ""),
]
ATTEMPTS = [
    (1, "defaultprov", 0, NOW - timedelta(hours=1)),
    (1, "lrclib", 1, NOW - timedelta(hours=1)),
    (2, "defaultprov", 1, NOW),
    (4, "defaultprov", 0, NOW - timedelta(days=2)),
    (4, "lrclib", 0, NOW - timedelta(days=2)),
    (99, "lrclib", 0, NOW - timedelta(days=300)),  # its item was cleared
]


def insert(tx, table, columns, *, stamped=True):
    if stamped:
        columns = {**columns, "created_at": NOW, "updated_at": NOW}
    names, places = ", ".join(columns), ", ".join(f":{name}" for name in columns)
    values = {k: to_db(v) if isinstance(v, datetime) else v for k, v in columns.items()}
    tx.run(f"INSERT INTO {table} ({names}) VALUES ({places})", **values)


def insert_item(tx, number, columns, *, title=None, album=""):
    title = title or TITLES[number]
    names = {"artist": f"Artist {number}", "artist_key": f"artist {number}", "album": album}
    names |= {"id": number, "title": title, "title_key": match_key(title), **columns}
    keys = search_keys(names["artist_key"], names["title_key"], names["album"])
    insert(tx, "work_items", {**names, "search_keys": keys})


def fill(tx):
    """Put the queue into an empty database, with true counts."""
    for number, name in ((1, "rock"), (2, "jazz")):
        scanned = {"last_ok_scan_at": NOW} if name == "rock" else {}
        place = {"path": f"/music/{name}", "path_hash": name, **scanned}
        insert(tx, "libraries", {"id": number, "name": name, "name_key": name, **place})
    for number, columns in ITEMS.items():
        columns = columns | DETECTED.get(number, {})
        insert_item(tx, number, columns, album=ALBUMS.get(number, ""))
    for number, (item_id, library, path) in enumerate(TARGETS):
        target = {"item_id": item_id, "library_id": library, "source_path": to_ptext(path)}
        target |= {"origin": "inventory", "out_dir": "/m", "out_stem": "x", "out_hash": str(number)}
        insert(tx, "work_targets", target)
    for queue_id, lane, hit, at in ATTEMPTS:
        attempt = {"queue_id": queue_id, "lane": lane, "hit": hit, "attempted_at": at}
        insert(tx, "lane_attempts", attempt, stamped=False)
    insert(tx, "scan_dirs", {"id": 1, "library_id": 1, "path_hash": "r"})
    files = [("a", {"sidecar_class": "lrc"}), ("b", {"sidecar_class": "txt", "ours": 1})]
    files += [("c", {}), ("d", {}), ("e", {"sidecar_class": "txt"})]
    for name, columns in files:
        insert(tx, "scan_results", {"library_id": 1, "dir_id": 1, "name": name, **columns})
    counts.correct(tx, now=NOW)


def ask(db, question, *arguments, **options):
    with db.read() as tx:
        answer = question(tx, *arguments, **options)
        return list(answer) if hasattr(answer, "__next__") else answer


def ids(rows):
    return [row.id for row in rows]
