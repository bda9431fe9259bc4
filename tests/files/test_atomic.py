"""Replacing files whole or not at all."""

import os
import random
import resource
import signal
import stat
import subprocess
import sys
import textwrap
import time
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from lyrsvc.core.errors import FileFault
from lyrsvc.files.atomic import (
    is_temp_name,
    remove_file,
    remove_stale_temp,
    replace_file,
    write_fault,
)

NOW = datetime(2026, 1, 31, 14, 5, 6, tzinfo=UTC)


def names_in(directory):
    return sorted(path.name for path in directory.iterdir())


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def run_child(code, *arguments, **options):
    """Run Python code that cannot harm this process: limits, users, umasks."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **options,
    )


def test_a_file_is_written_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "a.lrc"
    assert replace_file(path, b"one")
    assert replace_file(path, b"two")
    assert path.read_bytes() == b"two"
    assert names_in(tmp_path) == ["a.lrc"]


@pytest.mark.spec("P-62")
@pytest.mark.parametrize(("umask", "mode"), [("022", 0o644), ("027", 0o640), ("077", 0o600)])
def test_a_new_file_has_the_mode_the_umask_leaves(tmp_path, umask, mode):
    path = tmp_path / "a.lrc"
    done = run_child(
        """
        import os, sys
        from pathlib import Path
        from lyrsvc.files.atomic import replace_file
        os.umask(int(sys.argv[2], 8))
        replace_file(Path(sys.argv[1]), b"x")
        """,
        path,
        umask,
    )
    assert done.returncode == 0, done.stderr
    assert mode_of(path) == mode


@pytest.mark.spec("P-62")
@pytest.mark.parametrize("mode", [0o640, 0o600, 0o664, 0o444])
def test_a_replaced_file_keeps_its_mode(tmp_path, mode):
    path = tmp_path / "a.lrc"
    path.write_bytes(b"old")
    path.chmod(mode)
    replace_file(path, b"new")
    assert (mode_of(path), path.read_bytes()) == (mode, b"new")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_replaced_file_keeps_its_owner_where_permitted(tmp_path):
    path = tmp_path / "a.lrc"
    path.write_bytes(b"old")
    os.chown(path, 4321, 8765)
    path.chmod(0o640)
    replace_file(path, b"new")
    facts = path.stat()
    assert (facts.st_uid, facts.st_gid, mode_of(path)) == (4321, 8765, 0o640)


def test_a_wanted_mode_counts_for_a_new_file(tmp_path):
    path = tmp_path / "key"
    replace_file(path, b"x", mode=0o600)
    assert mode_of(path) == 0o600


def test_a_link_is_replaced_and_not_followed(tmp_path):
    target = tmp_path / "elsewhere"
    target.write_bytes(b"precious")
    link = tmp_path / "a.lrc"
    link.symlink_to(target)
    replace_file(link, b"new")
    assert not link.is_symlink()
    assert target.read_bytes() == b"precious"


def test_a_change_of_mind_at_the_last_moment_leaves_everything(tmp_path):
    path = tmp_path / "a.lrc"
    path.write_bytes(b"old")
    seen = []

    def still_wanted():
        seen.extend(name for name in names_in(tmp_path) if is_temp_name(name))
        return False

    assert replace_file(path, b"new", still_wanted=still_wanted) is False
    assert len(seen) == 1
    assert (path.read_bytes(), names_in(tmp_path)) == (b"old", ["a.lrc"])


def test_an_exception_at_the_last_moment_leaves_everything(tmp_path):
    path = tmp_path / "a.lrc"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt):
        replace_file(path, b"new", still_wanted=lambda: (_ for _ in ()).throw(KeyboardInterrupt))
    assert (path.read_bytes(), names_in(tmp_path)) == (b"old", ["a.lrc"])


def test_every_path_is_announced_before_it_is_touched(tmp_path):
    path = tmp_path / "a.lrc"
    announced = []

    def announce(touched):
        assert not names_in(tmp_path)
        announced.append(touched)

    replace_file(path, b"x", announce=announce)
    assert is_temp_name(announced[0].name)
    assert announced[1] == path


@pytest.mark.parametrize("touch", [partial(replace_file, data=b"x"), remove_file])
def test_a_path_is_announced_as_touched_once_it_is(tmp_path, touch):
    path = tmp_path / "a.lrc"
    path.write_bytes(b"old")
    seen = []
    touch(path, announce=lambda touched: lambda: seen.append((touched.name, names_in(tmp_path))))
    left = ["a.lrc"] if touch is not remove_file else []
    assert seen[-1] == ("a.lrc", left)


def test_a_path_is_announced_as_touched_also_when_that_failed(tmp_path):
    seen = []
    with pytest.raises(FileFault):
        replace_file(
            tmp_path / "nowhere" / "a.lrc",
            b"x",
            announce=lambda path: lambda: seen.append(path.name),
        )
    assert seen[-1] == "a.lrc"


def reason_of(path, data=b"x"):
    with pytest.raises(FileFault) as caught:
        replace_file(path, data)
    return caught.value.reason


def test_a_name_that_is_too_long_is_named_as_such(tmp_path):
    assert reason_of(tmp_path / ("x" * 252 + ".lrc")) == "name_too_long"
    assert names_in(tmp_path) == []


def test_a_directory_in_the_place_of_the_file_is_a_write_error(tmp_path):
    (tmp_path / "a.lrc").mkdir()
    assert reason_of(tmp_path / "a.lrc") == "write_error"
    assert names_in(tmp_path) == ["a.lrc"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("EACCES", "write_denied"),
        ("EPERM", "write_denied"),
        ("EROFS", "read_only"),
        ("ENOSPC", "disk_full"),
        ("EDQUOT", "disk_full"),
        ("ENAMETOOLONG", "name_too_long"),
        ("EIO", "write_error"),
    ],
)
def test_system_errors_have_reason_codes_and_remedies(tmp_path, name, reason):
    import errno

    fault = write_fault(OSError(getattr(errno, name), "some cause"), tmp_path / "a\n\x1b.lrc")
    assert fault.reason == reason
    assert "some cause; " in str(fault)
    assert "\n" not in str(fault)
    assert "\x1b" not in str(fault)


@pytest.mark.spec("P-61")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_directory_without_write_access_is_denied_and_left(tmp_path):
    tmp_path.chmod(0o755)
    for parent in list(tmp_path.parents)[:2]:
        parent.chmod(0o755)
    path = tmp_path / "a.lrc"
    path.write_bytes(b"old")
    done = run_child(
        """
        import os, sys
        from pathlib import Path
        from lyrsvc.core.errors import FileFault
        from lyrsvc.files.atomic import replace_file
        os.setgroups([]); os.setgid(65534); os.setuid(65534)
        try:
            replace_file(Path(sys.argv[1]), b"new")
        except FileFault as fault:
            print(fault.reason)
        """,
        path,
    )
    assert done.stdout.strip() == "write_denied", done.stderr
    assert (path.read_bytes(), names_in(tmp_path)) == (b"old", ["a.lrc"])


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 64 KiB, which only root can have."""
    mount = tmp_path / "disk"
    mount.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(mount)],
        capture_output=True,
        check=False,
    )
    if made.returncode:
        pytest.skip("no file system can be mounted here")
    yield mount
    subprocess.run(["umount", str(mount)], check=True)


@pytest.mark.spec("P-61")
def test_a_full_disk_leaves_the_old_file(small_disk):
    path = small_disk / "a.lrc"
    path.write_bytes(b"old")
    assert reason_of(path, b"x" * 200_000) == "disk_full"
    assert (path.read_bytes(), names_in(small_disk)) == (b"old", ["a.lrc"])


@pytest.mark.spec("P-61")
def test_a_read_only_file_system_is_named_as_such(small_disk):
    path = small_disk / "a.lrc"
    path.write_bytes(b"old")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    assert reason_of(path) == "read_only"
    assert path.read_bytes() == b"old"


@pytest.mark.spec("P-61")
def test_a_write_that_stops_half_way_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.lrc"
    path.write_bytes(b"old")

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    done = run_child(
        """
        import sys
        from pathlib import Path
        from lyrsvc.core.errors import FileFault
        from lyrsvc.files.atomic import replace_file
        try:
            replace_file(Path(sys.argv[1]), b"new" * 1000)
        except FileFault as fault:
            print(fault.reason)
        """,
        path,
        preexec_fn=limit,
    )
    assert done.stdout.strip() == "write_error", done.stderr
    assert (path.read_bytes(), names_in(tmp_path)) == (b"old", ["a.lrc"])


WRITE_FOREVER = """
import sys
from pathlib import Path
from lyrsvc.files.atomic import replace_file
path, size = Path(sys.argv[1]), int(sys.argv[2])
print("ready", flush=True)
turn = 0
while True:
    turn += 1
    replace_file(path, (b"%08d" % turn) * size)
"""


@pytest.mark.spec("P-61")
def test_kill_at_any_instant_leaves_a_whole_file(tmp_path):
    path = tmp_path / "a.lrc"
    size = 20_000
    path.write_bytes(b"%08d" % 0 * size)
    random.seed(4)
    for _ in range(12):
        child = subprocess.Popen(
            [sys.executable, "-c", WRITE_FOREVER, path, str(size)], stdout=subprocess.PIPE
        )
        assert child.stdout.readline() == b"ready\n"
        end = time.monotonic() + random.uniform(0.0005, 0.03)
        while time.monotonic() < end:
            pass
        child.kill()
        child.wait()
        child.stdout.close()
        data = path.read_bytes()
        assert data == data[:8] * size
        others = [name for name in names_in(tmp_path) if name != "a.lrc"]
        assert all(map(is_temp_name, others))


@pytest.mark.spec("P-61")
def test_leftovers_of_a_crash_are_removed_after_an_hour(tmp_path):
    old, young, foreign = (
        tmp_path / name for name in (".lyrsvc-0123abcd.tmp", ".lyrsvc-0123abce.tmp", ".other-1.tmp")
    )
    for path, age in (
        (old, timedelta(hours=1)),
        (young, timedelta(minutes=59)),
        (foreign, timedelta(9)),
    ):
        path.write_bytes(b"x")
        moment = (NOW - age).timestamp()
        os.utime(path, (moment, moment))
    assert remove_stale_temp(old, now=NOW) is True
    assert remove_stale_temp(young, now=NOW) is False
    assert remove_stale_temp(foreign, now=NOW) is False
    assert remove_stale_temp(old, now=NOW) is False
    assert names_in(tmp_path) == [".lyrsvc-0123abce.tmp", ".other-1.tmp"]


def test_removing_what_is_gone_is_fine(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"x")
    remove_file(path)
    remove_file(path)
    assert names_in(tmp_path) == []
