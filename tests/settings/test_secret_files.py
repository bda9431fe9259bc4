"""Secrets in files that a variable points to."""

import base64

import pytest

KEY = base64.b64encode(bytes(range(32))).decode()


@pytest.mark.spec("C-03")
def test_a_token_file_is_used_without_its_trailing_line_break(machine):
    for content in (b"abc-def\n", b"abc-def\r\n", b"abc-def", b"\xef\xbb\xbfabc-def\n"):
        (machine.root / "token").write_bytes(content)
        loaded = machine.examine("", {"PROVIDER_TOKEN_FILE": str(machine.root / "token")})
        assert loaded.settings.api.token == "abc-def"
        assert loaded.source("api.token") == "env:PROVIDER_TOKEN_FILE"
        assert loaded.findings == ()


@pytest.mark.spec("C-03")
def test_the_plain_variable_wins_over_its_file_with_a_warning(machine):
    (machine.root / "token").write_text("from-the-file")
    env = {"PROVIDER_TOKEN": "plain", "PROVIDER_TOKEN_FILE": str(machine.root / "token")}
    loaded = machine.examine("", env)
    assert loaded.settings.api.token == "plain"
    assert loaded.warnings == (
        "PROVIDER_TOKEN and PROVIDER_TOKEN_FILE are both set; PROVIDER_TOKEN is used",
    )


def test_a_file_variable_of_a_stronger_name_wins_over_a_plain_weaker_one(machine):
    (machine.root / "token").write_text("from-the-file")
    env = {"PROVIDER_TOKEN_FILE": str(machine.root / "token"), "LYRSVC_API_TOKEN": "plain"}
    assert machine.value("api.token", "", env) == "from-the-file"


@pytest.mark.spec("C-03")
def test_a_secret_file_that_cannot_be_used_is_fatal(machine):
    (machine.root / "large").write_bytes(b"x" * (64 * 1024 + 1))
    (machine.root / "binary").write_bytes(b"\xff\xfe\xfd")
    for name, reason in [
        ("missing", "No such file"),
        (".", "Is a directory"),
        ("large", "larger than 64 KiB"),
        ("binary", "not UTF-8"),
    ]:
        loaded = machine.examine("", {"PROVIDER_TOKEN_FILE": str(machine.root / name)})
        [fault] = loaded.faults
        assert fault.startswith("PROVIDER_TOKEN_FILE: ")
        assert reason in fault


def test_a_secret_file_of_exactly_the_limit_is_read(machine):
    (machine.root / "token").write_bytes(b"x" * (64 * 1024))
    value = machine.value("api.token", "", {"PROVIDER_TOKEN_FILE": str(machine.root / "token")})
    assert len(value) == 64 * 1024


def test_a_blank_secret_file_counts_as_absent(machine):
    (machine.root / "token").write_text(" \n")
    env = {"PROVIDER_TOKEN_FILE": str(machine.root / "token"), "LYRSVC_API_TOKEN": "alias"}
    assert machine.value("api.token", "", env) == "alias"


def test_a_relative_secret_file_starts_at_the_working_directory_and_a_tilde_is_the_home(machine):
    (machine.cwd / "token").write_text("near")
    (machine.home / "token").write_text("at-home")
    assert machine.value("api.token", "", {"PROVIDER_TOKEN_FILE": "token"}) == "near"
    assert machine.value("api.token", "", {"PROVIDER_TOKEN_FILE": "~/token"}) == "at-home"


def test_a_list_of_secrets_may_be_divided_by_commas_or_lines(machine):
    first, second, third = (f"key-number-{n}-0123456" for n in "123")
    (machine.root / "keys").write_text(f"{first},{second}\n\n {third} \n")
    env = {"LYRSVC_WEBHOOK_API_KEY_FILE": str(machine.root / "keys")}
    assert machine.value("server.webhook_api_keys", "", env) == (first, second, third)


@pytest.mark.parametrize(
    ("name", "content", "path"),
    [
        ("PROVIDER_TOKEN", "abcdef", "api.token"),
        ("LYRSVC_API_TOKEN", "abcdef", "api.token"),
        ("LYRSVC_WEBHOOK_API_KEY", "key-0123456789abcdef", "server.webhook_api_keys"),
        ("LYRSVC_MASTER_KEY", KEY, "environment.master_key"),
    ],
)
def test_each_secret_has_a_file_twin(machine, name, content, path):
    (machine.root / "secret").write_text(content + "\n")
    loaded = machine.examine("", {f"{name}_FILE": str(machine.root / "secret")})
    assert loaded.findings == ()
    assert loaded.source(path) == f"env:{name}_FILE"


@pytest.mark.spec("C-04")
def test_the_bootstrap_password_is_never_read_from_a_file(machine):
    (machine.root / "password").write_text("a long password")
    env = {"LYRSVC_WEBAUTH_ADMIN_PASSWORD_FILE": str(machine.root / "password")}
    loaded = machine.examine("", env)
    assert loaded.settings.environment.admin_password == ""
    [text] = loaded.warnings
    assert "LYRSVC_WEBAUTH_ADMIN_PASSWORD_FILE is never read" in text
    assert loaded.faults == ()


def test_a_setting_that_is_no_secret_has_no_file_twin(machine):
    loaded = machine.examine("", {"LYRSVC_API_COOLDOWN_FILE": "/etc/hostname"})
    assert loaded.warnings == (
        'unknown variable "LYRSVC_API_COOLDOWN_FILE"; did you mean "LYRSVC_API_COOLDOWN"?',
    )


@pytest.mark.parametrize("text", [KEY, f"  {KEY}\n", f"\n{KEY}\r\n"])
def test_blanks_around_a_master_key_do_not_matter(machine, text):
    loaded = machine.examine("", {"LYRSVC_MASTER_KEY": text})
    assert loaded.findings == ()
    assert loaded.settings.environment.master_key == KEY


@pytest.mark.parametrize(
    "text",
    [
        "short",
        KEY.rstrip("="),
        KEY[:-4] + "!!!=",
        base64.b64encode(bytes(31)).decode(),
        base64.b64encode(bytes(33)).decode(),
        base64.urlsafe_b64encode(bytes([255] * 32)).decode(),
        KEY[:20] + " " + KEY[20:],
    ],
)
def test_a_malformed_master_key_is_fatal_and_never_shown(machine, text):
    loaded = machine.examine("", {"LYRSVC_MASTER_KEY": text})
    [fault] = loaded.faults
    assert fault.startswith("LYRSVC_MASTER_KEY: must be standard base64 of exactly 32 bytes")
    assert text not in fault


@pytest.mark.parametrize(
    "keys", [["has blank"], ["has,comma"], ["ünï"], ["x" * 513], ["tab\there"], ["del\x7f"]]
)
def test_a_webhook_key_is_printable_ascii_without_comma_or_blank_and_never_shown(machine, keys):
    import json

    loaded = machine.examine(f"[server]\nwebhook_api_keys = {json.dumps(keys)}\n")
    [fault] = loaded.faults
    assert "server.webhook_api_keys" in fault
    assert keys[0] not in fault


def test_short_webhook_keys_work_with_a_warning(machine):
    loaded = machine.examine('[server]\nwebhook_api_keys = ["short"]\n')
    assert loaded.settings.server.webhook_api_keys == ("short",)
    [text] = loaded.warnings
    assert "16 characters" in text
    assert machine.examine(f'[server]\nwebhook_api_keys = ["{"x" * 16}"]\n').warnings == ()


@pytest.mark.parametrize(("mode", "warned"), [(0o600, 0), (0o640, 1), (0o604, 1), (0o620, 0)])
def test_a_file_with_a_secret_that_others_may_read_is_warned_about(machine, mode, warned):
    for toml in ('[api]\ntoken = "secret-token"\n', 'api.token = """secret-token"""\n'):
        machine.write(toml)
        machine.config.chmod(mode)
        # the secret in the file counts although a variable hides it
        for env in ({}, {"PROVIDER_TOKEN": "another-token"}):
            assert len(machine.examine(None, env).warnings) == warned
    machine.write("[api]\ncooldown = 3\n")
    machine.config.chmod(mode)
    assert machine.examine().warnings == ()
