"""What a scan opens, seen from the outside: every open of a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lyrsvc.files.tree import AUDIO_SUFFIXES
from scans import Scans

TESTS = Path(__file__).parents[1]
SCAN = f"""
import sys; sys.path[:0] = [{str(TESTS)!r}]
import json
from random import Random
from lyrsvc.clock import SystemClock
from lyrsvc.services.enqueueing import Terms
from lyrsvc.services.scanning import Scanner, ScanSetup
from lyrsvc.store import libraries
from lyrsvc.store.database import Database

opened, started = [], []
def hear(event, arguments):
    if event == "open" and isinstance(arguments[0], str):
        opened.append(arguments[0])
    elif event in ("subprocess.Popen", "os.fork", "os.posix_spawn"):
        started.append(event)
db = Database.open(sys.argv[1], create=False, clock=SystemClock())
with db.read() as tx:
    library = libraries.get(tx, 1)
scanner = Scanner(db, clock=SystemClock(), setup=ScanSetup(),
    terms=lambda now: Terms(now=now, chance=Random(1), output_dir="/nowhere"))
sys.addaudithook(hear)
report = scanner.scan(library, started_by="cli")
print(json.dumps({{**report.counts.as_dict(), "opened": opened, "started": started}}))
"""


@pytest.fixture
def trace(db, clock, tmp_path):
    scans = Scans(db, clock, tmp_path / "music")

    def run():
        done = subprocess.run(
            [sys.executable, "-c", SCAN, tmp_path / "lyrsvc.db"],
            capture_output=True,
            text=True,
            check=True,
        )
        found = json.loads(done.stdout)
        found["audio"] = [
            path for path in found["opened"] if path.rpartition(".")[2].lower() in AUDIO_SUFFIXES
        ]
        return found

    scans.trace = run
    return scans


@pytest.mark.spec("E-37")
def test_an_unchanged_rescan_opens_no_audio_and_no_sidecar(trace):
    for number in range(40):
        path = trace.song(f"{number % 4}/{number}.flac", f"Song {number}")
        if number % 2:
            path.with_suffix(".txt").write_text("words")

    first = trace.trace()
    assert len(first["audio"]) == 40
    again = trace.trace()

    assert (again["audio"], again["unchanged"]) == ([], 40)
    assert [path for path in again["opened"] if path.endswith((".txt", ".lrc"))] == []


def test_a_small_scan_starts_no_process(trace):
    for number in range(10):
        trace.song(f"{number}.flac", f"Song {number}")

    assert trace.trace()["started"] == []
