"""The checks of the documentation find out what is wrong in a document."""

import pytest

from document_checks import (
    first_missing,
    is_broken,
    needs_another_machine,
)
from document_names import (
    is_missing_file,
    is_unknown_address,
    is_unknown_flag,
    is_unknown_setting,
    is_wrong_command_span,
    is_wrong_mention,
    unknown_metrics,
    unknown_variables,
    wrong_line,
)
from documented_home import DocumentedHome
from documents import Block, Command, read_document
from lyrsvc.demo.stand_in import StandIn
from source_tree import ROOT


def test_a_wrong_line_is_found_out():
    assert "unknown flag" in wrong_line("docker exec lyrsvc lyrsvc keys create --nmae x")
    assert "no such command" in wrong_line("lyrsvc queue lsit")
    assert wrong_line("lyrsvc queue retry ID | cat") == ""
    assert wrong_line("docker logs lyrsvc") == ""
    assert "no such verb" in wrong_line("python3 dev.py tset")
    assert "unknown flag" in wrong_line("python3 dev.py run keys create --nmae x")


@pytest.mark.parametrize(
    ("known", "unknown"),
    [
        ("api.cooldown", "api.cooldwn"),
        ("server.scan_schedule", "server.scan_shedule.at"),
        ("queue.retried", "queue.retired"),
        ("providers.shelf.base_url", "providers.shelve.base_url"),
    ],
)
def test_a_setting_that_does_not_exist_is_found_out(known, unknown):
    assert not is_unknown_setting(known)
    assert is_unknown_setting(unknown)


def test_other_names_that_do_not_exist_are_found_out():
    assert unknown_variables("LYRSVC_API_COOLDWN PROVIDER_TOKEN_FILE") == ["LYRSVC_API_COOLDWN"]
    assert unknown_metrics("lyrsvcgo_queue_items lyrsvcgo_queue_item") == ["lyrsvcgo_queue_item"]
    assert is_unknown_address("GET /api/v1/queues")
    assert not is_unknown_address("GET /api/v1/queue/{id}")
    assert is_missing_file("packaging/no-such-file")
    assert not is_missing_file("packaging/classifier/Dockerfile")
    assert is_unknown_flag("--watch")
    assert is_wrong_mention("lyrsvc queue lsit")
    assert is_wrong_mention("lyrsvc keys create --nmae lidarr")
    assert not is_wrong_mention("lyrsvc secrets set")
    assert is_wrong_command_span("queue retire ID")
    assert not is_wrong_command_span("queue retry ID")


def test_a_link_that_leads_nowhere_is_found_out(tmp_path):
    page = read_document(ROOT / "docs" / "README.md")

    assert is_broken(page, "instal.md")
    assert is_broken(page, "install.md#check-the-instalation")
    assert is_broken(page, "#no-such-heading")
    assert not is_broken(page, "install.md#check-the-installation")
    assert not is_broken(page, "https://elsewhere.example/")


def test_output_is_compared_line_by_line():
    printed = "one\n  two    three /home/you/x\nfour\n"

    assert first_missing(["one", "two three …", "four"], printed) is None
    assert first_missing(["four", "one"], printed) == "one"
    assert first_missing(["two four"], printed) == "two four"


@pytest.mark.needs_tool("bash")
def test_a_command_that_fails_or_never_comes_up_is_found_out(tmp_path):
    with StandIn() as upstream, DocumentedHome(tmp_path, upstream) as home:
        with pytest.raises(AssertionError, match="ended with 2"):
            home.run(Command(text="lyrsvc queue lsit", line=1))
        with pytest.raises(AssertionError, match="ended with 0"):
            home.run(Command(text="lyrsvc --version", line=1, ends_with=3, on_screen=True))
        with pytest.raises(AssertionError, match="unknown flag --lsiten"):
            home.run(Command(text="lyrsvc serve --lsiten x", line=1))
        home.run(Command(text="cd Music; WHERE=here", line=1))
        seen = home.run(Command(text="pwd; echo $WHERE; tty", line=1, on_screen=True))

    assert seen.splitlines()[:2] == ["/home/you/Music", "here"]
    assert "not a tty" not in seen


def test_blocks_are_divided_into_commands(tmp_path):
    block = Block(
        document=ROOT / "README.md",
        line=1,
        language="sh",
        text="# a note\necho one \\\n  two\n\ncat <<'END'\nx\nEND\necho three",
    )
    typed = Block(
        document=ROOT / "README.md",
        line=1,
        language="console",
        text="$ false   # ends with 1\n$ echo x\nx\n",
    )

    assert [command.text for command in block.commands] == [
        "echo one \\\n  two",
        "cat <<'END'\nx\nEND",
        "echo three",
    ]
    assert [(c.text, c.ends_with, c.shows) for c in typed.commands] == [
        ("false", 1, ()),
        ("echo x", 0, ("x",)),
    ]


def test_a_program_of_ours_never_needs_another_machine():
    assert not needs_another_machine("lyrsvc queue list")
    assert not needs_another_machine("curl http://127.0.0.1:3876/healthz")
    assert needs_another_machine("sudo systemctl restart lyrsvcgo-svc")
    assert needs_another_machine("python3 dev.py test tests/core")
