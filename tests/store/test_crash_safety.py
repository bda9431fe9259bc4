"""Crash safety: what was acknowledged is there after a kill -9."""

import signal

import apsw
import pytest

from lyrsvc.store.database import Database
from lyrsvc.store.schema_version import newest_version
from lyrsvc.store.sqlite import SqliteEngine

WRITE_FOREVER = """
import threading
db = Database.open(sys.argv[1], create=True, clock=FakeClock())
said = threading.Lock()
def write(share):
    number = 0
    while True:
        name = f"{share}-{number}"
        db.write(lambda tx: tx.many(
            "INSERT INTO meta VALUES (:name, :value, 'x', 'x')",
            ({"name": f"{name}-{half}", "value": "x" * 2000} for half in "ab"),
        ), bulk=number % 3 == 0)
        with said:
            print(name, flush=True)
        number += 1
for share in range(4):
    threading.Thread(target=write, args=(share,), daemon=True).start()
sys.stdin.readline()
"""


@pytest.mark.parametrize("acknowledged", [1, 40, 400])
def test_every_acknowledged_write_survives_a_kill_and_none_is_half_there(
    path, clock, other_process, acknowledged
):
    child = other_process(WRITE_FOREVER, path)
    names = [child.stdout.readline().strip() for _ in range(acknowledged)]
    child.send_signal(signal.SIGKILL)
    rest, _ = child.communicate()
    names += [line for line in rest.split("\n")[:-1]]

    with Database.open(path, create=True, clock=clock) as database, database.read() as tx:
        there = {row["name"] for row in tx.each("SELECT name FROM meta")}
        assert tx.value("PRAGMA integrity_check") == "ok"

    assert len(names) >= acknowledged
    assert {f"{name}-{half}" for name in names for half in "ab"} <= there
    assert {name[:-1] for name in there if name.endswith("a")} == {
        name[:-1] for name in there if name.endswith("b")
    }


def test_a_kill_inside_an_operation_leaves_nothing_of_it(path, clock, other_process):
    child = other_process(
        """
import threading
db = Database.open(sys.argv[1], create=True, clock=FakeClock())
db.write(lambda tx: tx.run("INSERT INTO meta VALUES ('whole', '', 'x', 'x')"))
def half(tx):
    tx.run("INSERT INTO meta VALUES ('half', :value, 'x', 'x')", value="x" * 5_000_000)
    print("inside", flush=True)
    threading.Event().wait(60)
db.write(half)
""",
        path,
    )
    assert child.stdout.readline() == "inside\n"
    child.kill()
    child.communicate()

    with Database.open(path, create=True, clock=clock) as database, database.read() as tx:
        assert tx.all("SELECT name FROM meta") == [{"name": "whole"}]
        assert tx.value("PRAGMA integrity_check") == "ok"


def test_a_kill_inside_a_migration_leaves_the_previous_version(
    path, clock, tmp_path, other_process
):
    Database.open(path, create=True, clock=clock).close()
    child = other_process(
        """
import threading
from pathlib import Path
from lyrsvc.store.migrating import Step, migrate, read_steps
from lyrsvc.store.sqlite import SqliteEngine
class Stopping(SqliteEngine):
    def check_references(self, tx):
        print("inside", flush=True)
        threading.Event().wait(60)
engine = Stopping(sys.argv[1])
steps = read_steps(Path(engine.steps_directory))
more = Step(version=len(steps) + 1, name="more", sql="CREATE TABLE more (a TEXT) STRICT")
migrate(engine, engine.open_migrator(30), (*steps, more), now=FakeClock().now())
""",
        path,
    )
    assert child.stdout.readline() == "inside\n"
    child.kill()
    child.communicate()

    Database.open(path, create=True, clock=clock).close()
    connection = apsw.Connection(str(path))
    applied = list(connection.execute("SELECT max(version) FROM schema_migrations"))
    assert applied == [(newest_version(SqliteEngine("").steps_directory),)]
    assert list(connection.execute("SELECT name FROM sqlite_schema WHERE name = 'more'")) == []
    connection.close()
