"""Whether the database can be reached, told in time."""

import os
import threading

import pytest

from lyrsvc.core.errors import StoreBusy, StoreError
from lyrsvc.store.database import Database
from lyrsvc.store.reachability import Reachability
from timing import is_within

HOLD = """
import apsw
connection = apsw.Connection(sys.argv[1])
list(connection.execute(sys.argv[2]))
print("held", flush=True)
sys.stdin.readline()
"""


def refused(db: Database, kind: type[StoreError] = StoreError) -> None:
    with pytest.raises(kind):
        db.check_reachable()


def test_a_database_in_use_is_reachable_and_asked_quickly(db):
    db.check_reachable()
    assert is_within(2, lambda: [db.check_reachable() for _ in range(20)])


@pytest.mark.spec("H-23")
def test_a_locked_database_is_told_within_two_seconds(db, path, other_process):
    db.check_reachable()
    holder = other_process(HOLD, path, "BEGIN EXCLUSIVE")
    assert holder.stdout.readline() == "held\n"
    assert is_within(2.2, lambda: refused(db, StoreBusy))
    holder.kill()
    holder.wait()
    db.check_reachable()


def test_a_database_locked_before_it_was_opened_is_told_too(db, path, other_process):
    db.close()
    holder = other_process(HOLD, path, "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE")
    assert holder.stdout.readline() == "held\n"
    late = Database(db._engine)
    for _ in range(2):
        assert is_within(2.2, lambda: refused(late, StoreBusy))


def test_own_long_work_is_no_lock(db):
    begun, may_end = threading.Event(), threading.Event()

    def work(tx):
        begun.set()
        may_end.wait(60)

    pending = db.submit(work)
    assert begun.wait(20)
    db.check_reachable(wait_s=5)
    may_end.set()
    pending.result()


def test_long_reports_do_not_make_the_database_look_lost(db):
    with db.read(), db.read(), db.read(), db.read():
        assert is_within(1, db.check_reachable)


@pytest.mark.spec("H-23")
def test_a_replaced_removed_or_unreadable_place_is_told_at_once(db, path, clock):
    db.check_reachable()
    hidden = path.parent.with_name("hidden")
    path.parent.rename(hidden)
    assert is_within(1, lambda: refused(db))
    Database.open(path, create=True, clock=clock).close()
    assert is_within(1, lambda: refused(db))


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unreadable for root")
def test_an_unreadable_directory_is_told_at_once(db, path):
    path.parent.chmod(0)
    try:
        assert is_within(1, lambda: refused(db))
    finally:
        path.parent.chmod(0o750)


def test_a_hanging_disk_holds_one_thread_and_nobody_else():
    ends = threading.Event()
    looks = []

    def look(_wait_s):
        looks.append(1)
        assert ends.wait(10)

    reach = Reachability(look)
    for _ in range(3):
        with pytest.raises(StoreBusy):
            reach.check(wait_s=0.05)
    assert len(looks) == 1
    ends.set()
    reach.check(wait_s=5)
    reach.check(wait_s=5)


def test_whatever_goes_wrong_is_an_error_of_the_store():
    def look(_wait_s):
        raise PermissionError("nobody may read this")

    with pytest.raises(StoreError):
        Reachability(look).check(wait_s=5)


def test_a_closed_database_is_not_reachable(db):
    db.check_reachable()
    db.close()
    refused(db)
