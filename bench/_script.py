"""How every script of this folder runs: alone with a table, or for the runner with rows."""

import argparse
import json
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

from _table import BAD, Row, failure, render, to_json

Measure = Callable[[argparse.Namespace], Iterator[Row]]
Options = Callable[[argparse.ArgumentParser], None]


def run_script(document: str, measure: Measure, add_options: Options = lambda _: None) -> int:
    """Measure what the words ask for; give 1 when a bar is missed or something broke."""
    parser = argparse.ArgumentParser(
        description=document, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--full", action="store_true", help="measure at the sizes of the bars")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there as well")
    parser.add_argument("--into", type=Path, help=argparse.SUPPRESS)  # for the runner
    add_options(parser)
    chosen = parser.parse_args()
    rows: list[Row] = []
    for row in _unbroken(measure, chosen):
        rows.append(row)
        if chosen.into:
            with chosen.into.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row.to_json()) + "\n")
        say(f"{row.work}: {row.verdict}")
    if chosen.json:
        chosen.json.write_text(to_json(rows), "utf-8")
    if not chosen.into:
        print(render(rows))
    return int(any(row.verdict in BAD for row in rows))


def say(sentence: str) -> None:
    """Tell how far it is, on the side."""
    print(f"{time.strftime('%H:%M:%S')} {sentence}", file=sys.stderr, flush=True)


def _unbroken(measure: Measure, chosen: argparse.Namespace) -> Iterator[Row]:
    """Give the rows; what breaks a measurement becomes its last one."""
    try:
        yield from measure(chosen)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a failure is a row like any other
        traceback.print_exc()
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        yield failure(f"the rest of {Path(sys.argv[0]).stem}", reason)
