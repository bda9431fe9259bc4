"""Quick commands stay quick: what they may not import."""

import subprocess
import sys

import pytest

from fakes import FakeClock
from lyrsvc.store.database import Database

SLOW = (
    "tomlkit", "difflib", "urllib3", "http.client", "uvicorn", "starlette", "cryptography", "ssl",
    "tinytag", "mutagen", "jinja2", "asyncio", "importlib.metadata", "rapidfuzz", "msgspec",
    "concurrent.futures", "multiprocessing", "email", "socket",
)  # fmt: skip

LINES = {
    "--version": ["--version"],
    "__complete": ["__complete", "queue", ""],
    "queue list": ["queue", "list"],
}


@pytest.mark.spec("C-49")
@pytest.mark.parametrize("line", LINES)
def test_a_quick_command_imports_nothing_slow(tmp_path, line):
    path = tmp_path / "x.db"
    with Database.open(path, create=True, clock=FakeClock()):
        pass
    script = (
        "import sys; from lyrsvc.cli.main import run; sys.argv = ['lyrsvc', *sys.argv[1:]]; "
        "code = run(); sys.stderr.write(' '.join(sorted(sys.modules))); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *LINES[line]],
        capture_output=True,
        text=True,
        env={"HOME": str(tmp_path), "LYRSVC_DB_PATH": str(path)},
        check=True,
    )
    assert done.stdout or line == "queue list"
    loaded = set(done.stderr.split())
    assert "lyrsvc.cli.main" in loaded
    assert loaded.isdisjoint(SLOW)
