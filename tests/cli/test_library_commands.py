"""Looking after libraries on the command line."""

import os
from pathlib import Path

import pytest

from builders import minimal_flac
from fakes import FakeClock
from lyrsvc.store import libraries
from lyrsvc.store.database import Database
from terminals import Shell


@pytest.fixture
def music(tmp_path) -> Path:
    root = tmp_path / "music"
    for name in ("a", "b"):
        minimal_flac(root / name / f"{name}.flac", title=name, artist="Quillon Marsh")
    return root


def stored(shell: Shell, name: str):
    with (
        Database.open(shell.database, create=False, clock=FakeClock()) as db,
        db.read() as tx,
    ):
        return libraries.find(tx, name)


@pytest.mark.seed("S-061", "S-065")
def test_a_library_is_added_listed_changed_and_removed(shell, music):
    added = shell.run("library", "add", str(music), "--name", "Rock", "--enrich")
    assert (added.code, added.lines) == (0, [f"1\tRock\t{music}"])
    assert "event=library.added" in added.err

    listed = shell.run("library", "list")
    assert listed.lines == [f"1\tRock\t{music}\ton\tinherit\t0\t"]

    changed = shell.run("library", "update", "rock", "--name", "Jazz", "--enrich=inherit")
    assert (changed.code, changed.lines) == (0, [f"1\tJazz\t{music}"])
    assert "event=library.changed" in changed.err

    shown = shell.run("library", "remove", "Jazz")
    assert (shown.code, shown.lines) == (0, ["Jazz\t0\t0"])
    assert "--yes" in shown.err
    assert len(shell.run("library", "list").lines) == 1

    removed = shell.run("library", "remove", "1", "--yes")
    assert (removed.code, removed.lines) == (0, ["Jazz\t0\t0"])
    assert "event=library.removed" in removed.err
    assert shell.run("library", "list").lines == []
    assert (music / "a" / "a.flac").exists()


@pytest.mark.seed("S-061")
@pytest.mark.spec("C-33")
def test_the_same_root_is_refused_naming_the_other_library(shell, music):
    shell.run("library", "add", str(music))

    for spelling in (str(music), f"{music}/", "music"):
        done = shell.run("library", "add", spelling)
        assert (done.code, done.out) == (1, "")
        assert f'{music} is already library "music"; use library update music' in done.err


@pytest.mark.spec("C-33")
def test_a_nested_root_is_added_with_a_note_and_each_file_is_listed_once(shell, music):
    shell.run("library", "add", str(music))
    shell.run("scan")

    inner = shell.run("library", "add", str(music / "a"))

    assert inner.code == 0
    assert f'{music / "a"} lies inside library "music" ({music}); ' in inner.err
    shell.run("scan")
    rows = [line.split("\t") for line in shell.run("scan", "results").lines]
    assert sorted((row[1], Path(row[5]).name) for row in rows) == [
        ("a", "a.flac"),
        ("music", "b.flac"),
    ]
    assert [line.split("\t")[5] for line in shell.run("library", "list").lines] == ["1", "1"]


@pytest.mark.spec("C-33")
def test_a_missing_root_is_refused_unless_waived(shell, tmp_path):
    refused = shell.run("library", "add", "later")
    assert refused.code == 1
    assert "--allow-missing" in refused.err
    assert shell.run("library", "add", "later", "--allow-missing").lines == [
        f"1\tlater\t{tmp_path / 'later'}"
    ]


@pytest.mark.seed("S-061", "S-065")
@pytest.mark.spec("C-34", "E-47")
def test_overrides_are_stored_as_true_false_null_or_left_alone(shell, music):
    shell.run("library", "add", str(music))
    assert stored(shell, "music").enrich is None

    for flag, value in (
        ("--enrich", True),
        ("--enrich=false", False),
        ("--name=music", False),
        ("--enrich=inherit", None),
        ("--enrich=TRUE", True),
    ):
        assert shell.run("library", "update", "music", flag).code == 0
        assert stored(shell, "music").enrich is value
    shell.run("library", "update", "music", "--detect-instrumental=false")
    found = stored(shell, "music")
    assert (found.enrich, found.detect_instrumental) == (True, False)


@pytest.mark.parametrize(
    "words",
    [
        ["library", "update", "music"],
        ["library", "update", "--name", "x"],
        ["library", "add"],
        ["library", "add", ".", "--enrich=maybe"],
        ["library", "add", ".", "--enrich="],
        ["library", "remove"],
        ["library", "add", ".", "extra"],
    ],
)
def test_a_wrong_line_is_a_usage_error_and_makes_no_database(shell, words):
    assert shell.run(*words).code == 2
    assert not shell.database.exists()


def test_an_unknown_library_is_named_with_those_that_are_known(shell, music):
    shell.run("library", "add", str(music))
    for words in (("update", "nope", "--name", "x"), ("remove", "nope", "--yes")):
        done = shell.run("library", *words)
        assert done.code == 1
        assert 'no library "nope"; known: music' in done.err
    done = shell.run("library", "remove", "n\udcffpe")  # typed in another encoding
    assert done.code == 1
    assert 'no library "n\\xffpe"; known: music' in done.err


def test_digits_mean_an_id_or_a_name_but_not_two_libraries(shell, tmp_path):
    for name in ("2", "x"):
        (tmp_path / name).mkdir()
        shell.run("library", "add", str(tmp_path / name))
    done = shell.run("library", "remove", "2", "--yes")
    assert done.code == 1
    assert '"2" fits several libraries: 1 "2", 2 "x"; say 1 or "x"' in done.err
    assert shell.run("library", "remove", "x", "--yes").code == 0
    assert shell.run("library", "remove", "1", "--yes").code == 0


def test_libraries_named_after_each_others_ids_can_still_be_told_apart(shell: Shell, tmp_path):
    for name in "21":
        (tmp_path / name).mkdir()
        shell.run("library", "add", str(tmp_path / name), "--name", name)
    done = shell.run("library", "remove", "1")
    assert done.code == 1
    assert '"1" fits several libraries: 1 "2", 2 "1"; say 01 or 02' in done.err
    assert shell.run("library", "remove", "01", "--json").json["library"] == "2"
    assert shell.run("library", "remove", "02", "--json").json["library"] == "1"


def test_changes_can_be_had_as_json(shell, music):
    added = shell.run("library", "add", str(music), "--enrich=false", "--json").json
    assert added == {
        "id": 1,
        "name": "music",
        "path": str(music),
        "enrich": False,
        "detect_instrumental": None,
    }
    shell.run("scan")
    shown = shell.run("library", "remove", "music", "--json").json
    assert shown == {"library": "music", "scan_rows": 2, "queue_items": 2, "removed": False}


def test_a_root_of_any_bytes_is_shown_without_raw_signs(shell, tmp_path):
    root = tmp_path / os.fsdecode(b"mu\xffsic\n\x1b[31m")
    root.mkdir()

    done = shell.run("library", "add", str(root))

    assert done.code == 0
    assert "\x1b" not in done.out + done.err
    assert len(done.lines) == 1
    assert shell.run("library", "list", "--json").json[0]["path_b64"]
    assert shell.run("library", "add", str(root)).code == 1


@pytest.mark.spec("E-46")
def test_a_moved_library_keeps_what_is_known_of_it(shell, music, tmp_path):
    shell.run("library", "add", str(music))
    shell.run("scan")
    music.rename(tmp_path / "moved")

    assert shell.run("library", "update", "music", "--path", "moved").code == 0

    (row,) = shell.run("scan", "--json").json
    assert (row["unchanged"], row["new"], row["enqueued"]) == (2, 0, 0)
