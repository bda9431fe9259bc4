"""Renaming without ever costing a file its place."""

import errno
import os
import shutil
import stat
import subprocess
import tempfile
import threading
import unicodedata
from pathlib import Path

import pytest

from devtools.system_tools import TOOLS
from lyrsvc.core.errors import FileFault
from lyrsvc.files import moving
from lyrsvc.files.moving import MoveResult, is_half_moved, is_taken, move_file
from lyrsvc.files.pairing import folded

WAYS = [moving._rename_exclusively, moving._link, moving._reserve]


@pytest.fixture(params=WAYS, ids=lambda way: way.__name__)
def only_way(request, monkeypatch):
    """Whatever way the file system offers."""

    def unsupported(old, new):
        raise OSError(errno.EINVAL, "not here")

    ways = [way if way is request.param else unsupported for way in WAYS]
    if request.param is not WAYS[-1]:
        ways = [*ways[:2], request.param]
    monkeypatch.setattr(moving, "_WAYS", tuple(ways))


def put(path: Path, text: str = "words", mtime_ns: int = 1_700_000_000_123_456_789) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, ns=(mtime_ns, mtime_ns))
    return path


def test_a_file_gets_its_new_name_with_bytes_mode_and_time(tmp_path, only_way):
    old, new = put(tmp_path / "a" / "x.lrc"), tmp_path / "b.lrc"
    old.chmod(0o640)
    before = old.stat()

    assert move_file(old, new) is MoveResult.MOVED

    after = new.stat()
    assert (new.read_text(), old.exists()) == ("words", False)
    assert (after.st_mtime_ns, after.st_mode, after.st_ino) == (
        before.st_mtime_ns,
        before.st_mode,
        before.st_ino,
    )


@pytest.mark.seed("S-045")
@pytest.mark.parametrize("kind", ["file", "directory", "dangling"])
def test_what_stands_at_the_new_name_stays(tmp_path, only_way, kind):
    old, new = put(tmp_path / "x.lrc"), tmp_path / "y.lrc"
    {
        "file": lambda: put(new, "theirs"),
        "directory": new.mkdir,
        "dangling": lambda: new.symlink_to("nowhere"),
    }[kind]()

    assert is_taken(old, new)
    assert move_file(old, new) is MoveResult.TAKEN

    assert old.read_text() == "words"
    assert kind != "file" or new.read_text() == "theirs"
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.spec("E-60")
@pytest.mark.seed("S-045")
def test_what_appears_between_the_look_and_the_rename_stays(tmp_path, only_way, monkeypatch):
    old, new = put(tmp_path / "x.lrc"), tmp_path / "y.lrc"
    ways = moving._WAYS

    def late(way):
        def go(source, goal):
            if not new.exists():
                put(new, "theirs")
            way(source, goal)

        return go

    monkeypatch.setattr(moving, "_WAYS", tuple(map(late, ways)))

    assert move_file(old, new) is MoveResult.TAKEN
    assert (old.read_text(), new.read_text()) == ("words", "theirs")


def test_of_many_that_want_one_name_exactly_one_gets_it(tmp_path, only_way):
    files = [put(tmp_path / f"{number}.lrc", str(number)) for number in range(8)]
    results: list[MoveResult] = []
    threads = [
        threading.Thread(target=lambda f=f: results.append(move_file(f, tmp_path / "goal.lrc")))
        for f in files
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert results.count(MoveResult.MOVED) == 1
    left = {path.read_text() for path in tmp_path.iterdir()}
    assert left == {str(number) for number in range(8)}


def test_a_file_that_is_gone_is_no_error(tmp_path, only_way):
    assert move_file(tmp_path / "x.lrc", tmp_path / "y.lrc") is MoveResult.GONE


def test_links_and_directories_are_not_moved(tmp_path):
    target = put(tmp_path / "real.txt")
    link = tmp_path / "x.lrc"
    link.symlink_to(target)
    (tmp_path / "d.lrc").mkdir()
    for odd in (link, tmp_path / "d.lrc"):
        with pytest.raises(FileFault, match="not a regular file"):
            move_file(odd, tmp_path / "y.lrc")


def test_two_hard_links_of_one_file_are_two_files(tmp_path, only_way):
    old = put(tmp_path / "song.lrc")
    new = tmp_path / "Song.lrc"
    os.link(old, new)

    assert is_taken(old, new)
    assert is_half_moved(old, new)
    assert move_file(old, new) is MoveResult.TAKEN
    assert old.exists()
    assert new.exists()


def test_a_directory_that_is_missing_is_told(tmp_path, only_way):
    old = put(tmp_path / "x.lrc")
    with pytest.raises(FileFault):
        move_file(old, tmp_path / "nowhere" / "y.lrc")
    assert old.read_text() == "words"


def test_both_names_are_announced_before_anything_is_touched(tmp_path):
    old, new = put(tmp_path / "x.lrc"), tmp_path / "y.lrc"
    seen: list[tuple[str, bool]] = []
    move_file(old, new, announce=lambda path: seen.append((path.name, old.exists())))
    assert seen == [("x.lrc", True), ("y.lrc", True)]


def test_both_names_are_announced_as_touched_once_they_are(tmp_path):
    old, new = put(tmp_path / "x.lrc"), tmp_path / "y.lrc"
    seen: list[tuple[str, bool]] = []
    move_file(old, new, announce=lambda path: lambda: seen.append((path.name, new.exists())))
    assert seen == [("x.lrc", True), ("y.lrc", True)]


@pytest.fixture
def elsewhere(tmp_path):
    """A directory on another file system."""
    shm = Path("/dev/shm")
    if not shm.is_dir() or shm.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is only one file system here")
    directory = Path(tempfile.mkdtemp(dir=shm))
    yield directory
    shutil.rmtree(directory)


def test_a_file_goes_to_another_file_system_whole(tmp_path, elsewhere):
    old, new = put(tmp_path / "x.lrc"), elsewhere / "y.lrc"
    old.chmod(0o604)

    assert move_file(old, new) is MoveResult.MOVED

    facts = new.stat()
    assert (new.read_text(), old.exists()) == ("words", False)
    assert (facts.st_mtime_ns, stat.S_IMODE(facts.st_mode)) == (1_700_000_000_123_456_789, 0o604)
    assert [path.name for path in elsewhere.iterdir()] == ["y.lrc"]


def test_on_another_file_system_nothing_is_replaced_either(tmp_path, elsewhere):
    old, new = put(tmp_path / "x.lrc"), put(elsewhere / "y.lrc", "theirs")
    assert move_file(old, new) is MoveResult.TAKEN
    assert (old.read_text(), new.read_text()) == ("words", "theirs")
    assert [path.name for path in elsewhere.iterdir()] == ["y.lrc"]


@pytest.fixture
def caseless(tmp_path):
    """A volume that does not tell upper from lower case, and has no hard links."""
    image, mount = tmp_path / "image", tmp_path / "disk"
    mount.mkdir()
    with image.open("wb") as file:
        file.truncate(8 * 1024 * 1024)
    subprocess.run([TOOLS["mkfs.vfat"].path(), image], check=True, capture_output=True)
    options = "loop,utf8=1,shortname=mixed"
    made = subprocess.run(["mount", "-o", options, image, mount], check=False, capture_output=True)
    if made.returncode:
        pytest.skip("no file system can be mounted here")
    yield mount
    subprocess.run(["umount", mount], check=True)


@pytest.mark.needs_tool("mkfs.vfat")
@pytest.mark.spec("E-63")
def test_another_spelling_of_the_same_name_is_no_conflict(caseless):
    old, new = put(caseless / "a song.lrc"), caseless / "A Song.lrc"
    assert new.exists()  # they are one
    assert not is_taken(old, new)

    assert move_file(old, new) is MoveResult.MOVED
    assert [path.name for path in caseless.iterdir()] == ["A Song.lrc"]
    assert new.read_text() == "words"


@pytest.fixture
def forgiving(monkeypatch):
    """Let a name be found however it is spelled, as some volumes do."""
    look = moving._facts

    def find(path):
        for entry in path.parent.iterdir():
            if folded(entry.name) == folded(path.name):
                return look(entry)
        return None

    monkeypatch.setattr(moving, "_facts", find)


@pytest.mark.spec("E-63")
@pytest.mark.parametrize(
    ("before", "after"),
    [("a song.lrc", "A Song.lrc"), (unicodedata.normalize("NFD", "Jóga.lrc"), "J\u00f3ga.lrc")],
)
def test_another_case_or_form_of_the_same_name_is_moved(tmp_path, forgiving, before, after):
    old, new = put(tmp_path / before), tmp_path / after
    assert moving._facts(new) is not None
    assert not is_taken(old, new)

    assert move_file(old, new) is MoveResult.MOVED
    assert [path.name for path in tmp_path.iterdir()] == [after]


def test_a_third_spelling_of_another_file_is_a_conflict(tmp_path, forgiving):
    old, other = put(tmp_path / "x.lrc"), put(tmp_path / "A Song.lrc", "theirs")
    assert move_file(old, tmp_path / "a song.lrc") is MoveResult.TAKEN
    assert other.read_text() == "theirs"


@pytest.mark.needs_tool("mkfs.vfat")
@pytest.mark.spec("E-60")
def test_a_volume_without_hard_links_will_do(caseless, only_way):
    if moving._WAYS[0] is not moving._rename_exclusively and moving._WAYS[1] is moving._link:
        pytest.skip("there are no hard links here")
    old, new = put(caseless / "x.lrc"), caseless / "y.lrc"
    assert move_file(old, new) is MoveResult.MOVED
    put(old, "second")
    assert move_file(old, new) is MoveResult.TAKEN
    assert (old.read_text(), new.read_text()) == ("second", "words")


@pytest.mark.spec("E-63")
def test_another_unicode_form_where_forms_are_told_apart_is_another_file(tmp_path):
    old = put(tmp_path / unicodedata.normalize("NFD", "Jóga.lrc"))
    new = tmp_path / unicodedata.normalize("NFC", "Jóga.lrc")
    assert move_file(old, new) is MoveResult.MOVED
    assert [path.name for path in tmp_path.iterdir()] == [new.name]
