"""What commands change is written down as a row, too, when that can be done."""

import os
import sqlite3

import pytest

from fakes import FakeClock
from lyrsvc.store import audit_log
from lyrsvc.store.database import Database
from terminals import Full, Shell


def rows(shell: Shell) -> list[str]:
    with Database.open(shell.database, create=False, clock=FakeClock()) as db, db.read() as tx:
        return [row.event for row in audit_log.list_rows(tx)]


def test_a_saved_setting_is_a_row_where_there_is_a_database(shell: Shell, database):
    done = shell.run("config", "set", "api.cooldown", "20")
    assert done.code == 0
    assert "event=setting.changed" in done.err
    assert rows(shell) == ["setting.changed"]


def test_no_database_is_made_for_the_sake_of_a_row(shell: Shell):
    done = shell.run("config", "set", "api.cooldown", "20")
    assert done.code == 0
    assert "event=setting.changed" in done.err
    assert "not kept" not in done.err
    assert not shell.database.parent.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_root_who_stays_root_leaves_the_database_of_another_alone(shell: Shell, database):
    os.chown(shell.database.parent, 1234, 1234)
    done = shell.run("config", "set", "api.cooldown", "20")
    assert done.code == 0
    assert "not kept" not in done.err
    assert rows(shell) == []


@pytest.mark.parametrize("trouble", ["table", "nonsense", "directory"])
def test_a_row_that_cannot_be_written_does_not_fail_the_command(shell: Shell, trouble):
    shell.database.parent.mkdir(parents=True)
    if trouble == "directory":
        shell.database.mkdir()
    elif trouble == "nonsense":
        shell.database.write_bytes(b"no database at all " * 1000)
    else:
        with Database.open(shell.database, create=True, clock=FakeClock()):
            pass
        with sqlite3.connect(shell.database) as connection:
            connection.execute("DROP TABLE audit_log")
        connection.close()
    done = shell.run("config", "set", "api.cooldown", "20")
    assert (done.code, done.out) == (0, "api.cooldown=20\n")
    assert "event=setting.changed" in done.err
    assert done.err.count("the audit row was not kept") == 1
    assert "20" in shell.config.read_text()


def test_a_row_that_cannot_be_written_does_not_hide_a_new_key(shell: Shell, database):
    database.write(lambda tx: tx.run("DROP TABLE audit_log"))
    done = shell.run("keys", "create", "--name", "x")
    assert done.code == 0
    assert done.out.startswith("lyrsvc_")
    assert "the audit row was not kept" in done.err


@pytest.mark.parametrize(
    ("words", "event"),
    [
        (["keys", "create", "--name", "x"], "key.created"),
        (["library", "add", "."], "library.added"),
        (["library", "remove", "old", "--yes"], "library.removed"),
    ],
)
def test_what_was_done_is_written_down_although_the_answer_cannot_be(
    shell: Shell, add_library, words, event, tmp_path
):
    add_library("old", str(tmp_path / "old"))
    done = shell.run(*words, out=Full())
    assert done.code == 1
    assert "cannot write the answer: no space left on device" in done.err
    assert f"event={event}" in done.err
    assert rows(shell)[0] == event


def test_a_key_that_could_not_be_shown_can_be_revoked(shell: Shell):
    done = shell.run("keys", "create", "--name", "x", out=Full())
    remedy = next(line for line in done.err.splitlines() if "could not be shown" in line)
    assert shell.run(*remedy.partition("with: lyrsvc ")[2].split()).code == 0
