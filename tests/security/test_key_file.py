"""The key file: complete or absent, private, and the same for everybody who comes first."""

import errno
import os
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from file_facts import touched
from lyrsvc.core.errors import ConfigError
from lyrsvc.security.key_file import make_key, read_key
from source_tree import PACKAGE


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "state" / ".lyrsvcgo.key"


def fault_of(path: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        read_key(path)
    return str(caught.value)


@pytest.mark.seed("S-104")
def test_a_new_key_is_32_bytes_in_a_private_file_in_a_private_directory(path):
    made = make_key(path)
    assert len(made.key) == 32
    assert path.read_bytes() == made.key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [one.name for one in path.parent.iterdir()] == [".lyrsvcgo.key"]
    assert not made.open_to_others


@pytest.mark.parametrize("mask", [0o000, 0o777])
def test_the_mode_does_not_depend_on_the_umask(path, mask):
    path.parent.mkdir()
    before = os.umask(mask)
    try:
        make_key(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_two_keys_differ(path, tmp_path):
    assert make_key(path).key != make_key(tmp_path / "other.key").key


def test_a_missing_file_is_no_key_and_reading_makes_nothing(path):
    assert read_key(path) is None
    assert not path.parent.exists()


def test_a_key_that_is_there_is_read_instead_of_made(path):
    path.parent.mkdir()
    path.write_bytes(b"k" * 32)
    assert make_key(path).key == b"k" * 32
    assert [one.name for one in path.parent.iterdir()] == [".lyrsvcgo.key"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601])
def test_a_mode_with_bits_for_others_is_told(path, mode):
    make_key(path)
    path.chmod(mode)
    found = read_key(path)
    assert found.open_to_others
    assert found.mode == mode


@pytest.mark.seed("S-105")
@pytest.mark.parametrize("size", [0, 1, 31, 33, 44, 100_000])
def test_a_file_of_another_size_is_fatal_and_stays_as_it_is(path, size):
    path.parent.mkdir()
    path.write_bytes(b"x" * size)
    assert f"it has {size} bytes, a key has 32" in fault_of(path)
    with pytest.raises(ConfigError):
        make_key(path)
    assert path.read_bytes() == b"x" * size
    assert [one.name for one in path.parent.iterdir()] == [".lyrsvcgo.key"]


@pytest.mark.seed("S-105")
@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda path: path.mkdir(), "no regular file"),
        (lambda path: os.mkfifo(path), "no regular file"),
        (lambda path: path.symlink_to("/dev/zero"), "no regular file"),
        (lambda path: path.symlink_to("gone.key"), "a link to nothing"),
        (lambda path: path.symlink_to(path.name), "symbolic links"),
    ],
    ids=["directory", "pipe", "device", "dangling", "loop"],
)
def test_what_is_no_file_is_fatal_and_never_replaced(path, make, why):
    path.parent.mkdir()
    make(path)
    before = touched(path)
    assert why in fault_of(path)
    with pytest.raises(ConfigError):
        make_key(path)
    assert touched(path) == before


def test_a_link_to_a_key_is_followed(path, tmp_path):
    real = tmp_path / "real.key"
    real.write_bytes(b"r" * 32)
    path.parent.mkdir()
    path.symlink_to(real)
    assert read_key(path).key == b"r" * 32


@pytest.mark.seed("S-105")
def test_a_path_through_a_file_is_fatal(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    said = f"{tmp_path / 'file'} is not a directory; name another place"
    assert fault_of(tmp_path / "file" / "key").endswith(said)
    with pytest.raises(ConfigError, match="cannot make the key file"):
        make_key(tmp_path / "file" / "key")


@pytest.mark.seed("S-105")
@pytest.mark.skipif(os.geteuid() != 0, reason="root hands the file to somebody else")
def test_a_file_that_may_not_be_read_is_fatal():
    code = (
        f"import os, sys; sys.path.insert(0, {str(PACKAGE.parent)!r})\n"
        "from pathlib import Path\n"
        "from lyrsvc.security.key_file import read_key\n"
        "from lyrsvc.core.errors import ConfigError\n"
        "os.setuid(1234)\n"
        "try: read_key(Path(sys.argv[1]))\n"
        "except ConfigError as error: print(error)\n"
    )
    with tempfile.TemporaryDirectory() as name:  # one that everybody may enter
        Path(name).chmod(0o755)
        path = Path(name) / "key"
        path.write_bytes(b"x" * 32)
        path.chmod(0)
        done = subprocess.run(
            [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
        )
        assert "permission denied; make it and its directory readable" in done.stdout
        assert path.read_bytes() == b"x" * 32


def test_a_directory_that_takes_no_file_is_told_with_the_ways_out(tmp_path, monkeypatch):
    def refuse(*_args, **_more):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(ConfigError) as caught:
        make_key(tmp_path / "key")
    for word in ("read-only file system", "LYRSVC_SECRETS_KEY_FILE", "LYRSVC_MASTER_KEY"):
        assert word in str(caught.value)


@pytest.mark.parametrize("links", [True, False], ids=["hard links", "no hard links"])
def test_many_who_come_at_once_get_one_key(path, monkeypatch, links):
    if not links:

        def link(*_args, **_more):
            raise OSError(errno.EPERM, "Operation not permitted")

        monkeypatch.setattr(os, "link", link)
    everybody = threading.Barrier(16)
    keys = []

    def come():
        everybody.wait()
        keys.append(make_key(path).key)

    threads = [threading.Thread(target=come) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(keys) == 16
    assert set(keys) == {path.read_bytes()}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    left = {one.name for one in path.parent.iterdir()}
    assert left == {".lyrsvcgo.key"} | (set() if links else {".lyrsvcgo.key.lock"})


def test_a_crash_before_the_name_is_given_leaves_no_key(path, monkeypatch):
    class PowerLoss(BaseException):
        pass

    def link(*_args, **_more):
        raise PowerLoss

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(PowerLoss):
        make_key(path)
    assert list(path.parent.iterdir()) == []
