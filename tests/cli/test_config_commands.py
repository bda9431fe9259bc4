"""Looking at settings and saving them, as a user types it."""

import os
import shutil
import stat
import tempfile
import tomllib
from pathlib import Path

import pytest

from terminals import Shell

COMMENTED = """\
# my settings
[api]
# be kind
cooldown   =  15   # seconds

[unknown]
kept = true

[server]
addr = "127.0.0.1:3876"
"""


@pytest.mark.spec("C-01")
def test_a_value_follows_flag_variable_alias_file_default(shell: Shell):
    def value() -> tuple[str, str]:
        row = next(
            r for r in shell.run("config", "list", "--json").json if r["setting"] == "logging.level"
        )
        return row["value"], row["source"]

    assert value() == ("info", "default")
    shell.write_config('[logging]\nlevel = "warn"\n')
    assert value() == ("warn", "file")
    shell.environ["LYRSVC_LOGGING_LEVEL"] = "debug"
    assert value() == ("debug", "env:LYRSVC_LOGGING_LEVEL")
    shell.environ["LYRSVC_LOG_LEVEL"] = "error"
    assert value() == ("error", "env:LYRSVC_LOG_LEVEL")
    done = shell.run("config", "get", "logging.level", "--json", "--log-level", "info")
    assert (done.json["value"], done.json["source"]) == ("info", "flag")


def test_list_can_show_only_what_was_changed(shell: Shell):
    shell.write_config("[api]\ncooldown = 20\n")
    assert shell.run("config", "list", "--changed").lines == ["api.cooldown\t20\tfile"]


@pytest.mark.spec("C-15")
@pytest.mark.seed("S-080")
def test_set_changes_one_line_of_a_commented_file(shell: Shell):
    path = shell.write_config(COMMENTED)
    path.chmod(0o640)
    done = shell.run("config", "set", "api.cooldown", "20")
    assert (done.code, done.out) == (0, "api.cooldown=20\n")
    assert "applies at the next restart" in done.err
    assert path.read_text() == COMMENTED.replace("=  15 ", "=  20 ")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_set_makes_a_private_file_when_there_is_none(shell: Shell):
    assert shell.run("config", "set", "providers.primary", "lrclib").code == 0
    assert tomllib.loads(shell.config.read_text()) == {"providers": {"primary": "lrclib"}}
    assert stat.S_IMODE(shell.config.stat().st_mode) == 0o600


@pytest.mark.spec("C-16")
@pytest.mark.seed("S-032")
@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (
            ["server.scan_schedule.frequency", "weekly"],
            "also needs at (HH:MM) and day (weekday name)",
        ),
        (["server.scan_schedule.frequency=daily"], "also needs at (HH:MM)"),
        (["server.tls.cert_file=/tmp/x.pem"], "cert_file and key_file need each other"),
        (
            ["providers.primary", "nosuch"],
            'no lane "nosuch"; known: defaultprov, lrclib, lrclib-dump',
        ),
        (["api.cooldown", "-5"], "outside 0..86400"),
        (["api.cooldown", "soon"], "whole number"),
        (["server.addr", "nowhere"], "host:port"),
    ],
)
def test_a_bad_combination_leaves_the_file_as_it_is(shell: Shell, words, complaint):
    path = shell.write_config(COMMENTED)
    before = path.stat()
    done = shell.run("config", "set", *words)
    assert done.code == 1
    assert complaint in done.err
    assert path.read_text() == COMMENTED
    assert path.stat().st_mtime_ns == before.st_mtime_ns


@pytest.mark.seed("S-032")
def test_a_group_is_saved_at_once(shell: Shell):
    words = ["frequency=weekly", "at=03:30", "day=Sunday"]
    done = shell.run("config", "set", *(f"server.scan_schedule.{word}" for word in words))
    assert done.code == 0
    schedule = tomllib.loads(shell.config.read_text())["server"]["scan_schedule"]
    assert schedule == {"frequency": "weekly", "at": "03:30", "day": "sunday"}


@pytest.mark.seed("S-032")
@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["unset", "server.scan_schedule.at"], "also needs at (HH:MM)"),
        (["unset", "server.scan_schedule.day"], "also needs day (weekday name)"),
        (["set", "server.scan_schedule.at="], "also needs at (HH:MM)"),
        (["set", "server.scan_schedule.at=9:30"], "clock time HH:MM"),
        (["set", "server.scan_schedule.at=24:00"], "clock time HH:MM"),
        (["set", "server.scan_schedule.day=Sun"], "one of monday"),
        (["set", "server.scan_schedule.frequency=monthly"], "one of off, hourly"),
    ],
)
def test_a_complete_schedule_cannot_be_made_incomplete(shell: Shell, words, complaint):
    schedule = '[server.scan_schedule]\nfrequency = "weekly"\nat = "03:30"\nday = "sunday"\n'
    path = shell.write_config(schedule)
    done = shell.run("config", *words)
    assert done.code == 1
    assert complaint in done.err
    assert path.read_text() == schedule


def test_unset_takes_the_line_out(shell: Shell):
    path = shell.write_config(COMMENTED)
    assert shell.run("config", "unset", "server.addr").code == 0
    assert path.read_text() == COMMENTED.replace('addr = "127.0.0.1:3876"\n', "")


@pytest.mark.parametrize("key", ["api.token", "server.webhook_api_keys"])
def test_a_secret_is_never_taken_from_the_command_line(shell: Shell, key):
    done = shell.run("config", "set", key, "s3cret-value-1234")
    assert done.code == 2
    assert "secrets set" in done.err
    assert "s3cret" not in done.err
    assert not shell.config.exists()


def test_a_setting_that_a_variable_wins_over_is_saved_with_a_warning(shell: Shell):
    shell.environ["LYRSVC_API_COOLDOWN"] = "30"
    done = shell.run("config", "set", "api.cooldown", "20")
    assert done.code == 0
    assert "LYRSVC_API_COOLDOWN wins" in done.err
    assert tomllib.loads(shell.config.read_text())["api"]["cooldown"] == 20
    done = shell.run("config", "unset", "api.cooldown")
    assert "api.cooldown is not in the file now, but LYRSVC_API_COOLDOWN wins" in done.err


@pytest.mark.spec("C-19")
@pytest.mark.seed("S-103")
def test_a_secret_of_the_environment_is_never_written(shell: Shell):
    shell.environ |= {
        "PROVIDER_TOKEN": "env-token-123456",
        "LYRSVC_WEBHOOK_API_KEY": "env-key-12345678",
    }
    assert shell.run("config", "set", "api.cooldown", "20").code == 0
    assert "env-" not in shell.config.read_text()


@pytest.mark.spec("C-55")
def test_a_save_leaves_an_audit_line_at_any_level(shell: Shell):
    done = shell.run("config", "set", "api.cooldown", "20", "--log-level", "error")
    (line,) = [line for line in done.err.splitlines() if " audit " in line]
    assert "event=setting.changed" in line
    assert "actor=cli:tester" in line
    assert "setting=api.cooldown" in line
    assert "new=20" in line


@pytest.mark.spec("C-20")
@pytest.mark.parametrize(
    "text",
    [
        '[api]\ntoken = "tok-secret-123"\n',
        'api.token = "tok-secret-123"\n',
        'api = { token = "tok-secret-123" }\n',
        '[api]\ntoken = """\ntok-secret-123"""\n',
    ],
)
def test_a_token_is_shown_only_when_revealed(shell: Shell, text):
    shell.write_config(text).chmod(0o600)
    for words in (["get", "api.token"], ["list"], ["list", "--json"], ["check"]):
        done = shell.run("config", *words)
        assert "tok-secret" not in done.out + done.err
    assert shell.run("config", "get", "api.token").out == "[REDACTED]\n"
    assert shell.run("config", "get", "api.token", "--reveal").out == "tok-secret-123\n"


def test_an_unknown_key_names_the_nearest(shell: Shell):
    done = shell.run("config", "get", "api.cooldwn")
    assert (done.code, done.out) == (2, "")
    assert 'did you mean "api.cooldown"?' in done.err


@pytest.mark.spec("C-05")
def test_unknown_names_are_warned_about_and_strict_makes_them_faults(shell: Shell):
    shell.write_config("[servr]\nx = 1\n[api]\ncooldwn = 3\n")
    shell.environ["LYRSVC_API_COOLDWN"] = "3"
    done = shell.run("config", "check")
    assert done.code == 0
    hints = [line.rpartition("did you mean ")[2] for line in done.lines]
    assert hints == ['"server"?', '"api.cooldown"?', '"LYRSVC_API_COOLDOWN"?']
    assert shell.run("config", "check", "--strict").code == 1
    assert shell.run("queue", "list").code == 0


@pytest.mark.spec("C-06")
def test_three_faults_are_three_lines(shell: Shell):
    shell.write_config(
        '[api]\ncooldown = "x"\n[logging]\nformat = "xml"\n[server.trusted_networks]\ncidrs = ["1.2.3.4/99"]\n'
    )
    done = shell.run("queue", "list")
    assert done.code == 1
    lines = done.err.splitlines()
    assert len(lines) == 3
    assert all(line.startswith("lyrsvc: ") for line in lines)
    for name in ("api.cooldown", "logging.format", "server.trusted_networks.cidrs"):
        assert name in done.err


def test_malformed_toml_names_line_and_column(shell: Shell):
    shell.write_config("[api]\ncooldown = = 3\n")
    done = shell.run("queue", "list")
    assert done.code == 1
    assert "line 2" in done.err
    assert "column" in done.err


def test_a_named_file_must_exist_but_set_may_make_it(shell: Shell):
    assert shell.run("queue", "list", "--config", "my.toml").code == 1
    assert shell.run("config", "set", "api.cooldown", "3", "--config", "my.toml").code == 0
    assert (shell.home / "my.toml").read_text() == "[api]\ncooldown = 3\n"


def test_a_broken_file_can_be_explained(shell: Shell):
    shell.write_config("[api]\ncooldown = 'x'\n")
    done = shell.run("config", "check", "--json")
    assert done.code == 1
    assert len(done.json["faults"]) == 1


@pytest.mark.spec("C-08")
@pytest.mark.seed("S-112", "S-117")
def test_paths_follow_the_situation(shell: Shell):
    def path() -> str:
        return shell.run("config", "get", "db.path").out.strip()

    assert path() == str(shell.database)
    shell.environ |= {"XDG_DATA_HOME": "/x/data", "XDG_CONFIG_HOME": "/x/config"}
    assert path() == "/x/data/lyrsvcgo-svc/lyrsvcgo.db"
    shell.environ["LYRSVC_DOCKER"] = "true"
    assert path() == "/config/lyrsvcgo.db"
    shell.environ = {"LYRSVC_DOCKER": "false"}
    done = shell.run("config", "get", "db.path")
    assert done.code == 1
    assert "LYRSVC_DB_PATH" in done.err


@pytest.mark.spec("C-52")
@pytest.mark.seed("S-118")
@pytest.mark.parametrize(
    "words",
    [
        ["queue", "list"],
        ["config", "list"],
        ["config", "set", "api.cooldown", "20"],
        ["config", "set", "api.cooldown", "-20"],
        ["scan", "results", "--library", "x"],
        ["config", "get", "api.cooldown", "--config", "missing.toml"],
        ["library", "list", "--db", "/dev/null"],
    ],
)
def test_every_line_on_stderr_is_an_object_with_the_json_format(shell: Shell, database, words):
    import json

    shell.write_config("[servr]\nx = 1\n[api]\ncooldown = 99999999\n")
    done = shell.run(*words, "--log-format", "json", "--log-level", "debug")
    assert done.err
    for line in done.err.splitlines():
        assert {"time", "level", "msg"} <= set(json.loads(line))


@pytest.mark.seed("S-118")
def test_two_variables_decide_form_and_amount_of_what_is_told(shell: Shell):
    import json

    shell.environ["LYRSVC_API_COOLDOWN"] = "soon"
    assert " WARN  lyrsvc.settings api.cooldown from " in shell.run("config", "list").err
    shell.environ["LYRSVC_LOG_FORMAT"] = "json"
    [line] = shell.run("config", "list").err.splitlines()
    assert (json.loads(line)["level"], json.loads(line)["logger"]) == ("warn", "lyrsvc.settings")
    shell.environ["LYRSVC_LOG_LEVEL"] = "error"
    assert shell.run("config", "list").err == ""


@pytest.mark.spec("C-12")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_command_of_root_leaves_no_file_of_root_in_a_directory_of_another(shell: Shell, database):
    shell.run("queue", "list")  # whatever is imported on the way is there after the fork
    database.close()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        shutil.copy(shell.database, directory / "x.db")
        for path in (directory, directory / "x.db"):
            os.chown(path, 1234, 1234)
        shell.environ["LYRSVC_LOG_FILE"] = str(directory / "logs" / "l.log")
        child = os.fork()
        if child == 0:
            os._exit(shell.run("queue", "list", "--db", str(directory / "x.db")).code)
        assert os.waitpid(child, 0)[1] == 0
        assert {path.stat().st_uid for path in directory.rglob("*")} == {1234}
        assert (directory / "logs" / "l.log").exists()


@pytest.mark.spec("C-01")
def test_a_stored_secret_is_listed_with_its_source(shell: Shell):
    shell.run("secrets", "set", "provider_token", stdin="tok-12345678\n")
    rows = {row["setting"]: row for row in shell.run("config", "list", "--json").json}
    assert rows["api.token"]["source"] == "store"
    assert rows["api.token"]["value"] == "[REDACTED]"
    assert rows["server.webhook_api_keys"]["source"] == "default"
    assert shell.run("config", "get", "api.token").out == "[REDACTED]\n"
    assert shell.run("config", "get", "api.token", "--reveal").out == "tok-12345678\n"
    listed = shell.run("config", "list", "--changed").out
    assert "api.token" in listed
    shell.environ["LYRSVC_API_TOKEN"] = "another-token"
    given = shell.run("config", "get", "api.token", "--json").json
    assert given["source"] == "env:LYRSVC_API_TOKEN"


def test_only_a_list_takes_several_words(shell: Shell):
    refused = shell.run("config", "set", "server.instance_name", "Living", "Room")
    assert refused.code == 2
    assert "takes one value" in refused.err
    assert not shell.config.exists()
    assert shell.run("config", "set", "server.allowed_hosts", "a.example", "b.example").code == 0
    saved = tomllib.loads(shell.config.read_text())
    assert saved["server"]["allowed_hosts"] == ["a.example", "b.example"]


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("api.cooldown= 7 ", "api.cooldown=7"),
        ("logging.level=WARNING", "logging.level=warn"),
        ("output.dir=my lyrics", "output.dir=my lyrics"),
        ("server.web_ui_enabled=yes", "server.web_ui_enabled=true"),
        ("server.allowed_hosts=a.example,b.example", "server.allowed_hosts=a.example, b.example"),
        (
            "providers.lrclib.base_url=https://bob:s3cretpw@mirror.example",
            "providers.lrclib.base_url=https://[REDACTED]@mirror.example",
        ),
    ],
)
def test_what_is_told_is_what_was_saved(shell: Shell, typed, shown):
    assert shell.run("config", "set", typed).lines == [shown]


def test_an_empty_list_can_be_saved_and_what_is_not_there_is_not_removed(shell: Shell):
    assert shell.run("config", "set", "realign.identity_keys", "[]").code == 0
    assert tomllib.loads(shell.config.read_text())["realign"]["identity_keys"] == []
    assert shell.run("config", "set", "realign.identity_keys", "").out == (
        "realign.identity_keys removed\n"
    )
    assert shell.run("config", "unset", "realign.identity_keys").out == (
        "realign.identity_keys was not in the file\n"
    )


def test_a_relative_path_is_saved_as_it_was_typed(shell: Shell):
    assert shell.run("config", "set", "output.dir", " my lyrics ").out == "output.dir=my lyrics\n"
    assert tomllib.loads(shell.config.read_text())["output"]["dir"] == "my lyrics"
