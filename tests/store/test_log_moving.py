"""The log is moved beside the commits, and begins anew however much is written."""

import threading

import apsw
import pytest

from lyrsvc.store import log_moving
from lyrsvc.store.database import Database

PAGE = 4096


@pytest.fixture
def soon(monkeypatch):
    """A log counts as long after few pages."""
    monkeypatch.setattr(log_moving, "SOME_PAGES", 50)
    monkeypatch.setattr(log_moving, "MANY_PAGES", 200)


@pytest.fixture
def filled(soon, path, clock):
    with Database.open(path, create=True, clock=clock) as db:
        yield db


def fill(db, name, *, pages=20):
    db.write(
        lambda tx: tx.run(
            "INSERT INTO meta (name, value, created_at, updated_at) VALUES (:name, :value, 'x', 'x')",
            name=name,
            value="x" * PAGE * pages,
        )
    )


def log_pages(path):
    return path.with_name(f"{path.name}-wal").stat().st_size // PAGE


def movers():
    return [one for one in threading.enumerate() if one.name == "store-log"]


def until(condition, what):
    for _ in range(500):
        if condition():
            return
        threading.Event().wait(0.01)
    raise AssertionError(what)


def test_a_short_log_is_left_alone(filled):
    fill(filled, "a", pages=3)
    assert not movers()


def test_the_log_is_moved_by_a_thread_that_ends_with_the_database(filled, path):
    before = path.stat().st_size
    fill(filled, "a", pages=60)
    until(lambda: path.stat().st_size >= before + 60 * PAGE, "the pages were not moved")
    assert len(movers()) == 1
    filled.close()
    assert not movers()
    assert not path.with_name(f"{path.name}-wal").exists()


def test_the_log_begins_anew_while_writes_go_on(filled, path):
    for number in range(150):
        fill(filled, f"row {number}")
    written = 150 * 20
    assert path.stat().st_size > written * PAGE // 2
    assert log_pages(path) < written // 2


def test_a_log_that_a_reader_held_up_begins_anew_after_it(filled, path):
    with filled.read() as tx:
        assert tx.value("SELECT count(*) FROM meta") == 0
        for number in range(30):
            fill(filled, f"held {number}")
        held = log_pages(path)
        assert held >= 30 * 20
    for number in range(60):
        fill(filled, f"free {number}")
    assert log_pages(path) < held + 60 * 20


def test_where_the_thread_can_open_nothing_the_writer_moves_the_log(soon, tmp_path):
    def refuse():
        raise apsw.CantOpenError("unable to open database file")

    path = tmp_path / "x.db"
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    connection.execute("CREATE TABLE meta (value)")
    mover = log_moving.LogMover(connection, refuse)
    for _ in range(150):
        connection.execute("INSERT INTO meta VALUES (zeroblob(?))", [PAGE * 20])
        mover.look()
    assert log_pages(path) < 150 * 20 // 2
    mover.close()
    mover.close()
    connection.close()


def test_what_is_committed_is_there_after_moving(filled, path, clock):
    for number in range(40):
        fill(filled, f"row {number}")
    filled.close()
    with Database.open(path, create=False, clock=clock) as again, again.read() as tx:
        assert tx.value("SELECT count(*) FROM meta WHERE length(value) = :n", n=PAGE * 20) == 40
