"""Audio that was renamed without a word: what we wrote goes along, and nothing is left behind."""

import json
import shutil
from dataclasses import replace
from random import Random

import pytest

from lyrsvc.core import requeueing
from lyrsvc.core.item import TargetResult, TargetStatus
from lyrsvc.core.orphans import RealignPolicy
from lyrsvc.core.sidecar import FetchMode, Kind, content_hash
from lyrsvc.services.reactive_realign import Reaction, ReactiveRealign
from lyrsvc.services.renamed_sidecars import RenamedSidecars
from lyrsvc.store import absences, targets, work_items, written_files
from lyrsvc.store.counts import Tally
from lyrsvc.store.written_files import OwnFile
from query_plans import plans_of
from scans import Scans

MBID = "9e1f2b54-6a0c-4b6e-9d5e-3f6a7c8b9d01"
WORDS = "[00:01.00]Row me past the mill\n"


@pytest.fixture
def backup(tmp_path):
    return tmp_path / "backup.jsonl"


@pytest.fixture
def scans(db, clock, tmp_path, backup):
    scans = Scans(db, clock, tmp_path / "music")
    scans.follower = RenamedSidecars(db, clock=clock, chance=Random(1), backup=backup)
    yield scans
    assert scans.wrong_counts() == {}


def write_ours(scans, audio, text=WORDS):
    """Have written the words of an audio file, and its item done."""
    path = audio.with_suffix(".lrc")
    path.write_text(text)
    stat, sha256 = path.stat(), content_hash(path.read_bytes())
    own = OwnFile(
        path=path, kind=Kind.LRC, sha256=sha256, size=stat.st_size, mtime_ns=stat.st_mtime_ns
    )
    now = scans.clock.now()
    scans.db.write(lambda tx: written_files.confirm(tx, own, item_id=1, now=now))
    return path


def known(scans, path="a/01 Song.flac", **tags):
    """Give a file whose words we wrote and the inventory knows."""
    audio = scans.song(path, "Song", **tags)
    write_ours(scans, audio)
    scans.scan()
    return audio


def names(scans):
    files = [path for path in scans.root.rglob("*") if path.is_file()]
    return sorted(str(path.relative_to(scans.root)) for path in files)


def waiting(scans):
    return [item["title"] for item in scans.table("work_items") if item["status"] == "pending"]


@pytest.mark.spec("E-42")
def test_our_sidecar_follows_audio_that_was_renamed_without_a_word(scans, backup):
    old = known(scans)
    sidecar = old.with_suffix(".lrc")
    before, stamp = scans.table("scan_results")[0], sidecar.stat().st_mtime_ns
    new = old.rename(old.with_name("01 - Song.flac"))

    report = scans.scan()

    moved = new.with_suffix(".lrc")
    assert names(scans) == ["a/01 - Song.flac", "a/01 - Song.lrc"]
    assert (moved.read_text(), moved.stat().st_mtime_ns) == (WORDS, stamp)
    (row,) = scans.table("scan_results")
    assert (row["id"], row["status"], row["ours"]) == (before["id"], "done", 1)
    assert (report.counts.relinked, report.counts.enqueued, waiting(scans)) == (1, 0, [])
    assert [one["path"] for one in scans.table("written_files")] == [str(moved)]
    line = json.loads(backup.read_text())
    assert (line["old_path"], line["new_path"]) == (str(sidecar), str(moved))
    (told,) = scans.table("history")
    assert (told["event"], told["by"], told["destination"]) == ("moved", "scan", str(moved))
    assert scans.scan().counts.unchanged == 1


def test_words_that_we_never_wrote_are_left_to_realign(scans, backup):
    old = scans.song("a/01 Song.flac", "Song")
    old.with_suffix(".lrc").write_text("[00:09.00]a line of my own\n")
    scans.scan()
    old.rename(old.with_name("new.flac"))

    scans.scan()

    assert names(scans) == ["a/01 Song.lrc", "a/new.flac"]
    assert waiting(scans) == ["Song"]
    assert not backup.exists()


def test_our_words_go_along_with_the_very_same_file_after_an_edit_too(scans, backup):
    old = known(scans)
    mine = WORDS + "[00:09.00]a line of my own\n"
    old.with_suffix(".lrc").write_text(mine)
    new = old.rename(old.with_name("new.flac"))

    report = scans.scan()

    assert names(scans) == ["a/new.flac", "a/new.lrc"]
    assert new.with_suffix(".lrc").read_text() == mine
    assert (report.counts.enqueued, waiting(scans)) == (0, [])
    assert backup.exists()
    scans.scan(mode=FetchMode.UPDATE)
    assert waiting(scans) == []  # somebody's own by now


def test_edited_words_stay_when_only_the_recording_is_the_same(scans):
    old = known(scans, mbid=MBID)
    old.with_suffix(".lrc").write_text(WORDS + "[00:09.00]a line of my own\n")
    old.unlink()
    scans.song("a/new.flac", "Song", mbid=MBID)

    report = scans.scan()

    assert report.counts.relinked == 1
    assert names(scans) == ["a/01 Song.lrc", "a/new.flac"]


def test_a_sidecar_follows_when_directory_and_file_are_renamed_between_two_scans(scans, backup):
    old = known(scans, "albm/01 sng.flac")
    old.rename(old.with_name("01 - Song.flac"))
    old.parent.rename(scans.root / "Album (1999)")

    report = scans.scan()

    moved = scans.root / "Album (1999)" / "01 - Song.lrc"
    assert names(scans) == ["Album (1999)/01 - Song.flac", "Album (1999)/01 - Song.lrc"]
    assert moved.read_text() == WORDS
    assert (report.counts.relinked, report.counts.enqueued) == (1, 0)
    assert [one["path"] for one in scans.table("written_files")] == [str(moved)]
    assert json.loads(backup.read_text())["old_path"] == str(moved.with_name("01 sng.lrc"))


def test_other_audio_in_the_renamed_directory_keeps_its_words(scans):
    old = known(scans, "albm/01 Song.flac")
    old.rename(old.with_name("new.flac"))
    old.parent.rename(scans.root / "album")
    scans.song("album/01 Song.flac", "Another")

    scans.scan()

    assert names(scans) == ["album/01 Song.flac", "album/01 Song.lrc", "album/new.flac"]


def test_all_files_of_a_stem_go_along_or_none(scans):
    old = known(scans)
    old.with_suffix(".txt").write_text("notes of my own\n")
    old.rename(old.with_name("new.flac"))

    scans.scan()

    assert names(scans) == ["a/01 Song.lrc", "a/01 Song.txt", "a/new.flac"]


def test_a_sidecar_that_other_audio_of_its_stem_needs_stays(scans):
    old = known(scans)
    shutil.copy(old, old.with_suffix(".ogg"))
    scans.scan()
    old.rename(old.with_name("new.flac"))

    scans.scan()

    assert names(scans) == ["a/01 Song.lrc", "a/01 Song.ogg", "a/new.flac"]
    assert waiting(scans) == ["Song"]


def test_whoever_stands_at_the_new_name_stays(scans):
    old = known(scans)
    new = old.rename(old.with_name("new.flac"))
    new.with_suffix(".lrc").write_text("mine\n")

    scans.scan()

    assert names(scans) == ["a/01 Song.lrc", "a/new.flac", "a/new.lrc"]
    assert new.with_suffix(".lrc").read_text() == "mine\n"


@pytest.mark.spec("E-42")
@pytest.mark.parametrize("order", [("old", "new"), ("new", "old")], ids="-".join)
def test_a_file_is_followed_between_directories_that_are_scanned_one_by_one(scans, order):
    known(scans, "old/Song.flac")
    scans.song("new/Other.flac")
    scans.scan()
    (row,) = [row for row in scans.table("scan_results") if row["name"] == "Song.flac"]
    (scans.root / "old" / "Song.flac").rename(scans.root / "new" / "Song.flac")

    for directory in order:
        scans.scan(below=scans.root / directory)

    assert names(scans) == ["new/Other.flac", "new/Song.flac", "new/Song.lrc"]
    assert scans.statuses() == {"new/Other.flac": "pending", "new/Song.flac": "done"}
    assert row["id"] in {row["id"] for row in scans.table("scan_results")}
    assert waiting(scans) == ["Other"]


def test_a_file_that_waited_for_its_words_is_due_again_at_its_new_place(scans):
    song = scans.song("old/Song.flac", "Song")
    scans.song("new/Other.flac")
    scans.scan()
    (item,) = [item for item in scans.table("work_items") if item["title"] == "Song"]
    song.rename(scans.root / "new" / "Song.flac")
    scans.scan(below=scans.root / "old")
    assert {target["status"] for target in scans.table("work_targets")} == {"parked", "pending"}

    scans.scan(below=scans.root / "new")

    (again,) = [item for item in scans.table("work_items") if item["title"] == "Song"]
    assert (again["id"], again["status"]) == (item["id"], "pending")
    assert again["ready_key"] is not None
    assert {target["status"] for target in scans.table("work_targets")} == {"pending"}
    assert {target["out_dir"] for target in scans.table("work_targets")} == {
        str(scans.root / "new")
    }


def test_a_file_whose_worker_found_it_gone_before_any_scan_is_due_again_at_its_new_place(scans):
    song = scans.song("Song.flac", "Song")
    scans.scan()
    (item,) = scans.table("work_items")

    def park(tx):
        tally = Tally()
        before = work_items.get(tx, item["id"])
        work_items.save(tx, before, requeueing.park(before), tally, now=scans.clock.now())
        (target,) = targets.of_item(tx, before.id)
        gone = replace(target, status=TargetStatus.PARKED, result=TargetResult.GONE)
        targets.save(tx, gone, now=scans.clock.now())
        tally.write(tx, now=scans.clock.now())

    scans.db.write(park)
    song.rename(scans.root / "new.flac")

    scans.scan()

    (again,) = scans.table("work_items")
    assert (again["id"], again["status"]) == (item["id"], "pending")
    assert again["ready_key"] is not None
    (target,) = scans.table("work_targets")
    assert (target["status"], target["out_stem"]) == ("pending", "new")
    (row,) = scans.table("scan_results")
    assert row["missing_since_at"] is None


def test_words_that_did_not_come_along_are_wanted_again(scans):
    old = known(scans)
    old.with_suffix(".lrc").unlink()
    old.rename(old.with_name("new.flac"))

    assert scans.scan().counts.relinked == 1

    assert waiting(scans) == ["Song"]


def test_a_copy_is_queued_like_any_other_file(scans):
    old = known(scans, mbid="f1d1d1d1-0000-4000-8000-000000000001")
    shutil.copy(old, scans.root / "copy.flac")

    report = scans.scan()

    assert (report.counts.relinked, report.counts.enqueued, waiting(scans)) == (0, 1, ["Song"])
    assert "a/01 Song.lrc" in names(scans)


def test_a_song_with_new_names_is_asked_for_at_once_although_its_file_is_known(scans):
    mbid = "f1d1d1d1-0000-4000-8000-000000000001"
    old = known(scans, mbid=mbid)
    old.unlink()
    scans.song("a/Better.flac", "Better", mbid=mbid)

    assert scans.scan().counts.relinked == 1

    assert waiting(scans) == ["Better"]
    assert "a/01 Song.lrc" in names(scans)


def test_where_our_words_stand_already_the_old_copy_goes(scans, backup):
    old = known(scans)
    new = old.rename(old.with_name("new.flac"))
    write_ours(scans, new, "[ar:Quillon Marsh]\n" + WORDS)

    assert scans.scan().counts.relinked == 1

    assert names(scans) == ["a/new.flac", "a/new.lrc"]
    (own,) = scans.table("written_files")
    assert own["path"] == str(new.with_suffix(".lrc"))
    assert scans.statuses() == {"a/new.flac": "done"}
    assert not backup.exists()


@pytest.mark.parametrize("whose", ["old", "new"])
def test_a_copy_that_somebody_edited_never_goes(scans, whose):
    old = known(scans)
    new = old.rename(old.with_name("new.flac"))
    write_ours(scans, new)
    edited = {"old": old, "new": new}[whose].with_suffix(".lrc")
    edited.write_text(f"[by:me]\n{WORDS}")

    scans.scan()

    assert names(scans) == ["a/01 Song.lrc", "a/new.flac", "a/new.lrc"]


@pytest.mark.parametrize(
    ("below", "follows"), [("a", True), (None, False)], ids=["a directory", "all"]
)
def test_realign_comes_before_the_queue_where_it_follows_a_scan(
    scans, db, clock, backup, below, follows
):
    isrc = "USABC1234567"
    old = scans.song("a/01 Song.flac", "Song", isrc=isrc)
    mine = f"[isrc:{isrc}]\n{WORDS}[00:09.00]a line of my own\n"
    old.with_suffix(".lrc").write_text(mine)
    scans.scan()
    new = old.rename(old.with_name("new.flac"))
    reaction = Reaction(policy=RealignPolicy(), backup=backup)
    realign = ReactiveRealign(db, clock=clock, chance=Random(1), reaction=reaction)
    scans.on_renamed = realign.follow

    scans.scan(below=scans.root / below if below else None)

    assert new.with_suffix(".lrc").exists() is follows
    assert waiting(scans) == ([] if follows else ["Song"])
    if follows:
        assert new.with_suffix(".lrc").read_text() == mine
        assert scans.statuses() == {"a/new.flac": "done"}


def test_a_new_file_is_compared_by_the_index_of_songs(scans, db):
    known(scans)
    (row,) = scans.table("scan_results")

    ((plan, *_),) = plans_of(db, lambda tx: absences.namesakes(tx, scans.library.id, row))

    assert "ix_scan_keys" in plan


class _Killed(BaseException):
    """The end of the process."""


@pytest.mark.parametrize("moved", [False, True], ids=["before the move", "after it"])
def test_a_scan_that_is_killed_while_it_follows_is_made_good_by_the_next(scans, moved):
    old = known(scans)
    old.rename(old.with_name("new.flac"))
    whole = scans.follower

    class Dying:
        def bring(self, library, renamed):
            if moved:
                whole.bring(library, renamed)
            raise _Killed

    scans.follower = Dying()
    with pytest.raises(_Killed):
        scans.scan()
    scans.follower = whole
    scans.scan()

    assert names(scans) == ["a/new.flac", "a/new.lrc"]
    assert scans.statuses()["a/new.flac"] == "done"
    (own,) = scans.table("written_files")
    assert own["path"] == str(scans.root / "a" / "new.lrc")
    assert waiting(scans) == []


def test_without_a_place_for_the_backup_nothing_is_moved(scans, backup, caplog):
    backup.mkdir()
    old = known(scans)
    old.rename(old.with_name("new.flac"))

    scans.scan()

    assert names(scans) == ["a/01 Song.lrc", "a/new.flac"]
    assert waiting(scans) == ["Song"]
    assert "stay behind" in caplog.text
