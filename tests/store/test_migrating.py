"""Migrations: forward only, whole or not at all, any number of processes at once."""

from pathlib import Path

import apsw
import pytest

from lyrsvc.core.errors import StoreDamaged, StoreTooNew
from lyrsvc.store.database import Database, to_db
from lyrsvc.store.migrating import migrate, read_steps
from lyrsvc.store.schema_version import newest_version
from lyrsvc.store.sqlite import SqliteEngine

STEPS = Path(SqliteEngine("").steps_directory)
NEWEST = newest_version(str(STEPS))
SECOND = """
ALTER TABLE meta ADD COLUMN note TEXT NOT NULL DEFAULT '';
UPDATE meta SET note = :now;
CREATE INDEX ix_meta_note ON meta (note);
"""
REBUILD = """
CREATE TABLE admins_new (id TEXT NOT NULL PRIMARY KEY, username TEXT NOT NULL,
    username_key TEXT NOT NULL UNIQUE, password_hash TEXT NOT NULL,
    created_at TEXT NOT NULL, updated_at TEXT NOT NULL, extra TEXT) STRICT;
INSERT INTO admins_new SELECT *, NULL FROM admins;
DROP TABLE admins;
ALTER TABLE admins_new RENAME TO admins;
"""


@pytest.fixture
def steps_with(tmp_path):
    """The real steps and further ones, in a directory of their own."""

    def make(*further):
        directory = tmp_path / f"steps-{len(further)}"
        directory.mkdir(exist_ok=True)
        for file in STEPS.glob("*.sql"):
            (directory / file.name).write_bytes(file.read_bytes())
        for number, sql in enumerate(further, NEWEST + 1):
            (directory / f"{number:04d}_further.sql").write_text(sql)
        return read_steps(directory)

    return make


def lift(path, steps, clock):
    engine = SqliteEngine(str(path))
    engine.create()
    link = engine.open_migrator(30)
    try:
        migrate(engine, link, steps, now=clock.now())
    finally:
        link.close()


def ask(path, sql):
    connection = apsw.Connection(str(path))
    try:
        return list(connection.execute(sql))
    finally:
        connection.close()


def schema(path):
    return ask(path, "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name")


def copies(path):
    return sorted(entry.name for entry in path.parent.glob("*.pre-*"))


def test_a_new_database_remembers_every_step_and_keeps_no_copy(path, clock):
    Database.open(path, create=True, clock=clock).close()

    assert ask(path, "SELECT version, name, sha256, applied_at FROM schema_migrations") == [
        (step.version, step.name, step.sha256, to_db(clock.now())) for step in read_steps(STEPS)
    ]
    assert copies(path) == []


@pytest.mark.parametrize("further", [(), (SECOND,), (SECOND, REBUILD)])
def test_from_every_earlier_version_the_end_is_the_same_schema(
    tmp_path, clock, steps_with, further
):
    steps = steps_with(*further)
    fresh = tmp_path / "fresh.db"
    lift(fresh, steps, clock)

    for version in range(len(steps) + 1):
        older = tmp_path / f"from-{version}.db"
        lift(older, steps[:version], clock)
        lift(older, steps, clock)
        assert schema(older) == schema(fresh)
        assert ask(older, "PRAGMA integrity_check") == [("ok",)]
        assert ask(older, "PRAGMA foreign_key_check") == []


def test_an_upgrade_keeps_the_rows_and_one_copy_from_before(path, clock, steps_with):
    Database.open(path, create=True, clock=clock).close()
    ask(path, "INSERT INTO admins VALUES ('1', 'a', 'a', 'h', 'x', 'x')")
    ask(path, "INSERT INTO sessions VALUES ('t', '1', 'y', '', '', 'x', 'x')")
    (path.parent / "lyrsvc.db.pre-x").touch()

    lift(path, steps_with(SECOND), clock)
    copy = path.with_name(f"lyrsvc.db.pre-{NEWEST + 1}")
    assert copies(path) == [copy.name, "lyrsvc.db.pre-x"]
    assert ask(copy, "SELECT max(version) FROM schema_migrations") == [(NEWEST,)]

    lift(path, steps_with(SECOND, REBUILD), clock)
    copy = path.with_name(f"lyrsvc.db.pre-{NEWEST + 2}")
    assert copies(path) == [copy.name, "lyrsvc.db.pre-x"]
    assert ask(copy, "SELECT max(version) FROM schema_migrations") == [(NEWEST + 1,)]
    assert ask(copy, "PRAGMA integrity_check") == [("ok",)]
    assert ask(path, "SELECT admin_id FROM sessions") == [("1",)]
    assert ask(path, "SELECT id, extra FROM admins") == [("1", None)]


def test_opening_a_current_database_changes_nothing(path, clock):
    Database.open(path, create=True, clock=clock).close()
    before = path.read_bytes()
    clock.advance(60)

    Database.open(path, create=True, clock=clock).close()

    assert path.read_bytes() == before


def test_a_step_that_fails_leaves_the_previous_version(path, clock, steps_with):
    Database.open(path, create=True, clock=clock).close()
    before = schema(path)

    with pytest.raises(apsw.SQLError):
        lift(path, steps_with(SECOND + "INSERT INTO nowhere VALUES (1);"), clock)
    assert schema(path) == before
    assert ask(path, "SELECT max(version) FROM schema_migrations") == [(NEWEST,)]

    with pytest.raises(StoreDamaged, match="point nowhere"):
        lift(
            path,
            steps_with("INSERT INTO sessions VALUES ('t', '9', 'y', '', '', 'x', 'x');"),
            clock,
        )
    assert ask(path, "SELECT count(*) FROM sessions") == [(0,)]

    lift(path, steps_with(SECOND), clock)
    assert ask(path, "SELECT max(version) FROM schema_migrations") == [(NEWEST + 1,)]


def test_an_applied_step_that_was_changed_is_fatal(path, clock, steps_with):
    Database.open(path, create=True, clock=clock).close()
    ask(path, "UPDATE schema_migrations SET sha256 = 'other'")

    with pytest.raises(StoreDamaged, match=r"step 1 \(initial\)"):
        Database.open(path, create=True, clock=clock)


def test_a_database_of_a_newer_program_is_fatal(path, clock, steps_with):
    lift(path, steps_with(SECOND), clock)

    told = rf"database schema {NEWEST + 1} is newer than this program \({NEWEST}\)"
    with pytest.raises(StoreTooNew, match=told):
        Database.open(path, create=True, clock=clock)
    assert copies(path) == []


def test_line_endings_do_not_change_the_checksum(tmp_path):
    for file in STEPS.glob("*.sql"):
        text = file.read_bytes().replace(b"\r\n", b"\n")
        (tmp_path / file.name).write_bytes(text.replace(b"\n", b"\r\n"))

    assert read_steps(tmp_path) == read_steps(STEPS)


def test_a_step_left_out_is_noticed(tmp_path):
    (tmp_path / "0001_a.sql").touch()
    (tmp_path / "0003_c.sql").touch()

    with pytest.raises(StoreDamaged, match="incomplete"):
        read_steps(tmp_path)


def test_the_newest_version_is_told_by_names_alone():
    assert newest_version(str(STEPS)) == len(read_steps(STEPS)) >= 1


def test_twenty_processes_migrate_one_new_database_at_once(path, tmp_path, clock, other_process):
    starters = [
        other_process(
            """
sys.stdin.readline()
with Database.open(sys.argv[1], create=True, clock=FakeClock()) as db:
    db.write(lambda tx: tx.run("INSERT INTO meta VALUES (:n, '', 'x', 'x')", n=sys.argv[2]))
""",
            path,
            number,
        )
        for number in range(20)
    ]
    for starter in starters:
        starter.stdin.write("\n")
        starter.stdin.flush()

    for starter in starters:
        _, errors = starter.communicate(timeout=120)
        assert (starter.returncode, errors) == (0, "")

    lift(tmp_path / "alone.db", read_steps(STEPS), clock)
    assert schema(path) == schema(tmp_path / "alone.db")
    assert ask(path, "SELECT count(*) FROM meta") == [(20,)]
    assert ask(path, "SELECT count(*) FROM schema_migrations") == [(len(read_steps(STEPS)),)]
    assert copies(path) == []


def test_several_processes_upgrade_one_database_at_once(
    path, tmp_path, clock, steps_with, other_process
):
    Database.open(path, create=True, clock=clock).close()
    steps_with(SECOND, REBUILD)
    lifters = [
        other_process(
            """
from pathlib import Path
from lyrsvc.store.migrating import migrate, read_steps
from lyrsvc.store.sqlite import SqliteEngine
engine = SqliteEngine(sys.argv[1])
sys.stdin.readline()
link = engine.open_migrator(60)
migrate(engine, link, read_steps(Path(sys.argv[2])), now=FakeClock().now())
link.close()
""",
            path,
            tmp_path / "steps-2",
        )
        for _ in range(6)
    ]
    for lifter in lifters:
        lifter.stdin.write("\n")
        lifter.stdin.flush()

    for lifter in lifters:
        _, errors = lifter.communicate(timeout=120)
        assert (lifter.returncode, errors) == (0, "")

    applied = ask(path, "SELECT version FROM schema_migrations")
    assert applied == [(version,) for version in range(1, NEWEST + 3)]
    copy = path.with_name(f"lyrsvc.db.pre-{NEWEST + 2}")
    assert copies(path) == [copy.name]
    assert ask(copy, "SELECT max(version) FROM schema_migrations") == [(NEWEST,)]
