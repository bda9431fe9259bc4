"""Realign, undo and rename jobs, killed between any two of their steps."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fakes import FakeClock
from lyrsvc.files.move_log import read_moves
from lyrsvc.store import rename_jobs
from lyrsvc.store.database import Database
from realigns import Realigns

TESTS = Path(__file__).parents[1]
ISRC = "USABC12345{:02}"
POINTS = (
    *("backup opened", "line written", "line durable", "linked", "renamed", "directory synced"),
    *("moved", "inside rows", "rows written"),
)
KILLED = -9


class Yard:
    """A library with two units to move, and processes that do it."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.database = place / "lyrsvc.db"
        self.backup = place / "backup.jsonl"
        with self.open() as music:
            for folder, number in (("a", 1), ("b", 2)):
                music.song(f"{folder}/old.flac", f"Song {number}", isrc=ISRC.format(number))
                music.put(f"{folder}/old.lrc", f"words {number}\n", isrc=ISRC.format(number))
                music.put(f"{folder}/old.txt", f"plain {number}\n")
                music.claim(music.root / folder / "old.lrc")
            music.scan()
            self.first = music.files()
            for folder in ("a", "b"):
                (music.root / folder / "old.flac").rename(music.root / folder / "new.flac")
            self.before = music.files()
            pairs = [
                (str(music.root / each / "old.flac"), str(music.root / each / "new.flac"))
                for each in ("a", "b")
            ]
            self.pairs = pairs

    def open(self) -> "_Opened":
        return _Opened(self)

    def run(self, what: str, point: str = "nowhere", times: int = 1) -> int:
        paths = [str(TESTS), str(TESTS.parent / "src")]
        words = (self.database, self.backup, point, times, what)
        return subprocess.run(
            [sys.executable, *map(str, (TESTS / "realign_process.py", *words))],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            check=False,
        ).returncode


class _Opened:
    def __init__(self, yard: Yard) -> None:
        self._yard = yard

    def __enter__(self) -> Realigns:
        clock = FakeClock()
        self._db = Database.open(self._yard.database, create=True, clock=clock)
        root = self._yard.place / "music"
        if root.exists():
            music = Realigns.__new__(Realigns)
            music.db, music.clock, music.root = self._db, clock, root
            music.backup, music.lines, music.announced = self._yard.backup, [], []
            music.woken = 0
            with self._db.read() as tx:
                from lyrsvc.store import libraries

                [music.library] = libraries.all_libraries(tx)
            return music
        return Realigns(self._db, clock, root)

    def __exit__(self, *_: object) -> None:
        self._db.close()


@pytest.fixture
def yard(tmp_path):
    return Yard(tmp_path)


def contents(music: Realigns) -> list[str]:
    """Give what stands in every sidecar, whatever its name; a half-made link counts once."""
    paths = [music.root / name for name in music.sidecars()]
    by_inode = {path.stat().st_ino: path.read_text() for path in paths}
    return sorted(by_inode.values())


@pytest.mark.spec("E-62")
@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("point", POINTS)
def test_a_killed_realign_loses_nothing_and_can_be_undone(yard, point, times):
    with yard.open() as music:
        whole = contents(music)

    code = yard.run("realign", point, times)

    assert code in (KILLED, 0)
    with yard.open() as music:
        assert contents(music) == whole
        assert music.wrong_counts() == {}
    if yard.backup.exists():
        assert yard.run("undo") == 0
    with yard.open() as music:
        assert music.files() == yard.before
        assert music.wrong_counts() == {}
    assert yard.run("realign") == 0
    with yard.open() as music:
        assert music.sidecars() == {f"{d}/new{k}" for d in "ab" for k in (".lrc", ".txt")}
        music.scan()
        rows = {row["name"]: row for row in music.table("scan_results")}
        assert {name: row["status"] for name, row in rows.items()} == {"new.flac": "done"}
        assert {row["ours"] for row in rows.values()} == {1}
        assert music.wrong_counts() == {}


@pytest.mark.spec("E-62")
@pytest.mark.parametrize("point", ["line durable", "linked", "renamed", "inside rows"])
def test_a_killed_undo_can_be_repeated(yard, point):
    assert yard.run("realign") == 0
    assert yard.run("undo", point, 2) == KILLED
    assert yard.run("undo") == 0
    with yard.open() as music:
        assert music.files() == yard.before
        assert music.wrong_counts() == {}


@pytest.mark.spec("E-62")
def test_a_file_that_was_renamed_but_not_written_down_is_adopted_by_the_next_scan(yard):
    assert yard.run("realign", "inside rows") == KILLED
    with yard.open() as music:
        music.scan()
        rows = {row["rel"]: row for row in rows_by_folder(music)}
        assert rows["a"]["status"] == "done"
        assert rows["a"]["ours"] == 1
        own = {Path(own["path"]).name for own in music.table("written_files")}
        assert "new.lrc" in own


@pytest.mark.spec("E-62")
def test_half_a_unit_is_restored_by_undo_and_the_other_half_is_told(yard):
    assert yard.run("realign", "renamed") == KILLED
    with yard.open() as music:
        assert {"a/new.lrc", "a/old.txt"} <= music.sidecars()
        music.preview()
        assert ("skip", "ambiguous", "a/old.txt", "") in music.told()
    assert yard.run("undo") == 0
    with yard.open() as music:
        assert music.files() == yard.before


@pytest.mark.spec("E-62")
@pytest.mark.parametrize("times", [1, 4])
@pytest.mark.parametrize("point", POINTS)
def test_a_killed_rename_job_is_done_after_the_next_start(yard, point, times):
    with yard.open() as music:
        now = music.clock.now()
        music.db.write(lambda tx: rename_jobs.insert(tx, yard.pairs, now=now))
        whole = contents(music)

    code = yard.run("rename", point, times)
    assert code in (KILLED, 0)
    with yard.open() as music:
        assert contents(music) == whole
    assert yard.run("rename") == 0

    with yard.open() as music:
        assert {job["state"] for job in music.table("rename_jobs")} == {"done"}
        assert music.sidecars() == {f"{d}/new{k}" for d in "ab" for k in (".lrc", ".txt")}
        rows = music.table("scan_results")
        assert {(row["name"], row["status"], row["ours"]) for row in rows} == {
            ("new.flac", "done", 1)
        }
        own = {Path(own["path"]).name for own in music.table("written_files")}
        assert own == {"new.lrc"}
        assert music.wrong_counts() == {}
        assert music.scan().counts.opened == 0
    moved = {(move.old_path, move.new_path) for move in read_moves(yard.backup)}
    assert len(moved) == 4


def rows_by_folder(music: Realigns) -> list[dict]:
    with music.db.read() as tx:
        return [
            dict(row)
            for row in tx.all(
                "SELECT s.*, d.rel_path AS rel FROM scan_results s JOIN scan_dirs d ON d.id = s.dir_id"
            )
        ]
