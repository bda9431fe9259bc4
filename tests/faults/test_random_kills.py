"""Killed at any moment, the service loses nothing, asks nothing twice and tears no file."""

import hashlib
import os
import sys
from collections import Counter
from pathlib import Path

import pytest

from faults.storm import Storm
from lyrsvc.clock import SystemClock
from lyrsvc.demo.stand_in import LYRICS_PATH, StandIn
from lyrsvc.store import counts
from lyrsvc.store.database import Database

KILLS = int(os.environ.get("FAULT_KILLS", "50"))
SEED = int(os.environ.get("FAULT_SEED", "0")) or int.from_bytes(os.urandom(3))
ROUND = 50
"""Kills in one storm; more of them are several storms, each with a seed of its own."""

OPEN_RENAMES = """
    SELECT * FROM rename_jobs AS one
     WHERE (state <> 'done' OR error <> '')
       AND NOT (state = 'ignored'
                AND EXISTS (SELECT 1 FROM rename_jobs WHERE old_path = one.new_path))
"""
"""A rename that the next one of the same file overtook finds nothing at its new path."""


@pytest.mark.parametrize("number", range(-(-KILLS // ROUND)))
def test_killed_at_random_nothing_is_lost_doubled_or_torn(tmp_path, number):
    seed = SEED + number
    sys.stdout.write(f"FAULT_SEED={seed}\n")
    with StandIn(songs=()) as upstream:
        storm = Storm(tmp_path, upstream, seed)
        for _ in range(min(KILLS - number * ROUND, ROUND)):
            storm.live_and_die()
        storm.come_to_rest()
    sys.stdout.write(f"{dict(storm.count)}\n")

    faults = [
        *lost(storm),
        *doubled(storm, upstream),
        *torn(storm),
        *astray(storm),
        *unsettled(storm),
    ]
    assert not faults, "\n".join([f"FAULT_SEED={seed}", *faults])
    assert processes_of(storm) == []


def lost(storm):
    """Tell of every song without its end."""
    items = {row["title"]: row for row in storm.rows("SELECT * FROM work_items")}
    for tune in storm.tunes.all.values():
        if not (tune.is_promised or tune.files):
            continue
        item = items.get(tune.title)
        ends = ("deferred", "") if tune.kind == "miss" else ("done", tune.outcome)
        if item is None:
            yield f"lost: {tune}"
        elif (item["status"], item["outcome"]) != ends:
            yield f"no end: {tune} {item}"
    for row in storm.rows("SELECT * FROM scan_results WHERE missing_since_at IS NULL"):
        if row["status"] not in ("done", "deferred"):
            yield f"no end: {row}"


def doubled(storm, upstream):
    """Tell of every song that was asked for too often."""
    asked = Counter(call.song for call in upstream.calls(LYRICS_PATH))
    for tune in storm.tunes.all.values():
        if asked[tune.title] > tune.most_requests:
            yield f"asked {asked[tune.title]} times: {tune}"
    hits = [tune for tune in storm.tunes.all.values() if asked[tune.title] and tune.kind != "miss"]
    (counter,) = storm.rows("SELECT hits FROM lane_counters WHERE lane = 'defaultprov'")
    if counter["hits"] != len(hits):
        yield f"{counter['hits']} hits are counted for {len(hits)} songs"


def torn(storm):
    """Tell of sidecars that are not there, not whole, not known as ours, and of what was left."""
    own = {row["path"]: row for row in storm.rows("SELECT * FROM written_files")}
    expected = set()
    for tune in storm.tunes.all.values():
        for sidecar in storm.places(tune):
            expected.add(sidecar)
            if not sidecar.exists():
                yield f"not written: {sidecar}"
            elif not tune.has_whole(sidecar):
                yield f"torn: {sidecar} {sidecar.read_bytes()!r}"
            elif own.get(str(sidecar), {}).get("sha256") != digest(sidecar):
                yield f"not known as ours: {sidecar} {own.get(str(sidecar))}"
    for path in (sidecars(storm.music) | sidecars(storm.out)) - expected:
        yield f"left over: {path}"
    for path in storm.temps():
        yield f"left over: {path}"


def astray(storm):
    """Tell of words on the shelf that are not exactly once where they belong."""
    found = Counter(path.read_text() for path in sidecars(storm.shelf))
    for words, audio in storm.shelved.items():
        place = audio.with_suffix(".lrc")
        if found[words] != 1 or not place.exists() or place.read_text() != words:
            yield f"astray: {audio.name}, {found[words]} times, {sorted(sidecars(storm.shelf))}"
    if len(found) != len(storm.shelved):
        yield f"strange words: {found}"


def unsettled(storm):
    """Tell of rows that a dead service left, and of counts that are not true."""
    for sql in (
        "SELECT * FROM work_items WHERE status = 'processing' OR lease_owner <> '' OR attempts > 0",
        OPEN_RENAMES,
        "SELECT * FROM scan_runs WHERE state = 'running'",
        "SELECT * FROM locks",
        "PRAGMA foreign_key_check",
    ):
        yield from (f"unsettled: {row}" for row in storm.rows(sql))
    if (ends := storm.rows("PRAGMA integrity_check")) != [{"integrity_check": "ok"}]:
        yield f"broken: {ends}"
    with (
        Database.open(storm.database, create=False, clock=SystemClock()) as db,
        db.read() as tx,
    ):
        yield from (f"miscounted: {each}" for each in counts.differences(tx).items())
    for line in storm.last_log.splitlines():
        if " ERROR " in line or "Traceback" in line:
            yield line


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def sidecars(root: Path) -> set[Path]:
    return {path for path in root.rglob("*") if path.suffix in (".lrc", ".txt", ".elrc")}


def processes_of(storm) -> list[str]:
    """Give what still runs with the storm's home."""
    mark = f"HOME={storm.place}\0".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_text())
        except OSError:
            continue  # it has ended meanwhile
    return found
