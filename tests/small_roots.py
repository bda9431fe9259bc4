"""A root directory with busybox and little else, entered as a container or an installer would."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

APPLETS = [
    "addgroup",
    "adduser",
    "cat",
    "chmod",
    "chown",
    "cp",
    "cut",
    "echo",
    "env",
    "false",
    "find",
    "grep",
    "head",
    "id",
    "ln",
    "ls",
    "mkdir",
    "mv",
    "rm",
    "rmdir",
    "sed",
    "sh",
    "sleep",
    "stat",
    "test",
    "touch",
    "true",
    "uname",
    "wc",
]
SU_EXEC = """#!/bin/sh
# Does what su-exec does: numeric ids, no further groups, and a HOME of its own.
ids=$1
shift
HOME=/ exec setpriv --reuid "${ids%:*}" --regid "${ids#*:}" --clear-groups "$@"
"""
FEW_POWERS = ("--bounding-set=-all,+chown,+setuid,+setgid", "--no-new-privs")
"""What ``--cap-drop ALL --cap-add CHOWN,SETUID,SETGID`` with ``no-new-privileges`` leaves."""


def may_mount() -> bool:
    """Tell whether this process may make a root of its own."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or shutil.which("unshare") is None:
        return False
    probe = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /mnt"]
    return subprocess.run(probe, check=False, capture_output=True).returncode == 0


needs_root = pytest.mark.skipif(
    not may_mount(), reason="needs root and the right to mount, for a root directory of its own"
)


class SmallRoot:
    """A directory to live in; every ``run`` has its own mounts, which end with it."""

    def __init__(self, place: Path) -> None:
        self.place = place
        for name in ("bin", "sbin", "etc", "proc", "tmp", "config", "data", "usr/bin", "usr/sbin"):
            (place / name).mkdir(parents=True)
        (place / "tmp").chmod(0o1777)
        (place / "dev").mkdir()
        os.mknod(place / "dev" / "null", 0o666 | 0o020000, os.makedev(1, 3))
        (place / "dev" / "null").chmod(0o666)
        self.add_program("busybox")
        self.add_program("setpriv")
        for applet in APPLETS:
            (place / "bin" / applet).symlink_to("busybox")
        self.write("bin/su-exec", SU_EXEC, 0o755)
        self.write("etc/passwd", "root:x:0:0:root:/root:/bin/sh\nuser:x:77:77:u:/home:/bin/sh\n")
        self.write("etc/group", "root:x:0:\nuser:x:77:\n")

    def write(self, name: str, text: str, mode: int = 0o644) -> Path:
        path = self.place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path

    def add_program(self, name: str) -> None:
        """Copy a program of this system with the libraries it needs."""
        found = shutil.which(name)
        assert found, name
        shutil.copy(found, self.place / "bin" / name)
        listed = subprocess.run(["ldd", found], check=False, capture_output=True, text=True).stdout
        for library in re.findall(r"(/\S+) \(0x", listed):
            target = self.place / library.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, target)

    def run(
        self,
        *words: str,
        environ: Mapping[str, str] | None = None,
        powers: Sequence[str] = (),
        binds: Mapping[Path, str] | None = None,
        read_only: bool = False,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command inside; ``powers`` are words of setpriv, ``binds`` are mounted first."""
        root = str(self.place)
        lines = [f"mount --bind '{root}' '{root}'", f"mount -t proc proc '{root}/proc'"]
        if read_only:
            lines.append(f"mount -o remount,bind,ro '{root}'")
        lines += [f"mount --bind '{s}' '{root}{target}'" for s, target in (binds or {}).items()]
        lines.append(f"exec chroot '{root}' /bin/setpriv {' '.join(powers)} \"$@\"")
        return subprocess.run(
            ["unshare", "--mount", "sh", "-ec", "\n".join(lines), "sh", *words],
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/config", **(environ or {})},
            capture_output=True,
            text=True,
            check=False,
        )
