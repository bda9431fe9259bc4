"""A stand-in, grounds to serve on, and disks that can be filled and write-protected."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from faults.hooked import Grounds
from lyrsvc.demo.stand_in import StandIn


@pytest.fixture
def upstream():
    with StandIn(songs=()) as server:
        yield server


@pytest.fixture
def grounds(tmp_path, upstream):
    return Grounds(tmp_path, upstream)


@pytest.fixture
def mount():
    """Give a function that makes a directory a small disk of its own; only root can have one."""
    mounted: list[Path] = []

    def make(place: Path, size: str) -> Callable[[str], None]:
        place.mkdir(parents=True)
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("no file system can be mounted here")
        mounted.append(place)

        def remount(options: str) -> None:
            subprocess.run(["mount", "-o", f"remount,{options}", str(place)], check=True)

        return remount

    yield make
    for place in mounted:
        subprocess.run(["umount", "--lazy", str(place)], check=True)
