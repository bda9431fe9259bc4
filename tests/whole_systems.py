"""A whole Debian below a directory, entered or booted with its own service manager."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

RELEASE = "bookworm"
UNIT = """[Unit]
Description=Run the steps of a test
After=multi-user.target

[Service]
Type=oneshot
ExecStart=/bin/bash -x /steps.sh
StandardOutput=file:/steps.out
StandardError=file:/steps.err
ExecStopPost=/bin/systemctl poweroff --no-block
TimeoutStartSec=120

[Install]
WantedBy=multi-user.target
"""


def mirror() -> str:
    """Give the package archive that this system itself uses."""
    words = ["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE)"]
    listed = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    found = re.search(rf"^(\S+/debian)/? {RELEASE}$", listed, re.MULTILINE)
    if found is None:
        pytest.skip(f"no archive of Debian {RELEASE} is configured")
    return found[1]


def make_debian(place: Path) -> None:
    """Make a small system with a service manager; kept, because it takes a minute."""
    if (place / "etc" / "debian_version").exists():
        return
    draft = place.with_name(f"{place.name}.new")
    shutil.rmtree(draft, ignore_errors=True)
    draft.parent.mkdir(parents=True, exist_ok=True)
    packages = "--include=systemd,systemd-sysv,dbus"
    words = ["debootstrap", "--variant=minbase", packages, RELEASE, str(draft), mirror()]
    subprocess.run(words, check=True, capture_output=True)
    draft.rename(place)


class WholeSystem:
    """One copy of that system, to be changed at will."""

    def __init__(self, original: Path, place: Path) -> None:
        self.place = place
        subprocess.run(["cp", "-a", "--reflink=auto", str(original), str(place)], check=True)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command inside, while nothing else runs there."""
        return self.enter(*words, options=("--as-pid2",))

    def enter(self, *words: str, options: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
        """Run a command inside as a container would."""
        fixed = ["--quiet", "--register=no", "--keep-unit", "--private-network", "--pipe"]
        return subprocess.run(
            ["systemd-nspawn", *fixed, f"--directory={self.place}", *options, *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=180,
        )

    def boot(self, steps: str) -> dict[str, str]:
        """Boot, run the steps, power off; give what stands behind each ``== name`` line."""
        (self.place / "steps.sh").write_text(steps)
        (self.place / "etc/systemd/system/steps.service").write_text(UNIT)
        wants = self.place / "etc/systemd/system/multi-user.target.wants"
        wants.mkdir(parents=True, exist_ok=True)
        (wants / "steps.service").unlink(missing_ok=True)
        (wants / "steps.service").symlink_to("../steps.service")
        fixed = ["--quiet", "--register=no", "--keep-unit", "--private-network", "--boot"]
        words = ["systemd-nspawn", *fixed, f"--directory={self.place}"]
        subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=300, check=False
        )
        told = (self.place / "steps.out").read_text()
        parts = re.split(r"^== (.*)\n", told, flags=re.MULTILINE)
        return dict(zip(parts[1::2], (part.strip() for part in parts[2::2]), strict=True))
