"""Making, listing and revoking API keys."""

import json
import os
import re
import shutil
import tempfile
from pathlib import Path

import pytest

from fakes import FakeClock
from lyrsvc.services.keyring import Keyring
from lyrsvc.store import audit_log
from lyrsvc.store.database import Database
from terminals import Shell

RAW = re.compile(r"lyrsvc_[0-9a-f]{64}")


def opens(shell: Shell, raw: str) -> str:
    """Say what the running service would make of a key."""
    with Database.open(shell.database, create=False, clock=FakeClock()) as db:
        found = Keyring(db, clock=FakeClock()).check(raw)
    return found.key.public_id if found.key else found.reason


def create(shell: Shell, *words: str) -> str:
    done = shell.run("keys", "create", "--name", "lidarr", *words)
    assert done.code == 0
    return done.out.rstrip("\n")


@pytest.mark.spec("C-39")
@pytest.mark.seed("S-092", "S-101")
def test_create_prints_the_raw_key_and_nothing_else(shell: Shell):
    done = shell.run("keys", "create", "--name", "lidarr")
    assert done.code == 0
    assert RAW.fullmatch(done.out.removesuffix("\n"))
    assert done.out.endswith("\n")
    assert str(shell.database) in done.err  # a new database is announced
    raw = done.out.strip()
    assert re.fullmatch(r"[0-9a-f]{16}", opens(shell, raw))
    assert raw not in done.err
    assert raw.encode() not in b"".join(
        path.read_bytes() for path in shell.home.rglob("*") if path.is_file()
    )


def test_on_a_terminal_a_note_says_that_it_is_shown_once(shell: Shell):
    watched = shell.run("keys", "create", "--name", "x", watched=True, terminal=True)
    assert RAW.fullmatch(watched.out.removesuffix("\n"))
    assert "shown once" in watched.err
    assert "shown once" not in shell.run("keys", "create", "--name", "x").err


@pytest.mark.seed("S-092", "S-100")
@pytest.mark.parametrize(
    ("words", "scopes"),
    [
        ([], ["webhook"]),
        (["--scope", "admin"], ["admin"]),
        (["--scope", "webhook", "--scope=admin"], ["admin", "webhook"]),
        (["--scope", "admin", "--scope", "admin"], ["admin"]),
    ],
)
def test_scopes_are_webhook_or_those_named(shell: Shell, words, scopes):
    done = shell.run("keys", "create", "--name", "x", "--json", *words)
    assert list(done.json) == ["public_id", "name", "scopes", "key"]
    assert (done.json["name"], done.json["scopes"]) == ("x", scopes)
    assert opens(shell, done.json["key"]) == done.json["public_id"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([], "--name is missing"),
        (["--name"], "--name needs a value"),
        (["--name", ""], "1 to 120"),
        (["--name", "x" * 121], "at most 120"),
        (["--name", "x", "--scope", "root"], '"root" is not one of admin, webhook'),
        (["--name", "x", "--scope", "admin,webhook"], "not one of"),
        (["--name", "x", "more"], "unexpected word"),
    ],
)
def test_a_wrong_line_makes_nothing(shell: Shell, words, why):
    done = shell.run("keys", "create", *words)
    assert (done.code, done.out) == (2, "")
    assert why in done.err
    assert list(shell.home.iterdir()) == []


@pytest.mark.seed("S-092")
def test_all_key_commands_take_a_settings_file(shell: Shell):
    config = shell.home / "my.toml"
    config.write_text(f'[db]\npath = "{shell.home / "mine.db"}"\n')
    words = ["--config", str(config)]
    raw = shell.run("keys", "create", "--name", "x", *words).out.strip()
    assert shell.run("keys", "list", *words).lines[0].endswith("\tx\twebhook\t")
    assert shell.run("keys", "revoke", raw, *words).code == 0
    assert not shell.database.exists()


# -- list ---------------------------------------------------------------------------------------


@pytest.mark.spec("C-40")
@pytest.mark.seed("S-085", "S-092")
@pytest.mark.parametrize("terminal", [False, True])
def test_list_is_four_fields_by_tabs_whatever_the_names_hold(shell: Shell, terminal):
    names = ["plain", "tab\there", "line\nbreak\n", "\x1b[2Jred", "ünïcode", "x" * 120]
    raws = [
        shell.run("keys", "create", "--name", name, "--scope=webhook", "--scope=admin").out.strip()
        for name in names
    ]
    shell.run("keys", "revoke", raws[0])
    done = shell.run("keys", "list", terminal=terminal)
    rows = [line.split("\t") for line in done.out.removesuffix("\n").split("\n")]
    assert all(len(row) == 4 for row in rows)
    assert all(re.fullmatch(r"[0-9a-f]{8}", row[0]) for row in rows)
    assert {row[1] for row in rows} == {
        "plain", r"tab\there", r"line\nbreak\n", r"\x1b[2Jred", "ünïcode", "x" * 120,
    }  # fmt: skip
    assert {row[2] for row in rows} == {"admin,webhook"}
    revoked = {row[1]: row[3] for row in rows}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", revoked.pop("plain"))
    assert set(revoked.values()) == {""}
    assert not RAW.search(done.out)


@pytest.mark.seed("S-085")
def test_json_shows_the_whole_id_and_neither_key_nor_hash(shell: Shell):
    raw = create(shell)
    (row,) = shell.run("keys", "list", "--json").json
    assert set(row) == {
        "public_id", "name", "scopes", "created_at", "revoked_at", "last_used_at",
    }  # fmt: skip
    assert row["public_id"] == opens(shell, raw)
    assert (row["scopes"], row["revoked_at"], row["last_used_at"]) == (["webhook"], None, None)


def test_a_header_can_be_asked_for(shell: Shell):
    create(shell)
    done = shell.run("keys", "list", "--header")
    assert done.lines[0] == "public_id\tname\tscopes\trevoked_at"
    assert len(done.lines) == 2


def test_without_a_database_the_list_is_empty_and_none_is_made(shell: Shell):
    done = shell.run("keys", "list")
    assert (done.code, done.out) == (0, "")
    assert "no database at" in done.err
    assert shell.run("keys", "list", "--json").json == []
    assert list(shell.home.iterdir()) == []


# -- revoke -------------------------------------------------------------------------------------


@pytest.mark.spec("C-41")
@pytest.mark.seed("S-092", "S-101")
@pytest.mark.parametrize("by", ["raw", "stdin", "id", "part", "listed"])
def test_a_key_is_revoked_once_and_for_all(shell: Shell, by):
    raw, other = create(shell), create(shell)
    public_id = opens(shell, raw)
    words, stdin = {
        "raw": ([raw], ""),
        "stdin": (["-"], f"{raw}\n"),
        "id": (["--id", public_id], ""),
        "part": ([f"--id={public_id[:9]}"], ""),
        "listed": (["--id", f"{public_id[:8]}…"], ""),
    }[by]
    first = shell.run("keys", "revoke", *words, stdin=stdin)
    assert (first.code, first.out) == (0, f"revoked {public_id}\n")
    assert raw not in first.err
    assert opens(shell, raw) == "revoked"
    assert re.fullmatch(r"[0-9a-f]{16}", opens(shell, other))
    before = shell.run("keys", "list", "--json").json
    again = shell.run("keys", "revoke", *words, stdin=stdin)
    assert (again.code, again.out) == (0, first.out)
    assert shell.run("keys", "list", "--json").json == before


def test_json_shows_the_revoked_key(shell: Shell):
    done = shell.run("keys", "revoke", create(shell), "--json")
    assert done.json["revoked_at"]
    assert done.json["name"] == "lidarr"


@pytest.mark.spec("C-41")
@pytest.mark.parametrize(
    "words",
    [
        ["lyrsvc_" + "0" * 64],
        ["some-text"],
        ["--id", "f" * 15 + "0"],
        ["--id", "zzzzzzzz"],
        ["--id", "%%%%%%%%"],
    ],
)
def test_an_unknown_key_is_a_failure_that_repeats_nothing(shell: Shell, words):
    create(shell)
    done = shell.run("keys", "revoke", *words)
    assert (done.code, done.out) == (1, "")
    assert words[-1] not in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["lyrsvc_abc", "--id", "12345678"],
        ["lyrsvc_abc", "lyrsvc_def"],
        ["--id", "1234567"],
        ["--id", ""],
        [""],
        ["--lyrsvc_abc"],
    ],
)
def test_a_wrong_line_is_a_usage_error_that_repeats_no_key(shell: Shell, words):
    create(shell)
    done = shell.run("keys", "revoke", *words)
    assert (done.code, done.out) == (2, "")
    assert "lyrsvc_" not in done.err


def test_a_static_key_is_not_revoked_but_its_place_is_named(shell: Shell):
    create(shell)
    config = shell.home / "lyrsvc.toml"
    config.write_text('[server]\nwebhook_api_keys = ["a-static-key-of-mine"]\n')
    config.chmod(0o600)
    done = shell.run("keys", "revoke", "a-static-key-of-mine", "--config", str(config))
    assert done.code == 1
    assert "static, from server.webhook_api_keys; remove it there" in done.err
    assert "a-static-key-of-mine" not in done.err

    shell.environ["LYRSVC_WEBHOOK_API_KEY"] = "another-static-key"
    done = shell.run("keys", "revoke", "another-static-key")
    assert done.code == 1
    assert "static, from LYRSVC_WEBHOOK_API_KEY; remove it there" in done.err
    assert "another-static-key" not in done.err


def test_the_key_of_the_secret_store_is_told_as_static(shell: Shell):
    made = create(shell)
    key_file = shell.home / "own.key"
    shell.environ["LYRSVC_SECRETS_KEY_FILE"] = str(key_file)
    assert shell.run("secrets", "set", "webhook_api_key", stdin="a-key-of-the-store").code == 0
    done = shell.run("keys", "revoke", "a-key-of-the-store")
    assert done.code == 1
    assert "static, from the secret store; store another one with: lyrsvc secrets" in done.err
    assert "a-key-of-the-store" not in done.err

    key_file.write_bytes(b"damaged")
    assert shell.run("keys", "revoke", made).code == 0


def test_revoking_makes_no_database(shell: Shell):
    done = shell.run("keys", "revoke", "lyrsvc_" + "0" * 64)
    assert done.code == 1
    assert "no database at" in done.err
    assert list(shell.home.iterdir()) == []


# -- audit --------------------------------------------------------------------------------------


def test_making_and_revoking_is_one_audit_line_and_one_row_each_at_any_level(shell: Shell):
    made = shell.run("keys", "create", "--name", "lidarr", "--log-level", "error")
    raw = made.out.strip()
    gone = shell.run("keys", "revoke", raw, "--log-level", "error")
    for done, event in ((made, "key.created"), (gone, "key.revoked")):
        (line,) = [line for line in done.err.splitlines() if " audit " in line]
        assert f"event={event}" in line
        assert "actor=cli:tester" in line
        assert " public_id=" in line
        assert raw not in line
    with Database.open(shell.database, create=False, clock=FakeClock()) as db, db.read() as tx:
        rows = audit_log.list_rows(tx)
    assert [row.event for row in rows] == ["key.revoked", "key.created"]
    assert {row.actor for row in rows} == {"cli:tester"}
    assert rows[0].data == rows[1].data
    assert set(rows[0].data) == {"public_id", "name", "scopes"}


def test_every_line_on_stderr_is_an_object_with_the_json_format(shell: Shell):
    words = ["--log-format", "json", "--log-level", "debug"]
    raw = shell.run("keys", "create", "--name", "x").out.strip()
    for line in (
        ["create", "--name", "y"],
        ["list"],
        ["revoke", raw],
        ["revoke", "unknown-key"],
    ):
        done = shell.run("keys", *line, *words)
        for record in done.err.splitlines():
            assert {"time", "level", "msg"} <= set(json.loads(record))
            assert raw not in record


@pytest.mark.spec("C-12")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_root_leaves_no_file_of_root_in_a_directory_of_another(shell: Shell):
    create(shell)  # all imports done before the fork
    shutil.rmtree(shell.database.parent)
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        os.chown(directory, 1234, 1234)
        shell.environ["LYRSVC_DB_PATH"] = str(directory / "x.db")
        child = os.fork()
        if child == 0:
            os._exit(shell.run("keys", "create", "--name", "x").code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert (directory / "x.db").exists()
        assert {path.stat().st_uid for path in directory.rglob("*")} == {1234}


# -- completion ---------------------------------------------------------------------------------


def test_scopes_and_flags_are_completed(shell: Shell):
    from lyrsvc.cli.completing import answer

    def at(*words: str) -> list[str]:
        return answer(list(words), shell.environ, str(shell.home)).splitlines()

    assert at("keys", "") == ["create", "list", "revoke"]
    assert at("keys", "create", "--scope", "") == ["admin", "webhook"]
    assert at("keys", "create", "--scope", "admin", "--sc") == ["--scope"]
    assert at("keys", "create", "--scope=w") == ["--scope=webhook"]
    assert at("keys", "revoke", "--i") == ["--id"]
    assert at("keys", "revoke", "") == []
    assert at("admin", "") == ["set-password"]
    assert at("admin", "set-password", "--u") == ["--user"]
