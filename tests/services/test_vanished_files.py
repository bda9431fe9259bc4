"""Files that are gone: protected, followed, marked, forgotten."""

import os
import shutil

import pytest

from lyrsvc.core.relinking import FileFacts, pair_up
from lyrsvc.core.scan_run import RunReason, RunState
from scans import Scans

MBID = "f1d1d1d1-0000-4000-8000-0000000000{:02}"


@pytest.fixture
def scans(db, clock, tmp_path):
    scans = Scans(db, clock, tmp_path / "music")
    yield scans
    assert scans.wrong_counts() == {}


def missing(scans):
    return {row["name"] for row in scans.table("scan_results") if row["missing_since_at"]}


@pytest.mark.spec("E-40")
@pytest.mark.parametrize("how", ["gone", "empty"])
def test_a_root_that_is_not_mounted_marks_nothing(scans, tmp_path, how):
    for number in range(3):
        scans.song(f"{number}.flac")
    scans.scan()
    before = scans.contents()
    scans.root.rename(tmp_path / "away")
    if how == "empty":
        scans.root.mkdir()

    report = scans.scan()

    assert (report.state, report.reason) == (RunState.FAILED, RunReason.ROOT_UNAVAILABLE)
    assert scans.contents() == before
    if how == "empty":
        scans.root.rmdir()
    (tmp_path / "away").rename(scans.root)
    again = scans.scan()
    assert (again.state, again.counts.unchanged, again.counts.opened) == (RunState.DONE, 3, 0)
    assert scans.contents() == before


def test_a_file_that_is_gone_is_marked_and_its_item_waits_for_it(scans):
    path = scans.song("a.flac")
    scans.song("b.flac")
    scans.scan()
    kept = path.read_bytes(), path.stat().st_mtime_ns
    path.unlink()

    report = scans.scan()

    assert (report.counts.missing, missing(scans)) == (1, {"a.flac"})
    parked = next(item for item in scans.table("work_items") if item["title"] == "a")
    assert (parked["status"], parked["due_at"], parked["ready_key"]) == ("pending", None, None)
    assert [target["status"] for target in scans.table("work_targets")] == ["parked", "pending"]
    assert scans.scan().counts.missing == 0

    path.write_bytes(kept[0])
    os.utime(path, ns=(kept[1], kept[1]))
    scans.scan()

    assert missing(scans) == set()
    back = next(item for item in scans.table("work_items") if item["title"] == "a")
    assert back["due_at"] is not None
    assert back["ready_key"] is not None
    assert {target["status"] for target in scans.table("work_targets")} == {"pending"}


def test_a_directory_that_is_gone_takes_all_below_it_along(scans):
    scans.song("keep.flac")
    scans.song("a/1/x.flac")
    scans.song("a/2/3/y.flac")
    scans.scan()
    shutil.rmtree(scans.root / "a")

    assert scans.scan().counts.missing == 2
    assert missing(scans) == {"x.flac", "y.flac"}


@pytest.mark.spec("E-41")
def test_when_most_files_are_gone_nothing_is_marked_until_it_is_accepted(scans, caplog):
    for number in range(100):
        scans.song(f"{number % 10}/{number}.flac", f"Song {number}")
    scans.scan()
    for number in range(6):
        shutil.rmtree(scans.root / str(number))

    report = scans.scan()

    assert (report.state, report.reason) == (RunState.DONE, RunReason.MASS_MISSING)
    assert (report.counts.missing, missing(scans)) == (0, set())
    assert "--accept-missing" in caplog.text
    accepted = scans.scan(accept_missing=True)
    assert (accepted.reason, accepted.counts.missing) == (RunReason.NONE, 60)


@pytest.mark.parametrize(("gone", "marked"), [(50, 50), (51, 0)])
def test_up_to_fifty_files_may_go_unquestioned(scans, gone, marked):
    for number in range(60):
        scans.song(f"{number}.flac", f"Song {number}")
    scans.scan()
    for number in range(gone):
        (scans.root / f"{number}.flac").unlink()

    assert scans.scan().counts.missing == marked


@pytest.mark.spec("E-42")
def test_a_file_that_was_moved_keeps_its_row_item_and_status(scans):
    path = scans.song("a/old.flac", "Tide")
    scans.scan()
    (row,) = scans.table("scan_results")
    (item,) = scans.table("work_items")
    scans.run("UPDATE work_items SET status = 'deferred', ready_key = NULL")
    scans.run("UPDATE scan_results SET status = 'deferred'")
    scans.run("UPDATE counts SET n = 0 WHERE name IN ('status.pending', 'ready.pending')")
    scans.run("UPDATE counts SET n = 1 WHERE name = 'status.deferred'")
    (scans.root / "b").mkdir()
    path.rename(scans.root / "b" / "new.flac")

    report = scans.scan()

    assert (report.counts.relinked, report.counts.new, report.counts.missing) == (1, 0, 0)
    (moved,) = scans.table("scan_results")
    assert (moved["id"], moved["name"]) == (row["id"], "new.flac")
    assert scans.statuses() == {"b/new.flac": "deferred"}
    (same,) = scans.table("work_items")
    assert (same["id"], same["status"]) == (item["id"], "deferred")
    (target,) = scans.table("work_targets")
    assert (target["out_dir"], target["out_stem"]) == (str(scans.root / "b"), "new")
    assert target["source_path"] == str(scans.root / "b" / "new.flac")
    assert scans.scan().counts.unchanged == 1


@pytest.mark.spec("E-42")
def test_a_file_that_was_moved_with_its_sidecar_stays_done(scans):
    path = scans.song("old.flac", "Tide")
    path.with_suffix(".lrc").write_text("[00:01.00]x\n")
    scans.scan()
    (row,) = scans.table("scan_results")
    path.rename(scans.root / "new.flac")
    path.with_suffix(".lrc").rename(scans.root / "new.lrc")

    assert scans.scan().counts.relinked == 1
    assert scans.statuses() == {"new.flac": "done"}
    assert scans.table("scan_results")[0]["id"] == row["id"]
    assert scans.table("work_items") == []


@pytest.mark.parametrize(
    "tags", [{"mbid": MBID.format(1)}, {"isrc": "GBAYE0000351"}], ids=["mbid", "isrc"]
)
def test_a_copy_elsewhere_is_followed_by_its_recording_id(scans, tags):
    path = scans.song("old.flac", "Tide", **tags)
    scans.scan()
    path.unlink()
    scans.song("new.flac", "Tide, remade", **tags)

    assert scans.scan().counts.relinked == 1
    assert [row["title"] for row in scans.rows()] == ["Tide, remade"]
    assert [item["title"] for item in scans.table("work_items")] == ["Tide, remade"]


def test_two_candidates_are_not_followed(scans):
    for name in ("1", "2"):
        scans.song(f"{name}.flac", name, mbid=MBID.format(1))
    scans.scan()
    (scans.root / "1.flac").unlink()
    (scans.root / "2.flac").unlink()
    scans.song("3.flac", "longer title", mbid=MBID.format(1))

    report = scans.scan()

    assert (report.counts.relinked, report.counts.missing, report.counts.new) == (0, 2, 1)


def facts(row_id, **known):
    blank = {
        "inode": row_id,
        "size": row_id,
        "mtime_ns": 1,
        "mbid": "",
        "isrc": "",
        "duration_ms": 0,
    }
    return FileFacts(row_id=row_id, **{**blank, **known})


def test_the_very_same_file_comes_before_ids_and_those_before_lengths():
    gone = [
        facts(1, inode=7, size=7),
        facts(2, mbid="m"),
        facts(3, isrc="I1,I2", duration_ms=200_000),
        facts(4, isrc="J", duration_ms=200_000),
    ]
    new = [
        facts(11, inode=7, size=7, mbid="m"),
        facts(12, mbid="m"),
        facts(13, isrc="I1", duration_ms=201_900),
        facts(14, isrc="J", duration_ms=202_100),
    ]

    assert sorted(pair_up(gone, new)) == [(1, 11), (2, 12), (3, 13)]


def test_files_without_an_inode_or_content_are_never_the_same_by_that():
    assert pair_up([facts(1, inode=0)], [facts(2, inode=0, size=1)]) == []
    assert pair_up([facts(1, inode=5, size=0)], [facts(2, inode=5, size=0)]) == []


@pytest.mark.spec("E-42")
def test_after_thirty_days_a_missing_file_is_forgotten_but_not_what_we_wrote(scans):
    scans.song("a.flac")
    scans.song("b.flac")
    scans.scan()
    scans.run(
        "INSERT INTO written_files (path, path_hash, kind, sha256, created_at, updated_at) "
        "VALUES ('/a.lrc', 'h', 'lrc', 's', :now, :now)",
        now="2026-01-31T14:05:06.123Z",
    )
    (scans.root / "a.flac").unlink()
    scans.scan()
    scans.pass_days(29)
    assert scans.scan().counts.pruned == 0
    scans.pass_days(2)

    assert scans.scan().counts.pruned == 1
    assert scans.statuses() == {"b.flac": "pending"}
    assert [item["title"] for item in scans.table("work_items")] == ["b"]
    assert len(scans.table("written_files")) == 1


def test_rows_in_a_directory_that_is_empty_now_are_kept(scans):
    scans.song("share/a.flac")
    scans.song("b.flac")
    scans.scan()
    (scans.root / "share" / "a.flac").unlink()
    scans.scan()
    scans.pass_days(31)

    assert scans.scan().counts.pruned == 0
    (scans.root / "share").rmdir()
    assert scans.scan().counts.pruned == 1


def test_a_target_stays_while_another_file_of_the_stem_is_there(scans):
    scans.song("x.flac", "Tide")
    shutil.copy(scans.root / "x.flac", scans.root / "x.ogg")
    scans.scan()
    (scans.root / "x.ogg").unlink()

    scans.scan()

    assert missing(scans) == {"x.ogg"}
    assert [target["status"] for target in scans.table("work_targets")] == ["pending"]


def test_an_item_that_is_being_worked_on_is_not_touched(scans):
    scans.song("a.flac")
    scans.song("b.flac")
    scans.scan()
    scans.run(
        "UPDATE work_items SET status = 'processing', claimed_from = 'pending', ready_key = NULL"
    )
    scans.run("UPDATE counts SET n = 0 WHERE name IN ('status.pending', 'ready.pending')")
    scans.run("UPDATE counts SET n = 2 WHERE name = 'status.processing'")
    items = scans.table("work_items")
    (scans.root / "a.flac").unlink()
    scans.scan()
    scans.pass_days(31)

    assert scans.scan().counts.pruned == 0
    assert scans.table("work_items") == items


def test_files_of_one_stem_that_move_one_by_one_each_get_what_they_need(scans):
    scans.song("x.flac", "Tide")
    shutil.copy(scans.root / "x.flac", scans.root / "x.ogg")
    scans.scan()
    (scans.root / "x.ogg").rename(scans.root / "y.ogg")

    report = scans.scan()

    assert report.counts.relinked == 1
    assert {(row["out_stem"], row["status"]) for row in scans.table("work_targets")} == {
        ("x", "pending"),
        ("y", "pending"),
    }
    assert len({row["target_id"] for row in scans.table("scan_results")}) == 2
    (scans.root / "x.flac").rename(scans.root / "y.flac")
    assert scans.scan().counts.relinked == 1
    assert [row["out_stem"] for row in scans.table("work_targets")] == ["y"]
    assert len({row["target_id"] for row in scans.table("scan_results")}) == 1


def test_a_whole_folder_that_was_renamed_keeps_every_row(scans):
    for number in range(80):
        scans.song(f"old/{number}.flac", f"Song {number}")
    scans.scan()
    ids = {row["id"] for row in scans.table("scan_results")}
    items = {item["id"] for item in scans.table("work_items")}
    (scans.root / "old").rename(scans.root / "new")

    report = scans.scan()

    assert (report.reason, report.counts.relinked, report.counts.missing) == (RunReason.NONE, 80, 0)
    assert {row["id"] for row in scans.table("scan_results")} == ids
    assert {item["id"] for item in scans.table("work_items")} == items
    assert {row["out_dir"] for row in scans.table("work_targets")} == {str(scans.root / "new")}
    assert scans.scan().counts.unchanged == 80
