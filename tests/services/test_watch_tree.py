"""Which directory a watch stands for, when names change faster than events are read."""

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lyrsvc.core.library import Library
from lyrsvc.services.inotify_link import LIMIT_FILE, Bit, Event, InotifyLink
from lyrsvc.services.watch_survey import Survey
from lyrsvc.services.watch_tree import Added, WatchTree
from lyrsvc.services.watched_roots import WatchedRoots

pytestmark = pytest.mark.skipif(not LIMIT_FILE.exists(), reason="inotify is Linux only")


@pytest.fixture
def link() -> Iterator[InotifyLink]:
    made = InotifyLink()
    yield made
    made.close()


@pytest.fixture
def tree(link) -> WatchTree:
    return WatchTree(link, most=100)


def make(path: Path) -> Path:
    path.mkdir(parents=True)
    return path


def test_a_directory_is_watched_once(tree, tmp_path):
    assert tree.add(str(tmp_path), is_root=True) is Added.NEW
    assert tree.add(str(tmp_path), is_root=True) is Added.KNOWN
    assert len(tree) == tree.wanted == 1


def test_a_new_directory_in_the_place_of_a_known_one_takes_its_name(tree, link, tmp_path):
    tree.add(str(tmp_path), is_root=True)
    old = make(tmp_path / "x")
    tree.add(str(make(old / "below")), is_root=False)
    assert tree.add(str(old), is_root=False) is Added.NEW
    tree.add(str(old / "below"), is_root=False)
    old.rename(tmp_path / "away")
    make(tmp_path / "x")
    assert tree.add(str(tmp_path / "x"), is_root=False) is Added.NEW
    assert len(tree) == 2
    (tmp_path / "x" / "song.flac").write_text("x")
    assert changed(tree, link, "song.flac") == {str(tmp_path / "x")}


def test_a_directory_that_took_the_place_of_the_one_above_it_is_watched(tree, link, tmp_path):
    tree.add(str(tmp_path), is_root=True)
    for path in (tmp_path / "x", tmp_path / "x" / "below"):
        path.mkdir()
        tree.add(str(path), is_root=False)
    (tmp_path / "x" / "below").rename(tmp_path / "aside")
    (tmp_path / "x").rmdir()
    (tmp_path / "aside").rename(tmp_path / "x")
    assert tree.add(str(tmp_path / "x"), is_root=False) is Added.NEW
    (tmp_path / "x" / "song.flac").write_text("x")
    assert changed(tree, link, "song.flac") == {str(tmp_path / "x")}


def test_a_directory_found_where_it_was_moved_to_is_known_by_its_new_name(tree, link, tmp_path):
    tree.add(str(tmp_path), is_root=True)
    for path in (tmp_path / "x", tmp_path / "x" / "below"):
        path.mkdir()
        tree.add(str(path), is_root=False)
    (tmp_path / "x").rename(tmp_path / "y")
    for name in ("y", "y/below"):
        assert tree.add(str(tmp_path / name), is_root=False) is Added.NEW
    assert len(tree) == 3
    (tmp_path / "y" / "below" / "song.flac").write_text("x")
    assert changed(tree, link, "song.flac") == {str(tmp_path / "y" / "below")}


def test_a_second_way_to_a_watched_directory_is_not_watched_again(tree, tmp_path):
    real = make(tmp_path / "real")
    (tmp_path / "link").symlink_to(real)
    tree.add(str(real), is_root=True)
    assert tree.add(str(tmp_path / "link"), is_root=True) is Added.ALIAS
    assert len(tree) == 1


def test_what_is_no_directory_is_gone(tree, tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path)
    assert tree.add(str(tmp_path / "file"), is_root=False) is Added.GONE
    assert tree.add(str(tmp_path / "link"), is_root=False) is Added.GONE
    assert tree.wanted == 0
    assert tree.add(str(tmp_path / "nothing"), is_root=True) is Added.GONE
    assert tree.unwatched == {str(tmp_path / "nothing"): Added.GONE}  # a root is waited for
    assert tree.wanted == 0
    tree.forget(str(tmp_path / "nothing"))
    assert (tree.unwatched, tree.wanted) == ({}, 0)


def test_forgetting_a_directory_forgets_all_below_but_no_root(tree, tmp_path):
    tree.add(str(tmp_path), is_root=True)
    for name in ("a", "a/b", "a/b/c"):
        path = tmp_path / name
        path.mkdir()
        tree.add(str(path), is_root=name == "a/b/c")
    tree.forget(str(tmp_path / "a"))
    assert len(tree) == 2
    assert tree.names_in(str(tmp_path)) == set()
    assert tree.names_in(str(tmp_path / "a")) == set()


def test_a_woken_read_gives_nothing(link):
    link.wake()
    assert link.read(20.0) == []
    link.close()
    link.close()
    link.wake()


def test_an_event_is_described_in_words():
    assert Event(1, Bit.MOVED_TO | Bit.ISDIR, "x").describe() == "moved_to,isdir"
    assert Event(1, Bit.CLOSE_WRITE, "x").describe() == "close_write"
    assert Event(1, Bit.UNMOUNT, "").describe() == "other"


def test_a_second_look_finds_what_came_and_drops_what_went(tree, tmp_path):
    touched: list[str] = []
    for name in ("m/a/b", "m/c"):
        make(tmp_path / name)
    survey = Survey(tree, cap=100, touch=touched.append)
    survey.start([a_library(tmp_path / "m", 1)])
    assert touched == []
    shutil.rmtree(tmp_path / "m" / "a")
    make(tmp_path / "m" / "d" / "e")
    survey.discover(str(tmp_path / "m"), deep=True)
    while survey.step():
        pass
    assert len(tree) == 4
    assert tree.names_in(str(tmp_path / "m")) == {"c", "d"}
    assert set(touched) == {str(tmp_path / "m")}  # stands for d and e, which came


def test_a_walk_has_its_top_scanned_when_it_begins_and_when_all_is_watched(tree, tmp_path):
    touched: list[int] = []
    for number in range(20):
        make(tmp_path / "m" / str(number))
    survey = Survey(tree, cap=100, touch=lambda path: touched.append(len(tree)))
    survey.follow([a_library(tmp_path / "m", 1)])
    while survey.step():
        pass
    assert touched == [1, 21]  # however long a look at the others took, none is told by itself
    survey.retry()
    while survey.step():
        pass
    assert touched == [1, 21]


def test_a_path_belongs_to_the_innermost_root():
    outer, inner = a_library(Path("/m"), 1), a_library(Path("/m/in"), 2)
    roots = WatchedRoots.of([outer, inner])
    assert roots.owner("/m/x/y").library is outer
    assert roots.owner("/m/in").library is roots.owner("/m/in/x").library is inner
    assert roots.owner("/m/inner").library is outer
    assert roots.owner("/other") is None
    assert roots.foreign == {"/m/in"}


def changed(tree: WatchTree, link: InotifyLink, name: str) -> set[str | None]:
    return {tree.path_of(event.watch) for event in link.read(20.0) if event.name == name}


def a_library(path: Path, number: int) -> Library:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return Library(id=number, name=path.name, path=path, created_at=now, updated_at=now)
