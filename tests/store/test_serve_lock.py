"""One server at a time on a database."""

import os

import pytest

from lyrsvc.core.errors import Refused, StorageFailed
from lyrsvc.store.serve_lock import ServeLock, is_served, left_note

HOLD = """
from lyrsvc.store.serve_lock import ServeLock
lock = ServeLock(sys.argv[1]).hold()
print("held", flush=True)
sys.stdin.readline()
"""


def test_a_second_server_is_refused_naming_the_database_and_the_holder(path, other_process):
    holder = other_process(HOLD, path)
    assert holder.stdout.readline() == "held\n"

    with pytest.raises(Refused, match=f"{path} is already served by process {holder.pid};"):
        ServeLock(path).hold()
    assert is_served(path)


def test_the_lock_ends_with_the_process_that_holds_it(path, other_process):
    holder = other_process(HOLD, path)
    assert holder.stdout.readline() == "held\n"
    holder.kill()
    holder.communicate()

    assert not is_served(path)
    with ServeLock(path):
        assert is_served(path)


def test_the_lock_is_seen_inside_one_process_too(path):
    with ServeLock(path), pytest.raises(Refused, match=f"process {os.getpid()};"):
        ServeLock(path).hold()
    with ServeLock(path) as lock:
        assert lock.hold() is lock
    lock.close()


def test_another_name_of_the_same_file_is_the_same_database(path, tmp_path):
    path.parent.mkdir()
    path.touch()
    (tmp_path / "link.db").symlink_to(path)

    with ServeLock(path), pytest.raises(Refused):
        ServeLock(tmp_path / "link.db").hold()


def test_a_server_may_leave_a_note_and_the_next_one_begins_without(path):
    with ServeLock(path) as lock:
        assert left_note(path) == ""
        lock.note("http://127.0.0.1:3876 mark")
        assert left_note(path) == "http://127.0.0.1:3876 mark"
        with pytest.raises(Refused, match=f"process {os.getpid()};"):
            ServeLock(path).hold()
    assert left_note(path) == "http://127.0.0.1:3876 mark"
    with ServeLock(path):
        assert left_note(path) == ""


def test_asking_creates_nothing(path):
    path.parent.mkdir()

    assert not is_served(path)
    assert left_note(path) == ""
    assert list(path.parent.iterdir()) == []


def test_commands_do_not_need_the_lock(path, clock, db):
    with ServeLock(path):
        db.write(lambda tx: tx.run("INSERT INTO meta VALUES ('a', '', 'x', 'x')"))


def test_a_lock_file_that_cannot_be_made_is_a_storage_failure(tmp_path):
    (tmp_path / "file").touch()

    with pytest.raises(StorageFailed, match="cannot open"):
        ServeLock(tmp_path / "file" / "x.db").hold()
