"""Start-up of quick commands beside ``python -c pass``, in alternating runs.

A wheel is built and installed into an environment of its own with compiled bytecode,
because an editable installation is slower than what users have.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from _meter import Spent, median_ratio, stolen_over, timed
from _script import run_script, say
from _table import Bar, Row, explained

ITEMS = 10_000
ROOT = Path(__file__).parent.parent
FLOOR = "python -c pass"
TOP = 5


@dataclass(frozen=True, kw_only=True)
class Quick:
    """A command that must start fast."""

    words: tuple[str, ...]
    bar: Bar

    @property
    def name(self) -> str:
        """Give the command as it is typed."""
        return " ".join(word or '""' for word in ("lyrsvc", *self.words))


COMMANDS = (
    Quick(words=("--version",), bar=Bar(limit=2.5, ratio=True)),
    Quick(words=("__complete", "queue", ""), bar=Bar(limit=2.5, ratio=True)),
    Quick(words=("queue", "list"), bar=Bar(limit=3.5, ratio=True)),
    Quick(words=("__complete", "realign", "--library", ""), bar=Bar(limit=200)),
)

FILL = f"""
import sys
from pathlib import Path
from lyrsvc.clock import SystemClock
from lyrsvc.store import libraries
from lyrsvc.store.database import Database
clock = SystemClock()
rows = ({{"n": f"{{at}}"}} for at in range({ITEMS}))
with Database.open(sys.argv[1], create=True, clock=clock) as db:
    db.write(lambda tx: libraries.add(tx, name="music", path=Path("/music"), now=clock.now()))
    db.write(lambda tx: tx.many('''
        INSERT INTO work_items (artist, title, artist_key, title_key, duration_bucket, status,
                                priority, due_at, created_at, updated_at)
        VALUES ('Artist ' || :n, 'Title ' || :n, :n, :n, 0, 'pending', 0,
                '2026-01-31T14:05:06.123Z', '2026-01-31T14:05:06.123Z',
                '2026-01-31T14:05:06.123Z')''', rows))
"""
READY = """
import sys
sys.path.insert(0, sys.argv[1])
import dev
from devtools.environment import plan, present, read_stamp
plan(read_stamp(dev.HOME), present(dev.HOME), dev=True)
"""


def measure(options: argparse.Namespace) -> Iterator[Row]:
    """Run every command in turn, round by round."""
    rounds = options.rounds or (50 if options.full else 25)
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        say("making an installation")
        python = install(place)
        database = place / "x.db"
        subprocess.run([python, "-c", FILL, database], check=True)
        program = python.parent / "lyrsvc"
        environ = {"HOME": name, "LYRSVC_DB_PATH": str(database)}
        spent = alternate(
            {
                FLOOR: [python, "-c", "pass"],
                **{quick.name: [program, *quick.words] for quick in COMMANDS},
                "dev.py": [python, "-c", READY, ROOT],
            },
            environ,
            rounds,
        )
        for quick in COMMANDS:
            row = compared(quick.name, spent, quick.bar)
            command: list[str | Path] = [python, "-X", "importtime", program, *quick.words]
            yield explained(row, partial(import_lines, command, environ))
    yield readiness(spent)


def alternate(
    commands: dict[str, list[str | Path]], environ: dict[str, str], rounds: int
) -> dict[str, list[Spent]]:
    """Run each command once a round; a first round does not count."""
    spent: dict[str, list[Spent]] = {label: [] for label in commands}
    for _ in range(rounds + 1):
        for label, command in commands.items():
            spent[label].append(timed(partial(run, command, environ)))
    return {label: runs[1:] for label, runs in spent.items()}


def run(command: list[str | Path], environ: dict[str, str]) -> None:
    """Run a command without showing what it prints."""
    subprocess.run(command, env=environ, stdout=subprocess.DEVNULL, check=True)


def compared(name: str, spent: dict[str, list[Spent]], bar: Bar) -> Row:
    """Give a command beside the bare interpreter."""
    mine, floor = spent[name], spent[FLOOR]
    return Row(
        work=name,
        figure=middle_ms(mine),
        unit="ms",
        peer=FLOOR,
        peer_figure=middle_ms(floor),
        processor_ratio=median_ratio([o.children_s for o in mine], [o.children_s for o in floor]),
        bar=bar,
        stolen=stolen_over([*mine, *floor]),
    )


def readiness(spent: dict[str, list[Spent]]) -> Row:
    """Give what ``dev.py`` adds when its environment is ready."""
    return Row(
        work="dev.py, environment ready, added",
        figure=max(0.0, middle_ms(spent["dev.py"]) - middle_ms(spent[FLOOR])),
        unit="ms",
        peer=FLOOR,
        peer_figure=middle_ms(spent[FLOOR]),
        bar=Bar(limit=500),
        stolen=stolen_over(spent["dev.py"]),
    )


def middle_ms(spent: list[Spent]) -> float:
    """Give the median wall time in milliseconds."""
    return statistics.median(one.wall_s for one in spent) * 1000


def import_lines(command: list[str | Path], environ: dict[str, str]) -> list[str]:
    """Give the modules whose own loading takes longest."""
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    told = [
        line[12:].split("|") for line in done.stderr.splitlines() if line.startswith("import time:")
    ]
    costs = [(int(own), name.strip()) for own, _, name in told if own.strip().isdigit()]
    largest = sorted(costs, reverse=True)[:TOP]
    return [f"{own / 1000:7.2f} ms  import {name}" for own, name in largest] + [
        f"{sum(own for own, _ in costs) / 1000:7.2f} ms  all {len(costs)} imports"
    ]


def install(place: Path) -> Path:
    """Build the wheel and install it with the packages of the running environment."""
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation",
         "-w", place, ROOT],
        check=True, stdout=sys.stderr,
    )  # fmt: skip
    wheel = next(place.glob("lyrsvc-*.whl"))
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place / "env"], check=True)
    python = place / "env" / "bin" / "python"
    packages = next((place / "env" / "lib").glob("python*/site-packages"))
    own = next(Path(sys.prefix, "lib").glob("python*/site-packages"))
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", "--compile",
         wheel],
        check=True, stdout=sys.stderr,
    )  # fmt: skip
    (packages / "apsw").symlink_to(own / "apsw")
    return python


def add_options(parser: argparse.ArgumentParser) -> None:
    """Take how often to run each."""
    parser.add_argument("--rounds", type=int)


if __name__ == "__main__":
    sys.exit(run_script(__doc__, measure, add_options))
