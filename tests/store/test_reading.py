"""Reading: one state for a block, within a deadline, in nobody's way."""

import threading
import time
from contextlib import ExitStack, closing

import apsw
import pytest

from lyrsvc.core.errors import StorageFailed, StoreBusy, StoreError
from lyrsvc.store.database import Database
from lyrsvc.store.reading import READERS, ReaderPool
from lyrsvc.store.sqlite import SqliteEngine

ENDLESS = """
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers)
    SELECT {what} FROM numbers
"""


def remember(name):
    return lambda tx: tx.run("INSERT INTO meta VALUES (:name, '', 'x', 'x')", name=name)


def test_a_block_sees_one_state_whatever_is_written_meanwhile(db):
    with db.read() as tx:
        assert tx.value("SELECT count(*) FROM meta") == 0
        db.write(remember("a"))
        assert tx.value("SELECT count(*) FROM meta") == 0
    with db.read() as tx:
        assert tx.value("SELECT count(*) FROM meta") == 1


def test_reading_never_blocks_a_writer(db):
    with db.read() as tx:
        rows = tx.each("SELECT name FROM counts")
        next(rows)
        began = time.monotonic()
        for number in range(20):
            db.write(remember(str(number)), wait_s=1)
        assert time.monotonic() - began < 5
        assert len(list(rows)) == 10


def test_a_statement_beyond_the_deadline_is_ended(db):
    began = time.monotonic()
    with pytest.raises(StoreError, match=r"longer than 0\.2 s"), db.read(deadline_s=0.2) as tx:
        tx.value(ENDLESS.format(what="count(*)"))
    assert time.monotonic() - began < 5

    with db.read() as tx:
        assert tx.value("SELECT 1") == 1


def test_the_deadline_of_one_block_does_not_bind_the_next(db):
    with db.read(deadline_s=0.01) as tx:
        tx.value("SELECT 1")
    with db.read(deadline_s=None) as tx:
        assert len(tx.all(ENDLESS.format(what="n") + "LIMIT 200000")) == 200_000


def test_time_spent_with_the_rows_does_not_count_against_the_deadline(db):
    with db.read(deadline_s=1.0) as tx:
        rows = tx.each(ENDLESS.format(what="n") + "LIMIT 60000")
        for row in rows:
            if row["n"] == 30_000:
                threading.Event().wait(1.2)
        assert row["n"] == 60_000


def test_a_read_cannot_write(db):
    with pytest.raises(StoreError, match="use write"), db.read() as tx:
        tx.run("DELETE FROM counts")
    with pytest.raises(StoreError, match="use write"), db.read() as tx:
        tx.run("CREATE TABLE t (a)")


def test_readers_are_read_only_twice(db):
    with db.read() as tx:
        assert tx.value("PRAGMA query_only") == 1
        assert tx.value("PRAGMA foreign_keys") == 1


def test_more_blocks_than_kept_connections_may_be_open_at_once(db):
    with ExitStack() as blocks:
        every = [blocks.enter_context(db.read()) for _ in range(READERS + 2)]
        assert [tx.value("SELECT 1") for tx in every] == [1] * len(every)
    with db.read(deadline_s=0.05) as tx:
        assert tx.value("SELECT 1") == 1


def test_spare_connections_are_few_too_and_closed_after_use(db):
    engine, links = SqliteEngine(db.location), []

    def open_reader(wait_s):
        links.append(engine.open_reader(wait_s))
        return links[-1]

    pool = ReaderPool(open_reader, size=1, spare=1)
    with closing(pool):
        with pool.reading(deadline_s=5), pool.reading(deadline_s=5):
            refused = pytest.raises(StoreBusy, match="2 database readers are in use")
            with refused, pool.reading(deadline_s=0.05):
                pass
        assert [is_open(link) for link in links].count(True) == 1
        with pool.reading(deadline_s=0.05) as tx:
            assert tx.value("SELECT 1") == 1
        assert len(links) == 2


def test_a_crowd_of_short_questions_opens_no_spare_connection(db):
    engine, links = SqliteEngine(db.location), []

    def open_reader(wait_s):
        links.append(engine.open_reader(wait_s))
        return links[-1]

    def ask():
        for _ in range(3):
            with pool.reading(deadline_s=20) as tx:
                tx.value("SELECT 1")
                time.sleep(0.02)

    pool = ReaderPool(open_reader, size=2, spare=60, spare_after_s=0.5)
    with closing(pool):
        askers = [threading.Thread(target=ask) for _ in range(100)]
        for asker in askers:
            asker.start()
        for asker in askers:
            asker.join()  # each waited about a second for a turn
        assert len(links) < 10  # two, but for moments when the machine itself stood still


def test_nobody_waits_for_long_questions(db):
    with ExitStack() as blocks:
        for _ in range(READERS):
            blocks.enter_context(db.read())
        time.sleep(0.06)
        waits = []
        for _ in range(5):
            began = time.monotonic()
            with db.read():
                waits.append(time.monotonic() - began)
        assert min(waits) < 0.04


def is_open(link):
    try:
        return link.connection.in_transaction is not None
    except apsw.ConnectionClosedError:
        return False


def test_a_waiting_reader_gets_the_next_free_connection(db):
    answers = []

    def ask():
        with db.read() as tx:
            answers.append(tx.value("SELECT 1"))

    with db.read(), db.read(), db.read(), db.read():
        waiter = threading.Thread(target=ask)
        waiter.start()
    waiter.join(20)
    assert answers == [1]


def test_an_error_inside_the_block_gives_the_connection_back(db):
    for _ in range(10):
        with pytest.raises(ZeroDivisionError), db.read(deadline_s=0.5):
            raise ZeroDivisionError


def test_rows_are_dictionaries_in_the_order_of_the_columns(db):
    with db.read() as tx:
        row = tx.first("SELECT :a AS a, :b AS b, NULL AS c", a="ä", b=b"\0\xff")
        assert list(row.items()) == [("a", "ä"), ("b", b"\0\xff"), ("c", None)]
        assert tx.first("SELECT 1 AS a WHERE 0") is None
        assert tx.value("SELECT 1 WHERE 0") is None
        assert tx.all("SELECT 1 AS a WHERE 0") == []
        assert list(tx.each("SELECT 1 AS a WHERE 0")) == []
        assert tx.all("SELECT :x AS a UNION ALL SELECT 2 ORDER BY 1", x=1) == [{"a": 1}, {"a": 2}]


def test_a_forgotten_parameter_is_an_error_and_not_null(db):
    with pytest.raises(KeyError), db.read() as tx:
        tx.value("SELECT :forgotten")


def test_a_statement_with_returning_is_done_whole(db):
    def change(tx):
        first = tx.first("UPDATE counts SET n = n + 1 RETURNING name")
        ran = tx.run("UPDATE counts SET n = n + 1 RETURNING name")
        tx.many("UPDATE counts SET n = n + :by", ({"by": by} for by in (10, 20)))
        return first is not None, ran

    assert db.write(change) == (True, 11)
    with db.read() as tx:
        assert tx.all("SELECT DISTINCT n FROM counts") == [{"n": 32}]


def test_a_stream_that_outlives_its_block_is_refused(db):
    with db.read() as tx:
        rows = tx.each("SELECT name FROM counts")
        next(rows)
        unread = tx.each("SELECT name FROM counts")
    for stream in (rows, unread):
        with pytest.raises(StoreError, match="over"):
            next(stream)


def test_a_removed_or_replaced_file_is_noticed(db, path, clock):
    db.check_reachable()
    moved = path.with_name("moved.db")
    path.rename(moved)
    with pytest.raises(StoreError, match="removed or replaced"):
        db.check_reachable()

    Database.open(path, create=True, clock=clock).close()
    with pytest.raises(StoreError, match="removed or replaced"):
        db.check_reachable()


def test_nothing_is_written_to_a_file_that_was_removed_or_replaced(db, path):
    def count_on(tx):
        tx.run("UPDATE counts SET n = n + 1")
        return tx.value("SELECT max(n) FROM counts")

    moved = path.with_name("moved.db")
    before = db.write(count_on)
    path.rename(moved)
    with pytest.raises(StorageFailed, match="removed or replaced"):
        db.write(count_on)
    moved.rename(path)
    assert db.write(count_on) == before + 1

    path.rename(moved)
    path.write_bytes(moved.read_bytes())
    with pytest.raises(StorageFailed, match="removed or replaced"):
        db.write(count_on)


def test_a_database_held_exclusively_is_busy_within_the_deadline(db, path, other_process):
    db.close()
    holder = other_process(
        """
import apsw
connection = apsw.Connection(sys.argv[1])
list(connection.execute("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE"))
print("held", flush=True)
sys.stdin.readline()
""",
        path,
    )
    assert holder.stdout.readline() == "held\n"
    began = time.monotonic()

    with pytest.raises(StoreBusy), Database(db._engine).read(deadline_s=0.5) as tx:
        tx.value("SELECT count(*) FROM meta")

    assert time.monotonic() - began < 5
