"""Saving where a rename cannot be, as other users, and two at a time: in real processes."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import pytest

from lyrsvc.settings.save_errors import SettingsReadOnly

CHILD = Path(__file__).with_name("saving_child.py")
NOBODY = 65534
OLD = "# mine\n[api]\ncooldown = 10   # ten\n"
NEW = "# mine\n[api]\ncooldown = 20   # ten\n"


def run(job, wrapper=()):
    command = [*wrapper, sys.executable, str(CHILD), json.dumps(job)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def ground():
    """A directory that other users can reach, unlike those that pytest makes."""
    place = Path(tempfile.mkdtemp(prefix="lyrsvc-saving-"))
    place.chmod(0o755)
    (place / "etc").mkdir()
    (place / "state").mkdir()
    (place / "etc" / "config.toml").write_text(OLD)
    yield place
    (place / "etc").chmod(0o755)
    shutil.rmtree(place)


@pytest.fixture
def job(ground):
    return {
        "config": str(ground / "etc" / "config.toml"),
        "db": str(ground / "state" / "x.db"),
        "changes": {"api.cooldown": 20},
    }


@pytest.fixture
def closed(ground, job):
    """The file is ours, its directory is not: no rename there, but a rewrite."""
    if os.geteuid() == 0:
        os.chown(ground / "etc" / "config.toml", NOBODY, NOBODY)
        os.chown(ground / "state", NOBODY, NOBODY)
        job["user"] = NOBODY
    (ground / "etc").chmod(0o555)
    return job


def left_overs(ground):
    return [path.name for path in ground.glob("*/*") if "lyrsvc-" in path.name]


def namespace():
    """Give the words before a command that let it mount, or say why nobody can."""
    for words in (["unshare", "-m"], ["unshare", "-Urm"]):
        if (
            shutil.which("unshare")
            and not subprocess.run(
                [*words, "mount", "--bind", "/tmp", "/tmp"], capture_output=True, check=False
            ).returncode
        ):
            return words
    pytest.skip("mounting is not allowed here")


@pytest.mark.spec("C-18")
def test_through_a_link_the_target_is_replaced(machine):
    real = machine.root / "real.toml"
    real.write_text(OLD)
    machine.config.symlink_to(real)
    machine.save({"api.cooldown": 20})
    assert machine.config.is_symlink()
    assert real.read_text() == NEW
    assert not real.is_symlink()


def test_a_link_to_nothing_makes_its_target(machine):
    machine.config.symlink_to(machine.root / "real.toml")
    machine.save({"api.cooldown": 20})
    assert (machine.root / "real.toml").read_text() == "[api]\ncooldown = 20\n"
    assert machine.config.is_symlink()


@pytest.mark.spec("C-18")
def test_a_single_mounted_file_is_rewritten_in_place(ground, job):
    (ground / "host.toml").write_text(OLD)
    mount = f'mount --bind {ground}/host.toml {ground}/etc/config.toml && exec "$@"'
    inode = (ground / "host.toml").stat().st_ino
    result = run(job, [*namespace(), "sh", "-c", mount, "sh"])
    assert result == {"saved": ["api.cooldown"]}
    assert (ground / "host.toml").read_text() == NEW
    assert (ground / "host.toml").stat().st_ino == inode
    assert (ground / "etc" / "config.toml").read_text() == OLD  # the file below the mount
    assert left_overs(ground) == []


@pytest.mark.spec("C-18")
@pytest.mark.parametrize("value", [5, 86400])
def test_in_a_directory_without_write_permission_it_is_rewritten_in_place(ground, closed, value):
    config = ground / "etc" / "config.toml"
    inode = config.stat().st_ino
    assert run({**closed, "changes": {"api.cooldown": value}}) == {"saved": ["api.cooldown"]}
    assert config.read_text() == OLD.replace("10 ", f"{value} ")
    assert config.stat().st_ino == inode
    assert left_overs(ground) == []
    assert [path.name for path in (ground / "etc").iterdir()] == ["config.toml"]


def test_without_any_place_for_a_copy_a_rewrite_is_refused(ground, closed):
    (ground / "state").rmdir()
    result = run(closed)
    assert result["error"] == "SettingsReadOnly"
    assert "no place for a copy" in result["text"]
    assert (ground / "etc" / "config.toml").read_text() == OLD


@pytest.mark.spec("C-18")
def test_a_read_only_file_is_refused_with_a_remedy(machine):
    machine.write(OLD)
    machine.config.chmod(0o444)
    before = machine.config.stat()
    with pytest.raises(SettingsReadOnly, match="chmod u\\+w"):
        machine.save({"api.cooldown": 20})
    assert machine.config.read_text() == OLD
    assert machine.config.stat().st_mtime_ns == before.st_mtime_ns
    assert machine.left_overs() == []


@pytest.mark.spec("C-18")
@pytest.mark.skipif(os.geteuid() != 0, reason="needs a file of another user")
@pytest.mark.parametrize("directory_mode", [0o755, 0o777])
def test_a_file_of_another_user_is_refused_with_a_remedy(ground, job, directory_mode):
    (ground / "etc").chmod(directory_mode)
    result = run({**job, "user": NOBODY})
    assert result["error"] == "SettingsReadOnly"
    assert "sudo lyrsvc config set" in result["text"]
    assert (ground / "etc" / "config.toml").read_text() == OLD
    assert left_overs(ground) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a file of another user")
def test_a_group_that_may_write_the_file_saves_it_without_taking_it_over(ground, job):
    config = ground / "etc" / "config.toml"
    os.chown(config, 0, NOBODY)
    config.chmod(0o660)
    (ground / "etc").chmod(0o777)
    assert run({**job, "user": NOBODY}) == {"saved": ["api.cooldown"]}
    assert config.read_text() == NEW
    assert (config.stat().st_uid, config.stat().st_gid) == (0, NOBODY)
    assert left_overs(ground) == []


def test_a_read_only_filesystem_is_refused_with_a_remedy(ground, job):
    mount = f"mount --bind {ground}/etc {ground}/etc && mount -o remount,ro,bind {ground}/etc"
    result = run(job, [*namespace(), "sh", "-c", mount + ' && exec "$@"', "sh"])
    assert result["error"] == "SettingsReadOnly"
    assert (ground / "etc" / "config.toml").read_text() == OLD


@pytest.mark.spec("C-18")
@pytest.mark.parametrize("in_place", [False, True], ids=["renaming", "in place"])
def test_processes_that_save_different_keys_at_once_lose_none(ground, job, in_place, request):
    if in_place:
        job = request.getfixturevalue("closed")
    times = 15
    orders = [
        {**job, "do": "save_many", "key": key, "times": times}
        for key in ("api.cooldown", "scan.depth")
    ]
    children = [
        subprocess.Popen(
            [sys.executable, str(CHILD), json.dumps(order)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for order in orders
    ]
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()
    answers = [json.loads(child.communicate(timeout=120)[0]) for child in children]
    assert answers == [{}, {}]
    written = tomllib.loads((ground / "etc" / "config.toml").read_text())
    assert written == {"api": {"cooldown": times - 1}, "scan": {"depth": times - 1}}
    assert left_overs(ground) == []
