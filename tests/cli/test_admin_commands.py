"""Setting an admin's password from the command line."""

import json
import os
import subprocess
import sys

import apsw
import pytest

from access_parts import PASSWORD, VISITOR, Desk
from fakes import FakeClock
from lyrsvc.security.passwords import Passwords
from lyrsvc.services.sign_in import Denied, SignedIn
from lyrsvc.store import audit_log
from terminals import Shell
from typing_terminal import on_a_terminal, read_until

NEW = "  päss wörd "


@pytest.fixture
def desk(database) -> Desk:
    """The database as a running service has it open, on the machine's clock."""
    return Desk(database, FakeClock())


@pytest.fixture
def admin(desk):
    return desk.add_admin("Ada")


def signs_in(desk: Desk, password: str, user: str = "Ada") -> bool:
    outcome = desk.access().sign_in.sign_in(user, password, VISITOR)
    assert isinstance(outcome, SignedIn | Denied)
    return isinstance(outcome, SignedIn)


@pytest.mark.spec("C-44")
@pytest.mark.seed("S-095", "S-130")
def test_the_new_password_counts_at_once_and_every_session_is_over(shell: Shell, desk, admin):
    service = desk.access()
    shell.clock = desk.clock
    cookies = [service.sign_in.sign_in("Ada", PASSWORD, VISITOR).token for _ in range(2)]
    done = shell.run("admin", "set-password", stdin=f"{NEW}\n")
    assert (done.code, done.out) == (0, "password changed for Ada; 2 sessions signed out\n")
    assert NEW.strip() not in done.err
    assert [service.session_of(cookie) for cookie in cookies] == [None, None]
    assert signs_in(desk, NEW)
    assert not signs_in(desk, NEW.strip())
    assert not signs_in(desk, PASSWORD)
    assert NEW.strip().encode() not in shell.database.read_bytes()


@pytest.mark.seed("S-095")
@pytest.mark.parametrize(
    ("typed", "password"),
    [
        ("12345678", "12345678"),
        ("12345678\n", "12345678"),
        ("12345678\r\n", "12345678"),
        (" \t12345678\t \n", " \t12345678\t "),
        ("        \n", "        "),
        ("öäüßöäüß\n", "öäüßöäüß"),
        ("x" * 1024 + "\n", "x" * 1024),
    ],
)
def test_one_line_break_is_taken_away_and_nothing_else(shell: Shell, desk, admin, typed, password):
    assert shell.run("admin", "set-password", stdin=typed).code == 0
    assert signs_in(desk, password)


@pytest.mark.spec("C-44")
@pytest.mark.seed("S-095")
@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("", "at least 8"),
        ("\n", "at least 8"),
        ("1234567\n", "at least 8"),
        ("öäüß\n", "at least 8"),
        ("1234567\n\n", "one line"),
        ("12345678\n9\n", "one line"),
        ("12345678\r", "one line"),
        ("x" * 1025, "at most 1024 bytes"),
        ("x" * 100_000, "at most 1024 bytes"),
        ("1234567\udc80\n", "valid text"),
    ],
)
def test_a_password_that_cannot_be_used_changes_nothing(shell: Shell, desk, admin, typed, why):
    desk.access().sign_in.sign_in("Ada", PASSWORD, VISITOR)
    before = desk.rows("admins"), desk.rows("sessions")
    done = shell.run("admin", "set-password", stdin=typed)
    assert (done.code, done.out) == (1, "")
    assert why in done.err
    assert "1234567" not in done.err
    assert (desk.rows("admins"), desk.rows("sessions")) == before


@pytest.mark.spec("C-44")
def test_without_an_admin_the_ways_to_make_one_are_named(shell: Shell, database):
    done = shell.run("admin", "set-password", stdin="12345678\n")
    assert (done.code, done.out) == (1, "")
    assert "/setup" in done.err
    assert "LYRSVC_WEBAUTH_ADMIN_USER" in done.err


@pytest.mark.spec("C-44")
def test_with_two_admins_one_must_be_named(shell: Shell, desk, admin):
    desk.add_second_admin("Bob")
    before = desk.rows("admins")
    done = shell.run("admin", "set-password", stdin="12345678\n")
    assert (done.code, done.out) == (2, "")
    assert "--user" in done.err
    assert "Ada, Bob" in done.err
    assert desk.rows("admins") == before
    done = shell.run("admin", "set-password", "--user", "bOB", stdin="12345678\n")
    assert done.out == "password changed for Bob; 0 sessions signed out\n"
    assert signs_in(desk, "12345678", "Bob")
    assert signs_in(desk, PASSWORD)


def test_an_unknown_user_is_named_with_the_known_ones(shell: Shell, desk, admin):
    done = shell.run("admin", "set-password", "--user", "Eve", stdin="12345678\n")
    assert done.code == 1
    assert 'no admin "Eve"; known: Ada' in done.err
    assert signs_in(desk, PASSWORD)


@pytest.mark.seed("S-095")
def test_a_missing_database_is_not_made(shell: Shell):
    done = shell.run("admin", "set-password", stdin="12345678\n")
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        f"lyrsvc: no database at {shell.database}; start the service once, "
        "or set LYRSVC_DB_PATH to the one it uses\n"
    )
    assert list(shell.home.iterdir()) == []


@pytest.mark.seed("S-130")
@pytest.mark.parametrize(
    "words",
    [
        ["hush-hush-12"],
        ["--password", "hush-hush-12"],
        ["--password=hush-hush-12"],
        ["--user", "Ada", "hush-hush-12"],
        ["-phush-hush-12"],
    ],
)
def test_a_password_on_the_command_line_is_refused_and_not_repeated(
    shell: Shell, desk, admin, words
):
    done = shell.run("admin", "set-password", *words, stdin="12345678\n")
    assert (done.code, done.out) == (2, "")
    assert "hush" not in done.err
    assert "never a password" in done.err
    assert signs_in(desk, PASSWORD)


@pytest.mark.spec("C-45")
@pytest.mark.seed("S-095")
def test_a_fault_between_hash_and_sign_out_undoes_both(shell: Shell, desk, database, admin):
    desk.access().sign_in.sign_in("Ada", PASSWORD, VISITOR)
    before = desk.rows("admins"), desk.rows("sessions")
    database.write(
        lambda tx: tx.run(
            "CREATE TRIGGER fault BEFORE DELETE ON sessions "
            "BEGIN SELECT RAISE(ABORT, 'fault injected'); END"
        )
    )
    done = shell.run("admin", "set-password", stdin="12345678\n")
    assert (done.code, done.out) == (1, "")
    assert "fault injected" in done.err
    assert (desk.rows("admins"), desk.rows("sessions")) == before
    assert signs_in(desk, PASSWORD)


def test_json_tells_the_same(shell: Shell, desk, admin):
    done = shell.run("admin", "set-password", "--json", stdin="12345678\n")
    assert done.json == {"user": "Ada", "sessions_ended": 0}


def test_the_change_is_one_audit_line_and_one_row_without_the_password(shell: Shell, desk, admin):
    done = shell.run("admin", "set-password", "--log-level", "error", stdin="hush-hush-12\n")
    (line,) = done.err.splitlines()
    assert "event=auth.password.changed" in line
    assert "actor=cli:tester" in line
    assert "user=Ada" in line
    with desk.db.read() as tx:
        (row,) = audit_log.list_rows(tx)
    assert (row.event, row.actor) == ("auth.password.changed", "cli:tester")
    assert row.data == {"user": "Ada", "sessions_ended": 0}
    assert "hush" not in line + str(row)


def test_every_line_on_stderr_is_an_object_with_the_json_format(shell: Shell, desk, admin):
    for typed in ("12345678", "short"):
        done = shell.run(
            "admin", "set-password", "--log-format", "json", "--log-level", "debug", stdin=typed
        )
        assert done.err
        for line in done.err.splitlines():
            assert {"time", "level", "msg"} <= set(json.loads(line))


def test_bytes_that_are_no_text_are_refused(shell: Shell, desk, admin):
    done = subprocess.run(
        [sys.executable, "-m", "lyrsvc", "admin", "set-password"],
        input=b"1234567\xff\xfe\n",
        env={"HOME": str(shell.home)},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1
    assert b"valid text" in done.stderr
    assert b"Traceback" not in done.stderr
    assert signs_in(desk, PASSWORD)


@pytest.mark.parametrize(
    ("first", "second", "code"),
    [("12345678", "12345678", 0), ("12345678", "12345679", 1), (" 1234567", " 1234567", 0)],
)
def test_a_terminal_asks_twice_without_echo(shell: Shell, desk, admin, first, second, code):
    child, screen = on_a_terminal(shell.home, "admin", "set-password")
    seen = read_until(screen, b"New password: ")
    os.write(screen, f"{first}\n".encode())
    seen += read_until(screen, b"Again: ")
    os.write(screen, f"{second}\n".encode())
    seen += read_until(screen, None)
    os.close(screen)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == code
    assert b"1234567" not in seen
    assert signs_in(desk, first if code == 0 else PASSWORD)


def test_an_unreadable_table_is_no_traceback(shell: Shell):
    shell.database.parent.mkdir(parents=True)
    apsw.Connection(str(shell.database)).execute("CREATE TABLE other (x)")
    done = shell.run("admin", "set-password", stdin="12345678\n")
    assert done.code == 1
    assert "Traceback" not in done.err


def test_an_admin_who_goes_while_the_password_is_hashed_is_told(
    shell: Shell, desk, admin, database, monkeypatch
):
    def hash_late(*_args) -> str:
        database.write(lambda tx: tx.run("DELETE FROM admins"))
        return "hash"

    monkeypatch.setattr(Passwords, "hash", hash_late)
    done = shell.run("admin", "set-password", stdin="12345678\n")
    assert (done.code, done.out) == (1, "")
    assert "nothing was changed" in done.err
