"""One listing of a directory answers for every stem, as long as it holds."""

import os
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.files import stem_index
from lyrsvc.files.pairing import Sidecars
from lyrsvc.files.sidecars import find_sidecars
from lyrsvc.files.stem_index import KEPT_DIRECTORIES, DirectoryIndexes, StemIndex

stems = st.sampled_from(["a", "A", "é", "e\u0301", "É", "b.c", "a.en", "ß", "ss"])
names = st.builds(
    "{}.{}".format,
    stems,
    st.sampled_from(["lrc", "LRC", "txt", "Txt", "elrc", "flac", "MP3", "jpg"]),
)


@given(st.lists(names, unique=True, max_size=12), stems)
def test_the_index_finds_what_a_listing_finds(listed, stem):
    assert StemIndex(listed).find(stem) == find_sidecars(stem, listed)


@given(st.lists(names, unique=True, max_size=8), st.lists(names, unique=True, max_size=6), stems)
def test_names_that_come_and_go_are_as_if_listed_anew(listed, others, stem):
    sidecar = [n for n in others if n not in listed and not n.endswith(("flac", "MP3", "jpg"))]
    index = StemIndex(listed)
    for name in sidecar:
        index.change(added=name)
    assert index.find(stem) == find_sidecars(stem, [*listed, *sidecar])
    for name in sidecar:
        index.change(removed=name)
    assert index.find(stem) == find_sidecars(stem, listed)


class Listings:
    """Counts how often a directory is listed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.number = 0
        listdir = os.listdir

        def counted(path):
            self.number += 1
            return listdir(path)

        monkeypatch.setattr(os, "listdir", counted)


def test_an_unchanged_directory_is_listed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "a.lrc").touch()
    listings = Listings(monkeypatch)
    indexes = DirectoryIndexes()
    assert indexes.find(tmp_path, "a") == Sidecars(lrc="a.lrc")
    assert indexes.find(tmp_path, "b") == Sidecars()
    assert listings.number == 1


def test_a_directory_is_listed_again_after_an_hour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    shown: list[str] = []
    indexes = DirectoryIndexes(tidy=lambda path: shown.append(path.name))
    (tmp_path / ".leftover.tmp").touch()
    indexes.find(tmp_path, "a")
    indexes.find(tmp_path, "a")
    assert shown == [".leftover.tmp"]
    now_s = time.monotonic()
    monkeypatch.setattr(stem_index.time, "monotonic", lambda: now_s + stem_index.KEPT_S)
    indexes.find(tmp_path, "a")
    assert shown == [".leftover.tmp"] * 2


def test_our_own_changes_cost_no_listing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    listings = Listings(monkeypatch)
    indexes = DirectoryIndexes()
    for number in range(20):
        assert indexes.find(tmp_path, f"{number}") == Sidecars()
        with indexes.own_change(tmp_path):
            (tmp_path / f"{number}.lrc").touch()
        indexes.enter(tmp_path, added=f"{number}.lrc")
        assert indexes.find(tmp_path, f"{number}") == Sidecars(lrc=f"{number}.lrc")
    with indexes.own_change(tmp_path):
        (tmp_path / "3.lrc").unlink()
    indexes.enter(tmp_path, removed="3.lrc")
    assert indexes.find(tmp_path, "3") == Sidecars()
    assert listings.number == 1


@pytest.mark.parametrize("name", ["a.lrc", "A.LRC"])
def test_what_others_do_is_seen(tmp_path: Path, name: str):
    indexes = DirectoryIndexes()
    assert indexes.find(tmp_path, "a") == Sidecars()
    os.utime(tmp_path, ns=(1, 1))  # as if the last change were long ago
    indexes.find(tmp_path, "a")
    (tmp_path / name).touch()
    assert indexes.find(tmp_path, "a") == Sidecars(lrc=name)
    (tmp_path / name).unlink()
    assert indexes.find(tmp_path, "a") == Sidecars()


def test_a_change_of_others_before_our_own_is_not_covered_up(tmp_path: Path):
    indexes = DirectoryIndexes()
    os.utime(tmp_path, ns=(1, 1))
    indexes.find(tmp_path, "a")
    (tmp_path / "A.lrc").touch()
    with indexes.own_change(tmp_path):
        (tmp_path / "temp").touch()
    assert indexes.find(tmp_path, "a") == Sidecars(lrc="A.lrc")


def test_a_plain_name_is_seen_even_when_the_directory_keeps_its_time(tmp_path: Path):
    indexes = DirectoryIndexes()
    indexes.find(tmp_path, "a")
    with indexes.own_change(tmp_path):
        (tmp_path / "a.lrc").touch()  # never entered
    assert indexes.find(tmp_path, "a") == Sidecars(lrc="a.lrc")
    with indexes.own_change(tmp_path):
        (tmp_path / "a.lrc").unlink()
    assert indexes.find(tmp_path, "a") == Sidecars()


def test_few_directories_are_kept_and_a_missing_one_is_told(tmp_path: Path):
    indexes = DirectoryIndexes()
    for number in range(KEPT_DIRECTORIES * 2):
        place = tmp_path / f"{number}"
        place.mkdir()
        indexes.find(place, "a")
    assert len(indexes._known) == KEPT_DIRECTORIES
    with pytest.raises(FileNotFoundError):
        indexes.find(tmp_path / "gone", "a")


def test_threads_share_the_indexes(tmp_path: Path):
    indexes = DirectoryIndexes()
    faults: list[BaseException] = []

    def work(start: int) -> None:
        try:
            for number in range(start, start + 50):
                name = f"{number}.lrc"
                assert indexes.find(tmp_path, f"{number}") == Sidecars()
                with indexes.own_change(tmp_path):
                    (tmp_path / name).touch()
                indexes.enter(tmp_path, added=name)
                assert indexes.find(tmp_path, f"{number}") == Sidecars(lrc=name)
        except BaseException as fault:  # noqa: BLE001 - shown by the main thread
            faults.append(fault)

    threads = [threading.Thread(target=work, args=(start,)) for start in (0, 100, 200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []


def test_leftovers_are_shown_to_whoever_tidies_up(tmp_path: Path):
    (tmp_path / ".lyrsvc-0123abcd.tmp").touch()
    (tmp_path / "a.lrc").touch()
    seen: list[Path] = []
    DirectoryIndexes(seen.append).find(tmp_path, "a")
    assert [path.name for path in seen] == [".lyrsvc-0123abcd.tmp"]
