"""The ``.env`` file."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.settings.dotenv import filled, read_dotenv
from lyrsvc.settings.registry import Registry

REGISTRY = Registry()


def read(text):
    return read_dotenv(text, ".env", REGISTRY).variables


@pytest.mark.spec("C-14")
def test_only_known_names_are_taken_and_set_ones_win_and_bad_lines_are_numbered(machine):
    (machine.cwd / ".env").write_text(
        "LYRSVC_SCAN_DEPTH=7\n"
        "PATH=/evil\n"
        "LD_PRELOAD=/evil.so\n"
        "this is no assignment and holds s3cret\n"
        "LYRSVC_API_COOLDOWN=30\n"
    )
    loaded = machine.examine("", {"LYRSVC_API_COOLDOWN": "20", "PATH": "/usr/bin"})
    assert loaded.settings.scan.depth == 7
    assert loaded.source("scan.depth") == "env:LYRSVC_SCAN_DEPTH"
    assert loaded.settings.api.cooldown == 20
    assert loaded.environ["PATH"] == "/usr/bin"
    assert "LD_PRELOAD" not in loaded.environ
    [text] = loaded.warnings
    assert "line 4" in text
    assert "s3cret" not in text


def test_an_empty_variable_is_filled_from_the_file(machine):
    (machine.cwd / ".env").write_text("LYRSVC_SCAN_DEPTH=7\n")
    assert machine.value("scan.depth", "", {"LYRSVC_SCAN_DEPTH": ""}) == 7
    assert machine.value("scan.depth", "", {"LYRSVC_SCAN_DEPTH": " "}) == 7


def test_the_file_names_secret_files_and_the_config_file_too(machine):
    (machine.root / "token").write_text("from-a-file\n")
    other = machine.root / "other.toml"
    other.write_text("[scan]\ndepth = 9\n")
    (machine.cwd / ".env").write_text(
        f"PROVIDER_TOKEN_FILE={machine.root}/token\nLYRSVC_CONFIG={other}\n"
    )
    loaded = machine.examine("")
    assert loaded.settings.api.token == "from-a-file"
    assert loaded.config_path == other
    assert loaded.settings.scan.depth == 9


def test_the_bootstrap_password_is_never_taken_from_it(machine):
    (machine.cwd / ".env").write_text(
        "LYRSVC_WEBAUTH_ADMIN_USER=me\nexport LYRSVC_WEBAUTH_ADMIN_PASSWORD='long-password'\n"
    )
    loaded = machine.examine("")
    assert loaded.settings.environment.admin_user == "me"
    assert loaded.settings.environment.admin_password == ""
    [text] = loaded.warnings
    assert "LYRSVC_WEBAUTH_ADMIN_PASSWORD is taken from the environment only" in text
    assert "long-password" not in text
    real = machine.examine("", {"LYRSVC_WEBAUTH_ADMIN_PASSWORD": "real-password"})
    assert real.settings.environment.admin_password == "real-password"


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("PROVIDER_TOKEN=abc", "abc"),
        ("  export   PROVIDER_TOKEN = abc  ", "abc"),
        ("PROVIDER_TOKEN=abc # comment", "abc"),
        ("PROVIDER_TOKEN=abc#no-comment", "abc#no-comment"),
        ("PROVIDER_TOKEN=#abc", "#abc"),
        ("PROVIDER_TOKEN= # only a comment", ""),
        ("PROVIDER_TOKEN=", ""),
        ("PROVIDER_TOKEN='a # b' # c", "a # b"),
        ('PROVIDER_TOKEN="a \\"b\\" # c"', 'a "b" # c'),
        ('PROVIDER_TOKEN="back\\\\slash \\n stays"', "back\\slash \\n stays"),
        ("PROVIDER_TOKEN='$HOME `id` \\n'", "$HOME `id` \\n"),
        ("PROVIDER_TOKEN=$HOME", "$HOME"),
        ("PROVIDER_TOKEN=a b c", "a b c"),
        ("PROVIDER_TOKEN=a=b", "a=b"),
        ("PROVIDER_TOKEN=it's", "it's"),
        ("PROVIDER_TOKEN='äöü 歌'", "äöü 歌"),
    ],
)
def test_the_forms_of_a_line(line, value):
    assert read(line) == {"PROVIDER_TOKEN": value}


@pytest.mark.parametrize(
    "line",
    [
        "PROVIDER_TOKEN",
        "export PROVIDER_TOKEN",
        "=abc",
        "1PROVIDER_TOKEN=abc",
        "PROVIDER_TOKEN='abc",
        'PROVIDER_TOKEN="abc',
        "PROVIDER_TOKEN='a'b",
        "PROVIDER_TOKEN=a\0b",
        "PROVIDER-TOKEN=abc",
    ],
)
def test_a_bad_line_is_skipped_with_its_number(line):
    found = read_dotenv(f"# fine\n\n{line}\nLYRSVC_SCAN_DEPTH=1\n", "x.env", REGISTRY)
    assert found.variables == {"LYRSVC_SCAN_DEPTH": "1"}
    assert [finding.text for finding in found.findings] == [
        "x.env line 3 is not NAME=value; skipped"
    ]


def test_windows_line_ends_a_byte_order_mark_and_odd_separators_do_no_harm():
    text = "\ufeffLYRSVC_SCAN_DEPTH=3\r\n# x\r\nPROVIDER_TOKEN=a\u2028b\x0cc\r\n"
    assert read(text) == {"LYRSVC_SCAN_DEPTH": "3", "PROVIDER_TOKEN": "a\u2028b\x0cc"}


def test_the_last_of_two_equal_names_counts():
    assert read("LYRSVC_SCAN_DEPTH=1\nLYRSVC_SCAN_DEPTH=2\n") == {"LYRSVC_SCAN_DEPTH": "2"}


@given(st.text())
def test_no_text_brings_the_reader_down_or_an_unknown_name_in(text):
    assert all(REGISTRY.knows_variable(name) for name in read(text))


@given(st.text(st.characters(exclude_characters="'\r\n\0", codec="utf-8")))
def test_whatever_stands_between_single_quotes_comes_out(value):
    assert read(f"PROVIDER_TOKEN='{value}'") == {"PROVIDER_TOKEN": value}


def test_filling_keeps_what_is_set():
    assert filled({"A": "1", "B": ""}, {"A": "2", "B": "3", "C": "4"}) == {
        "A": "1",
        "B": "3",
        "C": "4",
    }


class TestWhichFile:
    def test_a_named_file_is_read_instead(self, machine):
        (machine.cwd / ".env").write_text("LYRSVC_SCAN_DEPTH=1\n")
        (machine.cwd / "mine.env").write_text("LYRSVC_SCAN_DEPTH=2\n")
        (machine.home / "home.env").write_text("LYRSVC_SCAN_DEPTH=3\n")
        assert machine.value("scan.depth", "") == 1
        assert machine.value("scan.depth", "", env_file_flag="mine.env") == 2
        assert machine.value("scan.depth", "", env_file_flag="~/home.env") == 3
        assert machine.value("scan.depth", "", env_file_flag="none") == 100
        assert machine.value("scan.depth", "", env_file_flag=" ") == 1

    def test_a_named_file_that_cannot_be_read_is_a_fault_beside_the_others(self, machine):
        loaded = machine.examine("[api]\ncooldown = true\n", env_file_flag="missing.env")
        assert len(loaded.faults) == 2
        assert loaded.faults[0].startswith("--env-file: cannot read ")

    def test_a_default_file_that_cannot_be_read_is_a_warning(self, machine):
        (machine.cwd / ".env").mkdir()
        loaded = machine.examine("")
        assert loaded.faults == ()
        [text] = loaded.warnings
        assert "Is a directory; ignored" in text

    def test_a_default_file_that_is_no_text_is_a_warning(self, machine):
        (machine.cwd / ".env").write_bytes(b"\xff\xfe")
        [text] = machine.examine("").warnings
        assert "not UTF-8" in text

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
    def test_a_default_file_without_permission_is_a_warning(self, machine):
        (machine.cwd / ".env").write_text("")
        (machine.cwd / ".env").chmod(0)
        [text] = machine.examine("").warnings
        assert "Permission denied" in text

    def test_no_file_is_nothing_to_speak_of(self, machine):
        assert machine.examine("").findings == ()


def test_a_misspelt_name_of_ours_is_warned_of(machine):
    (machine.cwd / ".env").write_text("LYRSVC_API_COOLDWN=5\nOTHER=1\n")
    assert list(machine.examine("").warnings) == [
        'unknown variable "LYRSVC_API_COOLDWN"; did you mean "LYRSVC_API_COOLDOWN"?'
    ]
