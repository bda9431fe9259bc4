"""The image's start with the real program, in a container without Docker.

The entrypoint, the variables of the Dockerfile and the frozen program are put into a Debian;
what Alpine and Docker themselves do is not shown here.
"""

import re
import shutil

import pytest

from devtools.workshop import Workshop
from image_roots import variables
from small_roots import FEW_POWERS, SU_EXEC, may_mount
from source_tree import ROOT

pytestmark = [
    pytest.mark.builds_packages,
    pytest.mark.skipif(not may_mount(), reason="needs root and the right to mount"),
]

STEPS = """
ask() {
    exec 3<>/dev/tcp/127.0.0.1/50705 || return 1
    printf 'GET %s HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' "$1" >&3
    head -1 <&3
    exec 3>&-
}
setpriv $POWERS /usr/local/bin/entrypoint lyrsvc serve & service=$!
for _ in $(seq 200); do ask /healthz 2>/dev/null && break; sleep 0.1; done
echo "== answer"; ask /healthz
echo "== user"; grep -E '^(Uid|Gid|Groups|CapEff)' /proc/$service/status
echo "== health"; lyrsvc healthcheck; echo $?
echo "== exec"; lyrsvc keys create --name lidarr >/dev/null; echo $?; lyrsvc queue list --json
echo "== state"; find /config -printf '%f %U:%G %m\\n' | sort
kill -TERM $service; wait $service; echo "== end"; echo $?
"""


@pytest.fixture
def box(dist, system):
    """A system with what the image holds."""
    place = system.place
    shutil.copytree(Workshop(ROOT).build / "lyrsvc", place / "usr/lib/lyrsvc", symlinks=True)
    (place / "usr/local/bin/lyrsvc").symlink_to("/usr/lib/lyrsvc/lyrsvc")
    shutil.copy(ROOT / "packaging/docker/entrypoint.sh", place / "usr/local/bin/entrypoint")
    (place / "usr/local/bin/su-exec").write_text(SU_EXEC)
    (place / "usr/local/bin/su-exec").chmod(0o755)
    (place / "config").mkdir(mode=0o777)
    (place / "config").chmod(0o777)
    (place / "steps.sh").write_text(STEPS)
    return system


def start(box, tmp_path, powers, **environ: str) -> dict[str, str]:
    volume = tmp_path / "volume"
    shutil.copytree(box.place / "config", volume, dirs_exist_ok=True)
    given = (
        variables() | {"POWERS": " ".join(powers), "LYRSVC_PROVIDER_PRIMARY": "lrclib"} | environ
    )
    options = (
        "--as-pid2",
        "--read-only",
        f"--bind={volume}:/config",
        "--tmpfs=/var/tmp",
        "--chdir=/config",
        *(f"--setenv={name}={value}" for name, value in given.items()),
    )
    done = box.enter("/bin/bash", "/steps.sh", options=options)
    parts = re.split(r"^== (.*)\n", done.stdout, flags=re.MULTILINE)
    told = dict(zip(parts[1::2], (part.strip() for part in parts[2::2]), strict=True))
    assert "end" in told, done.stdout + done.stderr
    told["stderr"] = done.stderr
    return told


@pytest.mark.seed("S-111", "S-112", "S-113", "S-097")
@pytest.mark.parametrize(
    ("powers", "environ", "ids"),
    [
        (FEW_POWERS, {"PUID": "99", "PGID": "100"}, "99:100"),
        (FEW_POWERS, {}, "1000:1000"),
        (("--no-new-privs",), {"PUID": "1", "PGID": "1"}, "1:1"),  # an id of the image
        (("--no-new-privs",), {"PUID": "0", "PGID": "0"}, "0:0"),
        (
            (
                "--reuid=1234",
                "--regid=1234",
                "--clear-groups",
                "--bounding-set=-all",
                "--no-new-privs",
            ),
            {},
            "1234:1234",
        ),
    ],
)
def test_it_starts_and_answers_read_only_as_any_user(box, tmp_path, powers, environ, ids) -> None:
    told = start(box, tmp_path, powers, **environ)
    assert told["answer"].startswith("HTTP/1.1 200"), told
    user, group = ids.split(":")
    status = dict(line.split(":", 1) for line in told["user"].splitlines())
    assert (status["Uid"].split(), status["Gid"].split()) == ([user] * 4, [group] * 4)
    entries = dict(line.split(" ", 1) for line in told["state"].splitlines())
    assert {"config", "lyrsvcgo.db"} <= set(entries)
    assert told["health"] == "ok\n0"
    if user != "1234":  # whose commands a runtime would start as 1234, too
        assert told["exec"].startswith("0\n"), told["stderr"]
        assert {line.split()[0] for line in entries.values()} == {ids}, told["state"]
    assert told["end"] == "0"
