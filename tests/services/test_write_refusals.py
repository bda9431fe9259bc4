"""Where music cannot be written: who is asked, what is said, and what helps."""

import logging
import os

import pytest

from lyrsvc.core.errors import FileFault
from lyrsvc.core.item import Status
from lyrsvc.services.write_refusals import UNIT, WriteRefusals, write_remedy
from worker_shop import Knowing

TITLES = [f"Song {number}" for number in range(5)]


@pytest.fixture
def units(tmp_path):
    place = tmp_path / "units"
    place.mkdir()
    (place / UNIT).touch()
    return (place,)


@pytest.fixture
def mounted_read_only(monkeypatch):
    """Mount directories read-only, in what the system says of them."""
    real = os.statvfs
    closed: set[str] = set()

    def statvfs(path):
        facts = real(path)
        if not any(str(path).startswith(each) for each in closed):
            return facts
        values = list(facts)
        values[8] |= os.ST_RDONLY
        return os.statvfs_result(values)

    monkeypatch.setattr(os, "statvfs", statvfs)
    return closed


@pytest.mark.spec("C-63")
def test_nothing_is_asked_for_music_that_is_mounted_read_only(
    shop, clock, caplog, mounted_read_only
) -> None:
    main = Knowing()
    here = shop(main)
    here.enqueue(*TITLES)
    mounted_read_only.add(str(here.music))
    with caplog.at_level(logging.WARNING, "lyrsvc"):
        here.work()
    assert here.statuses() == {Status.FAILED: 5}
    assert {here.item(title).reason for title in TITLES} == {"read_only"}
    assert main.asked == []
    assert here.counters() == {}
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 1  # of a whole library, not of each of its files
    assert told[0].startswith(f"cannot write in {here.music}: read-only for this process; ")

    mounted_read_only.clear()
    clock.advance(67)
    here.work()
    assert here.statuses() == {Status.DONE: 5}
    assert len(main.asked) == 5
    assert here.wrong_counts() == {}


def test_a_copy_that_can_be_written_is_served_all_the_same(shop, mounted_read_only) -> None:
    main = Knowing()
    here = shop(main)
    closed = here.music / "closed"
    here.enqueue(TITLES[0], folder=closed)
    here.enqueue(TITLES[0], folder=here.music / "open")
    mounted_read_only.add(str(closed))
    here.work()
    assert len(main.asked) == 1
    assert [path.parent.name for path in here.music.rglob("*.lrc")] == ["open"]
    assert here.item(TITLES[0]).reason == "read_only"


def test_each_library_and_cause_is_warned_of_once(tmp_path, caplog, units) -> None:
    refusals = WriteRefusals(unit_places=units)
    denied = FileFault("write_denied", "cannot write x: permission denied")
    closed = FileFault("read_only", "cannot write x: read-only file system")
    for root in (tmp_path / "a", tmp_path / "b"):
        for fault in (closed, denied, closed, FileFault("path_escape", "outside")):
            refusals.warn(root, root / "album", fault)
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 4
    assert f"ReadWritePaths={tmp_path / 'a'} into /etc/systemd/" in caplog.messages[0]
    assert f"cannot write in {tmp_path / 'b' / 'album'}: permission denied; " in caplog.messages[3]
    assert f"chmod g+w {tmp_path / 'b' / 'album'} and" in caplog.messages[3]


def test_the_remedy_fits_the_cause_and_the_place(tmp_path, units) -> None:
    def remedy(reason, *, in_container=False, unit_places=()):
        return write_remedy(reason, tmp_path, in_container=in_container, unit_places=unit_places)

    assert "ReadWritePaths" in remedy("read_only", unit_places=units)
    assert remedy("read_only") == "mount it writable"
    assert ":ro" in remedy("read_only", in_container=True, unit_places=units)
    owner = tmp_path.stat()
    ids = f"PUID={owner.st_uid} and PGID={owner.st_gid}"
    assert ids in remedy("write_denied", in_container=True)
    assert "chmod g+w" in remedy("write_denied")
    assert "space" in remedy("disk_full")
    gone = write_remedy("write_denied", tmp_path / "gone", in_container=True)
    assert gone == "set PUID and PGID to the owner of the directory"
