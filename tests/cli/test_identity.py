"""Commands work as the owner of the files they touch."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from small_roots import needs_root

SWITCH_TWICE = """
import os, sys
from pathlib import Path
from lyrsvc.cli.identity import become_owner
for place in sys.argv[1:]:
    become_owner(Path(place))
print(os.getuid(), os.getgid(), os.getgroups())
"""


@pytest.fixture
def run_without_powers(tmp_path):
    """Run a command as a root that may neither become another user nor look everywhere."""

    def run(database: Path, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["setpriv", "--bounding-set=-all", sys.executable, "-m", "lyrsvc", *words],
            env={
                "HOME": str(tmp_path),
                "PATH": os.environ["PATH"],
                "LYRSVC_DB_PATH": str(database),
            },
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root")
def test_who_has_become_the_owner_once_stays_it(tmp_path) -> None:
    """In a container the settings' directory comes first and the database's second."""
    first, second = tmp_path / "config", tmp_path / "data"
    for place, user in ((first, 4321), (second, 1234)):
        place.mkdir()
        os.chown(place, user, user)
    for parent in (tmp_path, *tmp_path.parents[:2]):
        parent.chmod(0o755)
    command = [sys.executable, "-c", SWITCH_TWICE]
    for places in ([first], [first, first], [first, second]):
        done = subprocess.run([*command, *places], capture_output=True, text=True, check=False)
        assert (done.stdout, done.stderr) == ("4321 4321 [4321]\n", "")


@needs_root
@pytest.mark.parametrize(
    "words", [["queue", "list"], ["keys", "create", "--name", "x"], ["backup"]]
)
def test_a_root_that_cannot_become_the_owner_is_told_whom_to_be(
    tmp_path, run_without_powers, words
) -> None:
    state = tmp_path / "state"
    state.mkdir()
    os.chown(state, 4321, 4321)
    done = run_without_powers(state / "x.db", *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"lyrsvc: {state} belongs to user 4321, and this root may not become that user; "
        "run this as user 4321\n"
    )
    assert list(state.iterdir()) == []


@needs_root
@pytest.mark.seed("S-127")
@pytest.mark.parametrize(
    "words", [["queue", "list"], ["keys", "list"], ["scan"], ["library", "remove", "x", "--yes"]]
)
def test_a_database_that_may_not_be_looked_at_is_not_taken_for_a_missing_one(
    tmp_path, run_without_powers, words
) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    os.chown(closed, 4321, 4321)
    database = closed / "state" / "x.db"
    done = run_without_powers(database, *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"lyrsvc: cannot look at the database {database}: permission denied; "
        "run this as the user of the service\n"
    )


NEVER_RUN = """
mount -t tmpfs none /var/lib
mkdir /var/lib/lyrsvcgo-svc
mkdir -m 777 /var/lib/somebody
exec "$@"
"""


@needs_root
@pytest.mark.parametrize("words", [["config", "set", "api.cooldown", "20"], ["doctor"]])
def test_before_an_installed_service_has_run_root_is_told_which_files_are_used(
    tmp_path, words
) -> None:
    below = ["unshare", "--mount", "sh", "-ec", NEVER_RUN, "sh"]
    environ = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "LYRSVC_DOCKER": "false"}
    done = subprocess.run(
        [*below, sys.executable, "-m", "lyrsvc", *words],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert (
        f"the installed service has never run, so {tmp_path}/.local/share/lyrsvcgo-svc/lyrsvcgo.db"
        " is used; start it first, or set LYRSVC_DB_PATH=/var/lib/lyrsvcgo-svc/lyrsvcgo.db"
    ) in done.stderr


@needs_root
@pytest.mark.parametrize(
    ("words", "is_told"),
    [
        (["library", "add", "/usr"], True),
        (["queue", "list"], True),
        (["/var/lib", "--provider", "lrclib"], False),
        (["completion", "bash"], False),
        (["hook", "lidarr-rename"], False),
        (["config", "docs"], False),
    ],
)
def test_another_user_is_told_that_the_installed_service_has_other_files(words, is_told) -> None:
    below = ["unshare", "--mount", "sh", "-ec", NEVER_RUN, "sh"]
    below += ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    home = "/var/lib/somebody"
    done = subprocess.run(
        [*below, sys.executable, "-m", "lyrsvc", *words],
        env={"HOME": home, "PATH": os.environ["PATH"], "LYRSVC_DOCKER": "false"},
        capture_output=True,
        text=True,
        check=False,
    )
    own = f"{home}/.local/share/lyrsvcgo-svc/lyrsvcgo.db"
    told = f"the installed service has a database of its own, not {own}; for it use sudo"
    assert (told in done.stderr) is is_told
    assert done.returncode == 0
