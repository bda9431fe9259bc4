"""What may stand at the cursor."""

import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from lyrsvc.cli.commands import COMMANDS, GROUPS
from lyrsvc.cli.completing import answer, unquote
from terminals import Shell


@pytest.fixture
def complete(shell: Shell):
    def at(*words: str, **environ: str) -> list[str]:
        return answer(
            list(words), {**shell.environ, **environ}, shell.working_directory
        ).splitlines()

    return at


@pytest.mark.spec("C-46")
@pytest.mark.seed("S-096")
def test_the_first_word_is_a_command(complete):
    names = {command.words[0] for command in COMMANDS}
    assert complete("") == sorted(names)
    assert complete("qu") == ["queue"]
    assert complete() == sorted(names)


@pytest.mark.spec("C-46")
@pytest.mark.parametrize("group", sorted(GROUPS))
def test_after_a_group_come_its_own_commands_once(complete, group):
    own = sorted(c.words[1] for c in COMMANDS if c.words[0] == group and len(c.words) > 1)
    assert complete(group, "") == own
    assert complete(group, own[0], "") != own


@pytest.mark.spec("C-46")
def test_flags_of_the_leaf_and_global_ones_not_yet_given(complete):
    assert complete("queue", "list", "--s") == ["--status"]
    assert complete("queue", "list", "--status", "done", "--s") == []
    assert complete("queue", "list", "--status=done", "--s") == []
    flags = complete("queue", "list", "-")
    assert {"--limit", "--json", "--config", "--db", "--log-level", "-q"} <= set(flags)
    assert "--listen" not in flags
    assert flags == sorted(flags)


@pytest.mark.spec("C-46")
def test_before_any_word_flags_of_fetching_and_of_serving_are_offered(complete):
    assert complete("--up") == ["--update", "--upgrade"]
    assert complete("--fr") == ["--from"]
    assert complete("--lis") == ["--listen"]
    assert complete("--upgrade", "--up") == ["--update"]


@pytest.mark.spec("C-46")
def test_values_of_closed_lists(complete):
    statuses = ["deferred", "done", "failed", "pending", "processing"]
    assert complete("queue", "list", "--status", "") == statuses
    assert complete("queue", "list", "--status=d") == ["--status=deferred", "--status=done"]
    assert complete("completion", "") == ["bash", "fish", "zsh"]
    assert complete("queue", "list", "--log-level", "") == ["debug", "error", "info", "warn"]
    assert complete("serve", "--provider", "") == ["defaultprov", "lrclib", "lrclib-dump"]


@pytest.mark.spec("C-46")
@pytest.mark.seed("S-096")
def test_library_names_are_live(complete, add_library):
    add_library("Foo")
    add_library("-dash")
    add_library("Bar")
    expected = ["--library=-dash", "Bar", "Foo", "1", "2", "3"]
    assert sorted(complete("scan", "results", "--library", "")) == sorted(expected)
    assert complete("scan", "results", "--library=Fo") == ["--library=Foo"]
    assert complete("library", "update", "") == ["Bar", "Foo", "1", "2", "3"]  # -dash: by its id
    assert complete("library", "update", "--", "-") == ["-dash"]


def test_settings_and_their_values(complete):
    assert complete("config", "get", "api.co") == ["api.cooldown"]
    assert complete("config", "set", "logging.format", "") == ["text", "json"]
    assert complete("config", "set", "logging.format", "j") == ["json"]
    assert complete("config", "get", "api.cooldown", "") == []


def test_no_flags_after_two_dashes(complete):
    assert complete("queue", "list", "--", "-") == []


def test_paths_and_free_text_are_left_to_the_shell(complete):
    assert complete("queue", "list", "--config", "") == []
    assert complete("queue", "list", "--limit", "") == []


def test_flags_before_the_command_do_not_confuse(complete):
    assert complete("--log-level", "debug", "queue", "li") == ["list"]
    assert complete("--log-level", "de") == ["debug"]
    assert "--version" in complete("--")


def test_descriptions_when_asked_for(complete):
    (line,) = complete("queue", "l", LYRSVC_COMPLETE_DESCRIPTIONS="1")
    assert line == "list\tList work items."


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("plain", "plain"),
        ("a\\ b", "a b"),
        ("'a b", "a b"),
        ('"a \\$ \\x', "a $ \\x"),
        ("'it'\\''s'", "it's"),
        ("$(rm)", "$(rm)"),
        ("\\", ""),
    ],
)
def test_bash_words_are_unquoted_leniently(typed, meant):
    assert unquote(typed) == meant


def listing(directory: Path) -> list[tuple[str, int, int]]:
    return sorted((p.name, p.stat().st_size, p.stat().st_mtime_ns) for p in directory.rglob("*"))


@pytest.mark.spec("C-48")
@pytest.mark.seed("S-096")
@pytest.mark.parametrize("state", ["none", "locked", "damaged", "at rest"])
def test_asking_changes_nothing_and_says_nothing(shell: Shell, add_library, database, state):
    add_library("Foo")
    database.close()
    holder = None
    if state == "none":
        shutil.rmtree(shell.database.parent)
    elif state == "damaged":
        shell.database.write_bytes(b"not a database" * 500)
    elif state == "locked":
        holder = sqlite3.connect(shell.database, isolation_level=None)
        holder.execute("PRAGMA journal_mode=DELETE")
        holder.execute("BEGIN EXCLUSIVE")
    before = listing(shell.home)
    done = subprocess.run(
        [sys.executable, "-m", "lyrsvc", "__complete", "scan", "results", "--library", ""],
        capture_output=True,
        text=True,
        env=shell.environ,
        check=False,
    )
    if holder is not None:
        holder.close()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == ("Foo\n1\n" if state == "at rest" else "")
    assert listing(shell.home) == before


@pytest.mark.parametrize("words", [["--library"], ["\udcff"], ["--", "--"], ["x" * 100_000], ["-"]])
def test_odd_words_never_end_in_an_error(complete, words):
    complete("scan", "results", *words)
    complete(*words, "")
