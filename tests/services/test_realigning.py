"""Sidecars that follow renamed audio."""

import os
import shutil

import pytest

from lyrsvc.core.errors import Refused
from lyrsvc.files import move_log, moving
from lyrsvc.files.move_log import MoveLog
from lyrsvc.services import sidecar_moves
from lyrsvc.services.library_lock import LibraryBusy, library_lock
from lyrsvc.services.realigning import Scope
from lyrsvc.store import history
from realigns import WORDS, Realigns

MBID = "f1d1d1d1-0000-4000-8000-0000000000{:02}"
ISRC = "USABC12345{:02}"


@pytest.fixture
def music(db, clock, tmp_path):
    music = Realigns(db, clock, tmp_path / "music")
    yield music
    assert music.wrong_counts() == {}


@pytest.mark.seed("S-040", "S-041", "S-046", "S-047")
def test_a_dry_run_tells_and_yes_moves_backup_first(music):
    music.song("a/02 - New.flac", "Hello", isrc=ISRC.format(1))
    music.put("a/old.lrc", isrc=ISRC.format(1))
    music.put("a/old.txt", "words\n")
    before = music.files()

    report = music.preview()
    assert music.told() == [
        ("would-move", "exact", "a/old.lrc", "a/02 - New.lrc"),
        ("would-move", "exact", "a/old.txt", "a/02 - New.txt"),
    ]
    assert (report.dirs, report.orphans, report.planned, report.applied) == (2, 1, 1, 0)
    assert music.files() == before
    assert not music.backup.exists()

    report = music.realign()
    assert (report.planned, report.applied) == (1, 1)
    assert {line.action for line in music.lines} == {"moved"}
    assert music.sidecars() == {"a/02 - New.lrc", "a/02 - New.txt"}
    assert [
        (move.old_path, move.new_path, move.library_id, move.method) for move in music.moves()
    ] == [
        (str(music.root / f"a/old{kind}"), str(music.root / f"a/02 - New{kind}"), 1, "exact")
        for kind in (".lrc", ".txt")
    ]
    assert set(music.announced) == {"old.lrc", "02 - New.lrc", "old.txt", "02 - New.txt"}
    assert music.realign().orphans == 0


@pytest.mark.seed("S-040")
def test_the_extension_stays_byte_for_byte_and_a_marker_stays_a_text(music):
    music.song("02 New.flac", "Hello")
    music.put("Hello.TXT", "♪ Instrumental ♪\n")
    music.realign()
    assert music.sidecars() == {"02 New.TXT"}


@pytest.mark.seed("S-047")
@pytest.mark.spec("E-61")
def test_undo_restores_names_bytes_times_and_rows(music):
    music.song("a/02 - New.flac", "Hello", isrc=ISRC.format(1))
    music.song("b/07 World.flac", "World")
    music.song("b/08 Other.flac", "Other")
    music.put("b/08 Other.lrc")
    music.put("a/old.lrc", isrc=ISRC.format(1), ours=True)
    music.put("a/old.txt", "words\n")
    music.put("a/old.elrc", "words\n")
    music.put("b/World.lrc")
    music.scan()
    before, known = music.files(), music.known()

    assert music.realign().applied == 2
    assert music.known() != known
    undo = music.undo()

    assert (undo.report.applied, undo.report.errors, undo.report.conflict) == (4, 0, 0)
    assert music.files() == before
    assert music.known() == known
    again = music.undo()
    assert (again.report.already, again.report.applied, again.report.errors) == (4, 0, 0)
    assert {line.reason for line in music.lines} == {"already undone"}
    assert music.realign().applied == 2


def test_the_queue_learns_of_the_sidecar(music):
    music.song("02 - New.flac", "Hello", isrc=ISRC.format(1))
    old = music.put("old.lrc", isrc=ISRC.format(1), ours=True)
    music.scan()
    assert [item["status"] for item in music.table("work_items")] == ["pending"]

    music.realign()

    [item] = music.table("work_items")
    [target] = music.table("work_targets")
    [row] = music.table("scan_results")
    assert (item["status"], item["outcome"], item["lane"]) == ("done", "synced", "")
    assert (target["status"], target["result"], target["kind"]) == ("done", "present", "lrc")
    assert (row["status"], row["sidecar"], row["sidecar_class"], row["ours"]) == (
        "done",
        1,
        "lrc",
        1,
    )
    [own] = music.table("written_files")
    assert own["path"] == str(old.with_name("02 - New.lrc"))
    [note] = [n for n in music.table("history") if n["event"] == history.Happening.MOVED]
    assert (note["title"], note["by"], note["reason"]) == ("Hello", "realign", "exact")
    assert note["destination"] == own["path"]
    unchanged = music.contents()
    assert music.scan().counts.changed == 0
    assert music.contents() == unchanged


def test_an_item_with_another_file_to_write_goes_on_waiting(music):
    music.song("a/New.flac", "Hello", isrc=ISRC.format(1))
    music.song("b/Copy.flac", "Hello", isrc=ISRC.format(1))
    music.put("a/old.lrc", isrc=ISRC.format(1))
    music.scan()
    music.realign()
    assert [item["status"] for item in music.table("work_items")] == ["pending"]
    statuses = {t["out_stem"]: t["status"] for t in music.table("work_targets")}
    assert statuses == {"New": "done", "Copy": "pending"}


def test_the_row_of_the_vanished_audio_stands_for_the_new_file(music):
    path = music.song("old.flac", "Hello", mbid=MBID.format(1), seconds=100)
    music.song("keep.flac")
    music.put("old.lrc", mbid=MBID.format(1))
    music.scan()
    row_id = next(r["id"] for r in music.table("scan_results") if r["name"] == "old.flac")
    path.unlink()
    music.scan()
    music.song("new.flac", "Hello!", mbid=MBID.format(1), seconds=190)
    music.scan()

    music.realign()

    rows = {row["name"]: row for row in music.table("scan_results")}
    assert set(rows) == {"new.flac", "keep.flac"}
    assert (rows["new.flac"]["id"], rows["new.flac"]["missing_since_at"]) == (row_id, None)
    assert (rows["new.flac"]["status"], rows["new.flac"]["sidecar"]) == ("done", 1)


def test_tags_come_from_the_inventory_while_the_file_is_unchanged(music, monkeypatch):
    music.song("02 New.flac", "Hello", isrc=ISRC.format(1))
    music.put("old.lrc", isrc=ISRC.format(1))
    music.scan()
    opened = []
    from lyrsvc.services import orphan_facts

    read = orphan_facts.read_tags
    monkeypatch.setattr(
        orphan_facts, "read_tags", lambda path, **kw: opened.append(path) or read(path, **kw)
    )
    assert music.preview().planned == 1
    assert opened == []
    os.utime(music.root / "02 New.flac", (1, 1))
    assert music.preview().planned == 1
    assert len(opened) == 1


@pytest.mark.seed("S-048")
@pytest.mark.spec("E-59")
def test_provenance_gates_what_only_names_say(music):
    music.song("02 Hello.flac", "Hello")
    music.put("Hello.lrc")
    before = music.files()
    report = music.realign(require_provenance=True)
    assert (report.gated, report.planned, report.applied) == (1, 0, 0)
    assert music.told() == [("gated", "heuristic", "Hello.lrc", "02 Hello.lrc")]
    assert music.files() == before
    assert not music.backup.exists()


@pytest.mark.seed("S-048")
@pytest.mark.spec("E-59")
def test_only_an_exact_match_moves_to_another_directory_and_only_when_allowed(music):
    music.song("new/x.flac", "Hello", mbid=MBID.format(1))
    music.song("new/y.flac", "World")
    music.put("old/a.lrc", mbid=MBID.format(1))
    music.put("old/World.lrc")
    assert music.realign().applied == 0

    assert music.realign(cross_directory=True).applied == 1
    assert music.sidecars() == {"new/x.lrc", "old/World.lrc"}
    music.undo()
    assert music.sidecars() == {"old/a.lrc", "old/World.lrc"}

    music.song("elsewhere/z.flac", "Hello", mbid=MBID.format(1))
    report = music.realign(cross_directory=True)
    assert (report.applied, report.conflict) == (0, 1)


def test_undo_makes_a_directory_again_that_is_gone(music):
    music.song("new/x.flac", "Hello", mbid=MBID.format(1))
    music.put("old/a.lrc", mbid=MBID.format(1))
    music.realign(cross_directory=True)
    (music.root / "old").rmdir()
    assert music.undo().report.applied == 1
    assert music.sidecars() == {"old/a.lrc"}


@pytest.mark.spec("E-59")
def test_several_pairs_by_name(music):
    for number, title in enumerate(("Hello", "World", "Part 1", "Part 2"), 1):
        music.song(f"{number:02} - {title}.flac", title)
    for stem in ("Hello", "World", "Part 2"):
        music.put(f"{stem}.lrc")
    assert music.preview().ambiguous == 3
    assert music.realign(name_match=True).applied == 3
    assert music.sidecars() == {"01 - Hello.lrc", "02 - World.lrc", "04 - Part 2.lrc"}


@pytest.mark.seed("S-045")
@pytest.mark.spec("E-60")
def test_a_destination_that_appears_meanwhile_is_a_conflict_and_the_unit_stays_whole(
    music, monkeypatch
):
    music.song("New.flac", "Hello", isrc=ISRC.format(1))
    music.put("old.lrc", isrc=ISRC.format(1))
    music.put("old.txt", "words\n")
    rename = moving._rename

    def late(old, new):
        if new.suffix == ".txt" and not new.exists():
            new.write_text("theirs")
        return rename(old, new)

    monkeypatch.setattr(moving, "_rename", late)
    report = music.realign()

    assert (report.applied, report.conflict, report.errors) == (0, 1, 0)
    assert {(line.action, line.method) for line in music.lines} == {("skip", "conflict")}
    assert music.sidecars() == {"old.lrc", "old.txt", "New.txt"}
    assert (music.root / "New.txt").read_text() == "theirs"
    assert (music.root / "old.txt").read_text() == "words\n"
    assert music.moves() == []


def test_a_failing_move_counts_and_the_next_unit_goes_on(music, monkeypatch):
    for name in ("a", "b"):
        music.song(f"{name}/New.flac", "Hello", isrc=ISRC.format(1))
        music.put(f"{name}/old.lrc", isrc=ISRC.format(1))
    rename = moving._rename

    def failing(old, new):
        if "/a/" in str(old):
            raise PermissionError(13, "Permission denied")
        return rename(old, new)

    monkeypatch.setattr(moving, "_rename", failing)
    report = music.realign()
    assert (report.applied, report.errors, report.planned) == (1, 1, 2)
    assert "permission denied" in music.lines[0].reason
    assert music.sidecars() == {"a/old.lrc", "b/New.lrc"}
    assert [move.old_path for move in music.moves()] == [str(music.root / "b/old.lrc")]


def test_a_full_disk_moves_nothing_without_its_backup(music, monkeypatch):
    music.song("New.flac", "Hello", isrc=ISRC.format(1))
    music.put("old.lrc", isrc=ISRC.format(1))

    def full(handle, data):
        os.write(handle, data[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(move_log, "_write", full)
    report = music.realign()
    assert (report.applied, report.errors) == (0, 1)
    assert "no space left" in music.lines[0].reason
    assert music.sidecars() == {"old.lrc"}
    assert music.backup.read_bytes() == b""


def test_a_backup_that_cannot_be_opened_stops_everything(music):
    music.song("New.flac", "Hello", isrc=ISRC.format(1))
    music.put("old.lrc", isrc=ISRC.format(1))
    music.backup.mkdir()
    with pytest.raises(Refused, match="cannot open the backup"):
        music.realign()
    assert music.sidecars() == {"old.lrc"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Song.en.lrc", WORDS),
        ("README.txt", WORDS),
        ("Track List.TXT", WORDS),
        ("large.lrc", WORDS * 10_000),
        ("binary.txt", "a\0b"),
        (".hidden.lrc", WORDS),
    ],
)
@pytest.mark.spec("E-59")
def test_what_is_never_an_orphan(music, name, text):
    music.song("x.flac", "x")
    music.put(name, text)
    report = music.preview()
    assert (report.orphans, music.lines) == (0, [])


def test_an_ellipsis_hides_no_orphan(music):
    music.song("...Like Clockwork/02 ...Like Clockwork.flac", "...Like Clockwork")
    music.put("...Like Clockwork/...Like Clockwork.lrc")
    music.realign()
    assert music.sidecars() == {"...Like Clockwork/02 ...Like Clockwork.lrc"}


@pytest.mark.seed("S-041")
@pytest.mark.spec("P-52")
@pytest.mark.parametrize("form", ["utf-8-sig", "utf-16", "utf-16-be"])
def test_a_header_is_read_in_every_form_of_unicode_and_the_bytes_stay(music, form):
    music.song("New.flac", "Hello", isrc=ISRC.format(1))
    music.song("Other.flac", "World")
    mark = "\ufeff" if form == "utf-16-be" else ""
    words = f"{mark}[ISRC: {ISRC.format(1)}]\r\n{WORDS}".encode(form)
    music.put("old.lrc").write_bytes(words)
    assert music.realign().applied == 1
    assert music.told() == [("moved", "exact", "old.lrc", "New.lrc")]
    assert (music.root / "New.lrc").read_bytes() == words


@pytest.mark.parametrize("stem", ["song", "Jo\u0301ga"])
@pytest.mark.spec("E-59")
def test_another_spelling_of_an_audio_name_is_its_sidecar(music, stem):
    music.song("SONG.flac")
    music.song("J\u00f3ga.flac")
    music.put(f"{stem}.lrc")
    assert music.preview().orphans == 0


def test_spellings_of_one_stem_are_one_unit_unless_they_collide(music):
    music.song("02 New.flac", "Song", isrc=ISRC.format(1))
    music.put("song.lrc", isrc=ISRC.format(1))
    music.put("SONG.txt", "words\n")
    assert music.realign().orphans == 1
    assert music.sidecars() == {"02 New.lrc", "02 New.txt"}
    music.undo()
    music.put("SONG.lrc")
    report = music.preview()
    assert (report.orphans, report.planned) == (2, 1)


@pytest.mark.spec("E-59")
def test_links_are_told_of_and_hold_their_unit_back(music, tmp_path):
    music.song("New.flac", "Hello", isrc=ISRC.format(1))
    music.put("old.lrc", isrc=ISRC.format(1))
    (tmp_path / "elsewhere.txt").write_text("words")
    (music.root / "old.txt").symlink_to(tmp_path / "elsewhere.txt")
    report = music.realign()
    assert (report.applied, report.errors) == (0, 0)
    assert {(line.action, line.reason) for line in music.lines} == {
        ("skip", "it is a symbolic link"),
        ("skip", "old.txt cannot go along"),
    }


def test_a_directory_that_became_a_link_out_of_the_library_is_left_alone(
    music, tmp_path, monkeypatch
):
    music.song("a/New.flac", "Hello", isrc=ISRC.format(1))
    music.put("a/old.lrc", isrc=ISRC.format(1))
    confine = sidecar_moves._confine

    def swapped(unit, old, new):
        if not (music.root / "a").is_symlink():
            shutil.move(music.root / "a", tmp_path / "away")
            (music.root / "a").symlink_to(tmp_path / "away")
        confine(unit, old, new)

    monkeypatch.setattr(sidecar_moves, "_confine", swapped)
    report = music.realign()
    assert (report.applied, report.errors) == (0, 1)
    assert (tmp_path / "away" / "old.lrc").exists()


def test_the_files_of_an_inner_library_are_its_own(music):
    music.song("inner/New.flac", "Hello", isrc=ISRC.format(1))
    music.put("inner/old.lrc", isrc=ISRC.format(1))
    inner = music.add(music.root / "inner", name="Inner")
    assert music.preview().orphans == 0
    music.library = inner
    assert music.preview().orphans == 1


def test_a_scope_looks_at_nothing_else(music):
    for name in ("a", "a/b", "c"):
        music.song(f"{name}/New.flac", "Hello", isrc=ISRC.format(1))
        music.put(f"{name}/old.lrc", isrc=ISRC.format(1))
    outside = music.root.parent
    tops = (music.root / "a", music.root / "a/b", music.root / "gone", outside)
    report = music.realign(Scope(tops=tops))
    assert (report.applied, report.dirs) == (2, 2)
    assert music.sidecars() == {"a/New.lrc", "a/b/New.lrc", "c/old.lrc"}


def test_a_library_that_is_missing_or_busy_is_refused(music, db, clock):
    music.song("New.flac", "Hello", isrc=ISRC.format(1))
    music.put("old.lrc", isrc=ISRC.format(1))
    with library_lock(db, music.library, clock=clock, purpose="scan"), pytest.raises(LibraryBusy):
        music.realign()
    assert music.sidecars() == {"old.lrc"}
    shutil.rmtree(music.root)
    with pytest.raises(Refused, match="cannot be reached"):
        music.preview()


def test_undo_never_costs_a_file_its_place(music):
    music.song("New.flac", "Hello", isrc=ISRC.format(1))
    music.put("old.lrc", isrc=ISRC.format(1))
    music.realign()
    music.put("old.lrc", "another\n")
    undo = music.undo()
    assert (undo.report.conflict, undo.report.applied) == (1, 0)
    assert (music.root / "old.lrc").read_text() == "another\n"
    (music.root / "old.lrc").unlink()
    (music.root / "New.lrc").unlink()
    assert music.undo().report.errors == 1


def test_undo_finishes_a_move_that_was_cut_off_between_link_and_unlink(music):
    music.song("New.flac", "Hello", isrc=ISRC.format(1))
    old = music.put("old.lrc", isrc=ISRC.format(1))
    music.realign()
    os.link(music.root / "New.lrc", old)
    assert music.undo().report.applied == 1
    assert music.sidecars() == {"old.lrc"}


@pytest.mark.parametrize(
    ("old", "new"),
    [("a.flac", "b.flac"), ("a.lrc", "b.txt"), ("a.lrc", "b.LRC"), ("a.lrc", "../out/b.lrc")],
)
def test_undo_moves_nothing_but_sidecars_inside_the_library(music, old, new, tmp_path):
    music.song("x.flac")
    (tmp_path / "out").mkdir()
    source = music.root / new
    source.write_text("bytes")
    line = f'{{"old_path": "{music.root}/{old}", "new_path": "{source}", "library_id": 1, "method": "exact"}}\n'
    music.backup.write_text(line)
    undo = music.undo()
    assert (undo.report.applied, undo.report.errors) == (0, 1)
    assert source.read_text() == "bytes"


def test_a_log_is_made_only_by_a_move(music):
    music.song("x.flac")
    music.realign()
    with MoveLog(music.backup) as log:
        assert not log.is_used
    assert not music.backup.exists()


def test_a_directory_of_many_is_not_listed_for_each_of_them(music, monkeypatch):
    for number in range(60):
        music.song(f"{number:05} New.flac", f"Song {number}", isrc=f"USABC{number:07}")
        music.put(f"old {number}.lrc", isrc=f"USABC{number:07}")
    music.scan()
    listed = []
    for name in ("listdir", "scandir"):
        inner = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *a, inner=inner: listed.append(a) or inner(*a))
    assert music.realign().applied == 60
    assert len(listed) < 10
