"""Directories that webhooks announced, and the scans they wait for."""

import pytest

from lyrsvc.services.announced_scans import AnnouncedScans
from lyrsvc.services.watched_roots import WatchedRoots
from lyrsvc.store import announced_dirs, libraries
from lyrsvc.store.database import Database
from webhooks import FOLDER, Desk


class Announcements(Desk):
    """A library of which webhooks announce directories; scans are only written down."""

    def left(self) -> list[str]:
        with self.db.read() as tx:
            found = announced_dirs.every(tx)
        return [path.removeprefix(f"{self.root}/") for path in found]

    def run_scans(self, *, scan=lambda: True) -> list[str]:
        """Start anew, and stop after the first scan that is not put off."""
        scanned: list[str] = []

        def scan_below(_library, directory) -> bool:
            scanned.append(str(directory.relative_to(self.root)))
            self.clock.advance(1)
            is_done = scan()
            self.clock.stopped = is_done
            return is_done

        def owner(path):
            with self.db.read() as tx:
                return WatchedRoots.of(libraries.all_libraries(tx)).owner(path)

        AnnouncedScans(
            self.db, clock=self.clock, quiet_s=0, scan_below=scan_below, owner=owner
        ).run()
        self.clock.stopped = False
        return scanned


@pytest.fixture
def db(tmp_path, clock):
    with Database.open(tmp_path / "state" / "lyrsvc.db", create=True, clock=clock) as database:
        yield database


@pytest.fixture
def desk(db, clock, tmp_path):
    return Announcements(db, clock, tmp_path)


@pytest.mark.parametrize("event", ["download_new", "retag", "search"])
def test_what_was_announced_before_a_crash_is_scanned_after_it(desk, event):
    desk.album()
    path = desk.song(f"{FOLDER}/1-01 Tidewater.flac", "Tidewater")
    if event == "search":
        desk.intake.ask(artist="A", title="B", album="", path=str(path), by="me")
    else:
        desk.send(event)
    assert desk.left() == [FOLDER]
    assert desk.run_scans() == [FOLDER]
    assert desk.left() == []


def test_files_that_are_known_announce_nothing(desk):
    desk.album()
    desk.scan()
    desk.send("download_new")
    assert desk.left() == []


def test_what_is_announced_while_its_directory_is_scanned_is_kept(desk):
    desk.album()
    desk.send("download_new")
    assert desk.run_scans(scan=lambda: bool(desk.send("download_new"))) == [FOLDER]
    assert desk.left() == [FOLDER]


def test_a_busy_library_keeps_what_was_announced(desk):
    desk.album()
    desk.send("download_new")
    answers = iter([False, True])
    assert desk.run_scans(scan=lambda: next(answers)) == [FOLDER, FOLDER]
    assert desk.left() == []


def test_a_scan_of_a_directory_serves_those_below_it_and_no_others(desk, db):
    places = [f"{desk.root}/{name}" for name in ("a", "a/1/2", "a 2", "a.b", "a0", "b")]
    db.write(lambda tx: announced_dirs.insert(tx, places, now=desk.clock.now()))
    db.write(lambda tx: announced_dirs.forget(tx, places[0], until=desk.clock.now()))
    assert desk.left() == ["a 2", "a.b", "a0", "b"]


def test_what_belongs_to_no_library_any_more_is_forgotten(desk, tmp_path):
    desk.album()
    desk.send("download_new")
    (tmp_path / "other").mkdir()
    other = desk.add(tmp_path / "other", name="Other")
    desk.registry.remove(desk.library)
    desk.db.write(lambda tx: announced_dirs.insert(tx, [f"{other.path}/x"], now=desk.clock.now()))
    desk.root, desk.library = other.path, other
    assert desk.run_scans() == ["."]
    assert desk.left() == []
