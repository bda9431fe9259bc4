"""Renames that Lidarr told of."""

import shutil
import threading
import unicodedata
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random

import pytest

from lyrsvc.core import requeueing
from lyrsvc.core.item import Result, Status, TargetResult, TargetStatus
from lyrsvc.core.sidecar import Kind, content_hash
from lyrsvc.files import moving
from lyrsvc.files.move_log import read_moves
from lyrsvc.services import renaming
from lyrsvc.services.library_lock import library_lock
from lyrsvc.services.rename_cases import RenameTerms
from lyrsvc.services.renaming import Renamer
from lyrsvc.store import rename_jobs, targets, work_items, written_files
from lyrsvc.store.counts import Tally
from lyrsvc.store.written_files import OwnFile
from realigns import Realigns


class Renames(Realigns):
    """A library of which Lidarr renames the files."""

    touched: list[tuple[str, list[str]]]

    def renamer(self, **terms) -> Renamer:
        self.touched = []
        known = {"roots": lambda: [self.root], "backup": self.backup}
        return Renamer(
            self.db,
            clock=self.clock,
            chance=Random(3),
            terms=RenameTerms(**{**known, **terms}),
            announce=lambda path: self.announced.append(path.name),
            on_touched=lambda library, places: self.touched.append(
                (library.name, sorted(str(p.relative_to(library.path)) for p in places))
            ),
        )

    def rename(self, *pairs: tuple[str, str], audio: bool = True) -> None:
        """Rename audio as Lidarr does, and store the jobs."""
        for old, new in pairs if audio else ():
            (self.root / new).parent.mkdir(parents=True, exist_ok=True)
            (self.root / old).rename(self.root / new)
        self.tell(*((str(self.root / old), str(self.root / new)) for old, new in pairs))

    def tell(self, *pairs: tuple[str, str]) -> None:
        self.db.write(lambda tx: rename_jobs.insert(tx, pairs, now=self.clock.now()))

    def jobs(self) -> list[tuple[str, str]]:
        return [(job["state"], job["error"]) for job in self.table("rename_jobs")]


@pytest.fixture
def music(db, clock, tmp_path):
    music = Renames(db, clock, tmp_path / "music")
    yield music
    assert music.wrong_counts() == {}


@pytest.mark.spec("E-64", "H-16")
def test_sidecars_and_rows_follow_and_a_second_delivery_changes_nothing(music):
    pairs = []
    for number in range(40):
        old = f"Old Name/{number:02} - Track.flac"
        music.song(old, f"Song {number}", mbid=f"{number:08d}-0000-4000-8000-000000000000")
        if number % 2:
            music.put(f"Old Name/{number:02} - Track.lrc", ours=True)
            music.put(f"Old Name/{number:02} - Track.txt", "words\n")
        pairs.append((old, f"New Name/{number:02} - Song {number}.flac"))
    music.scan()
    items = [(item["title"], item["status"]) for item in music.table("work_items")]
    ids = {row["title"]: row["id"] for row in music.table("scan_results")}
    music.rename(*pairs)

    music.renamer().step()

    assert music.jobs() == [("done", "")] * 40
    assert music.sidecars() == {
        f"New Name/{n:02} - Song {n}{kind}" for n in range(1, 40, 2) for kind in (".lrc", ".txt")
    }
    rows = music.rows()
    assert {row["source_path"] for row in rows} == {str(music.root / new) for _, new in pairs}
    assert {row["title"]: row["id"] for row in music.table("scan_results")} == ids
    assert {row["missing_since_at"] for row in music.table("scan_results")} == {None}
    assert [(item["title"], item["status"]) for item in music.table("work_items")] == items
    for target in music.table("work_targets"):
        assert target["source_path"].startswith(str(music.root / "New Name"))
        assert Path(target["source_path"]).stem == target["out_stem"]
    assert {Path(own["path"]).parent.name for own in music.table("written_files")} == {"New Name"}
    moves = list(read_moves(music.backup))
    assert (len(moves), {move.method for move in moves}) == (40, {"lidarr-rename"})

    before = music.known(), music.files(), music.backup.read_bytes()
    music.rename(*pairs, audio=False)
    music.renamer().step()
    assert (music.known(), music.files(), music.backup.read_bytes()) == before
    assert music.jobs() == [("done", "")] * 80
    report = music.scan()
    assert (report.counts.new, report.counts.missing, report.counts.opened) == (0, 0, 0)


@pytest.mark.spec("H-16")
def test_a_destination_that_exists_stays(music, caplog):
    music.song("old.flac")
    music.put("old.lrc", "mine\n")
    music.put("old.txt", "words\n")
    music.put("new.lrc", "theirs\n")
    music.rename(("old.flac", "new.flac"))
    music.renamer().step()
    assert (music.root / "new.lrc").read_text() == "theirs\n"
    assert (music.root / "old.lrc").read_text() == "mine\n"
    assert (music.root / "new.txt").read_text() == "words\n"
    assert music.jobs() == [("done", "new.lrc is there already")]
    (line,) = [record for record in caplog.records if record.name == "lyrsvc.rename"]
    assert (line.levelname, line.files) == ("WARNING", 1)
    assert line.reason == "new.lrc is there already"


def test_the_log_says_so_when_nothing_had_to_follow(music, caplog):
    caplog.set_level("INFO", "lyrsvc.rename")
    for name in ("with", "without"):
        music.song(f"{name}.flac")
    music.put("with.lrc")
    music.rename(("with.flac", "new with.flac"), ("without.flac", "new without.flac"))
    music.renamer().step()
    assert [(record.levelname, record.message) for record in caplog.records] == [
        ("INFO", "sidecars followed a rename"),
        ("INFO", "a rename was taken note of; no sidecar had to follow"),
    ]


def test_our_own_copy_at_the_new_name_makes_the_old_one_superfluous(music):
    """A scan that met the renamed audio first had the same words written there."""
    for name in ("ours", "edited", "shared", "theirs"):
        music.song(f"{name}.flac")
        music.put(f"{name}.lrc", ours=name != "theirs")
        music.put(f"new {name}.lrc", ours=True, al="known by now")
    music.song("shared.mp3")
    music.put("edited.lrc", "my own words\n")
    music.rename(*((f"{n}.flac", f"new {n}.flac") for n in ("ours", "edited", "shared", "theirs")))
    music.renamer().step()
    kept = {"edited.lrc", "shared.lrc", "theirs.lrc"}
    assert {name for name in music.sidecars() if name.endswith(".lrc")} == {
        *kept,
        *(f"new {name}.lrc" for name in ("ours", "edited", "shared", "theirs")),
    }
    assert [error for _, error in music.jobs()] == [
        "",
        *(f"new {name}.lrc is there already" for name in ("edited", "shared", "theirs")),
    ]
    own = {Path(own["path"]).name: own["sha256"] for own in music.table("written_files")}
    assert "ours.lrc" not in own
    assert own["new ours.lrc"] == content_hash((music.root / "new ours.lrc").read_bytes())


def test_what_was_only_intended_at_the_old_name_does_not_hide_what_was_written_at_the_new(music):
    """The service was killed before it wrote; the renamed audio was met and served by a scan."""
    music.song("old.flac")
    intended = OwnFile(path=music.root / "old.lrc", kind=Kind.LRC, sha256="0" * 64)
    music.db.write(
        lambda tx: written_files.intend(tx, intended, item_id=None, now=music.clock.now())
    )
    music.put("new.lrc", ours=True)
    music.rename(("old.flac", "new.flac"))
    music.renamer().step()
    (own,) = music.table("written_files")
    assert Path(own["path"]).name == "new.lrc"
    assert own["sha256"] == content_hash((music.root / "new.lrc").read_bytes())


def test_the_word_timed_sibling_goes_with_its_lrc_only(music):
    for name in ("a", "b"):
        music.song(f"{name}.flac")
        music.put(f"{name}.lrc")
        music.put(f"{name}.elrc")
    music.put("new b.lrc", "theirs\n")
    music.rename(("a.flac", "new a.flac"), ("b.flac", "new b.flac"))
    music.renamer().step()
    assert music.sidecars() == {"new a.lrc", "new a.elrc", "b.lrc", "b.elrc", "new b.lrc"}


def test_names_given_up_by_another_file_are_waited_for(music):
    for name in ("1", "2"):
        music.song(f"{name}.flac", name)
        music.put(f"{name}.lrc", f"words {name}\n")
    (music.root / "2.flac").rename(music.root / "3.flac")
    (music.root / "1.flac").rename(music.root / "2.flac")
    music.rename(("1.flac", "2.flac"), ("2.flac", "3.flac"), audio=False)
    music.renamer().step()
    assert (music.root / "3.lrc").read_text() == "words 2\n"
    assert (music.root / "2.lrc").read_text() == "words 1\n"
    assert music.sidecars() == {"2.lrc", "3.lrc"}


@pytest.mark.seed("S-049")
@pytest.mark.parametrize("kinds", [(".lrc",), (".txt",), (".lrc", ".txt")])
def test_renumbered_files_of_one_event_keep_their_own_words(music, kinds):
    """The second one has none, so that the first one's could be taken for them."""
    for name in ("1", "2", "3"):
        music.song(f"{name}.flac", name)
        music.put(f"{name}.elrc" if name == "2" else f"{name}{kinds[0]}", f"words {name}\n")
        for kind in kinds[1:] if name == "1" else ():
            music.put(f"{name}{kind}", f"words {name}\n")
    for number in (3, 2, 1):
        (music.root / f"{number}.flac").rename(music.root / f"{number + 1}.flac")
    music.rename(*((f"{n}.flac", f"{n + 1}.flac") for n in (1, 2, 3)), audio=False)
    music.renamer().step()
    expected = {f"2{kind}": "words 1\n" for kind in kinds}
    expected |= {"3.elrc": "words 2\n", f"4{kinds[0]}": "words 3\n"}
    assert {name: (music.root / name).read_text() for name in music.sidecars()} == expected
    assert music.jobs() == [("done", "")] * 3


def test_what_a_later_event_tells_of_a_name_is_about_whoever_had_it_then(music):
    music.song("1.flac", "One")
    music.put("1.lrc", "words 1\n")
    music.rename(("1.flac", "2.flac"))
    music.clock.advance(1)
    music.rename(("2.flac", "3.flac"))
    music.song("2.flac", "Two")  # new at the name that was given up
    music.renamer().step()
    assert music.sidecars() == {"3.lrc"}


def test_a_file_that_was_renamed_twice_meanwhile_is_found_at_its_last_place(music):
    music.song("1.flac")
    music.put("1.lrc")
    music.rename(("1.flac", "2.flac"), ("2.flac", "3.flac"))
    music.renamer().step()
    assert music.sidecars() == {"3.lrc"}
    assert music.jobs() == [("done", "")] * 2


def test_a_rename_that_only_changes_the_case_moves_the_sidecar(music):
    music.song("song.flac")
    music.put("song.lrc")
    music.rename(("song.flac", "Song.flac"))
    music.renamer().step()
    assert music.sidecars() == {"Song.lrc"}


NFC, NFD = (partial(unicodedata.normalize, form) for form in ("NFC", "NFD"))


@pytest.mark.parametrize(
    ("old", "new", "sent"),
    [
        ("dir/Al/1 Tune", "Dir/Al/1 Tune", ("dir/Al/1 Tune", "Dir/Al/1 Tune")),
        ("dir/1 Tune", "Dir/Tune", ("dir/1 Tune", "Dir/Tune")),
        (NFC("Bjö/01 Töne"), NFC("Bjö/1 Töne"), (NFD("Bjö/01 Töne"), NFD("Bjö/1 Töne"))),
        (NFD("Bjö/01 Töne"), NFD("Bjö/1 Töne"), (NFC("Bjö/01 Töne"), NFC("Bjö/1 Töne"))),
        (NFC("Bjö/Töne"), NFD("Bjö/Töne"), (NFC("Bjö/Töne"), NFD("Bjö/Töne"))),
        (f"{NFD('Bjö')}/Töne", f"{NFD('Bjö')}/Tön", (NFC("Bjö/Töne"), NFC("Bjö/Tön"))),
    ],
)
@pytest.mark.parametrize("taken_along", [True, False])
def test_rows_follow_however_the_old_path_is_spelled(music, old, new, sent, taken_along):
    music.song("keep.flac")
    music.song(f"{old}.flac", "Tune")
    music.scan()
    music.put(f"{old}.lrc", ours=True)
    for kind in (".flac", ".lrc") if taken_along else (".flac",):
        place = music.root / f"{new}{kind}"
        place.parent.mkdir(parents=True, exist_ok=True)
        (music.root / f"{old}{kind}").rename(place)
    if taken_along and Path(old).parts[0] != Path(new).parts[0]:
        shutil.rmtree(music.root / Path(old).parts[0])
    music.tell(tuple(str(music.root / f"{path}.flac") for path in sent))
    music.renamer().step()
    assert music.jobs() == [("done", "")]
    assert music.sidecars() == {f"{new}.lrc"}
    assert {row["source_path"] for row in music.rows()} == {
        str(music.root / "keep.flac"),
        str(music.root / f"{new}.flac"),
    }
    (target,) = [one for one in music.table("work_targets") if one["out_stem"] != "keep"]
    assert target["source_path"] == str(music.root / f"{new}.flac")
    assert (target["out_dir"], target["out_stem"]) == (
        str((music.root / new).parent),
        Path(new).name,
    )
    (own,) = music.table("written_files")
    assert own["path"] == str(music.root / f"{new}.lrc")


def test_a_file_whose_name_is_spelled_alike_keeps_its_rows(music):
    """Linux has both forms of a name beside each other."""
    for name in (NFC("Töne"), NFD("Töne")):
        music.song(f"{name}.flac", f"Tune {len(name)}")
    music.scan()
    music.rename((NFC("Töne.flac"), "new.flac"))
    music.renamer().step()
    found = {row["title"]: Path(row["source_path"]).name for row in music.rows()}
    assert found == {"Tune 4": "new.flac", "Tune 5": NFD("Töne.flac")}
    found = {Path(one["source_path"]).name for one in music.table("work_targets")}
    assert found == {"new.flac", NFD("Töne.flac")}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("/etc/passwd.flac", "{root}/new.flac"),
        ("{root}/old.flac", "/etc/passwd.flac"),
        ("{root}/../old.flac", "{root}/new.flac"),
        ("{root}2/old.flac", "{root}/new.flac"),
        ("C:\\music\\old.flac", "{root}/new.flac"),
        ("{root}/old.flac", "{root}/gone.flac"),
        ("{root}/old.flac", "{root}/note.txt"),
        ("{root}/old", "{root}/new.flac"),
        ("{root}/out/old.flac", "{root}/new.flac"),
    ],
)
def test_paths_that_are_none_of_ours_are_ignored(music, tmp_path, old, new):
    music.song("new.flac")
    (tmp_path / "music2").mkdir()
    (music.root / "out").symlink_to(tmp_path / "music2")
    for place in (tmp_path, tmp_path / "music2", music.root):
        (place / "old.lrc").write_text("words")
    (music.root / "note.txt").write_text("x")
    before = music.files()
    music.tell((old.format(root=music.root), new.format(root=music.root)))
    music.renamer().step()
    assert [state for state, _ in music.jobs()] == ["ignored"]
    assert music.files() == before


def test_paths_are_mapped_from_lidarrs_view(music):
    music.song("new/x.flac")
    music.put("old/y.lrc")
    music.tell(("/data/old/y.flac", "/data/new/x.flac"))
    music.renamer(mappings=(("/data", str(music.root)),)).step()
    assert music.sidecars() == {"new/x.lrc"}
    assert music.touched == [("Music", ["new", "old"]), ("Music", ["new", "old"])]


def test_old_and_new_rows_become_one(music):
    music.song("old.flac", "Hello")
    music.scan()
    row_id = music.table("scan_results")[0]["id"]
    (music.root / "old.flac").unlink()
    music.song("keep.flac")
    music.song("new.flac", "Hello", seconds=300)
    music.put("old.lrc")
    music.scan()
    assert len(music.table("scan_results")) == 3
    music.rename(("old.flac", "new.flac"), audio=False)
    music.renamer().step()
    rows = {row["name"]: row for row in music.table("scan_results")}
    assert set(rows) == {"keep.flac", "new.flac"}
    assert (rows["new.flac"]["id"], rows["new.flac"]["sidecar"]) == (row_id, 1)
    sources = {Path(t["source_path"]).name for t in music.table("work_targets")}
    assert sources == {"keep.flac", "new.flac"}


def test_what_was_parked_because_its_audio_was_gone_is_due_again(music):
    music.song("old.flac", "Hello")
    music.song("keep.flac")
    music.scan()
    (music.root / "old.flac").rename(music.root.parent / "aside.flac")
    music.scan()
    assert sorted(t["status"] for t in music.table("work_targets")) == ["parked", "pending"]
    (music.root.parent / "aside.flac").rename(music.root / "new.flac")
    music.rename(("old.flac", "new.flac"), audio=False)
    music.renamer().step()
    assert {t["status"] for t in music.table("work_targets")} == {"pending"}
    assert all(item["due_at"] for item in music.table("work_items"))


def test_a_parked_copy_of_a_song_that_is_done_by_now_is_served_too(music):
    """Both files were gone when the worker looked; the first one's rename was told first."""
    for name in ("one", "two"):
        music.song(f"{name}.flac", "Hello")
    music.scan()
    (item,) = music.table("work_items")

    def end(tx):
        tally = Tally()
        before = work_items.get(tx, item["id"])
        done = replace(
            requeueing.park(before),
            status=Status.DONE,
            outcome=Result.SYNCED,
            lane="lrclib",
            completed_at=music.clock.now(),
        )
        work_items.save(tx, before, done, tally, now=music.clock.now())
        one, two = targets.of_item(tx, before.id)
        written = replace(one, status=TargetStatus.DONE, result=TargetResult.WRITTEN)
        gone = replace(two, status=TargetStatus.PARKED, result=TargetResult.GONE)
        for target in (written, gone):
            targets.save(tx, target, now=music.clock.now())
        tally.write(tx, now=music.clock.now())

    music.db.write(end)
    music.rename(("two.flac", "new two.flac"))
    music.renamer().step()
    (again,) = music.table("work_items")
    assert (again["status"], again["ready_key"] is not None) == ("pending", True)
    found = {t["out_stem"]: t["status"] for t in music.table("work_targets")}
    assert found == {"one": "done", "new two": "pending"}


def test_a_busy_library_is_waited_for(music, db, clock):
    music.song("old.flac")
    music.put("old.lrc")
    music.rename(("old.flac", "new.flac"))
    renamer = music.renamer()
    with library_lock(db, music.library, clock=clock, purpose="scan"):
        assert renamer.step() == renaming.BUSY_S
    assert music.jobs() == [("waiting", "")]
    assert renamer.step() == renaming.IDLE_S
    assert music.sidecars() == {"new.lrc"}


@pytest.mark.parametrize("away", ["missing", "empty"])
def test_a_library_that_is_not_mounted_is_waited_for(music, caplog, away):
    music.song("old.flac")
    music.put("old.lrc", ours=True)
    music.scan()
    music.rename(("old.flac", "new.flac"))
    elsewhere = music.root.rename(music.root.with_name("elsewhere"))
    if away == "empty":
        music.root.mkdir()
    renamer = music.renamer()
    for _ in range(3):
        assert renamer.step() == renaming.AWAY_S
    assert music.jobs() == [("waiting", "")]
    assert caplog.text.count("renames wait") == 1
    if away == "empty":
        music.root.rmdir()
    elsewhere.rename(music.root)
    assert renamer.step() == renaming.IDLE_S
    assert (music.jobs(), music.sidecars()) == ([("done", "")], {"new.lrc"})
    assert [Path(row["source_path"]).name for row in music.rows()] == ["new.flac"]


def test_a_library_that_never_comes_back_is_not_waited_for_for_ever(music):
    music.tell((str(music.root / "old.flac"), str(music.root / "new.flac")))
    renamer = music.renamer()
    renamer.step()
    music.pass_days(6.9)
    assert (renamer.step(), music.jobs()) == (renaming.AWAY_S, [("waiting", "")])
    music.pass_days(0.2)
    renamer.step()
    assert [state for state, _ in music.jobs()] == ["ignored"]


def test_a_file_that_was_the_last_of_its_library_is_followed_in_the_end(music, tmp_path):
    (tmp_path / "other").mkdir()
    music.add(tmp_path / "other", name="Other")
    music.song("old.flac")
    music.scan()
    (music.root / "old.flac").rename(tmp_path / "other" / "new.flac")
    music.tell((str(music.root / "old.flac"), str(tmp_path / "other" / "new.flac")))
    renamer = music.renamer(roots=lambda: [music.root, tmp_path / "other"])
    renamer.step()
    assert music.jobs() == [("waiting", "")]
    music.pass_days(7.1)
    renamer.step()
    assert music.jobs() == [("done", "")]
    assert [row["source_path"] for row in music.rows()] == [str(tmp_path / "other" / "new.flac")]


def test_what_waits_for_one_library_holds_up_no_other(music, tmp_path, monkeypatch):
    monkeypatch.setattr(renaming, "BATCH", 2)
    (tmp_path / "other").mkdir()
    music.add(tmp_path / "other", name="Other")
    other = str(tmp_path / "other")
    music.tell(*((f"{other}/{number}.flac", f"{other}/new {number}.flac") for number in range(5)))
    music.song("old.flac")
    music.put("old.lrc")
    music.rename(("old.flac", "new.flac"))
    renamer = music.renamer(roots=lambda: [music.root, tmp_path / "other"])
    assert [renamer.step() for _ in range(3)] == [0.0, 0.0, renaming.AWAY_S]
    assert music.sidecars() == {"new.lrc"}
    assert [state for state, _ in music.jobs()] == ["waiting"] * 5 + ["done"]


def test_what_the_file_system_refuses_is_tried_again_but_not_for_ever(music, monkeypatch):
    music.song("old.flac")
    music.song("old2.flac")
    music.put("old.lrc")
    music.put("old2.lrc")
    music.rename(("old.flac", "new.flac"), ("old2.flac", "new2.flac"))
    renamer = music.renamer()
    rename = moving._rename

    def failing(old, new):
        if old.name == "old.lrc":
            raise OSError(30, "Read-only file system")
        return rename(old, new)

    monkeypatch.setattr(moving, "_rename", failing)
    assert renamer.step() == renaming.RETRY_S
    assert music.sidecars() == {"old.lrc", "new2.lrc"}
    renamer.step()
    renamer.step()
    assert [state for state, _ in music.jobs()] == ["done", "done"]
    assert "read-only file system" in music.jobs()[0][1]


def test_the_loop_applies_what_it_is_woken_for_and_ends(music, clock):
    music.song("old.flac")
    music.put("old.lrc")
    renamer = music.renamer()
    thread = threading.Thread(target=renamer.run, daemon=True)
    thread.start()
    music.rename(("old.flac", "new.flac"))
    renamer.wake()
    until = threading.Event()
    for _ in range(500):
        if music.jobs() == [("done", "")]:
            break
        until.wait(0.01)
    assert music.sidecars() == {"new.lrc"}
    clock.stopped = True
    renamer.wake()
    thread.join(5)
    assert not thread.is_alive()


@pytest.mark.parametrize("known", [True, False])
def test_a_file_may_go_to_another_library(music, tmp_path, known):
    (tmp_path / "other").mkdir()
    other = music.add(tmp_path / "other", name="Other")
    music.song("keep.flac")
    music.song("a/old.flac", "Hello")
    music.put("a/old.lrc", ours=True)
    music.scan()
    target = tmp_path / "other" / "new.flac"
    (music.root / "a" / "old.flac").rename(target)
    if known:
        music.scan(other)
        music.scan()
    music.tell((str(music.root / "a/old.flac"), str(target)))
    renamer = music.renamer(roots=lambda: [music.root, tmp_path / "other"])
    renamer.step()
    assert music.jobs() == [("done", "")]
    assert (tmp_path / "other" / "new.lrc").exists()
    rows = {row["name"]: row for row in music.table("scan_results")}
    assert set(rows) == {"keep.flac", "new.flac"}
    assert (rows["new.flac"]["library_id"], rows["new.flac"]["sidecar"]) == (other.id, 1)
    assert music.wrong_counts() == {}
