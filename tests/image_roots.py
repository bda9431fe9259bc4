"""The image's start without Docker: its entrypoint, variables and layout over this system's root.

An overlay of the root directory gets what the Dockerfile puts into the image, and is entered with
its own mounts, processes and network. Alpine, tini, su-exec and the container runtime are not in it.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from small_roots import SU_EXEC, may_mount
from source_tree import ROOT

DOCKERFILE = ROOT / "packaging" / "docker" / "Dockerfile"
LIMIT_S = 300
LYRSVC = f"""#!/bin/sh
exec {sys.executable} -m lyrsvc "$@"
"""
LOOPBACK_UP = (
    "import fcntl, socket, struct; fcntl.ioctl(socket.socket(), 0x8914, "
    "struct.pack('16sh', b'lo', 0x41))"
)
ASK = """
ask() {
    exec 3<>/dev/tcp/127.0.0.1/50705 || return 1
    printf 'GET %s HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' "$1" >&3
    head -1 <&3
    exec 3>&-
}
until_it_is() {
    for _ in $(seq 600); do
        [ "$("$@" 2>/dev/null)" ] && return
        [ -d /proc/$service ] || return
        sleep 0.1
    done
}
"""


def instructions() -> list[tuple[str, str]]:
    """Read the Dockerfile, one word and its rest at a time."""
    lines = [each for each in DOCKERFILE.read_text().splitlines() if not each.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [tuple(line.split(maxsplit=1)) for line in joined.splitlines() if line.strip()]


def variables() -> dict[str, str]:
    """Give the variables that the image sets."""
    (found,) = [rest for word, rest in instructions() if word == "ENV" and "LYRSVC_DOCKER" in rest]
    return dict(pair.split("=", 1) for pair in found.split())


def may_overlay(place: Path) -> bool:
    """Tell whether a root of our own can be laid over the system's."""
    return may_mount() and ImageRoot(place).run("true", {}).returncode == 0


class ImageRoot:
    """A root to enter; whatever happens in it but below ``/config`` and ``/data`` is forgotten."""

    def __init__(self, place: Path) -> None:
        self.config, self.data = place / "config", place / "data"
        self._place = place
        place.mkdir(parents=True, exist_ok=True)
        self.config.mkdir(mode=0o777)
        self.config.chmod(0o777)  # as the image brings it
        self.data.mkdir()
        added = place / "added"
        (added / "usr/local/bin").mkdir(parents=True)
        for name in ("config", "data"):
            (added / name).mkdir()
        for name, text in (("lyrsvc", LYRSVC), ("su-exec", SU_EXEC)):
            (added / "usr/local/bin" / name).write_text(text)
        shutil.copy(ROOT / "packaging/docker/entrypoint.sh", added / "usr/local/bin/entrypoint")
        for path in (added / "usr/local/bin").iterdir():
            path.chmod(0o755)

    def run(
        self, steps: str, environ: Mapping[str, str], *, powers: Sequence[str] = ()
    ) -> subprocess.CompletedProcess[str]:
        """Run steps in bash; ``powers`` are words of setpriv for whoever calls the entrypoint."""
        (self._place / "added" / "steps.sh").write_text(ASK + steps)
        given = {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", **variables(), **environ}
        return subprocess.run(
            ["unshare", "--mount", "--pid", "--fork", "--net", "sh", "-ec", self._entering()],
            env={**given, "POWERS": " ".join(powers)},
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_S,
        )

    def tell(
        self, steps: str, environ: Mapping[str, str], *, powers: Sequence[str] = ()
    ) -> dict[str, str]:
        """Run steps and give what stands behind each ``== name`` line."""
        done = self.run(steps + 'echo "== end"\n', environ, powers=powers)
        parts = re.split(r"^== (.*)\n", done.stdout, flags=re.MULTILINE)
        told = dict(zip(parts[1::2], (part.strip() for part in parts[2::2]), strict=True))
        assert "end" in told, done.stdout + done.stderr
        return told | {"stderr": done.stderr}

    def _entering(self) -> str:
        place, root = f"'{self._place}'", f"'{self._place}/root'"
        ours = {ROOT, Path(sys.prefix), Path(sys.base_prefix)}
        opened = {str(each) for path in ours for each in (path, *path.parents)} - {"/"}
        lines = [
            f"mkdir -p {place}/room {root}",
            f"mount -t tmpfs none {place}/room",
            f"mkdir {place}/room/upper {place}/room/work",
            f"cp -a {place}/added/. {place}/room/upper/",
            f"mount -t overlay -o lowerdir=/,upperdir={place}/room/upper,"
            f"workdir={place}/room/work overlay {root}",
            *(f"[ -e {root}'{each}' ] || mkdir -p {root}'{each}'" for each in ours),
            *(f"[ -e {root}'{each}'/. ] && chmod a+rx {root}'{each}'" for each in sorted(opened)),
            f"mount -t proc proc {root}/proc",
            f"mount --rbind /dev {root}/dev",
            f"mount -o remount,ro {root}",
            f"mount --bind '{self.config}' {root}/config",
            f"mount --bind '{self.data}' {root}/data",
            f"mount -t tmpfs -o mode=1777 none {root}/var/tmp",
            f'{sys.executable} -c "{LOOPBACK_UP}"',
            f"exec chroot {root} /bin/bash -c 'cd /config && exec /bin/bash /steps.sh'",
        ]
        return "\n".join(lines)


def needs_overlay(place: Path) -> None:
    """Skip where the system does not allow such a root."""
    if not may_overlay(place):
        pytest.skip("needs root and the right to mount an overlay")
