"""Which command a line means, and what happens to lines that mean none."""

import pytest

from lyrsvc.cli.commands import BY_NAME, COMMANDS, GROUPS
from terminals import Shell

GLOBAL_FLAGS = [
    ["--config", "x.toml"],
    ["--db", "x.db"],
    ["--env-file", "none"],
    ["--log-level", "debug"],
    ["--log-format", "json"],
    ["--quiet"],
    ["-q"],
    ["--no-color"],
]


@pytest.mark.spec("C-32")
@pytest.mark.seed("S-090", "S-091", "S-096")
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_is_reachable_and_explains_itself_on_stdout(shell: Shell, command):
    done = shell.run(*command.words, "--help")
    assert done.code == 0
    assert done.err == ""
    assert command.help in " ".join(done.out.split())


@pytest.mark.spec("C-32")
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_an_unknown_flag_is_a_usage_error(shell: Shell, command):
    done = shell.run(*command.words, "--no-such-flag")
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith("lyrsvc: ")
    assert len(done.err.splitlines()) == 1


@pytest.mark.spec("C-32")
@pytest.mark.parametrize("words", GLOBAL_FLAGS, ids=lambda words: words[0])
def test_global_flags_stand_before_and_after_the_command(shell: Shell, words):
    (shell.home / "x.toml").write_text("")
    assert shell.run(*words, "queue", "list").code == 0
    assert shell.run("queue", "list", *words).code == 0
    assert shell.run("queue", *words, "list").code == 0


def test_a_value_of_a_global_flag_is_not_taken_for_a_command(shell: Shell):
    (shell.home / "serve").write_text("")
    assert shell.run("--config", "serve", "queue", "list").code == 0


@pytest.mark.parametrize(
    "words",
    [
        ["keys", "create", "--name", "x"],
        ["secrets", "set", "provider_token"],
        ["library", "add", "."],
    ],
    ids=lambda words: words[0],
)
def test_a_command_that_makes_the_database_names_its_place_once(shell: Shell, words):
    told = f"lyrsvc: made a new database: {shell.database}\n"
    first, second = (shell.run(*words, stdin="a-token") for _ in range(2))
    assert told in first.err
    assert told not in first.out
    assert "made a new database" not in second.err


def test_no_words_give_short_help_on_stderr(shell: Shell):
    done = shell.run()
    assert (done.code, done.out) == (2, "")
    assert "usage: lyrsvc" in done.err


@pytest.mark.parametrize(
    "words", [["--server"], ["--listen", "127.0.0.1:0"], ["--token=hush", "--upgrade"]]
)
def test_flags_without_a_word_are_told_that_something_is_missing(shell: Shell, words):
    done = shell.run(*words)
    assert (done.code, done.out) == (2, "")
    flag = words[0].partition("=")[0]
    assert done.err.startswith(f"lyrsvc: a line with {flag} alone names no song, no directory")
    assert "lyrsvc --serve --listen ADDR" in done.err
    assert "hush" not in done.err


@pytest.mark.parametrize("width", [200, 80, 40])
def test_help_fits_the_terminal(shell: Shell, width: int):
    for words in ((), ("serve",), ("scan",)):
        done = shell.run(*words, "--help", terminal=True, environ={"COLUMNS": str(width)})
        texts = [line for line in done.lines if line.startswith("    ")]
        assert max(map(len, texts)) <= min(width, 96)


@pytest.mark.parametrize(
    ("word", "hint"),
    [("qeue", 'did you mean the command "queue"?'), ("help", "see: lyrsvc --help")],
)
def test_a_word_that_means_nothing_is_told_of_commands(shell: Shell, word: str, hint: str):
    done = shell.run(word, "list")
    assert done.code == 2
    assert done.err.endswith(f"artist,title needs a comma; {hint}\n")


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["--quiet", "-h"]])
def test_help_before_a_command_lists_every_command(shell: Shell, words):
    done = shell.run(*words)
    assert done.code == 0
    assert all(command.name in done.out for command in COMMANDS)


@pytest.mark.parametrize(
    "words", [["--version"], ["-V"], ["--quiet", "--version"], ["-V", "queue"]]
)
def test_version_before_a_command(shell: Shell, words):
    done = shell.run(*words)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("lyrsvc ")


@pytest.mark.parametrize("group", sorted(GROUPS.keys() - BY_NAME.keys()))
def test_a_group_alone_names_its_commands(shell: Shell, group):
    done = shell.run(group)
    assert done.code == 2
    assert "./" not in done.err
    for command in COMMANDS:
        if command.words[0] == group and len(command.words) > 1:
            assert command.words[1] in done.err


@pytest.mark.parametrize("group", sorted(GROUPS))
def test_a_group_explains_itself(shell: Shell, group):
    done = shell.run(group, "--help")
    assert (done.code, done.err) == (0, "")
    assert GROUPS[group] in done.out or f"lyrsvc {group}" in done.out


def test_an_unknown_second_word_is_named(shell: Shell):
    done = shell.run("queue", "lst")
    assert done.code == 2
    assert '"queue lst"' in done.err


def test_an_incomplete_command_that_is_also_a_directory_hints_at_it(shell: Shell):
    (shell.home / "queue").mkdir()
    assert "use ./queue for the directory" in shell.run("queue").err


def test_a_command_wins_over_a_directory_of_its_name(shell: Shell):
    (shell.home / "queue").mkdir()
    assert shell.run("queue", "list").code == 0


def test_a_bad_filter_value_lists_the_good_ones(shell: Shell):
    done = shell.run("queue", "list", "--status", "bogus")
    assert done.code == 2
    assert '"bogus" is not one of pending, processing, done, failed, deferred' in done.err


@pytest.mark.parametrize("value", ["-1", "x", "1.5", "٣", ""])
def test_a_limit_is_a_whole_number(shell: Shell, value):
    assert shell.run("queue", "list", f"--limit={value}").code == 2


def test_a_flag_given_to_a_setting_out_of_its_choices_is_a_usage_error(shell: Shell):
    done = shell.run("queue", "list", "--log-level", "loud")
    assert done.code == 2
    assert "debug, info, warn, error" in done.err


def test_help_among_other_letters_is_help(shell: Shell):
    done = shell.run("library", "list", "-qh")
    assert done.code == 0
    assert done.out.startswith("usage: lyrsvc library list")


def test_help_names_the_opposite_of_a_switch(shell: Shell):
    assert "--web-ui, --no-web-ui" in shell.run("serve", "--help").out


def test_an_unknown_lane_on_the_command_line_is_a_mistake_in_it(shell: Shell):
    done = shell.run("--provider", "nope", "A,B")
    assert done.code == 2
    assert 'no lane "nope"' in done.err
    shell.write_config('[providers]\nprimary = "nope"\n')
    assert shell.run("A,B").code == 1
