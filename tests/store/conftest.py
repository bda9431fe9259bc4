"""A real database under tmp_path, and other processes that use it."""

import subprocess
import sys
from pathlib import Path

import pytest

from fakes import FakeClock
from lyrsvc.store.database import Database

TESTS = Path(__file__).parents[1]


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state" / "lyrsvc.db"


@pytest.fixture
def db(path, clock):
    with Database.open(path, create=True, clock=clock) as database:
        yield database


@pytest.fixture
def other_process():
    """Start Python code in a process of its own; whatever still runs at the end is killed."""
    started = []

    def start(code, *arguments):
        prelude = (
            f"import sys; sys.path[:0] = [{str(TESTS)!r}, {str(TESTS.parent / 'src')!r}]\n"
            "from fakes import FakeClock\n"
            "from lyrsvc.store.database import Database\n"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", prelude + code, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()
