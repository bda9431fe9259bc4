"""The watcher on real directories with the kernel's own events."""

import errno
import logging
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lyrsvc.clock import SystemClock
from lyrsvc.core.debounce import Debounce
from lyrsvc.core.errors import Refused, StorageFailed, StoreBusy
from lyrsvc.core.library import Library
from lyrsvc.files.atomic import remove_file, replace_file
from lyrsvc.files.tree import walk
from lyrsvc.services.inotify_link import LIMIT_FILE, InotifyLink, Unsupported
from lyrsvc.services.watcher import Watcher, WatchPace, WatchState

pytestmark = pytest.mark.skipif(not LIMIT_FILE.exists(), reason="inotify is Linux only")

LIMIT_S = 60.0
QUEUE_FILE = LIMIT_FILE.with_name("max_queued_events")


def a_library(path: Path, number: int = 1, name: str | None = None) -> Library:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return Library(id=number, name=name or path.name, path=path, created_at=now, updated_at=now)


class Scans:
    """Notes every scan that is asked for, and can be waited on."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, Path]] = []
        self.answer: Callable[[Library, Path], bool] = lambda _library, _directory: True
        self._changed = threading.Condition()

    def __call__(self, library: Library, directory: Path) -> bool:
        answer = self.answer(library, directory)
        with self._changed:
            self.seen.append((library.name, directory))
            self._changed.notify_all()
        return answer

    def wait_for(self, condition: Callable[[], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(condition, LIMIT_S), f"only {self.seen}"

    def wait_for_scan(self, directory: Path) -> None:
        self.wait_for(lambda: directory in self.directories)

    @property
    def directories(self) -> list[Path]:
        return [directory for _, directory in self.seen]


class House:
    """A watcher with its two threads, on as many libraries as a test wants."""

    def __init__(self, *libraries: Library, connect=InotifyLink, clock=None, **pace) -> None:
        self.libraries = list(libraries)
        self.scans = Scans()
        self.stop = threading.Event()
        self.watcher = Watcher(
            libraries=lambda: list(self.libraries),
            scan_below=self.scans,
            clock=clock or SystemClock(self.stop),
            pace=WatchPace(**{"debounce_s": 0.1, "refresh_s": 3600, "retry_s": 3600, **pace}),
            connect=connect,
        )
        self._threads: list[threading.Thread] = []

    def open(self) -> "House":
        self.watcher.open()
        return self

    def run(self) -> "House":
        for loop in (self.watcher.run, self.watcher.run_scans):
            thread = threading.Thread(target=loop)
            self._threads.append(thread)
            thread.start()
        return self

    def end(self) -> None:
        self.stop.set()
        self.watcher.wake()
        for thread in self._threads:
            thread.join(LIMIT_S)
            assert not thread.is_alive()
        self.watcher.close()


@pytest.fixture
def houses() -> Iterator[Callable[..., House]]:
    made: list[House] = []

    def make(*libraries: Library, **options) -> House:
        made.append(House(*libraries, **options))
        return made[-1]

    yield make
    for house in made:
        house.end()


@pytest.fixture
def music(tmp_path) -> Path:
    for name in ("a/b", "c"):
        (tmp_path / "music" / name).mkdir(parents=True)
    return tmp_path / "music"


@pytest.fixture(autouse=True)
def _all_levels(caplog):
    caplog.set_level(logging.DEBUG, logger="lyrsvc.watcher")


def write(path: Path, text: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def records(caplog, message: str) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.getMessage() == message]


# What is scanned


@pytest.mark.seed("S-038")
def test_a_file_that_appears_has_its_directory_scanned(houses, music):
    house = houses(a_library(music)).open().run()
    write(music / "a" / "b" / "song.flac")
    house.scans.wait_for_scan(music / "a" / "b")
    assert house.scans.seen == [("music", music / "a" / "b")]


@pytest.mark.parametrize(
    "change",
    [
        lambda there: there.write_text("other words"),
        lambda there: there.unlink(),
        lambda there: there.rename(there.with_name("renamed.mp3")),
        lambda there: there.with_name("link.mp3").hardlink_to(there),
        lambda there: there.with_name("soft.MP3").symlink_to(there),
        lambda there: there.with_name("song.lrc").write_text("[00:01.00]x"),
    ],
    ids=["written", "deleted", "renamed", "hard link", "soft link", "sidecar"],
)
def test_every_kind_of_change_counts(houses, music, change):
    there = write(music / "c" / "song.mp3")
    house = houses(a_library(music)).open().run()
    change(there)
    house.scans.wait_for_scan(music / "c")


def test_other_files_do_not_count(houses, music):
    house = houses(a_library(music)).open().run()
    for name in ("cover.jpg", "notes", ".song.flac", "._x.lrc", ".lyrsvc-0123abcd.tmp", "flac"):
        write(music / "a" / name)
    for name in ("@eaDir", ".hidden"):
        write(music / "a" / name / "song.flac")
    write(music / "c" / "song.flac")
    house.scans.wait_for_scan(music / "c")
    assert house.scans.directories == [music / "c"]


def test_a_file_counts_when_it_is_closed_not_when_it_is_begun(houses, music):
    house = houses(a_library(music)).open().run()
    with (music / "a" / "long.flac").open("w") as long:
        write(music / "c" / "song.flac")
        house.scans.wait_for_scan(music / "c")
        assert house.scans.directories == [music / "c"]
        long.write("at last")
    house.scans.wait_for_scan(music / "a")


def test_names_that_are_no_text_are_watched_like_others(houses, music):
    odd = Path(os.fsdecode(os.fsencode(music) + b"/a/\xff\xfe\nodd"))
    odd.mkdir()
    house = houses(a_library(music)).open().run()
    write(odd / "song.flac")
    house.scans.wait_for_scan(odd)


def test_a_burst_in_many_directories_ends_in_one_scan_of_each(houses, music):
    places = [music / f"album{number}" for number in range(20)]
    for place in places:
        place.mkdir()
    house = houses(a_library(music)).open()
    for number in range(50):
        for place in places:
            write(place / f"{number}.flac")
    house.run()
    house.scans.wait_for(lambda: set(places) <= set(house.scans.directories))
    assert len(house.scans.seen) == len(places)


def test_a_scan_covers_what_happens_below_its_directory(houses, music):
    house = houses(a_library(music)).open()
    write(music / "a" / "b" / "one.flac")
    write(music / "a" / "two.flac")
    house.run()
    house.scans.wait_for_scan(music / "a")
    assert house.scans.directories == [music / "a"]


def test_a_scan_that_fails_ends_nothing(houses, music, caplog):
    def fail(_library: Library, directory: Path) -> bool:
        if directory == music / "a":
            house.scans.seen.append(("failed", directory))
            raise RuntimeError("torn apart")
        return True

    house = houses(a_library(music))
    house.scans.answer = fail
    house.open().run()
    write(music / "a" / "song.flac")
    write(music / "c" / "song.flac")
    house.scans.wait_for_scan(music / "c")
    assert "torn apart" in caplog.text


def test_a_busy_library_is_scanned_later(houses, music):
    answers = iter([False, False, True])
    house = houses(a_library(music))
    house.scans.answer = lambda _library, _directory: next(answers)
    house.open().run()
    write(music / "c" / "song.flac")
    house.scans.wait_for(lambda: len(house.scans.seen) == 3)
    assert set(house.scans.directories) == {music / "c"}


def test_what_the_database_cannot_take_is_scanned_later(houses, music, caplog):
    """No event comes twice: a directory that is given up here would never be looked at."""
    faults = [StoreBusy("held"), StoreBusy("held"), StorageFailed("disk full")]

    def scan(_library: Library, _directory: Path) -> bool:
        if faults:
            raise faults.pop(0)
        return True

    house = houses(a_library(music))
    house.scans.answer = scan
    house.open()
    house.watcher._scans._storage_retry_s = 0.05
    for name in ("a", "c"):
        write(music / name / "song.flac")
    house.run()
    house.scans.wait_for(lambda: len(house.scans.seen) == 2)
    assert set(house.scans.directories) == {music / "a", music / "c"}
    later = records(caplog, "changed directories are scanned later")
    told = [(record.reason, record.levelname) for record in later]
    assert told == [("held", "WARNING"), ("held", "DEBUG"), ("disk full", "WARNING")]
    assert "Traceback" not in caplog.text


# Directories that come and go


def test_what_came_into_a_new_directory_before_its_watch_is_found(houses, music):
    house = houses(a_library(music)).open()
    write(music / "new" / "deep" / "deeper" / "song.flac")  # nobody reads events yet
    house.run()
    house.scans.wait_for_scan(music / "new")
    write(music / "new" / "deep" / "deeper" / "other.flac")
    house.scans.wait_for_scan(music / "new" / "deep" / "deeper")


def test_a_tree_that_is_moved_in_is_watched_to_its_ground(houses, music, tmp_path):
    outside = tmp_path / "outside"
    write(outside / "x" / "y" / "song.flac")
    house = houses(a_library(music)).open().run()
    outside.rename(music / "inside")
    house.scans.wait_for_scan(music / "inside")
    write(music / "inside" / "x" / "y" / "other.flac")
    house.scans.wait_for_scan(music / "inside" / "x" / "y")
    assert house.watcher.directories == 7


def test_a_tree_that_is_moved_out_is_watched_no_longer(houses, music, tmp_path):
    house = houses(a_library(music)).open().run()
    (music / "a").rename(tmp_path / "elsewhere")
    house.scans.wait_for_scan(music)
    assert house.watcher.directories == 2
    write(tmp_path / "elsewhere" / "b" / "song.flac")
    write(music / "c" / "song.flac")
    house.scans.wait_for_scan(music / "c")
    assert house.scans.directories == [music, music / "c"]


def test_a_renamed_directory_is_known_by_its_new_name(houses, music):
    house = houses(a_library(music)).open().run()
    (music / "a").rename(music / "z")
    house.scans.wait_for_scan(music)
    write(music / "z" / "b" / "song.flac")
    house.scans.wait_for_scan(music / "z" / "b")
    assert house.watcher.directories == 4


def test_a_name_that_changes_hands_many_times_is_still_watched(houses, music):
    house = houses(a_library(music)).open()
    for _ in range(50):
        (music / "a").rename(music / "z")
        (music / "z").rename(music / "a")
        (music / "n").mkdir()
        (music / "n").rmdir()
    (music / "n").mkdir()
    house.run()
    house.scans.wait_for_scan(music)
    for place in (music / "a" / "b", music / "n"):
        write(place / "song.flac")
        house.scans.wait_for_scan(place)
    assert house.watcher.directories == 5


def test_a_deleted_directory_has_its_parent_scanned(houses, music):
    write(music / "a" / "b" / "song.flac")
    house = houses(a_library(music)).open()
    (music / "a" / "b" / "song.flac").unlink()
    (music / "a" / "b").rmdir()
    house.run()
    house.scans.wait_for_scan(music / "a")
    assert music / "a" / "b" not in house.scans.directories
    assert house.watcher.directories == 3


def test_a_deleted_tree_is_one_scan_of_what_is_left(houses, music):
    for number in range(30):
        write(music / "a" / "b" / f"{number}" / "song.flac")
    house = houses(a_library(music)).open()
    shutil.rmtree(music / "a" / "b")
    house.run()
    house.scans.wait_for_scan(music / "a")
    assert house.scans.directories == [music / "a"]
    assert house.watcher.directories == 3


def test_a_vanished_directory_is_replaced_by_the_nearest_that_exists(houses, music):
    house = houses(a_library(music)).open()
    write(music / "a" / "b" / "song.flac")  # its event waits, and the directory is gone unseen
    house.watcher._scans.touch(str(music / "a" / "b" / "never" / "there"), str(music))
    house.watcher._scans.touch(str(music.parent / "elsewhere"), str(music.parent))
    house.run()
    house.scans.wait_for_scan(music / "a" / "b")
    assert house.scans.directories == [music / "a" / "b"]


def test_a_link_to_a_directory_is_not_followed(houses, music, tmp_path):
    write(tmp_path / "other" / "song.flac")
    (music / "link").symlink_to(tmp_path / "other")
    house = houses(a_library(music)).open().run()
    assert house.watcher.directories == 4
    write(tmp_path / "other" / "new.flac")
    write(music / "c" / "song.flac")
    house.scans.wait_for_scan(music / "c")
    assert house.scans.directories == [music / "c"]


@pytest.mark.seed("S-038")
def test_directories_below_the_scan_depth_are_not_watched(houses, music):
    house = houses(a_library(music), depth=1).open()
    assert house.watcher.directories == 3


# Libraries


@pytest.mark.seed("S-038")
def test_the_innermost_library_owns_a_file(houses, music):
    outer, inner = a_library(music, 1, "outer"), a_library(music / "a", 2, "inner")
    house = houses(outer, inner).open().run()
    assert house.watcher.directories == 4
    write(music / "a" / "b" / "song.flac")
    house.scans.wait_for_scan(music / "a" / "b")
    write(music / "c" / "song.flac")
    house.scans.wait_for_scan(music / "c")
    assert house.scans.seen == [("inner", music / "a" / "b"), ("outer", music / "c")]


def test_an_inner_library_reached_by_a_link_owns_its_files_too(houses, music, tmp_path):
    link = tmp_path / "by-link"
    link.symlink_to(music / "a")
    house = houses(a_library(music, 1, "outer"), a_library(link, 2, "inner")).open().run()
    assert house.watcher.directories == 4
    write(music / "a" / "b" / "song.flac")
    house.scans.wait_for_scan(link / "b")
    assert house.scans.seen == [("inner", link / "b")]


def test_a_library_that_is_added_is_scanned_and_watched_without_a_restart(houses, music, tmp_path):
    house = houses(a_library(music), refresh_s=0.05).open().run()
    write(tmp_path / "more" / "x" / "before.flac")
    house.libraries.append(a_library(tmp_path / "more", 2))
    house.scans.wait_for_scan(tmp_path / "more")
    write(tmp_path / "more" / "x" / "song.flac")
    house.scans.wait_for_scan(tmp_path / "more" / "x")


def test_libraries_that_are_removed_added_and_nested_change_hands(houses, music):
    outer, inner = a_library(music, 1, "outer"), a_library(music / "a", 2, "inner")
    house = houses(outer, refresh_s=0.05).open().run()
    house.libraries.append(inner)
    house.scans.wait_for(lambda: ("inner", music / "a") in house.scans.seen)
    write(music / "a" / "b" / "one.flac")
    house.scans.wait_for(lambda: ("inner", music / "a" / "b") in house.scans.seen)
    house.libraries.remove(inner)
    house.scans.wait_for(lambda: ("outer", music / "a") in house.scans.seen)
    write(music / "a" / "b" / "two.flac")
    house.scans.wait_for(lambda: ("outer", music / "a" / "b") in house.scans.seen)
    assert house.watcher.directories == 4
    house.libraries.clear()
    house.libraries.append(a_library(music / "c", 3))
    house.scans.wait_for_scan(music / "c")
    assert house.watcher.directories == 1


def test_a_missing_root_is_told_and_watched_when_it_is_back(houses, music, tmp_path, caplog):
    late = tmp_path / "late"
    house = houses(a_library(late), a_library(music, 2), retry_s=0.05).open().run()
    write(music / "c" / "song.flac")
    house.scans.wait_for_scan(music / "c")
    (tmp_path / "made").mkdir()
    write(tmp_path / "made" / "song.flac")
    (tmp_path / "made").rename(late)
    house.scans.wait_for_scan(late)
    write(late / "more.flac")
    house.scans.wait_for(lambda: house.scans.directories.count(late) == 2)
    told = records(caplog, "root of the library is missing; not watched until it is back")
    assert [record.path for record in told] == [str(late)]
    assert house.watcher.state is WatchState.ON


@pytest.mark.parametrize("how", ["deleted", "moved", "replaced"])
def test_a_root_that_goes_is_waited_for(houses, music, tmp_path, how):
    root = tmp_path / "root"
    root.mkdir()
    house = houses(a_library(root), a_library(music, 2), retry_s=0.05).open().run()
    if how == "deleted":
        root.rmdir()
    else:
        root.rename(tmp_path / "away")
    if how != "replaced":
        write(music / "c" / "song.flac")
        house.scans.wait_for_scan(music / "c")
        assert house.watcher.directories == 4
    write(root / "song.flac")
    house.scans.wait_for_scan(root)
    write(root / "sub" / "song.flac")
    house.scans.wait_for(lambda: root / "sub" in house.scans.directories)


@pytest.fixture
def disk(music) -> Iterator[Callable[[bool], None]]:
    """Mount a small disk at c, or take it away; only root can."""
    place, is_in = music / "c", False
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]

    def put(is_wanted: bool) -> None:
        nonlocal is_in
        done = subprocess.run(command if is_wanted else ["umount", place], capture_output=True)
        if done.returncode:
            pytest.skip("no file system can be mounted here")
        is_in = is_wanted

    yield put
    if is_in:
        subprocess.run(["umount", "--lazy", place], check=True)


def test_a_disk_that_is_mounted_inside_a_library_is_watched(houses, music, disk):
    house = houses(a_library(music), retry_s=0.05).open().run()
    place = music / "c"
    for name in ("first", "second"):  # the second in the place of one that was watched
        for is_wanted in (True, False):
            house.scans.seen.clear()
            disk(is_wanted)
            house.scans.wait_for_scan(place)
            if is_wanted:
                write(place / name / "song.flac")
                house.scans.wait_for_scan(place / name)


def test_a_list_that_cannot_be_read_leaves_things_as_they_are(houses, music, caplog):
    asked = threading.Event()
    house = houses(a_library(music), refresh_s=0.05).open()

    def fail() -> list[Library]:
        asked.set()
        raise StorageFailed("disk full")

    house.watcher._libraries = fail
    house.run()
    assert asked.wait(LIMIT_S)
    write(music / "c" / "song.flac")
    house.scans.wait_for_scan(music / "c")
    assert "watcher cannot read the list of libraries" in caplog.text


# Limits


@pytest.mark.seed("S-037")
def test_more_directories_than_the_cap_are_a_fatal_error_that_names_the_numbers(
    houses, tmp_path, caplog
):
    for number in range(10):
        (tmp_path / "m" / f"{number}").mkdir(parents=True)
    house = houses(a_library(tmp_path / "m"), max_dirs=10)
    with pytest.raises(Refused, match=r"11 counted.*LYRSVCGO_WATCH_MAX_DIRS=10") as caught:
        house.open()
    assert caught.value.exit_code == 1
    assert [record for record in caplog.records if record.levelno == logging.ERROR] == []
    assert house.watcher.state is WatchState.OFF


def test_as_many_directories_as_the_cap_are_fine(houses, tmp_path, caplog):
    for number in range(9):
        (tmp_path / "m" / f"{number}").mkdir(parents=True)
    house = houses(a_library(tmp_path / "m"), max_dirs=10).open()
    started = records(caplog, "watcher started")
    assert [(one.levelname, one.directories, one.libraries) for one in started] == [("INFO", 10, 1)]
    assert house.watcher.state is WatchState.ON


@pytest.mark.parametrize("order", [1, -1])
def test_a_root_that_is_not_there_takes_no_place_below_the_cap(houses, tmp_path, order):
    for number in range(2):
        (tmp_path / "m" / f"{number}").mkdir(parents=True)
    libraries = [a_library(tmp_path / "m"), a_library(tmp_path / "later", 2)][::order]

    house = houses(*libraries, max_dirs=3).open()

    assert (house.watcher.directories, house.watcher.state) == (3, WatchState.ON)


def test_directories_that_come_above_the_cap_are_told_once_and_the_rest_goes_on(
    houses, music, caplog
):
    house = houses(a_library(music), max_dirs=4).open().run()
    for number in range(5):
        write(music / "a" / f"new{number}" / "song.flac")
    house.scans.wait_for(
        lambda: {music / "a" / f"new{n}" for n in range(5)} <= set(house.scans.directories)
    )
    write(music / "c" / "song.flac")
    house.scans.wait_for_scan(music / "c")
    assert house.watcher.directories == 4
    assert house.watcher.state is WatchState.DEGRADED
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert [(one.getMessage(), one.cap) for one in errors] == [
        ("new directories are not watched: there are too many", 4)
    ]


def test_a_library_that_would_pass_the_cap_is_not_watched_at_all(houses, music, tmp_path, caplog):
    for number in range(5):
        (tmp_path / "more" / str(number)).mkdir(parents=True)
    house = houses(a_library(music), max_dirs=6, refresh_s=0.05, retry_s=0.05).open().run()
    house.libraries.append(a_library(tmp_path / "more", 2))
    write(music / "c" / "song.flac")
    house.scans.wait_for_scan(music / "c")
    house.scans.wait_for(lambda: house.watcher.state is WatchState.DEGRADED)
    assert house.watcher.directories == 4
    told = records(caplog, "library is not watched: it has too many directories")
    assert [(one.library, one.cap) for one in told] == [("more", 6)]

    house.libraries[1:] = [a_library(tmp_path / "more" / "1", 3)]
    house.scans.wait_for_scan(tmp_path / "more" / "1")
    assert house.watcher.state is WatchState.ON


class Stingy(InotifyLink):
    """A kernel that allows a few watches only."""

    allowed = 3

    def __init__(self) -> None:
        super().__init__()
        self._held: set[int] = set()

    def watch(self, path: str, *, is_root: bool) -> int:
        watch = super().watch(path, is_root=is_root)
        if watch not in self._held and len(self._held) >= self.allowed:
            super().unwatch(watch)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._held.add(watch)
        return watch

    def unwatch(self, watch: int) -> None:
        self._held.discard(watch)
        super().unwatch(watch)


@pytest.mark.seed("S-120")
def test_a_limit_of_the_system_that_is_too_small_is_named_with_its_remedy(
    houses, music, caplog, monkeypatch
):
    (music / "d" / "e").mkdir(parents=True)
    house = houses(a_library(music), connect=Stingy, retry_s=0.05).open().run()
    allowed = LIMIT_FILE.read_text().strip()
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert [record.getMessage() for record in errors] == [
        f"watcher needs 6 watches, the system allows {allowed} per user; raise "
        "fs.inotify.max_user_watches or set LYRSVCGO_WATCH_ENABLED=false"
    ]
    assert house.watcher.state is WatchState.DEGRADED
    assert house.watcher.directories == 3
    write(music / "song.flac")  # what is registered stays
    house.scans.wait_for_scan(music)

    monkeypatch.setattr(Stingy, "allowed", 100)  # the operator raised it
    house.scans.wait_for(lambda: house.watcher.directories == 6)
    house.scans.wait_for(lambda: len(house.scans.seen) > 1)
    assert house.watcher.state is WatchState.ON
    assert len([one for one in caplog.records if one.levelno == logging.ERROR]) == 1


def test_a_directory_that_may_not_be_read_is_told_and_tried_again(houses, music, caplog):
    locked = music / "c"

    class Denying(InotifyLink):
        is_locked = True

        def watch(self, path: str, *, is_root: bool) -> int:
            if path == str(locked) and Denying.is_locked:
                raise OSError(errno.EACCES, os.strerror(errno.EACCES))
            return super().watch(path, is_root=is_root)

    house = houses(a_library(music), connect=Denying, retry_s=0.05).open().run()
    assert house.watcher.directories == 3
    assert house.watcher.state is WatchState.ON
    Denying.is_locked = False
    house.scans.wait_for_scan(locked)
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert [(one.count, one.first) for one in warnings] == [(1, str(locked))]


def test_a_system_without_file_events_is_told_and_the_watcher_stays_off(houses, music, caplog):
    def unsupported() -> InotifyLink:
        raise Unsupported("no file events on plan9")

    house = houses(a_library(music), connect=unsupported).open().run()
    assert house.watcher.state is WatchState.OFF
    assert house.watcher.directories == 0
    assert [one.levelname for one in caplog.records] == ["WARNING"]
    assert "watcher is off" in caplog.text


def test_other_systems_than_linux_are_not_asked(monkeypatch):
    monkeypatch.setattr("sys.platform", "plan9")
    with pytest.raises(Unsupported, match="plan9"):
        InotifyLink()


def test_a_system_without_a_free_instance_is_told_with_its_remedy(houses, music, caplog):
    def used_up() -> InotifyLink:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    house = houses(a_library(music), connect=used_up).open()
    assert house.watcher.state is WatchState.OFF
    assert [one.levelname for one in caplog.records] == ["ERROR"]
    assert "raise fs.inotify.max_user_instances" in caplog.text


# Storms


@pytest.mark.spec("E-57")
def test_two_hundred_thousand_events_that_overflow_end_in_one_scan_that_finds_all(
    houses, music, caplog
):
    if int(QUEUE_FILE.read_text()) > 150_000:
        pytest.skip("the kernel's queue holds them all")
    found: list[str] = []

    def scan(_library: Library, directory: Path) -> bool:
        found.extend(file.name for listing in walk(directory) for file in listing.audio)
        return True

    house = houses(a_library(music), debounce_s=1.0)
    house.scans.answer = scan
    house.open()
    one, other = write(music / "c" / "one.flac"), music / "c" / "other.flac"
    for _ in range(50_000):
        one.rename(other)
        other.rename(one)
    for number in range(100):
        write(music / f"late{number}" / "deep" / f"{number}.flac")
    house.run()
    house.scans.wait_for(lambda: bool(house.scans.seen))
    assert house.scans.directories == [music]
    assert sorted(found) == sorted(["one.flac", *(f"{number}.flac" for number in range(100))])
    lost = records(caplog, "watcher: events were lost; every library is scanned")
    assert [record.levelname for record in lost] == ["WARNING"]

    write(music / "late7" / "deep" / "more.flac")  # watched, though its event was lost
    house.scans.wait_for_scan(music / "late7" / "deep")


def test_a_storm_while_events_are_read_loses_nothing(houses, music):
    house = houses(a_library(music), debounce_s=0.3).open().run()
    one, other = write(music / "c" / "one.flac"), music / "c" / "other.flac"
    for _ in range(10_000):
        one.rename(other)
        other.rename(one)
    write(music / "a" / "b" / "song.flac")
    house.scans.wait_for(lambda: {music / "a" / "b", music / "c"} <= covered(house, music))


def covered(house: House, root: Path) -> set[Path]:
    every = {Path(listing.path) for listing in walk(root)}
    return {
        path for path in every if any(path.is_relative_to(one) for one in house.scans.directories)
    }


def test_too_many_changed_directories_become_one_scan_of_the_library(houses, music, caplog):
    house = houses(a_library(music)).open()
    house.watcher._scans._debounce = Debounce(quiet_s=0.1, most=3)
    for number in range(5):
        write(music / f"{number}" / "song.flac")
    house.run()
    house.scans.wait_for_scan(music)
    assert house.scans.directories == [music]
    told = "watcher: too many directories changed; whole libraries are scanned"
    assert [record.levelname for record in records(caplog, told)] == ["WARNING"]


# Our own writes


def test_own_writes_and_removals_cause_no_scan_but_a_foreign_sidecar_does(houses, music):
    house = houses(a_library(music), debounce_s=10.0, longest_s=0.1).open().run()
    announce = house.watcher.announce
    for number in range(100):
        song = music / "a" / f"{number}.lrc"
        replace_file(song, b"[00:01.00]x\n", announce=announce)
        replace_file(song.with_suffix(".txt"), b"x\n", announce=announce)
        remove_file(song.with_suffix(".txt"), announce=announce)
    write(music / "c" / "song.lrc")
    house.scans.wait_for_scan(music / "c")
    assert house.scans.directories == [music / "c"]


def test_what_somebody_does_to_a_file_of_ours_is_not_ours(houses, music):
    house = houses(a_library(music), debounce_s=10.0, longest_s=0.1).open().run()
    song = music / "a" / "song.lrc"
    seen = Tally("lyrsvc.watcher", "watcher: event received")
    replace_file(song, b"[00:01.00]x\n", announce=house.watcher.announce)
    seen.wait_for(1)
    write(song, "[00:01.00] an edit by hand")
    house.scans.wait_for_scan(music / "a")
    seen.close()


def test_a_file_that_comes_where_we_removed_one_is_not_ours(houses, music):
    song = write(music / "a" / "song.txt")
    house = houses(a_library(music), debounce_s=10.0, longest_s=0.1).open().run()
    seen = Tally("lyrsvc.watcher", "watcher: event received")
    remove_file(song, announce=house.watcher.announce)
    seen.wait_for(1)
    write(song, "new words")
    house.scans.wait_for_scan(music / "a")
    seen.close()


def test_own_writes_are_known_when_the_root_is_a_link(houses, music, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(music)
    house = houses(a_library(link), debounce_s=10.0, longest_s=0.1).open().run()
    replace_file(music / "a" / "one.lrc", b"x", announce=house.watcher.announce)
    replace_file(link / "a" / "two.lrc", b"x", announce=house.watcher.announce)
    write(music / "c" / "song.lrc")
    house.scans.wait_for_scan(link / "c")
    assert house.scans.directories == [link / "c"]


class Tally(logging.Handler):
    """Counts the records with a message, so that a test can wait for one."""

    def __init__(self, logger: str, message: str) -> None:
        super().__init__(logging.DEBUG)
        self._logger = logging.getLogger(logger)
        self._message = message
        self._count = 0
        self._changed = threading.Condition()
        self._logger.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage() == self._message:
            with self._changed:
                self._count += 1
                self._changed.notify_all()

    def wait_for(self, count: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self._count >= count, LIMIT_S)

    def close(self) -> None:
        self._logger.removeHandler(self)
        super().close()


# What is told


@pytest.mark.seed("S-039")
def test_start_and_events_are_told_in_the_fixed_words(houses, music, caplog):
    house = houses(a_library(music, 1, "Music"), debounce_s=0.1).open().run()
    (started,) = records(caplog, "watcher started")
    assert (started.levelno, started.libraries, started.directories, started.debounce_ms) == (
        logging.INFO,
        1,
        4,
        100,
    )
    write(music / "c" / "song.flac")
    house.scans.wait_for_scan(music / "c")
    (music / "new").mkdir()
    house.scans.wait_for_scan(music / "new")
    told = records(caplog, "watcher: event received")
    assert [(one.levelno, one.event, one.path, one.library) for one in told] == [
        (logging.DEBUG, "create", str(music / "c" / "song.flac"), "Music"),
        (logging.DEBUG, "close_write", str(music / "c" / "song.flac"), "Music"),
        (logging.DEBUG, "create,isdir", str(music / "new"), "Music"),
    ]


@pytest.mark.seed("S-120")
def test_what_happened_before_the_start_is_not_replayed(houses, music):
    write(music / "a" / "song.flac")
    house = houses(a_library(music)).open().run()
    write(music / "c" / "song.flac")
    house.scans.wait_for_scan(music / "c")
    assert house.scans.directories == [music / "c"]


# Life and death


class Mortal(InotifyLink):
    """A link whose first one dies at its first event."""

    alive = 0

    def __init__(self) -> None:
        super().__init__()
        Mortal.alive += 1
        self._is_first = Mortal.alive == 1

    def read(self, timeout_s: float):
        events = super().read(timeout_s)
        if events and self._is_first:
            raise OSError(errno.EIO, "torn apart")
        return events


def test_after_an_unexpected_end_it_starts_again_and_scans_every_library(
    houses, music, tmp_path, caplog
):
    Mortal.alive = 0
    (tmp_path / "more").mkdir()
    house = houses(
        a_library(music), a_library(tmp_path / "more", 2), connect=Mortal, restart_s=0.05
    )
    house.open().run()
    write(music / "c" / "song.flac")
    house.scans.wait_for(lambda: {music, tmp_path / "more"} <= set(house.scans.directories))
    write(music / "a" / "song.flac")
    house.scans.wait_for_scan(music / "a")
    assert "torn apart" in caplog.text
    assert house.watcher.state is WatchState.ON


def test_no_library_leaves_it_idle_until_one_comes(houses, music):
    house = houses(refresh_s=0.05).open().run()
    assert house.watcher.state is WatchState.ON
    house.libraries.append(a_library(music))
    house.scans.wait_for_scan(music)


def test_after_its_end_it_may_still_be_woken_and_closed(houses, music):
    house = houses(a_library(music)).open().run()
    house.end()
    house.watcher.wake()
    house.watcher.close()
    house.watcher.announce(music / "x.lrc")
    assert house.watcher.state is WatchState.OFF
