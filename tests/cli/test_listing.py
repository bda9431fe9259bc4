"""The output contract: tables, tab-separated rows, JSON, and nothing that a terminal obeys."""

import io
import json
import re
import subprocess
import sys
from unicodedata import normalize

import pytest

from lyrsvc.cli.listing import Form, print_rows
from lyrsvc.cli.scan_commands import SUMMARY
from lyrsvc.store.schema_version import newest_version
from lyrsvc.store.sqlite import SqliteEngine
from queue_cases import Queue, a_wish
from terminals import Shell


@pytest.mark.spec("C-36")
@pytest.mark.seed("S-091")
def test_queue_list_shows_50_rows_unless_told_otherwise(shell: Shell, add_items):
    add_items(60)
    assert len(shell.run("queue", "list").lines) == 50
    assert len(shell.run("queue", "list", "--limit", "0").lines) == 60
    assert len(shell.run("queue", "list", "--limit", "7").lines) == 7


@pytest.mark.spec("C-36")
def test_json_holds_every_column(shell: Shell, add_items):
    add_items(3)
    rows = shell.run("queue", "list", "--json").json
    assert len(rows) == 3
    columns = {
        "id",
        "status",
        "priority",
        "attempts",
        "due_at",
        "artist",
        "title",
        "album",
        "reason",
    }
    assert all(columns <= set(row) for row in rows)
    assert rows[0]["detect_instrumental"] == {"value": None, "origin": None}


@pytest.mark.spec("C-36")
@pytest.mark.seed("S-050")
@pytest.mark.parametrize("words", [("list",), ("deferred",), ("list", "--status", "deferred")])
def test_json_links_an_item_to_its_audio(shell: Shell, database, words):
    queue = Queue(database)
    queue.enqueue(a_wish("Known", stem="known"), a_wish("Bare", stem=None))
    queue.miss(queue.claim())
    queue.miss(queue.claim())
    rows = shell.run("queue", *words, "--json").json
    links = {row["title"]: [target["source_path"] for target in row["targets"]] for row in rows}
    assert links == {"Known": ["/music/known.flac"], "Bare": [""]}


@pytest.mark.spec("C-36")
@pytest.mark.seed("S-052", "S-091")
def test_failed_and_deferred_are_apart(shell: Shell, add_items):
    add_items(2, status="failed", artist_key="f")
    add_items(3, status="deferred", artist_key="d")
    assert len(shell.run("queue", "failed").lines) == 2
    assert len(shell.run("queue", "deferred").lines) == 3
    assert len(shell.run("queue", "list", "--status", "deferred").lines) == 3


def test_rows_come_by_priority_then_id(shell: Shell, add_items):
    add_items(2, artist_key="scan")
    add_items(2, artist_key="hook", priority=10)
    ids = [line.split("\t")[0] for line in shell.run("queue", "list").lines]
    assert ids == ["3", "4", "1", "2"]


def test_a_pipe_gets_no_header_unless_asked(shell: Shell, add_items):
    add_items(1)
    plain = shell.run("queue", "list").lines
    headed = shell.run("queue", "list", "--header").lines
    assert headed[1:] == plain
    assert headed[0].split("\t")[:3] == ["id", "status", "priority"]
    assert plain[0].split("\t")[4] == "2026-01-31T14:05:06.123Z"


def test_a_terminal_gets_an_aligned_table_cut_to_its_width(shell: Shell, add_items):
    add_items(2, artist="宇多田ヒカル" * 10, title="x" * 300)
    lines = shell.run("queue", "list", terminal=True, environ={"COLUMNS": "100"}).lines
    assert lines[0].startswith("id")
    from lyrsvc.core.display import display_width

    assert all(display_width(line) <= 100 for line in lines)
    assert "…" in lines[1]


def test_names_are_cut_before_words_that_mean_something():
    out = io.StringIO()
    row = {
        "status": "deferred",
        "due_at": "2026-01-31T14:05:06Z",
        "artist": "A" * 40,
        "reason": "rejected_content",
    }
    print_rows(out, tuple(row), [row], Form(terminal=True, width=60))
    shown = out.getvalue().splitlines()[1]
    assert re.fullmatch(r"deferred  2026-\d\d-\d\d \d\d:\d\d:06  A+…  rejected_content", shown)


def shown(width: int, *rows: dict[str, object]) -> str:
    out = io.StringIO()
    print_rows(out, tuple(rows[0]), rows, Form(terminal=True, width=width))
    return out.getvalue()


@pytest.mark.parametrize("width", [80, 60, 40, 20])
def test_where_a_row_is_too_long_it_gets_more_lines_and_no_name_of_a_column_is_cut(width):
    row = dict.fromkeys(SUMMARY, 0) | {"library": "Music", "seen": 1_234_567}
    text = shown(width, row)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    assert text.split() == [*SUMMARY, "Music", "1234567", *["0"] * 9]


@pytest.mark.parametrize("width", [120, 80, 40, 24])
def test_what_is_wrong_and_what_helps_is_read_to_its_end_however_narrow(width):
    finding = {
        "check": "database",
        "state": "warn",
        "detail": "there is none at /home/somebody/.local/share/lyrsvcgo-svc/lyrsvcgo.db",
        "remedy": "start lyrsvc serve once, or set LYRSVC_DB_PATH to the database it uses",
    }
    text = shown(width, finding, {"check": "sqlite", "state": "ok", "detail": "3.45", "remedy": ""})
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    assert "…" not in text
    assert all(lines)  # where nothing is to be done, no line is left empty
    if width < 120:
        assert " ".join(finding["remedy"].split()) in " ".join(text.split())


def test_a_remedy_stands_in_lines_of_its_own_where_two_columns_would_be_slim():
    text = shown(60, {"check": "key", "state": "warn", "detail": "d " * 30, "remedy": "r " * 40})
    first_words = [line.split()[0] for line in text.splitlines()]
    assert first_words == ["check", "remedy", "key", "d", "r", "r"]


def test_an_id_that_is_longer_than_those_before_it_is_shown_whole():
    rows = [{"id": number, "title": "T" * 70} for number in range(800, 1100)]
    lines = shown(40, *rows).splitlines()[1:]
    assert [int(line.split()[0]) for line in lines] == list(range(800, 1100))
    assert {len(line) for line in lines} == {40}


def test_on_a_usual_terminal_names_and_times_of_the_queue_are_readable(shell: Shell, add_items):
    add_items(1, artist="Nina Simone", title="Feeling Good " * 2)
    done = shell.run("queue", "list", terminal=True, environ={"COLUMNS": "80", "TZ": "UTC"})
    assert "…" not in done.out
    for word in ("due_at", "Nina Simone", "Feeling Good Feeling Good", "Album", ":05:06"):
        assert word in done.out


def test_where_a_backup_lies_is_told_whole(shell: Shell, database):
    done = shell.run("backup", terminal=True, environ={"COLUMNS": "50"})
    [archive] = (shell.database.parent / "backups").iterdir()
    assert str(archive) in "".join(done.out.split())


def test_of_two_long_paths_the_names_of_the_files_are_seen():
    out = io.StringIO()
    row = {"old_path": f"/{'m' * 60}/01 Old.lrc", "new_path": f"/{'m' * 60}/01 New.lrc"}
    print_rows(out, ("old_path", "new_path"), [row], Form(terminal=True, width=60))
    assert out.getvalue().count("…") == 2
    assert "01 Old.lrc" in out.getvalue()
    assert "01 New.lrc" in out.getvalue()


@pytest.mark.spec("C-50")
@pytest.mark.parametrize("terminal", [False, True])
def test_nothing_is_sent_raw_that_a_terminal_would_obey(shell: Shell, add_items, terminal):
    add_items(1, artist="\x1b]0;owned\x07\tA\nB", title="\x9b31m\u202eevil")
    done = shell.run("queue", "list", terminal=terminal, environ={"COLUMNS": "300"})
    assert not set(done.out) & set("\x1b\x07\x9b\u202e")
    assert len(done.lines) == (2 if terminal else 1)
    assert "\\x1b" in done.out


def test_names_that_are_no_text_carry_their_bytes_in_json():
    from io import StringIO

    from lyrsvc.cli.listing import Form, print_rows

    out = StringIO()
    row = {"path": b"/m/\xff.flac".decode("utf-8", "surrogateescape")}
    print_rows(out, ("path",), [row], Form(json=True))
    assert json.loads(out.getvalue()) == [{"path": "/m/\ufffd.flac", "path_b64": "L20v/y5mbGFj"}]
    out = StringIO()
    print_rows(out, ("path",), [row], Form())
    assert out.getvalue() == "/m/\\xff.flac\n"


def test_an_empty_listing_is_an_empty_array(shell: Shell, database):
    assert shell.run("queue", "list", "--json").json == []
    assert shell.run("queue", "list").out == ""


def test_without_a_database_a_listing_is_empty_and_none_is_made(shell: Shell):
    done = shell.run("queue", "list", "--json")
    assert (done.code, done.json) == (0, [])
    assert f"no database at {shell.database}; nothing to list" in done.err
    assert not shell.database.parent.exists()


def test_a_newer_database_is_refused_with_both_versions(shell: Shell, database):
    database.write(
        lambda tx: tx.run(
            "INSERT INTO schema_migrations (version, name, sha256, applied_at)"
            " VALUES (99, 'later', 'x', '2026-01-31T14:05:06.123Z')"
        )
    )
    database.close()
    done = shell.run("queue", "list")
    assert done.code == 1
    known = newest_version(SqliteEngine("").steps_directory)
    assert f"database schema 99 is newer than this program ({known}); upgrade lyrsvc" in done.err


def test_libraries_are_listed_with_their_overrides(shell: Shell, add_library):
    add_library("Music", "/music")
    assert shell.run("library", "list").lines == ["1\tMusic\t/music\tinherit\tinherit\t0\t"]
    row = shell.run("library", "list", "--json").json[0]
    assert (row["enrich"], row["files"], row["last_scan"]) == (None, 0, None)


def test_an_unknown_library_names_the_known_ones(shell: Shell, add_library):
    add_library("Music")
    done = shell.run("scan", "results", "--library", "Musik")
    assert done.code == 1
    assert 'no library "Musik"; known: Music' in done.err


@pytest.mark.spec("C-50")
def test_a_reader_that_goes_away_is_no_error(shell: Shell, add_items):
    add_items(20_000)
    command = (
        f"'{sys.executable}' -m lyrsvc queue list --limit 0 --db '{shell.database}' | head -1;"
        " echo ${PIPESTATUS[0]}"
    )
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, env=shell.environ, check=True
    )
    first, code = done.stdout.splitlines()
    assert first.startswith("1\t")
    assert code == "0"
    assert done.stderr == ""


def test_text_is_kept_as_it_is(shell: Shell, add_items):
    title = normalize("NFD", "Été")
    add_items(1, title=title)
    assert title in shell.run("queue", "list").out
