"""Opening: what is created, what is refused, and in which words."""

import os
import re
import stat
import tempfile
from pathlib import Path

import apsw
import pytest

from lyrsvc.core.errors import NotFound, StorageFailed, StoreDamaged, StoreError, StoreTooNew
from lyrsvc.store.database import Database, exists
from lyrsvc.store.integrity import save_copy
from lyrsvc.store.schema_version import newest_version
from lyrsvc.store.sqlite import SqliteEngine

NEWEST = newest_version(SqliteEngine("").steps_directory)


def change(path, sql):
    connection = apsw.Connection(str(path))
    list(connection.execute(sql))
    connection.close()


def listing(directory):
    return {entry.name: entry.stat().st_size for entry in directory.iterdir()}


def test_creating_makes_the_parent_directory_closed_to_others(path, clock):
    assert not exists(path)
    with Database.open(path, create=True, clock=clock) as database:
        assert database.created
        assert database.location == str(path)

    assert exists(path)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o750
    assert stat.S_IMODE(path.stat().st_mode) & 0o007 == 0
    with Database.open(path, create=True, clock=clock) as database:
        assert not database.created


def test_opening_to_read_never_creates_anything(path, clock):
    path.parent.mkdir()

    with pytest.raises(NotFound, match=f"no database at {path}; .*LYRSVC_DB_PATH"):
        Database.open(path, create=False, clock=clock)
    with pytest.raises(NotFound):
        Database.open(path.parent / "deeper" / "x.db", create=False, clock=clock)

    assert listing(path.parent) == {}


@pytest.mark.parametrize(
    "name", ["plain.db", "a b?c#d%41&e.db", "Été.db", "mode=memory", os.fsdecode(b"\xff\xfe.db")]
)
def test_every_file_name_works(tmp_path, clock, name):
    with Database.open(tmp_path / name, create=True, clock=clock) as database:
        database.write(lambda tx: tx.run("INSERT INTO meta VALUES ('a', '', 'x', 'x')"))
        with database.read() as tx:
            assert tx.value("SELECT count(*) FROM meta") == 1
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_a_relative_path_stays_where_it_was_opened(tmp_path, clock, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Database.open("x.db", create=True, clock=clock) as database:
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        database.write(lambda tx: tx.run("INSERT INTO meta VALUES ('a', '', 'x', 'x')"))
        with database.read() as tx:
            assert tx.value("SELECT count(*) FROM meta") == 1
    assert listing(tmp_path / "elsewhere") == {}


@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize(
    "content", [b"this is no database" * 100, b"SQLite format 3\0" + b"\xff" * 5000]
)
def test_a_damaged_file_is_named_with_the_remedy_and_left_alone(tmp_path, clock, content, create):
    file = tmp_path / "x.db"
    file.write_bytes(content)

    with pytest.raises(StoreDamaged, match=f"{file} is damaged or no database; restore a backup"):
        Database.open(file, create=create, clock=clock)

    assert file.read_bytes() == content


@pytest.mark.parametrize("create", [True, False])
def test_the_database_of_another_program_is_left_alone(tmp_path, clock, create):
    file = tmp_path / "x.db"
    change(file, "CREATE TABLE theirs (a)")

    with pytest.raises(StoreDamaged, match="another program"):
        Database.open(file, create=create, clock=clock)


@pytest.mark.parametrize("create", [True, False])
def test_a_newer_schema_is_refused_naming_both_versions(path, clock, create):
    Database.open(path, create=True, clock=clock).close()
    change(path, "INSERT INTO schema_migrations VALUES (99, 'later', 'x', 'x')")

    with pytest.raises(StoreTooNew) as refusal:
        Database.open(path, create=create, clock=clock)

    assert str(refusal.value) == (
        f"database schema 99 is newer than this program ({NEWEST}); "
        "upgrade lyrsvc or restore a backup"
    )


def test_a_read_command_does_not_lift_an_older_schema(tmp_path, clock):
    file = tmp_path / "x.db"
    file.touch()

    with pytest.raises(
        StoreError, match=rf"schema 0 is older than this program \({NEWEST}\); start lyrsvc"
    ):
        Database.open(file, create=False, clock=clock)
    assert listing(tmp_path)["x.db"] == 0

    with (
        Database.open(file, create=False, upgrade=True, clock=clock) as database,
        database.read() as tx,
    ):
        assert tx.value("SELECT count(*) FROM schema_migrations") == NEWEST


def test_a_path_that_cannot_hold_a_database_is_refused(tmp_path, clock):
    (tmp_path / "file").touch()

    with pytest.raises(StorageFailed):
        Database.open(tmp_path / "file" / "x.db", create=True, clock=clock)


@pytest.mark.seed("S-127")
@pytest.mark.parametrize("create", [True, False])
def test_a_directory_in_place_of_the_database_is_named_as_such(tmp_path, clock, create):
    said = f"{tmp_path} is a directory, not a database; name the file itself, such as {tmp_path}/"

    with pytest.raises(StorageFailed, match=re.escape(said)):
        Database.open(tmp_path, create=create, clock=clock)
    assert listing(tmp_path) == {}


@pytest.mark.seed("S-127")
@pytest.mark.parametrize("create", [True, False])
def test_a_pipe_or_device_in_place_of_the_database_is_refused_at_once(tmp_path, clock, create):
    os.mkfifo(tmp_path / "pipe")

    for place in (tmp_path / "pipe", Path("/dev/null")):
        with pytest.raises(StorageFailed, match=f"{place} is no regular file; choose another path"):
            Database.open(place, create=create, clock=clock)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a second user")
def test_a_database_nobody_may_write_beside_can_still_be_read(other_process, clock):
    with tempfile.TemporaryDirectory() as folder:  # tmp_path is closed to other users
        path = Path(folder) / "x.db"
        with Database.open(path, create=True, clock=clock) as database:
            database.write(lambda tx: tx.run("INSERT INTO meta VALUES ('a', '', 'x', 'x')"))
        path.parent.chmod(0o755)
        path.chmod(0o644)
        stranger = other_process(
            """
import os, pathlib
import lyrsvc.store.sqlite, lyrsvc.store.writing
os.setgid(65534); os.setuid(65534)
db = Database.open(sys.argv[1], create=False, clock=FakeClock())
with db.read() as tx:
    print(tx.value("SELECT name FROM meta"))
try:
    db.write(lambda tx: tx.run("DELETE FROM meta"), wait_s=2)
except Exception as error:
    print(type(error).__name__)
""",
            path,
        )

        output, errors = stranger.communicate(timeout=30)

        assert output.splitlines() == ["a", "StorageFailed"], errors
        assert set(listing(path.parent)) == {"x.db"}


def test_a_copy_is_whole_while_the_database_is_in_use(db, path, tmp_path, clock):
    db.write(lambda tx: tx.run("INSERT INTO meta VALUES ('a', '', 'x', 'x')"))
    with db.read() as tx:
        tx.value("SELECT 1")
        save_copy(path, tmp_path / "copy.db")

    assert stat.S_IMODE((tmp_path / "copy.db").stat().st_mode) == 0o600
    with Database.open(tmp_path / "copy.db", create=False, clock=clock) as copy, copy.read() as tx:
        assert tx.value("SELECT name FROM meta") == "a"
        assert tx.value("PRAGMA integrity_check") == "ok"
