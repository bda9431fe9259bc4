"""Realign on the command line."""

import json
import os
import re
import stat

import pytest

from builders import minimal_flac
from fakes import FakeClock
from lyrsvc.cli.completing import answer
from lyrsvc.cli.realign_commands import COLUMNS, SUMMARY
from lyrsvc.store import locks
from lyrsvc.store.database import Database
from terminals import Shell
from typing_terminal import on_a_terminal, read_until

ISRC = "USABC1234567"
MBID = "11111111-1111-4111-8111-111111111111"
WORDS = "[00:01.00]We hung the lanterns\n"


@pytest.fixture
def music(shell, tmp_path):
    root = tmp_path / "music"
    minimal_flac(root / "a" / "02 - New.flac", title="Hello", artist="Marsh", isrc=ISRC)
    (root / "a" / "old.lrc").write_text(f"[isrc:{ISRC}]\n{WORDS}")
    (root / "a" / "old.txt").write_text("words\n")
    minimal_flac(root / "b" / "09 World.flac", title="World", artist="Marsh")
    (root / "b" / "World.lrc").write_text(WORDS)
    minimal_flac(root / "c" / "Part 2.flac", title="Part 2", artist="Marsh")
    (root / "c" / "Part 1.lrc").write_text(WORDS)
    shell.run("library", "add", str(root))
    return root


def sidecars(root):
    return {
        str(path.relative_to(root)) for path in root.rglob("*") if path.suffix in (".lrc", ".txt")
    }


def backups(shell: Shell):
    return sorted(shell.database.parent.glob("realign-backup-*.jsonl"))


@pytest.mark.seed("S-046")
def test_without_yes_only_the_plan_is_printed(shell: Shell, music):
    before = sidecars(music)

    done = shell.run("realign", "--header")

    assert done.code == 0
    rows = [dict(zip(COLUMNS, line.split("\t"), strict=True)) for line in done.lines[1:]]
    assert done.lines[0].split("\t") == list(COLUMNS)
    assert [(row["action"], row["method"]) for row in rows] == [
        ("would-move", "exact"),
        ("would-move", "exact"),
        ("would-move", "heuristic"),
        ("skip", "ambiguous"),
    ]
    assert rows[0]["new_path"] == str(music / "a" / "02 - New.lrc")
    assert all(row["reason"] for row in rows)
    assert "dirs 4, orphans 3, planned 2, applied 0" in done.err
    assert "add --yes" in done.err
    assert sidecars(music) == before
    assert backups(shell) == []


@pytest.mark.seed("S-046", "S-047")
def test_yes_moves_and_names_the_backup_and_undo_restores(shell: Shell, music):
    before = sidecars(music)

    done = shell.run("realign", "--yes", "--json")

    assert done.code == 0
    assert list(done.json["summary"]) == list(SUMMARY)
    assert done.json["summary"] | {"dirs": 0} == {
        "dirs": 0, "orphans": 3, "planned": 2, "applied": 2, "gated": 0, "ambiguous": 1,
        "conflict": 0, "errors": 0,
    }  # fmt: skip
    [backup] = backups(shell)
    assert done.json["backup"] == str(backup)
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    lines = [json.loads(line) for line in backup.read_text().splitlines()]
    assert [list(line) for line in lines] == [["old_path", "new_path", "library_id", "method"]] * 3
    assert sidecars(music) == {"a/02 - New.lrc", "a/02 - New.txt", "b/09 World.lrc", "c/Part 1.lrc"}

    told = shell.run("realign", "--undo", str(backup))
    assert (told.code, len(told.lines)) == (0, 3)
    assert "add --yes" in told.err
    undone = shell.run("realign", "--undo", str(backup), "--yes")
    assert undone.code == 0
    assert [line.split("\t")[0] for line in undone.lines] == ["moved"] * 3
    assert sidecars(music) == before
    assert len(backups(shell)) == 2
    again = shell.run("realign", "--undo", str(backup), "--yes", "--json")
    assert (again.code, again.json["summary"]["already"]) == (0, 3)


@pytest.mark.seed("S-047")
def test_the_backup_may_be_named_and_must_be_openable(shell: Shell, music, tmp_path):
    refused = shell.run("realign", "--yes", "--backup", str(tmp_path / "nowhere" / "x.jsonl"))
    assert refused.code == 1
    assert "cannot open the backup" in refused.err
    assert "a/old.lrc" in sidecars(music)

    done = shell.run("realign", "--yes", "--backup", "mine.jsonl")
    assert done.code == 0
    assert len((shell.working_directory / "mine.jsonl").read_text().splitlines()) == 3
    assert "mine.jsonl" in done.err
    assert backups(shell) == []


@pytest.mark.seed("S-048")
def test_settings_and_flags_decide_what_counts(shell: Shell, music):
    shell.write_config("[realign]\nrequire_provenance = true\n")
    gated = shell.run("realign", "--json").json["summary"]
    assert (gated["planned"], gated["gated"]) == (1, 1)
    free = shell.run("realign", "--no-require-provenance", "--json").json["summary"]
    assert (free["planned"], free["gated"]) == (2, 0)
    shell.write_config("[realign]\nidentity_keys = []\n")
    assert shell.run("realign", "--json").json["summary"]["planned"] == 1

    shell.write_config("")
    (music / "b" / "World.lrc").rename(music / "b" / "Wold.lrc")
    assert shell.run("realign", "--json").json["summary"]["planned"] == 2
    strict = shell.run("realign", "--min-confidence", "1", "--json").json["summary"]
    assert strict["planned"] == 1
    minimal_flac(music / "b" / "10 Sea.flac", title="Sea", artist="Marsh")
    (music / "b" / "Sea.lrc").write_text(WORDS)
    assert shell.run("realign", "--json").json["summary"]["planned"] == 1
    assert shell.run("realign", "--name-match", "--json").json["summary"]["planned"] == 3
    wide = shell.run("realign", "--name-match", "--min-margin", "0.99", "--json")
    assert wide.json["summary"]["planned"] == 2  # "Wold" is not as sure as "Sea"


@pytest.fixture
def shelves(shell, tmp_path):
    """Give one orphan for every setting, each in a directory of its own."""
    root = tmp_path / "shelves"
    minimal_flac(root / "away" / "New.flac", title="Far", artist="Marsh", isrc=ISRC)
    (root / "far" / "old.lrc").parent.mkdir()
    (root / "far" / "old.lrc").write_text(f"[isrc:{ISRC}]\n{WORDS}")
    minimal_flac(root / "alike" / "1.flac", title="Color", artist="Marsh")
    (root / "alike" / "Colour.lrc").write_text(WORDS)
    minimal_flac(root / "near" / "1.flac", title="Harbour", artist="Marsh")
    minimal_flac(root / "near" / "2.flac", title="Harbor", artist="Marsh")
    (root / "near" / "2.txt").write_text("words\n")
    (root / "near" / "Harbour.lrc").write_text(WORDS)
    for number, title in enumerate(("Sea", "Pier")):
        minimal_flac(root / "many" / f"{number}.flac", title=title, artist="Marsh")
        (root / "many" / f"{title}.lrc").write_text(WORDS)
    minimal_flac(root / "ids" / "x.flac", title="Hm", artist="Marsh", mbid=MBID)
    minimal_flac(root / "ids" / "y.flac", title="Hm", artist="Marsh", isrc="USABC1234568")
    (root / "ids" / "old.lrc").write_text(f"[mbid:{MBID}]\n[isrc:USABC1234568]\n{WORDS}")
    shell.run("library", "add", str(root))
    return root


@pytest.mark.seed("S-048")
@pytest.mark.parametrize("by_variable", [False, True], ids=["file", "variable"])
@pytest.mark.parametrize(
    ("key", "value", "gained", "lost"),
    [
        ("require_provenance", "true", set(), {"alike/1.lrc"}),
        ("cross_directory", "true", {"away/New.lrc"}, set()),
        ("min_confidence", "0.99", set(), {"alike/1.lrc"}),
        ("min_margin", "0.01", {"near/1.lrc"}, set()),
        ("name_match", "true", {"many/0.lrc", "many/1.lrc"}, set()),
        ("identity_keys", '["isrc", "mbid"]', {"ids/y.lrc"}, {"ids/x.lrc"}),
    ],
)
def test_every_setting_counts_from_file_and_environment(
    shell: Shell, shelves, key, value, gained, lost, by_variable
):
    def planned(environ=None):
        rows = shell.run("realign", "--json", environ=environ).json["results"]
        moves = [row["new_path"] for row in rows if row["action"] == "would-move"]
        return {os.path.relpath(path, shelves) for path in moves}

    usual = planned()
    assert usual == {"alike/1.lrc", "ids/x.lrc"}
    if by_variable:
        text = value.strip("[]").replace('"', "")
        found = planned({f"LYRSVC_REALIGN_{key.upper()}": text})
    else:
        shell.write_config(f"[realign]\n{key} = {value}\n")
        found = planned()
    assert (found - usual, usual - found) == (gained, lost)


@pytest.mark.parametrize(
    "flags",
    [
        ["--min-confidence", "2"],
        ["--min-confidence", "much"],
        ["--min-margin", "-1"],
        ["--min-margin", "nan"],
        ["--name-match", "--no-name-match"],
        ["--undo", "x", "--library", "music"],
        ["--undo", "x", "--name-match"],
        ["--backup"],
        ["somewhere"],
    ],
)
def test_a_wrong_line_moves_nothing(shell: Shell, music, flags):
    before = sidecars(music)
    assert shell.run("realign", "--yes", *flags).code == 2
    assert sidecars(music) == before


def test_a_library_that_is_unknown_unreachable_or_busy_is_an_error(shell: Shell, music, tmp_path):
    unknown = shell.run("realign", "--library", "Nope")
    assert (unknown.code, 'no library "Nope"' in unknown.err) == (1, True)

    second = tmp_path / "second"
    minimal_flac(second / "x.flac", title="X", artist="Marsh")
    shell.run("library", "add", str(second))
    second.rename(tmp_path / "away")
    away = shell.run("realign", "--yes", "--json")
    assert (away.code, away.json["summary"]["applied"]) == (1, 2)
    assert "cannot be reached" in away.err
    (tmp_path / "away").rename(second)

    shell.clock = FakeClock()
    with Database.open(shell.database, create=False, clock=shell.clock) as db:
        name = locks.library_lock(2)
        now = shell.clock.now()
        db.write(lambda tx: locks.take(tx, name, "them", info="scan elsewhere", now=now))
    busy = shell.run("realign", "--yes", "--library", "second")
    assert busy.code == 1
    assert "is busy (scan)" in busy.err


def test_a_failed_move_is_an_error(shell: Shell, music, monkeypatch):
    from lyrsvc.files import moving

    def refuse(old, new):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(moving, "_rename", refuse)
    done = shell.run("realign", "--yes", "--json")
    assert (done.code, done.json["summary"]["errors"]) == (1, 2)
    assert all("read-only" in row["reason"] for row in done.json["results"][:3])


def test_a_bad_backup_is_told_and_the_good_lines_are_undone(shell: Shell, music, tmp_path):
    shell.run("realign", "--yes")
    [backup] = backups(shell)
    with backup.open("a") as file:
        file.write("nonsense\n")
    done = shell.run("realign", "--undo", str(backup), "--yes")
    assert done.code == 1
    assert "line 4: it is not JSON" in done.out
    assert "a/old.lrc" in sidecars(music)
    assert shell.run("realign", "--undo", str(tmp_path / "nowhere")).code == 1


def test_odd_names_are_shown_safely(shell: Shell, music):
    name = os.fsdecode(b"\xff odd\x1b[31m.lrc")
    (music / "c" / name).write_text(WORDS)
    done = shell.run("realign")
    assert "\\xff odd\\x1b[31m.lrc" in done.out
    assert "\x1b" not in done.out
    row = next(r for r in shell.run("realign", "--json").json["results"] if "[31m" in r["old_path"])
    assert row["old_path_b64"]


def test_a_watched_run_shows_its_progress_and_no_database_is_said(shell: Shell, music):
    seen = shell.run("realign", watched=True, environ={"TERM": "xterm"})
    assert "directories" in seen.err
    assert seen.err.rstrip("\n").splitlines()[-1].endswith("add --yes to do it")
    shell.database.unlink()
    missing = shell.run("realign")
    assert (missing.code, "no database at" in missing.err) == (1, True)


def test_completion_offers_libraries(shell: Shell, music):
    offered = answer(["realign", "--library", ""], shell.environ, str(shell.home)).splitlines()
    assert "music" in [word.partition("\t")[0] for word in offered]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_the_files_that_root_names_are_opened_as_root(shell: Shell, music, tmp_path):
    shell.run("realign")  # all imports done before the forks
    mine = tmp_path / "root's"
    mine.mkdir(mode=0o700)
    for place in (
        shell.database.parent,
        music,
        *music.rglob("*"),
        *shell.database.parent.iterdir(),
    ):
        os.chown(place, 1234, 1234)
    for parent in (tmp_path, *tmp_path.parents[:3], *shell.database.parents[1:4]):
        parent.chmod(0o755)
    before = sidecars(music)
    for words in (["--backup", str(mine / "b.jsonl")], ["--undo", str(mine / "b.jsonl")]):
        child = os.fork()
        if child == 0:
            os._exit(shell.run("realign", "--yes", *words).code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        if words[0] == "--backup":
            assert sidecars(music) != before
    assert sidecars(music) == before
    assert {path.stat().st_uid for path in shell.database.parent.iterdir()} == {1234}


@pytest.mark.parametrize(("command", "header"), [("realign", b"action"), ("scan", b"libra")])
def test_rows_are_not_written_onto_the_progress_line(shell: Shell, music, command, header):
    child, screen = on_a_terminal(shell.home, command)
    seen = read_until(screen, None)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert re.search(rb"\d (files|directories)", seen)  # there was one
    assert re.search(rb"[\r\n]" + header, seen)
