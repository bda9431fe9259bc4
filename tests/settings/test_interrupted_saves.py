"""Saves that are killed, and saves on a full disk: the file is the old one or the new one."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

CHILD = Path(__file__).with_name("saving_child.py")
NOBODY = 65534
SHORT = "# mine\n[scan]\ndepth = 5\n[api]\ncooldown = 10\n"
LONG = SHORT.replace("10", "10  # " + "a long comment " * 20) + "# the end " * 30 + "\n"
TRIES = {
    "longer": (SHORT, SHORT.replace("10", "86400"), {"api.cooldown": 86400}),
    "shorter": (LONG, LONG.replace("= 10 ", "= 7 "), {"api.cooldown": 7}),
}


def run(job, wrapper=()):
    command = [*wrapper, sys.executable, str(CHILD), json.dumps(job)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def ground():
    """A directory that other users can reach, unlike those that pytest makes."""
    place = Path(tempfile.mkdtemp(prefix="lyrsvc-saving-"))
    place.chmod(0o755)
    (place / "etc").mkdir()
    (place / "state").mkdir()
    (place / "etc" / "config.toml.bak").write_text("the operator's own")
    yield place
    (place / "etc").chmod(0o755)
    shutil.rmtree(place)


@pytest.fixture(params=["renaming", "in place"])
def job(request, ground):
    """A save by rename, or one in a directory that is closed to the saver."""
    config = ground / "etc" / "config.toml"
    config.write_text("")
    job = {
        "config": str(config),
        "db": str(ground / "state" / "x.db"),
        "in_place": request.param == "in place",
    }
    if job["in_place"]:
        if os.geteuid() == 0:
            os.chown(config, NOBODY, NOBODY)
            os.chown(ground / "state", NOBODY, NOBODY)
            job["user"] = NOBODY
        (ground / "etc").chmod(0o555)
    return job


@pytest.mark.spec("C-17", "H-47")
@pytest.mark.parametrize("size", TRIES)
def test_a_save_killed_at_any_step_leaves_the_old_file_or_the_new_one(ground, job, size):
    old, new, changes = TRIES[size]
    job |= {"do": "die_at_every_step", "old": old, "new": new, "changes": changes}
    result = run(job)
    assert result["problems"] == []
    assert result["steps"] > 60
    assert {"old", "new"} <= set(result["states"])
    if job["in_place"] and size == "shorter":
        assert "torn" in result["states"]  # or the test has missed the moment it is about
    assert (ground / "etc" / "config.toml.bak").read_text() == "the operator's own"


@pytest.mark.spec("C-17", "H-47")
def test_hundreds_of_kills_at_random_moments_do_no_harm(ground, job):
    old, new, changes = TRIES["shorter"]
    job |= {"do": "die_at_random", "old": old, "new": new, "changes": changes}
    result = run(job | {"times": 150, "longest_s": 0.02, "seed": 4711})
    assert result["problems"] == []
    assert result["killed"] > 30
    assert (ground / "etc" / "config.toml.bak").read_text() == "the operator's own"


@pytest.mark.spec("C-17", "H-47")
@pytest.mark.parametrize("limit", [0, 1, len(LONG) // 2, len(LONG) - 1])
def test_a_file_that_may_not_grow_stays_the_old_one(ground, job, limit):
    """A limit on file sizes fails like a full disk, in the middle of a write."""
    config = ground / "etc" / "config.toml"
    config.write_text(SHORT)
    changes = {"server.instance_name": "x" * 64, "server.allowed_hosts": ["h" * 60] * 1}
    changes["server.webhook_api_keys"] = ["k" * 500]
    result = run(job | {"changes": changes, "limit": limit})
    assert result["error"] == "DiskFailed"
    assert "disk is full" in result["text"]
    assert config.read_text() == SHORT
    assert [path.name for path in ground.glob("*/*") if "lyrsvc-" in path.name] == []


@pytest.mark.spec("C-17", "H-47")
@pytest.mark.parametrize("job", ["renaming"], indirect=True)
def test_on_a_full_disk_the_file_stays_the_old_one(ground, job):
    words = None
    for candidate in (["unshare", "-m"], ["unshare", "-Urm"]):
        if (
            shutil.which("unshare")
            and not subprocess.run(
                [*candidate, "mount", "-t", "tmpfs", "none", "/tmp"],
                capture_output=True,
                check=False,
            ).returncode
        ):
            words = candidate
            break
    if words is None:
        pytest.skip("mounting is not allowed here")
    disk = ground / "etc"
    script = (
        f"mount -t tmpfs -o size=16k none {disk} && "
        f"printf '%s' '{SHORT}' > {disk}/config.toml && \"$@\" && "
        f"cp {disk}/config.toml {ground}/after && ls -A {disk} > {ground}/listing"
    )
    order = job | {"changes": {"api.cooldown": 20}, "fill": str(disk / "ballast")}
    result = run(order, [*words, "sh", "-c", script, "sh"])
    assert result["error"] == "DiskFailed"
    assert (ground / "after").read_text() == SHORT
    listing = set((ground / "listing").read_text().split())
    assert listing <= {"config.toml", "ballast", ".config.toml.lock"}
