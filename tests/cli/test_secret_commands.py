"""Storing secrets, as a user types, pipes or imports them."""

import base64
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

import pytest

from fakes import FakeClock
from lyrsvc.cli.access_table import SECRETS
from lyrsvc.security.master_key import MasterKey
from lyrsvc.security.vault import Vault
from lyrsvc.services.secret_store import NAMES, SecretStore
from lyrsvc.settings.secret_values import SECRET_SETTINGS
from lyrsvc.store.database import Database
from terminals import Shell
from typing_terminal import on_a_terminal, read_until

HUSH = "hush-hush-1234567890"
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def key_file(shell: Shell) -> Path:
    return shell.database.with_name(".lyrsvcgo.key")


def stored(
    shell: Shell, master_key: str = "", database: Path | None = None
) -> dict[str, str | None]:
    path = database or shell.database
    with Database.open(path, create=False, clock=FakeClock()) as db:
        vault = Vault(MasterKey(text=master_key, file=path.with_name(".lyrsvcgo.key")))
        secrets = SecretStore(db, vault, clock=FakeClock())
        return {name: secrets.get(name) for name in NAMES}


def on_disk(directory: Path) -> bytes:
    return b"".join(path.read_bytes() for path in directory.rglob("*") if path.is_file())


def test_the_command_line_knows_the_same_names_as_the_store():
    assert SECRETS == NAMES == tuple(SECRET_SETTINGS)


# -- set ----------------------------------------------------------------------------------------


@pytest.mark.spec("C-10")
@pytest.mark.seed("S-094", "S-098", "S-104")
def test_the_first_set_makes_directories_database_and_key(shell: Shell):
    path = shell.home / "new" / "deeper" / "my.db"
    shell.environ["LYRSVC_DB_PATH"] = str(path)
    done = shell.run("secrets", "set", "provider_token", stdin=f"{HUSH}\n")
    assert (done.code, done.out) == (0, "set provider_token\n")
    assert str(path) in done.err
    key = path.with_name(".lyrsvcgo.key")
    assert len(key.read_bytes()) == 32
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert stored(shell, database=path)["provider_token"] == HUSH
    again = shell.run("secrets", "set", "webhook_api_key", stdin=f"{HUSH}\n")
    assert "new database" not in again.err
    assert HUSH not in done.out + done.err + again.out + again.err
    assert HUSH.encode() not in on_disk(shell.home)


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("tok", "tok"),
        ("tok\n", "tok"),
        ("tok\r\n", "tok"),
        ("  tok \n", "tok"),
        ("two words\n", "two words"),
        ("tök-ß\n", "tök-ß"),
        ("\ufefftok\r\n", "tok"),  # a file of Windows' editor
    ],
)
def test_a_piped_value_loses_its_line_break_and_what_the_setting_trims(shell: Shell, typed, kept):
    assert shell.run("secrets", "set", "provider_token", stdin=typed).code == 0
    assert stored(shell)["provider_token"] == kept


@pytest.mark.spec("C-42")
@pytest.mark.seed("S-094")
@pytest.mark.parametrize(
    "words",
    [
        ["provider_token", HUSH],
        [HUSH],
        [HUSH, "provider_token"],
        [f"provider_token={HUSH}"],
        ["provider_token", "--value", HUSH],
        ["provider_token", f"--value={HUSH}"],
        ["provider_token", "--token", HUSH],
        ["provider_token", f"-{HUSH}"],
        ["provider_token", f"--{HUSH}"],
        ["provider_token", "--", HUSH],
        [],
    ],
)
def test_a_value_on_the_command_line_is_refused_and_not_repeated(shell: Shell, words):
    done = shell.run("secrets", "set", *words, stdin="piped\n")
    assert (done.code, done.out) == (2, "")
    assert "hush" not in done.err
    assert "never a value" in done.err
    assert len(done.err.splitlines()) == 1
    assert list(shell.home.iterdir()) == []


@pytest.mark.seed("S-094")
@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("typed", ["", "\n", "\r\n", "   \n", "\n\n"])
def test_an_empty_value_is_a_usage_error_and_makes_nothing(shell: Shell, name, typed):
    done = shell.run("secrets", "set", name, stdin=typed)
    assert (done.code, done.out) == (2, "")
    assert "is empty" in done.err
    assert list(shell.home.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("provider_token", "hush\nhush\n"),
        ("provider_token", "hush\x00hush\n"),
        ("provider_token", "hush\udc80\n"),
        ("provider_token", "hush" * 20_000),
        ("webhook_api_key", "hush,hush2\n"),
        ("webhook_api_key", "hush hush\n"),
        ("webhook_api_key", "hüsh\n"),
        ("webhook_api_key", "hush" * 200),
        ("webhook_api_key", "hush\nhush2\n"),
    ],
)
def test_a_value_that_its_setting_would_refuse_is_a_usage_error(shell: Shell, name, typed):
    done = shell.run("secrets", "set", name, stdin=typed)
    assert (done.code, done.out) == (2, "")
    assert name in done.err
    assert "hush" not in done.err
    assert not shell.database.exists()


def test_bytes_that_are_no_text_are_a_usage_error(tmp_path):
    done = program(tmp_path, "secrets", "set", "provider_token", stdin=b"\xff\xfe\x00x\n")
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


def test_without_any_input_the_value_is_empty(tmp_path):
    script = "import sys; sys.stdin = None; from lyrsvc.cli.main import run; sys.exit(run())"
    done = subprocess.run(
        [sys.executable, "-c", script, "secrets", "set", "provider_token"],
        env={"HOME": str(tmp_path)},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    assert b"is empty" in done.stderr


def test_setting_again_overwrites_and_leaves_an_audit_line_at_any_level(shell: Shell):
    for value in ("first", "second"):
        done = shell.run("secrets", "set", "provider_token", "--log-level", "error", stdin=value)
        (line,) = [line for line in done.err.splitlines() if " audit " in line]
        assert "event=secret.stored" in line
        assert "actor=cli:tester" in line
        assert "name=provider_token" in line
    assert stored(shell)["provider_token"] == "second"


def test_json_names_what_was_set(shell: Shell):
    done = shell.run("secrets", "set", "webhook_api_key", "--json", stdin=HUSH)
    assert done.json == {"set": "webhook_api_key"}


def test_a_source_that_wins_over_the_store_is_named(shell: Shell):
    shell.environ["PROVIDER_TOKEN"] = "env-token-123456"
    done = shell.run("secrets", "set", "provider_token", stdin=HUSH)
    assert "PROVIDER_TOKEN in the environment wins" in done.err
    assert stored(shell)["provider_token"] == HUSH


@pytest.mark.spec("C-42")
@pytest.mark.seed("S-094")
def test_a_terminal_asks_without_echo(tmp_path):
    child, screen = on_a_terminal(tmp_path, "secrets", "set", "provider_token")
    seen = read_until(screen, b"provider_token: ")
    os.write(screen, f"{HUSH}\n".encode())
    seen += read_until(screen, None)
    os.close(screen)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert HUSH.encode() not in seen
    assert b"set provider_token" in seen
    assert stored(Shell(tmp_path))["provider_token"] == HUSH


@pytest.mark.parametrize(("keys", "code"), [(b"hush\x03", 130), (b"\n", 2), (b"\x04", 2)])
def test_a_terminal_that_gives_nothing_ends_the_command(tmp_path, keys, code):
    child, screen = on_a_terminal(tmp_path, "secrets", "set", "provider_token")
    read_until(screen, b"provider_token: ")
    assert not termios.tcgetattr(screen)[3] & termios.ECHO
    os.write(screen, keys)
    seen = read_until(screen, None)
    os.close(screen)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == code
    assert b"hush" not in seen
    assert b"Traceback" not in seen
    assert list(tmp_path.iterdir()) == []


# -- the key ------------------------------------------------------------------------------------


def program(home: Path, *words: str, stdin: bytes, **environ: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "lyrsvc", *words],
        input=stdin,
        env={"HOME": str(home), **environ},
        capture_output=True,
        check=False,
    )


@pytest.mark.spec("C-11", "E-67")
@pytest.mark.seed("S-104")
def test_twenty_processes_at_once_agree_on_one_key(tmp_path):
    shell = Shell(tmp_path)
    crowd = [
        (SECRETS[number % 2], f"value-{number:02}", subprocess.Popen(
            [sys.executable, "-m", "lyrsvc", "secrets", "set", SECRETS[number % 2]],
            env={"HOME": str(tmp_path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ))
        for number in range(20)
    ]  # fmt: skip
    for _, value, process in crowd:  # all have started and wait for their value
        process.stdin.write(value)
        process.stdin.close()
    announced = 0
    for name, _, process in crowd:
        with process:
            said, told = process.stdout.read(), process.stderr.read()
        assert (process.returncode, said) == (0, f"set {name}\n"), told
        assert "another key" not in told
        announced += "new database" in told
    assert announced == 1
    names = {path.name for path in shell.database.parent.iterdir()}
    assert {name for name in names if not name.startswith("lyrsvcgo.db")} == {".lyrsvcgo.key"}
    for at, name in enumerate(SECRETS):
        assert stored(shell)[name] in {value for kind, value, _ in crowd if kind == name}, at


@pytest.mark.spec("C-12")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize("key", ["beside", "elsewhere"])
def test_root_leaves_no_file_of_root_in_a_directory_of_another(shell: Shell, key):
    shell.run("secrets", "set", "provider_token", stdin="x")  # all imports done before the fork
    shutil.rmtree(shell.database.parent)
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        os.chown(directory, 1234, 1234)
        shell.environ["LYRSVC_DB_PATH"] = str(directory / "x.db")
        if key == "elsewhere":
            shell.environ["LYRSVC_SECRETS_KEY_FILE"] = str(directory / "keys" / "my.key")
        child = os.fork()
        if child == 0:
            os._exit(shell.run("secrets", "set", "provider_token", stdin=HUSH).code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        made = {path.relative_to(directory).as_posix() for path in directory.rglob("*")}
        expected = {".lyrsvcgo.key"} if key == "beside" else {"keys", "keys/my.key"}
        assert {"x.db"} | expected <= made
        assert {path.stat().st_uid for path in directory.rglob("*")} == {1234}
        assert {path.stat().st_gid for path in directory.rglob("*")} == {1234}


@pytest.mark.spec("C-13", "E-67")
@pytest.mark.seed("S-105")
@pytest.mark.parametrize("words", [["set", "provider_token"], ["import"]])
@pytest.mark.parametrize("text", ["short", "A" * 43, base64.b64encode(bytes(31)).decode()])
def test_a_malformed_master_key_ends_the_command_and_nothing_is_made(shell: Shell, words, text):
    shell.environ |= {"LYRSVC_MASTER_KEY": text, "PROVIDER_TOKEN": HUSH}
    done = shell.run("secrets", *words, stdin=HUSH)
    assert (done.code, done.out) == (1, "")
    assert "LYRSVC_MASTER_KEY" in done.err
    assert HUSH not in done.err
    assert list(shell.home.iterdir()) == []


@pytest.mark.spec("C-13", "E-67")
@pytest.mark.seed("S-105")
@pytest.mark.parametrize("words", [["set", "provider_token"], ["import"]])
@pytest.mark.parametrize("kind", ["31 bytes", "directory"])
def test_a_key_file_that_cannot_be_used_ends_the_command(shell: Shell, words, kind):
    shell.environ["PROVIDER_TOKEN"] = HUSH
    path = key_file(shell)
    path.parent.mkdir(parents=True)
    if kind == "directory":
        path.mkdir()
    else:
        path.write_bytes(b"x" * 31)
    done = shell.run("secrets", *words, stdin=HUSH)
    assert (done.code, done.out) == (1, "")
    assert str(path) in done.err
    assert [one.name for one in path.parent.iterdir()] == [".lyrsvcgo.key"]
    assert path.is_dir() or path.read_bytes() == b"x" * 31


@pytest.mark.spec("C-13", "E-67")
@pytest.mark.seed("S-105")
@pytest.mark.skipif(os.geteuid() != 0, reason="root hands the files to somebody else")
def test_a_key_file_that_may_not_be_read_ends_the_command(shell: Shell):
    shell.run("secrets", "set", "provider_token", stdin="x")
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        key = directory / ".lyrsvcgo.key"
        key.write_bytes(b"k" * 32)
        key.chmod(0)
        os.chown(directory, 1234, 1234)
        shell.environ["LYRSVC_DB_PATH"] = str(directory / "x.db")
        child = os.fork()
        if child == 0:
            done = shell.run("secrets", "set", "provider_token", stdin=HUSH)
            told = "permission denied" in done.err and str(key) in done.err
            os._exit(done.code if told else 99)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
        assert [one.name for one in directory.iterdir()] == [".lyrsvcgo.key"]
        assert key.read_bytes() == b"k" * 32


@pytest.mark.seed("S-104")
def test_with_a_master_key_no_key_file_is_made(shell: Shell):
    text = base64.b64encode(bytes(range(32))).decode()
    shell.environ["LYRSVC_MASTER_KEY"] = f" {text}\n"
    assert shell.run("secrets", "set", "provider_token", stdin=HUSH).code == 0
    assert [path.name for path in shell.database.parent.iterdir()] == ["lyrsvcgo.db"]
    assert stored(shell, text)["provider_token"] == HUSH


@pytest.mark.seed("S-104")
@pytest.mark.parametrize("by", ["variable", "file"])
def test_the_place_of_the_key_file_can_be_chosen(shell: Shell, by):
    place = shell.home / "keys" / "my.key"
    if by == "variable":
        shell.environ["LYRSVC_SECRETS_KEY_FILE"] = str(place)
    else:
        shell.write_config(f'[secrets]\nkey_file = "{place}"\n')
    assert shell.run("secrets", "set", "provider_token", stdin=HUSH).code == 0
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700
    assert not key_file(shell).exists()


@pytest.mark.seed("S-109")
@pytest.mark.parametrize("words", [["set", "provider_token"], ["import", "--token"]])
def test_after_the_key_is_lost_set_and_import_repair_and_name_what_is_still_lost(
    shell: Shell, words
):
    for name in SECRETS:
        shell.run("secrets", "set", name, stdin="lost-value-1234")
    key_file(shell).unlink()
    shell.environ["PROVIDER_TOKEN"] = HUSH
    done = shell.run("secrets", *words, stdin=HUSH)
    assert done.code == 0
    assert "lyrsvc secrets set webhook_api_key" in done.err
    assert "lyrsvc secrets set provider_token" not in done.err
    assert stored(shell) == {"provider_token": HUSH, "webhook_api_key": None}


def test_a_key_file_open_to_others_is_warned_about(shell: Shell):
    shell.run("secrets", "set", "provider_token", stdin=HUSH)
    key_file(shell).chmod(0o644)
    done = shell.run("secrets", "set", "provider_token", stdin=HUSH)
    assert done.code == 0
    assert done.err.count("chmod 600") == 1


# -- import -------------------------------------------------------------------------------------


@pytest.mark.spec("C-43")
@pytest.mark.seed("S-093")
def test_import_takes_the_strongest_source_overwrites_and_names_every_copy(shell: Shell):
    shell.run("secrets", "set", "provider_token", stdin="stored-before-1234")
    config = shell.write_config('[api]\ntoken = "file-token-1234"\n')
    config.chmod(0o600)
    shell.environ["PROVIDER_TOKEN"] = "env-token-1234"
    done = shell.run("secrets", "import", "--token")
    assert (done.code, done.out) == (0, "imported provider_token\n")
    assert stored(shell)["provider_token"] == "env-token-1234"
    (reminder,) = [line for line in done.err.splitlines() if "delete the plaintext" in line]
    assert "PROVIDER_TOKEN in the environment" in reminder
    assert f"api.token in {config}" in reminder
    assert "-token-1234" not in done.out + done.err
    assert config.read_text() == '[api]\ntoken = "file-token-1234"\n'
    assert b"env-token" not in on_disk(shell.database.parent)


@pytest.mark.seed("S-093", "S-098")
def test_import_without_a_flag_takes_both(shell: Shell):
    shell.environ |= {"LYRSVC_API_TOKEN": "env-token-1234", "LYRSVC_WEBHOOK_API_KEY": HUSH}
    done = shell.run("secrets", "import")
    assert done.lines == ["imported provider_token", "imported webhook_api_key"]
    assert stored(shell) == {"provider_token": "env-token-1234", "webhook_api_key": HUSH}
    assert "LYRSVC_API_TOKEN in the environment" in done.err
    assert "LYRSVC_WEBHOOK_API_KEY in the environment" in done.err
    assert done.err.count("event=secret.stored") == 2


@pytest.mark.seed("S-093")
@pytest.mark.parametrize(
    ("flags", "names"),
    [
        (["--token"], ["provider_token"]),
        (["--webhook"], ["webhook_api_key"]),
        (["--token", "--webhook"], ["provider_token", "webhook_api_key"]),
        (["--webhook", "--token", "--quiet"], ["provider_token", "webhook_api_key"]),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_the_flags_of_import_are_switches(shell: Shell, flags, names, first):
    shell.environ |= {"PROVIDER_TOKEN": "env-token-1234", "LYRSVC_WEBHOOK_API_KEY": HUSH}
    place = ["--db", str(shell.home / "x.db")]
    words = (
        [*place, "secrets", "import", *flags] if first else ["secrets", "import", *flags, *place]
    )
    done = shell.run(*words)
    assert (done.code, done.lines) == (0, [f"imported {name}" for name in names])
    assert (shell.home / "x.db").exists()


@pytest.mark.parametrize("words", [["--token", HUSH], [f"--token={HUSH}"], [HUSH], ["-t", HUSH]])
def test_import_takes_no_value_and_repeats_none(shell: Shell, words):
    done = shell.run("secrets", "import", *words)
    assert (done.code, done.out) == (2, "")
    assert "hush" not in done.err
    assert list(shell.home.iterdir()) == []


@pytest.mark.seed("S-093")
def test_the_store_is_no_source_of_an_import(shell: Shell):
    shell.run("secrets", "set", "provider_token", stdin=HUSH)
    done = shell.run("secrets", "import", "--token")
    assert done.code == 1
    assert done.out == "skipped provider_token: no value in flags, environment or file\n"
    assert stored(shell)["provider_token"] == HUSH


@pytest.mark.parametrize(
    ("flags", "code"),
    [([], 0), (["--token"], 1), (["--webhook"], 1), (["--token", "--webhook"], 1)],
)
def test_an_import_of_nothing_makes_nothing(shell: Shell, flags, code):
    done = shell.run("secrets", "import", *flags)
    assert done.code == code
    assert all(line.startswith("skipped ") for line in done.lines)
    assert list(shell.home.iterdir()) == []


def test_what_is_there_is_imported_although_the_other_is_missing(shell: Shell):
    shell.environ["LYRSVC_WEBHOOK_API_KEY"] = HUSH
    assert shell.run("secrets", "import").code == 0
    done = shell.run("secrets", "import", "--token", "--webhook", "--json")
    assert done.code == 1
    assert done.json == {"imported": ["webhook_api_key"], "skipped": ["provider_token"]}
    assert stored(shell)["webhook_api_key"] == HUSH


def test_of_several_webhook_keys_the_first_is_stored_with_a_warning(shell: Shell):
    shell.environ["LYRSVC_WEBHOOK_API_KEY"] = f"{HUSH},another-key-1234567"
    done = shell.run("secrets", "import", "--webhook")
    assert done.code == 0
    assert "WARN" in done.err
    assert "the first is stored" in done.err
    assert "another-key" not in done.err
    assert stored(shell)["webhook_api_key"] == HUSH


@pytest.mark.seed("S-103")
def test_a_source_is_never_stored_by_itself(shell: Shell):
    shell.environ |= {"PROVIDER_TOKEN": "env-token-1234", "LYRSVC_WEBHOOK_API_KEY": HUSH}
    shell.run("secrets", "set", "webhook_api_key", stdin="typed-key-12345678")
    assert stored(shell) == {"provider_token": None, "webhook_api_key": "typed-key-12345678"}


def test_every_kind_of_copy_is_named(shell: Shell):
    (shell.home / "secret.txt").write_text("twin-token-1234\n")
    (shell.home / ".env").write_text("LYRSVC_API_TOKEN=dotted-1234\nPROVIDER_TOKEN=hidden-1234\n")
    shell.environ |= {
        "PROVIDER_TOKEN": "env-token-1234",
        "PROVIDER_TOKEN_FILE": str(shell.home / "secret.txt"),
    }
    done = shell.run("secrets", "import", "--token")
    (reminder,) = [line for line in done.err.splitlines() if "delete the plaintext" in line]
    places = reminder.partition("copies: ")[2].split(", ")
    assert places == [
        "PROVIDER_TOKEN in the environment",
        f"{shell.home / 'secret.txt'} (named by PROVIDER_TOKEN_FILE)",
        f"PROVIDER_TOKEN in {shell.home / '.env'}",
        f"LYRSVC_API_TOKEN in {shell.home / '.env'}",
    ]
    assert stored(shell)["provider_token"] == "env-token-1234"
    assert "1234" not in done.err.replace(str(shell.home), "")


# -- list ---------------------------------------------------------------------------------------


@pytest.mark.seed("S-094")
def test_list_shows_names_and_times_and_needs_no_key(shell: Shell):
    for name in reversed(SECRETS):
        shell.run("secrets", "set", name, stdin=HUSH)
    key_file(shell).write_bytes(b"broken")
    done = shell.run("secrets", "list")
    assert done.code == 0
    rows = [line.split("\t") for line in done.lines]
    assert [row[0] for row in rows] == list(SECRETS)
    assert all(len(row) == 2 and TIME.fullmatch(row[1]) for row in rows)
    assert set(shell.run("secrets", "list", "--json").json[0]) == {"name", "updated_at"}
    assert shell.run("secrets", "list", "--header").lines[0] == "name\tupdated_at"
    assert "hush" not in done.out + done.err


def test_list_without_a_database_makes_none(shell: Shell):
    done = shell.run("secrets", "list")
    assert (done.code, done.out) == (0, "")
    assert "no database at" in done.err
    assert list(shell.home.iterdir()) == []


@pytest.mark.spec("C-52")
@pytest.mark.seed("S-118")
@pytest.mark.parametrize("words", [["set", "provider_token"], ["import"], ["list"]])
def test_every_line_on_stderr_is_an_object_with_the_json_format(shell: Shell, words):
    shell.environ |= {"PROVIDER_TOKEN": HUSH, "LYRSVC_WEBHOOK_API_KEY": "a-key,another-key"}
    done = shell.run(
        "secrets", *words, "--log-format", "json", "--log-level", "debug", stdin="typed-1234"
    )
    assert done.err
    for line in done.err.splitlines():
        assert {"time", "level", "msg"} <= set(json.loads(line))
        assert HUSH not in line
        assert "typed-1234" not in line


def test_the_names_of_secrets_are_completed(shell: Shell):
    from lyrsvc.cli.completing import answer

    assert (
        answer(["secrets", "set", ""], {}, str(shell.home)) == "provider_token\nwebhook_api_key\n"
    )
    assert answer(["secrets", ""], {}, str(shell.home)) == "import\nlist\nset\n"
    assert "--webhook\n" in answer(["secrets", "import", "--token", "--"], {}, str(shell.home))
