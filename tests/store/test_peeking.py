"""Names for shell completion: a glance that leaves no trace."""

import os
import shutil

import apsw
import pytest

from lyrsvc.store import libraries
from lyrsvc.store.database import Database
from lyrsvc.store.peeking import library_names
from timing import is_within

NAMES = [(2, "Été"), (1, "rock")]
OPEN = """
import apsw
connection = apsw.Connection(sys.argv[1])
list(connection.execute(sys.argv[2]))
print("open", flush=True)
sys.stdin.readline()
"""


def traces(directory):
    """Everything a trace could be left in: entries, sizes, contents, times."""
    return {
        entry.name: (entry.stat().st_mtime_ns, entry.stat().st_ino, entry.read_bytes())
        for entry in directory.iterdir()
    } | {".": directory.stat().st_mtime_ns}


@pytest.fixture
def filled(path, clock, tmp_path):
    with Database.open(path, create=True, clock=clock) as database:
        for name, root in (("rock", "/music/rock"), ("Été", "/music/ete")):
            database.write(
                lambda tx, name=name, root=tmp_path / root[1:]: libraries.add(
                    tx, name=name, path=root, now=clock.now()
                )
            )
    return path


def peek(path):
    before = traces(path.parent)
    names = library_names(str(path))
    assert traces(path.parent) == before
    return sorted(names, key=lambda pair: pair[0], reverse=True)


@pytest.mark.spec("C-48")
def test_a_database_at_rest_gives_its_names_by_name(filled):
    assert library_names(str(filled)) == [(1, "rock"), (2, "Été")]
    assert peek(filled) == NAMES


def test_an_empty_log_beside_it_is_rest_too(filled):
    filled.with_name("lyrsvc.db-wal").touch()

    assert peek(filled) == NAMES


@pytest.mark.spec("C-48")
def test_no_database_means_no_names_and_no_files(path):
    path.parent.mkdir()

    assert peek(path) == []
    assert library_names(str(path.parent / "deeper" / "x.db")) == []
    assert list(path.parent.iterdir()) == []


@pytest.mark.spec("C-48")
@pytest.mark.parametrize(
    "content", [b"", b"no database at all", b"SQLite format 3\0" + b"\1" * 9000]
)
def test_a_damaged_database_means_no_names(path, content):
    path.parent.mkdir()
    path.write_bytes(content)

    assert peek(path) == []


@pytest.mark.spec("C-48")
@pytest.mark.parametrize(
    "how",
    [
        "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE",
        "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; UPDATE counts SET n = 7",
        "PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE",
    ],
)
def test_an_exclusively_locked_database_means_no_names_and_no_waiting(filled, other_process, how):
    holder = other_process(OPEN, filled, how)
    assert holder.stdout.readline() == "open\n"
    names = []

    assert is_within(1, lambda: names.extend(peek(filled)))

    assert names == []


def test_names_in_the_log_of_a_running_server_are_seen(filled, clock, other_process):
    server = other_process(
        OPEN, filled, "PRAGMA synchronous = FULL; UPDATE libraries SET name = 'jazz' WHERE id = 1"
    )
    assert server.stdout.readline() == "open\n"

    before = {entry.name for entry in filled.parent.iterdir()}
    assert sorted(library_names(str(filled))) == [(1, "jazz"), (2, "Été")]
    assert {entry.name for entry in filled.parent.iterdir()} == before


def test_names_left_in_the_log_of_a_killed_server_are_seen_without_a_trace(filled, other_process):
    server = other_process(OPEN, filled, "UPDATE libraries SET name = 'jazz' WHERE id = 1")
    assert server.stdout.readline() == "open\n"
    server.kill()
    server.communicate()

    assert peek(filled) == [(2, "Été"), (1, "jazz")]


def test_a_log_without_its_index_is_left_alone(filled, other_process, tmp_path):
    server = other_process(OPEN, filled, "UPDATE libraries SET name = 'jazz' WHERE id = 1")
    assert server.stdout.readline() == "open\n"
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("lyrsvc.db", "lyrsvc.db-wal"):
        shutil.copy(filled.with_name(name), copy / name)

    assert peek(copy / "lyrsvc.db") == []


def test_what_is_no_plain_file_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "fifo")

    assert library_names(str(tmp_path / "fifo")) == []
    assert library_names(str(tmp_path)) == []
    assert library_names("") == []
    assert library_names("a\0b") == []


def test_another_program_s_database_means_no_names(tmp_path):
    connection = apsw.Connection(str(tmp_path / "x.db"))
    connection.execute("CREATE TABLE theirs (a)")
    connection.close()

    assert peek(tmp_path / "x.db") == []
