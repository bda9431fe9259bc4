"""Whatever happens to a library between scans, the inventory follows it."""

import os
import shutil
from pathlib import Path
from random import Random

import pytest

from fakes import FakeClock
from lyrsvc.core.sidecar import MARKER_BYTES, FetchMode
from lyrsvc.store.database import Database
from scans import Scans

FOLDERS = ("", "a/b")
NAMES = ("caf\u00e9.flac", "x.flac", "x.ogg")
ACTIONS = (
    "add",
    "add",
    "drop",
    "move",
    "words",
    "lrc",
    "bare",
    "clear",
    "scan",
    "scan",
    "flagged",
    "nest",
)
LENGTH = 60


def steps(seed: int):
    """Give what happens, the same for a seed."""
    dice = Random(seed)
    for _ in range(LENGTH):
        yield dice.choice(ACTIONS), dice.choice(FOLDERS), dice.choice(NAMES), dice.randrange(6)


class Walk:
    """Does things to a library as users do."""

    def __init__(self, scans: Scans) -> None:
        self.scans = scans
        self.inner = None

    def take(self, step) -> None:
        action, folder, name, number = step
        getattr(self, action)(Path(folder, name), number)

    def add(self, path, number) -> None:
        self.scans.song(str(path), f"Song {number}", seconds=100 + number)

    def drop(self, path, _number) -> None:
        (self.scans.root / path).unlink(missing_ok=True)

    def move(self, path, number) -> None:
        source = self.scans.root / path
        target = self.scans.root / FOLDERS[number % len(FOLDERS)] / f"moved {number}.flac"
        if source.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            source.rename(target)

    def words(self, path, number) -> None:
        self._beside(path, ".txt", MARKER_BYTES if number % 2 else b"some words")

    def lrc(self, path, _number) -> None:
        self._beside(path, ".lrc", b"[00:01.00]x\n")

    def bare(self, path, _number) -> None:
        for suffix in (".lrc", ".txt"):
            (self.scans.root / path).with_suffix(suffix).unlink(missing_ok=True)

    def clear(self, path, number) -> None:
        if number == 0:
            self.scans.registry.clear(self.scans.library)
        elif number == 1:
            shutil.rmtree(self.scans.root / path.parts[0], ignore_errors=True)

    def scan(self, _path, _number) -> None:
        self.scan_all()

    def flagged(self, _path, number) -> None:
        self.scans.scan(mode=list(FetchMode)[number % 4], enrich=bool(number % 3))

    def nest(self, _path, _number) -> None:
        """Give a folder to a library of its own, or take that library away."""
        if self.inner is not None:
            self.scans.registry.remove(self.inner)
            self.inner = None
        elif (self.scans.root / "a").is_dir():
            self.inner = self.scans.add(self.scans.root / "a")

    def scan_all(self):
        reports = [self.scans.scan()]
        if self.inner is not None:
            reports.append(self.scans.scan(self.inner))
        return reports

    def _beside(self, path, suffix, data) -> None:
        place = (self.scans.root / path).with_suffix(suffix)
        if place.parent.is_dir():
            place.write_bytes(data)


def on_disk(root: Path) -> dict[str, bool]:
    """Give every audio file with whether lyrics stand beside it."""
    found = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder, name)
            if path.suffix in (".flac", ".ogg"):
                beside = any(path.with_suffix(suffix).exists() for suffix in (".lrc", ".txt"))
                found[str(path.relative_to(root))] = beside
    return found


@pytest.mark.spec("E-31")
@pytest.mark.parametrize("seed", range(25))
def test_after_a_scan_rows_files_targets_and_counts_agree(tmp_path, seed):
    with Database.open(tmp_path / "lyrsvc.db", create=True, clock=FakeClock()) as db:
        scans = Scans(db, FakeClock(), tmp_path / "music")
        (scans.root / "never.empty").touch()
        walk = Walk(scans)
        for step in steps(seed):
            walk.take(step)
        (scans.root / "a").mkdir(exist_ok=True)
        (scans.root / "a" / "never.empty").touch()
        walk.scan_all()

        files = on_disk(scans.root)
        rows = {
            str(Path(row["source_path"]).relative_to(scans.root)): (listed, row)
            for listed, row in zip(scans.table("scan_results"), scans.rows(), strict=True)
        }
        present = {path for path, (stored, _) in rows.items() if not stored["missing_since_at"]}
        assert present == files.keys()
        for path, has_lyrics in files.items():
            stored, shown = rows[path]
            assert bool(stored["sidecar"] & 3) == has_lyrics
            assert shown["status"] == ("done" if has_lyrics else "pending")
            assert has_lyrics or stored["target_id"] is not None
        assert scans.wrong_counts() == {}
        before = scans.contents()
        assert all(report.counts.opened == 0 for report in walk.scan_all())
        assert scans.contents() == before
        paths = [row["source_path"] for row in scans.rows()]
        assert len(paths) == len(set(paths))
