"""A user with an empty home, and stand-ins for every provider on loopback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fakes import FakeClock
from lyrsvc.demo.stand_in import StandIn
from terminals import Shell

TOKEN = "operator-token-4711"


@pytest.fixture
def stand_in():
    with StandIn() as server:
        yield server


@pytest.fixture
def home(tmp_path: Path) -> Path:
    place = tmp_path / "home"
    place.mkdir()
    return place


@pytest.fixture
def shell(home: Path, stand_in: StandIn) -> Shell:
    """Someone with a token, who does not wait between requests."""
    user = Shell(home)
    user.environ |= {
        "LYRSVC_DEFAULTPROV_BASE_URL": stand_in.url,
        "LYRSVC_LRCLIB_BASE_URL": stand_in.url,
        "LYRSVC_LRCLIB_COOLDOWN_SECONDS": "0",
        "LYRSVC_API_COOLDOWN": "0",
        "PROVIDER_TOKEN": TOKEN,
        "TZ": "UTC",
    }
    return user


@pytest.fixture
def patient(shell: Shell) -> Shell:
    """The same user, for whom waiting takes no time."""
    shell.clock = FakeClock()
    return shell


@pytest.fixture
def spawn(shell: Shell):
    """Start the real program as a process of its own."""
    running: list[subprocess.Popen[bytes]] = []

    def start(*argv: str, **options) -> subprocess.Popen[bytes]:
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        child = subprocess.Popen(
            [sys.executable, "-m", "lyrsvc", *argv],
            cwd=shell.working_directory,
            env={**shell.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdin=subprocess.DEVNULL,
            **options,
        )
        running.append(child)
        return child

    yield start
    for child in running:
        child.kill()
        child.communicate()
