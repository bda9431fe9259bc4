"""The measurements still fit the program they measure."""

import subprocess
import sys
from pathlib import Path

from builders import minimal_flac

HOME = Path(__file__).parents[2]
BENCH = HOME / "bench"
IMPORT_ALL = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
"""


def run(*words, **more):
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, **more)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_script_can_be_imported():
    names = sorted(path.stem for path in BENCH.glob("*.py"))
    assert {"http_face", "scan", "work_queue"} <= set(names)
    run("-c", IMPORT_ALL, *names, cwd=BENCH, env={"PYTHONPATH": f"{BENCH}:{HOME / 'tests'}"})


def test_the_stages_of_a_scan_are_told(tmp_path):
    music, place = tmp_path / "music", tmp_path / "place"
    place.mkdir()
    for number in range(40):
        minimal_flac(music / f"{number}.flac", title=f"Song {number}", artist="Quillon Marsh")
    told = run(str(BENCH / "_scan_here.py"), "stages", str(music), str(place))
    assert {"write", "commit"} <= {line.split()[-1] for line in told.splitlines()}, told
