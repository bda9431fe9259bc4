"""Scanning on the command line."""

import os
import subprocess
import sys

import pytest

from builders import minimal_flac
from fakes import FakeClock
from lyrsvc.cli.completing import answer
from lyrsvc.cli.scan_commands import NICENESS, SUMMARY
from lyrsvc.store import locks
from lyrsvc.store.database import Database
from terminals import Shell


@pytest.fixture
def music(shell, tmp_path):
    root = tmp_path / "music"
    for number in range(3):
        minimal_flac(root / "album" / f"{number}.flac", title=f"Song {number}", artist="Marsh")
    shell.run("library", "add", str(root))
    return root


@pytest.mark.seed("S-062")
def test_a_scan_prints_a_line_for_each_library(shell: Shell, music, tmp_path):
    (tmp_path / "second").mkdir()
    minimal_flac(tmp_path / "second" / "x.flac", title="X", artist="Marsh")
    shell.run("library", "add", "second")

    done = shell.run("scan", "--header")

    assert done.code == 0
    rows = [dict(zip(SUMMARY, line.split("\t"), strict=True)) for line in done.lines[1:]]
    assert done.lines[0].split("\t") == list(SUMMARY)
    assert [(row["library"], row["seen"], row["new"], row["enqueued"]) for row in rows] == [
        ("music", "3", "3", "3"),
        ("second", "1", "1", "1"),
    ]
    again = shell.run("scan", "--library", "second", "--library", "2", "--json").json
    assert [(row["library"], row["unchanged"], row["state"]) for row in again] == [
        ("second", 1, "done")
    ]


def test_results_say_why_a_file_is_unreadable(shell: Shell, music):
    (music / "album" / "torn.flac").write_bytes(b"fLaC, but nothing behind it")
    shell.run("scan")

    (line,) = shell.run("scan", "results", "--status", "unreadable").lines
    (row,) = shell.run("scan", "results", "--status", "unreadable", "--json").json

    assert line.split("\t")[-1] == row["reason"] == "bad_container"
    assert {row["reason"] for row in shell.run("scan", "results", "--json").json[:3]} == {None}


@pytest.mark.spec("C-35")
@pytest.mark.seed("S-062")
@pytest.mark.parametrize(
    "flags",
    [
        ["--enrich", "--no-enrich"],
        ["--detect-instrumental", "--no-detect-instrumental"],
        ["--no-enrich", "--enrich"],
        ["--update", "--upgrade"],
        ["--force"],
        ["--force", "--upgrade"],
        ["--library"],
        ["--embedded-lyrics", "maybe"],
        ["somewhere"],
    ],
)
def test_flags_that_exclude_each_other_scan_nothing(shell, music, flags):
    done = shell.run("scan", *flags)

    assert done.code == 2
    assert shell.run("scan", "results").lines == []


@pytest.mark.seed("S-062", "S-015")
def test_flags_of_a_run_win_over_library_and_settings(shell, music):
    shell.run("library", "update", "music", "--enrich=true")

    shell.run("scan", "--no-enrich", "--detect-instrumental")

    rows = shell.run("scan", "results", "--json").json
    assert {row["duration_s"] for row in rows} == {None}
    with Database.open(shell.database, create=False, clock=FakeClock()) as db, db.read() as tx:
        items = tx.all("SELECT detect_instrumental, detect_origin FROM work_items")
    assert items == [{"detect_instrumental": 1, "detect_origin": "explicit"}] * 3


@pytest.mark.seed("S-063", "S-066")
def test_results_are_filtered_and_cleared_and_the_library_stays(shell, music):
    shell.run("scan")
    assert len(shell.run("scan", "results", "--library", "music", "--status", "pending").lines) == 3
    assert len(shell.run("scan", "results", "--limit", "2").lines) == 2

    told = shell.run("scan", "clear", "--library", "music")
    assert (told.code, told.lines) == (0, ["music\t3\t3\t0"])
    assert len(shell.run("scan", "results").lines) == 3

    done = shell.run("scan", "clear", "--library", "1", "--yes", "--json").json
    assert done == {
        "library": "music",
        "scan_rows": 3,
        "queue_cancelled": 3,
        "queue_trimmed": 0,
        "cleared": True,
    }
    assert shell.run("scan", "results").lines == []
    assert shell.run("queue", "list").lines == []
    assert len(shell.run("library", "list").lines) == 1
    assert shell.run("scan", "clear").code == 2


@pytest.mark.seed("S-063")
@pytest.mark.parametrize("library", ["second", "SECOND", "2"])
def test_results_of_one_library_are_shown_and_cleared_alone(shell, music, tmp_path, library):
    minimal_flac(tmp_path / "second" / "x.flac", title="X", artist="Marsh")
    shell.run("library", "add", "second")
    shell.run("scan")
    listed = ("scan", "results", "--json", "--library")
    assert [row["title"] for row in shell.run(*listed, library).json] == ["X"]

    assert shell.run("scan", "clear", "--library", library, "--yes").lines == ["second\t1\t1\t0"]

    assert shell.run(*listed, library).json == []
    assert len(shell.run(*listed, "music").json) == 3
    assert len(shell.run("library", "list").lines) == 2
    assert shell.run("scan", "clear", "--library", "third", "--yes").code == 1
    assert shell.run("scan", "results", "--library", "third").code == 1


def test_a_root_that_is_gone_ends_with_1_and_the_other_libraries_are_scanned(
    shell, music, tmp_path
):
    (tmp_path / "second").mkdir()
    minimal_flac(tmp_path / "second" / "x.flac", title="X", artist="Marsh")
    shell.run("library", "add", "second")
    music.rename(tmp_path / "away")

    done = shell.run("scan", "--json")

    assert done.code == 1
    assert [(row["library"], row["state"], row["reason"]) for row in done.json] == [
        ("music", "failed", "root_unavailable"),
        ("second", "done", ""),
    ]
    assert 'library "music" was not scanned to its end' in done.err


@pytest.mark.spec("E-45")
def test_a_library_that_stays_busy_ends_with_1(shell, music, clock, monkeypatch):
    monkeypatch.setattr("lyrsvc.cli.scan_commands.LOCK_WAIT_S", 0.01)
    with Database.open(shell.database, create=False, clock=clock) as db:
        from lyrsvc.clock import SystemClock

        now = SystemClock().now()
        db.write(lambda tx: locks.take(tx, "library:1", "other", info="scan there", now=now))

    done = shell.run("scan")

    assert (done.code, done.out) == (1, "")
    assert 'library "music" is busy (scan)' in done.err


def test_without_a_database_or_a_library_there_is_nothing_to_scan(shell):
    done = shell.run("scan")
    assert done.code == 1
    assert "library add PATH" in done.err
    assert not shell.database.exists()


def test_an_unknown_library_scans_nothing(shell, music):
    done = shell.run("scan", "--library", "music", "--library", "nope")
    assert done.code == 1
    assert 'no library "nope"' in done.err
    assert shell.run("scan", "results").lines == []


def test_update_tells_of_files_it_kept(shell, music):
    (music / "album" / "0.lrc").write_text("[00:01.00]x\n")

    done = shell.run("scan", "--update")

    assert "1 files of others were kept" in done.err
    (row,) = shell.run("scan", "--update", "--force", "--json").json
    assert row["foreign"] == 0


def test_odd_names_are_printable_in_every_listing(shell, music):
    minimal_flac(music / os.fsdecode(b"x\xff\n\t\x1b[2J.flac"), title="\x1b[31mred", artist="M")

    shell.run("scan")

    done = shell.run("scan", "results", terminal=True)
    assert "\x1b" not in done.out
    assert len(done.lines) == 5
    assert any(row.get("source_path_b64") for row in shell.run("scan", "results", "--json").json)


def test_completion_offers_the_words_behind_scan_and_its_flags(shell, music):
    def complete(*words):
        return answer(list(words), shell.environ, str(shell.home)).splitlines()

    assert complete("scan", "") == ["clear", "results"]
    assert complete("scan", "clear", "") == []
    assert "--accept-missing" in complete("scan", "--a")
    assert complete("scan", "--library", "") == ["music", "1"]


@pytest.mark.skipif(sys.platform != "linux", reason="only there a process can be looked at so")
def test_a_scan_leaves_the_processor_to_others_and_a_listing_does_not(shell, music):
    def niceness(*words):
        code = "import os; from lyrsvc.cli.main import run; run(); print(os.nice(0))"
        told = subprocess.run(
            [sys.executable, "-c", code, *words],
            env={"PATH": os.environ["PATH"], **shell.environ},
            capture_output=True,
            text=True,
            check=True,
        )
        return int(told.stdout.split()[-1]) - os.nice(0)

    assert niceness("scan") == NICENESS
    assert niceness("scan", "results") == 0
