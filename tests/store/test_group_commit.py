"""Group commit: what a caller may rely on."""

import itertools
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from lyrsvc.core.errors import StorageFailed, StoreBusy, StoreError
from lyrsvc.store import writing
from lyrsvc.store.database import Database
from lyrsvc.store.sqlite_link import SqliteLink
from lyrsvc.store.writing import LONG_S, URGENT_BATCH_S

HOLD = """
import apsw
connection = apsw.Connection(sys.argv[1])
connection.execute("BEGIN IMMEDIATE")
connection.execute("INSERT INTO meta VALUES ('theirs', '', 'x', 'x')")
print("held", flush=True)
sys.stdin.readline()
connection.execute("COMMIT")
print("released", flush=True)
"""


def remember(name, value=""):
    """The operation that writes one row."""
    return lambda tx: tx.run(
        "INSERT INTO meta (name, value, created_at, updated_at) VALUES (:name, :value, 'x', 'x')",
        name=name,
        value=value,
    )


def names(db):
    with db.read() as tx:
        return [row["name"] for row in tx.all("SELECT name FROM meta ORDER BY rowid")]


class Gate:
    """An operation that holds the writer until it is let go, and is alone in its commit."""

    def __init__(self):
        self.reached = threading.Event()
        self.open = threading.Event()

    def __call__(self, tx):
        ends = time.monotonic() + 2 * URGENT_BATCH_S
        self.reached.set()
        assert self.open.wait(20)
        while time.monotonic() < ends:
            pass


@pytest.fixture
def gate():
    gate = Gate()
    yield gate
    gate.open.set()


def test_a_write_gives_back_what_the_operation_gives(db):
    assert db.write(lambda tx: tx.value("SELECT 6 * 7")) == 42


def test_a_write_is_visible_to_every_reader_once_it_is_answered(db):
    db.write(remember("a"))

    assert names(db) == ["a"]


def test_operations_of_one_caller_run_in_the_order_they_were_submitted(db):
    pending = [db.submit(remember(f"{number:04d}")) for number in range(300)]
    for one in pending:
        one.result()

    assert names(db) == [f"{number:04d}" for number in range(300)]


def test_a_failing_operation_leaves_no_trace_and_spoils_no_other(db, gate):
    def half(tx):
        remember("half")(tx)
        raise KeyError("the caller's own mistake")

    holding = db.submit(gate)
    gate.reached.wait(20)
    before, failing, after = db.submit(remember("a")), db.submit(half), db.submit(remember("b"))
    gate.open.set()

    holding.result()
    assert (before.result(), after.result()) == (1, 1)
    with pytest.raises(KeyError, match="the caller's own mistake"):
        failing.result()
    assert names(db) == ["a", "b"]


def test_a_failing_operation_that_is_the_first_of_many_spoils_no_other(db, gate):
    def half(tx):
        remember("half")(tx)
        raise KeyError("the caller's own mistake")

    holding = db.submit(gate)
    gate.reached.wait(20)
    failing, after, again = db.submit(half), db.submit(remember("a")), db.submit(remember("b"))
    gate.open.set()

    holding.result()
    with pytest.raises(KeyError, match="the caller's own mistake"):
        failing.result()
    assert (after.result(), again.result()) == (1, 1)
    assert names(db) == ["a", "b"]


@pytest.mark.parametrize("step", ["rollback", "undo_to_mark"])
def test_a_disk_that_fails_while_an_operation_is_undone_leaves_nobody_waiting(
    db, gate, monkeypatch, step
):
    def fail(*_):
        raise StorageFailed("the disk answers with errors")

    def half(tx):
        remember("half")(tx)
        monkeypatch.setattr(SqliteLink, step, fail)
        raise KeyError("the caller's own mistake")

    before = [remember("a")] if step == "undo_to_mark" else []
    holding = db.submit(gate)
    gate.reached.wait(20)
    asked = [db.submit(each) for each in (*before, half)]
    gate.open.set()

    holding.result()
    for one in asked:
        with pytest.raises((KeyError, StorageFailed)):
            one.result()
    monkeypatch.undo()
    db.write(remember("b"))
    assert names(db) == ["b"]


def test_a_mistake_in_a_statement_reaches_its_caller_and_spoils_no_other(db):
    with pytest.raises(Exception, match="no such table"):
        db.write(lambda tx: tx.run("INSERT INTO nowhere VALUES (1)"))
    with pytest.raises(Exception, match="UNIQUE"):
        db.write(lambda tx: (remember("a")(tx), remember("a")(tx)))

    assert names(db) == []
    db.write(remember("b"))
    assert names(db) == ["b"]


def test_an_exit_raised_inside_an_operation_does_not_end_the_writer(db):
    def leave(tx):
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        db.write(leave)
    assert db.write(remember("a")) == 1


def test_interactive_operations_go_before_bulk_ones(db, gate):
    order = []
    holding = db.submit(gate)
    gate.reached.wait(20)
    pending = [
        db.submit(lambda tx: order.append("bulk 1"), bulk=True),
        db.submit(lambda tx: order.append("urgent 1")),
        db.submit(lambda tx: order.append("bulk 2"), bulk=True),
        db.submit(lambda tx: order.append("urgent 2")),
    ]
    gate.open.set()
    for one in [holding, *pending]:
        one.result()

    assert order == ["urgent 1", "urgent 2", "bulk 1", "bulk 2"]


def test_an_interactive_answer_does_not_wait_for_bulk_work_behind_it(db, gate):
    bulk = Gate()
    holding = db.submit(gate)
    gate.reached.wait(20)
    slow = db.submit(bulk, bulk=True)
    urgent = db.submit(remember("a"))
    gate.open.set()
    holding.result()
    try:
        assert urgent.result() == 1  # while the bulk operation still runs
        assert bulk.reached.wait(20)
        assert names(db) == ["a"]
    finally:
        bulk.open.set()
    slow.result()


def test_nobody_is_answered_before_the_commit(db, gate):
    last = Gate()
    holding = db.submit(gate)
    gate.reached.wait(20)
    first, second = db.submit(remember("a")), db.submit(last)
    answers = []
    waiter = threading.Thread(target=lambda: answers.append(first.result()))
    waiter.start()
    gate.open.set()
    try:
        assert last.reached.wait(20)  # the first has run, its batch is not committed
        assert names(db) == []
        assert answers == []
    finally:
        last.open.set()
    waiter.join(20)
    holding.result()
    second.result()
    assert answers == [1]
    assert names(db) == ["a"]


def test_one_commit_serves_many_waiting_operations(db, gate, path):
    holding = db.submit(gate)
    gate.reached.wait(20)
    pending = [db.submit(remember(f"{number}")) for number in range(64)]
    gate.open.set()
    for one in [holding, *pending]:
        one.result()
    grouped = path.with_name("lyrsvc.db-wal").stat().st_size

    for number in range(64):
        db.write(remember(f"single {number}"))
    single = path.with_name("lyrsvc.db-wal").stat().st_size - grouped

    # Every commit adds its changed pages to the log; shared commits share pages.
    assert single > 5 * grouped / 2


def test_when_the_commit_fails_every_caller_of_the_batch_is_told(db, gate):
    def orphan(tx):
        tx.run("PRAGMA defer_foreign_keys = ON")
        tx.run(
            """
            INSERT INTO sessions (token_hash, admin_id, expires_at, created_at, updated_at)
            VALUES ('t', 'nobody', 'b', 'a', 'a')
            """
        )

    holding = db.submit(gate)
    gate.reached.wait(20)
    innocent, guilty = db.submit(remember("a")), db.submit(orphan)
    gate.open.set()
    holding.result()

    for one in (innocent, guilty):
        with pytest.raises(StorageFailed):
            one.result()
    assert names(db) == []
    db.write(remember("b"))
    assert names(db) == ["b"]


def test_a_full_disk_fails_the_operation_and_is_survived(db):
    def fill(tx):
        tx.run(f"PRAGMA max_page_count = {tx.value('PRAGMA page_count')}")
        for number in range(2000):
            remember(f"{number}", "x" * 4000)(tx)

    with pytest.raises(StorageFailed, match="free some space"):
        db.write(fill)

    db.write(lambda tx: tx.run("PRAGMA max_page_count = 1000000"))
    db.write(remember("a", "x" * 100_000))
    assert names(db) == ["a"]


def test_a_disk_that_refuses_to_grow_the_file_gives_storage_failed(path, other_process):
    child = other_process(
        """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
db = Database.open(sys.argv[1], create=True, clock=FakeClock())
add = lambda name: lambda tx: tx.run("INSERT INTO meta VALUES (:n, :v, 'x', 'x')", n=name, v="x" * 900_000)
resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, resource.RLIM_INFINITY))
try:
    db.write(add("a"))
except Exception as error:
    print(type(error).__name__)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
db.write(add("b"))
with db.read() as tx:
    print([row["name"] for row in tx.all("SELECT name FROM meta")])
db.close()
""",
        path,
    )

    output, errors = child.communicate(timeout=60)

    assert output.splitlines() == ["StorageFailed", "['b']"], errors


@pytest.mark.parametrize("ask", ["write", "submit", "result", "close"])
def test_a_write_inside_a_write_is_an_error_and_no_deadlock(db, ask):
    other = db.submit(lambda tx: None) if ask != "result" else None

    def nested(tx):
        if ask == "close":
            return db.close()
        if ask == "result":
            return held[0].result()
        return getattr(db, ask)(lambda tx: None)

    held = []
    if other is not None:
        other.result()
    gate = Gate()
    holding = db.submit(gate)
    outer = db.submit(nested)
    held.append(db.submit(lambda tx: None))
    gate.open.set()
    holding.result()

    with pytest.raises(StoreError, match="inside a write"):
        outer.result()
    assert db.write(remember("a")) == 1


def test_a_transaction_that_outlives_its_operation_is_refused(db):
    kept = []

    def leak(tx):
        kept.append(tx)
        kept.append(tx.each("SELECT name FROM counts"))

    db.write(leak)

    with pytest.raises(StoreError, match="over"):
        kept[0].run("DELETE FROM counts")
    with pytest.raises(StoreError, match="over"):
        next(kept[1])


def test_an_operation_may_not_end_the_common_transaction(db):
    with pytest.raises(Exception):  # noqa: B017, PT011 - SQLite's own words
        db.write(lambda tx: tx.run("COMMIT"))

    db.write(remember("a"))
    assert names(db) == ["a"]


def test_another_process_that_writes_is_waited_for(db, path, other_process):
    holder = other_process(HOLD, path)
    assert holder.stdout.readline() == "held\n"
    pending = db.submit(remember("ours"))

    holder.stdin.write("\n")
    holder.stdin.flush()

    assert pending.result() == 1
    assert names(db) == ["theirs", "ours"]


def busily(tx):
    """Write for longer than a moment, as a scan does."""
    ends = time.monotonic() + 2 * LONG_S
    while time.monotonic() < ends:
        tx.value("SELECT count(*) FROM meta")


WRITE_MUCH = """
import time

def busily(tx):
    ends = time.monotonic() + 0.02
    while time.monotonic() < ends:
        tx.value("SELECT count(*) FROM meta")

with Database.open(sys.argv[1], create=False, clock=FakeClock()) as db:
    work = [db.submit(busily, bulk=True, wait_s=60) for _ in range(100)]
    print("busy", flush=True)
    for pending in work:
        pending.result()
    db.write(lambda tx: tx.run("INSERT INTO meta VALUES ('end', '', 'x', 'x')"))
"""


def test_a_process_with_much_to_write_lets_others_in_between(db, path, other_process):
    writer = other_process(WRITE_MUCH, path)
    assert writer.stdout.readline() == "busy\n"
    written = 0

    def write_and_look(tx):
        remember(f"between {written}")(tx)
        return tx.first("SELECT name FROM meta WHERE name = 'end'")

    while db.write(write_and_look) is None:
        written += 1
        threading.Event().wait(0.005)  # so that the other one holds the lock again
    assert written > 25  # else a handful


def test_urgent_work_does_not_wait_for_others_to_come_in(db, monkeypatch):
    monkeypatch.setattr(writing, "YIELD_S", 20)
    monkeypatch.setattr(SqliteLink, "is_wanted", lambda _link: True)
    assert not db.is_wanted
    db.submit(busily, bulk=True).result()
    began = time.monotonic()
    db.write(remember("urgent"))
    assert time.monotonic() - began < 10
    assert db.is_wanted
    monkeypatch.setattr(writing, "WANTED_S", 0)
    assert not db.is_wanted


def bulk_rests_s(db):
    """Do one piece of bulk work; tell how long the next one has to wait."""
    db.submit(busily, bulk=True, wait_s=60).result()
    db.write(lambda _tx: None)  # its turn comes when the rest has been decided on
    return db._writer._bulk_rests_until_s - time.monotonic()


def test_bulk_work_leaves_the_lock_free_while_others_come_again_and_again(db, monkeypatch):
    comes_and_goes = itertools.cycle([True, False])
    monkeypatch.setattr(writing, "PRESSED_S", 600.0)  # however slow this machine is
    monkeypatch.setattr(writing, "TIMES_FREE", 1e6)
    monkeypatch.setattr(writing, "YIELD_S", 60.0)
    monkeypatch.setattr(SqliteLink, "is_wanted", lambda _link: False)
    assert bulk_rests_s(db) < 0
    monkeypatch.setattr(SqliteLink, "is_wanted", lambda _link: next(comes_and_goes))
    for _ in range(2):
        assert 0 < bulk_rests_s(db) <= 60
        db._writer._bulk_rests_until_s = 0.0  # nobody here waits as long
    monkeypatch.setattr(SqliteLink, "is_wanted", lambda _link: False)
    monkeypatch.setattr(writing, "PRESSED_S", 0.0)
    assert bulk_rests_s(db) < 0


def test_bulk_work_that_kept_urgent_work_waiting_rests_and_urgent_work_does_not(
    db, gate, monkeypatch
):
    monkeypatch.setattr(writing, "BULK_BATCH_S", 60.0)
    monkeypatch.setattr(writing, "PRESSED_S", 60.0)
    monkeypatch.setattr(writing, "TIMES_FREE", 1000.0)
    monkeypatch.setattr(writing, "YIELD_S", 1.0)
    monkeypatch.setattr(SqliteLink, "is_wanted", lambda _link: False)
    done = []
    bulk = db.submit(gate, bulk=True, wait_s=60)
    assert gate.reached.wait(20)
    urgent = db.submit(remember("urgent"), wait_s=60)
    gate.open.set()
    assert (bulk.result(), urgent.result()) == (None, 1)
    began = time.monotonic()
    more = db.submit(lambda _tx: done.append("bulk"), bulk=True, wait_s=60)
    db.write(lambda _tx: done.append("urgent"))
    more.result()
    assert done == ["urgent", "bulk"]
    assert time.monotonic() - began > 0.5


def test_closing_does_not_wait_until_bulk_work_has_rested(db, monkeypatch):
    monkeypatch.setattr(writing, "PRESSED_S", 60.0)
    monkeypatch.setattr(writing, "TIMES_FREE", 1e9)
    monkeypatch.setattr(writing, "YIELD_S", 600.0)
    comes_and_goes = itertools.cycle([True, False])
    monkeypatch.setattr(SqliteLink, "is_wanted", lambda _link: next(comes_and_goes))
    assert bulk_rests_s(db) > 60
    more = db.submit(remember("more"), bulk=True, wait_s=600)
    began = time.monotonic()
    db.close()
    assert more.result() == 1
    assert time.monotonic() - began < 60


def test_whoever_listens_is_told_once_after_the_commit_or_at_once(db, gate):
    told = []
    holder = db.submit(gate)
    assert gate.reached.wait(20)
    pending = db.submit(remember("a"))
    failing = db.submit(lambda tx: tx.run("nonsense"))
    for one in (pending, failing):
        one.then(lambda one=one: told.append((one, one.is_answered)))
    assert told == []
    assert not pending.is_answered
    gate.open.set()
    holder.result()
    assert pending.result() == 1
    with pytest.raises(Exception, match="nonsense"):
        failing.result()
    assert told == [(pending, True), (failing, True)]
    assert (pending.is_durable, failing.is_durable) == (True, False)
    pending.then(lambda: told.append("late"))
    assert told[2:] == ["late"]
    assert names(db) == ["a"]


def test_nobody_who_listens_at_the_last_moment_is_forgotten_or_told_twice(db):
    told = []
    for number in range(300):
        pending = db.submit(lambda _tx: None)
        pending.then(lambda number=number: told.append(number))
        pending.result()
    assert told == list(range(300))


def temporary_files():
    """Give the open files that have no name any more."""
    found = set()
    for handle in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # the one that was needed to look
            found.add(str(handle.readlink()))
    return {name for name in found if name.endswith("(deleted)")}


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="files in use cannot be seen")
def test_savepoints_of_a_large_batch_make_no_temporary_files(db, gate):
    files, before = set(), temporary_files()

    def much(number):
        def write(tx):
            for row in range(200):
                remember(f"{number} {row}", "x" * 2000)(tx)
            tx.run("UPDATE meta SET value = value || 'y'")
            files.update(temporary_files())

        return write

    first = db.submit(gate)
    assert gate.reached.wait(20)
    several = [db.submit(much(number), wait_s=60) for number in range(4)]
    gate.open.set()
    for pending in (first, *several):
        pending.result()
    assert files == before
    assert len(names(db)) == 800


def test_each_operation_waits_for_another_process_as_long_as_it_said(db, path, other_process):
    holder = other_process(HOLD, path)
    assert holder.stdout.readline() == "held\n"
    patient = db.submit(remember("patient"), wait_s=30)
    began = time.monotonic()

    with pytest.raises(StoreBusy):
        db.write(remember("hurried"), wait_s=0.3)

    assert 0.25 <= time.monotonic() - began < 5
    holder.stdin.write("\n")
    holder.stdin.flush()
    assert patient.result() == 1
    assert names(db) == ["theirs", "patient"]


def test_an_operation_nobody_asks_about_is_not_run_after_its_time(db, path, other_process):
    holder = other_process(HOLD, path)
    assert holder.stdout.readline() == "held\n"
    forgotten = db.submit(remember("forgotten"), wait_s=0.05)
    with pytest.raises(StoreBusy):
        db.write(remember("hurried"), wait_s=0.6)
    holder.stdin.write("\n")
    holder.stdin.flush()
    assert holder.stdout.readline() == "released\n"

    db.write(remember("later"))

    with pytest.raises(StoreBusy):
        forgotten.result()
    assert names(db) == ["theirs", "later"]


def test_an_operation_behind_a_long_one_is_given_up_in_time(db, gate):
    holding = db.submit(gate)
    gate.reached.wait(20)

    with pytest.raises(StoreBusy):
        db.write(remember("hurried"), wait_s=0.1)

    gate.open.set()
    holding.result()
    assert db.write(remember("a")) == 1
    assert names(db) == ["a"]


def test_many_threads_write_at_once_and_nothing_is_lost(db):
    def write_share(share):
        for number in range(50):
            db.write(remember(f"{share}-{number}"), bulk=number % 2 == 0)

    threads = [threading.Thread(target=write_share, args=(share,)) for share in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert len(names(db)) == 400


def test_closing_finishes_what_is_queued(path, clock):
    database = Database.open(path, create=True, clock=clock)
    pending = [database.submit(remember(f"{number}")) for number in range(200)]

    database.close()
    database.close()

    assert [one.result() for one in pending] == [1] * 200
    with pytest.raises(StoreError, match="closed"):
        database.write(remember("late"))
    with pytest.raises(StoreError, match="closed"), database.read():
        pass


def test_closing_leaves_nothing_but_the_database(db, path):
    db.write(remember("a"))
    assert names(db) == ["a"]

    db.close()

    assert [entry.name for entry in path.parent.iterdir()] == ["lyrsvc.db"]


def test_a_program_that_forgets_to_close_ends_with_everything_written(path, other_process):
    child = other_process(
        """
db = Database.open(sys.argv[1], create=True, clock=FakeClock())
for number in range(500):
    db.submit(lambda tx, n=number: tx.run("INSERT INTO meta VALUES (:n, '', 'x', 'x')", n=str(n)))
with db.read() as tx:
    tx.value("SELECT 1")
""",
        path,
    )

    _, errors = child.communicate(timeout=60)

    assert (child.returncode, errors) == (0, "")
    with Database.open(path, create=False, clock=None) as database:
        assert len(names(database)) == 500


def test_after_a_fork_the_child_is_refused_and_the_parent_goes_on(path, other_process):
    child = other_process(
        """
import os
db = Database.open(sys.argv[1], create=True, clock=FakeClock())
db.write(lambda tx: tx.run("INSERT INTO meta VALUES ('before', '', 'x', 'x')"))
pid = os.fork()
if pid == 0:
    for use in (lambda: db.write(lambda tx: 1), lambda: db.read()):
        try:
            use()
        except Exception as error:
            print(type(error).__name__, "fork" in str(error), flush=True)
    db.close()
    sys.exit(0)
os.waitpid(pid, 0)
db.write(lambda tx: tx.run("INSERT INTO meta VALUES ('after', '', 'x', 'x')"))
with db.read() as tx:
    print(tx.value("SELECT count(*) FROM meta"))
db.close()
""",
        path,
    )

    output, errors = child.communicate(timeout=30)

    assert output.splitlines() == ["StoreError True", "StoreError True", "2"], errors


def test_the_writer_is_durable_and_checks_references(db):
    def look(tx):
        return [
            tx.value(f"PRAGMA {name}")
            for name in (
                "foreign_keys",
                "busy_timeout",
                "journal_mode",
                "journal_size_limit",
                "synchronous",
            )
        ]

    assert db.write(look) == [1, 10_000, "wal", 67_108_864, 2]
