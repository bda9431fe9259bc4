"""Somebody else holds the database, or a library, just when it is needed."""

import subprocess
import sys
import time
from contextlib import contextmanager

from lyrsvc.clock import SystemClock
from lyrsvc.services.library_lock import library_lock
from lyrsvc.store import libraries
from lyrsvc.store.database import Database
from served import wait_until

HOLDING = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA busy_timeout = 5000")
db.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
db.execute("ROLLBACK")
"""


@contextmanager
def held(database):
    """Keep the write lock from another process."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(database)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout.readline() == "held\n"
        yield
    finally:
        child.communicate("")
    assert child.returncode == 0


def test_what_was_answered_before_the_lock_is_written_after_it(grounds, upstream):
    grounds.add_library()
    first, second = grounds.record("Low Tide Bell"), grounds.record("High Tide Bell")
    upstream.set_mode("slow", seconds=1.0, times=1)
    with grounds.serve() as served:
        assert served.send(grounds.announce(first)) == 200
        wait_until(lambda: grounds.asked, "the provider is asked")
        with held(grounds.database):  # its answer meets the lock
            begun = time.monotonic()
            assert served.send(grounds.announce(second)) == 503
            assert time.monotonic() - begun > 8  # it was waited for
            assert served.get("/healthz")[0] == 200
            assert served.get("/readyz")[0] == 503
            assert not first.with_suffix(".lrc").exists()
        wait_until(first.with_suffix(".lrc").exists, "the first sidecar", limit_s=60)
        assert served.send(grounds.announce(second)) == 200
        wait_until(lambda: set(grounds.statuses().values()) == {"done"}, "both", limit_s=60)
        assert served.stop() == 0
    assert sorted(grounds.asked) == ["High Tide Bell", "Low Tide Bell"]
    assert {item["attempts"] for item in grounds.items().values()} == {0}
    assert "Traceback" not in served.log


def test_a_library_that_is_held_while_the_service_starts_is_scanned_all_the_same(grounds):
    """A rename that was cut off is finished at the start, and must not cost the start its scan."""
    grounds.add_library()
    song, clock = grounds.record("Waiting for the Lock"), SystemClock()
    with Database.open(grounds.database, create=False, clock=clock) as db:
        with db.read() as tx:
            [library] = libraries.all_libraries(tx)
        with library_lock(db, library, clock=clock, purpose="rename"):
            served = grounds.serve(LYRSVC_SCAN_SCHEDULE_ON_START="true").__enter__()
            wait_until(lambda: "scheduler started" in served.log, "the scan is due")
            time.sleep(1.0)  # and was refused, if it does not wait
        try:
            wait_until(song.with_suffix(".lrc").exists, "the sidecar", limit_s=60)
            assert served.stop() == 0
        finally:
            served.__exit__()
