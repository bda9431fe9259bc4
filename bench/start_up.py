"""Start-up of quick commands beside ``python -c pass``, in alternating runs.

A wheel is built and installed into an environment of its own with compiled
bytecode, because an editable installation is slower than what users have.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 25
ITEMS = 10_000
BARS = {"--version": 2.5, '__complete queue ""': 2.5, "queue list": 3.5}
ROOT = Path(__file__).parent.parent

FILL = f"""
import sys
from lyrsvc.clock import SystemClock
from lyrsvc.store.database import Database
rows = ({{"n": f"{{at}}"}} for at in range({ITEMS}))
with Database.open(sys.argv[1], create=True, clock=SystemClock()) as db:
    db.write(lambda tx: tx.many('''
        INSERT INTO work_items (artist, title, artist_key, title_key, duration_bucket, status,
                                priority, due_at, created_at, updated_at)
        VALUES ('Artist ' || :n, 'Title ' || :n, :n, :n, 0, 'pending', 0,
                '2026-01-31T14:05:06.123Z', '2026-01-31T14:05:06.123Z',
                '2026-01-31T14:05:06.123Z')''', rows))
"""


def main() -> int:
    """Print a row for each command; give 1 when a bar is missed."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        python = install(place)
        database = place / "x.db"
        subprocess.run([python, "-c", FILL, database], check=True)
        program = python.parent / "lyrsvc"
        environ = {"HOME": name, "LYRSVC_DB_PATH": str(database)}
        commands = {
            "python -c pass": [python, "-c", "pass"],
            "--version": [program, "--version"],
            '__complete queue ""': [program, "__complete", "queue", ""],
            "queue list": [program, "queue", "list"],
        }
        times: dict[str, list[float]] = {label: [] for label in commands}
        for _ in range(ROUNDS):
            for label, command in commands.items():
                start = time.perf_counter()
                subprocess.run(command, env=environ, stdout=subprocess.DEVNULL, check=True)
                times[label].append(time.perf_counter() - start)
    floor = statistics.median(times["python -c pass"])
    print(f"python -c pass: {floor * 1000:.1f} ms (median of {ROUNDS})")
    missed = 0
    for label, bar in BARS.items():
        median = statistics.median(times[label])
        ratio = median / floor
        missed += ratio > bar
        print(f"{label}: {median * 1000:.1f} ms, ratio {ratio:.2f}, bar {bar}")
    return 1 if missed else 0


def install(place: Path) -> Path:
    """Build the wheel and install it with the packages of the running environment."""
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation",
         "-w", place, ROOT],
        check=True,
    )  # fmt: skip
    wheel = next(place.glob("lyrsvc-*.whl"))
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place / "env"], check=True)
    python = place / "env" / "bin" / "python"
    packages = next((place / "env" / "lib").glob("python*/site-packages"))
    own = next(Path(sys.prefix, "lib").glob("python*/site-packages"))
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", "--compile",
         wheel],
        check=True,
    )  # fmt: skip
    (packages / "apsw").symlink_to(own / "apsw")
    return python


if __name__ == "__main__":
    sys.exit(main())
