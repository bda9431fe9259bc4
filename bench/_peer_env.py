"""A private environment for other programs, so that they can be measured beside ours."""

import subprocess
import sys
from pathlib import Path

PLACE = Path(__file__).parents[1] / ".bench-env"
PEERS = ("beets", "syncedlyrics")
LIMIT_S = 300.0


class NotToBeHad(Exception):
    """The peers could not be fetched; the text says why."""


def peer_python(place: Path = PLACE) -> Path:
    """Give the interpreter of the environment; make it at first use."""
    stamp = place / "made-for"
    python = place / "bin" / "python"
    wanted = f"{sys.version} {' '.join(PEERS)}"
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    run([sys.executable, "-m", "venv", "--clear", str(place)])
    run([str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", *PEERS])
    stamp.write_text(wanted)
    return python


def run(command: list[str]) -> None:
    """Run a step; its last line says why it did not work."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        raise NotToBeHad(f"the package registry did not answer within {LIMIT_S:.0f} s") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise NotToBeHad(f"offline? {lines[-1] if lines else 'no reason given'}"[:200])
