"""Prints docs/seed-checklist.md: every promise and the tests that prove it."""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from seed_checklist import Mark, acceptance, checklist, proofs

SHOWN: Final = 3
NEAREST_THE_USER: Final = ("journeys", "packaging", "cli", "web", "browser", "services")
HEAD: Final = """\
# Promises and their proof

Every promise lyrsvc makes (its *seed*), one row each, with the tests that prove it. Generated from
`tests/data/promises/` and the tests' marks by `python3 dev.py docs`.

A test that proves a promise carries its id: `@pytest.mark.seed("S-012")`. One that runs an acceptance
case carries that: `@pytest.mark.spec("P-51")`. `tests/house/test_seed_coverage.py` fails for a promise
that no test proves, and for a case that is neither carried nor excused.
"""


def page() -> str:
    """Give the whole document."""
    return "\n".join([HEAD, *_areas(), *_cases()])


def _areas() -> Iterator[str]:
    proven = proofs("seed")
    for area in checklist().values():
        yield f"## {area.title}\n\n| id | promise | proven by |\n|---|---|---|"
        for row, promise in area.rows.items():
            yield f"| {row} | {promise} | {shown(proven.get(row, ()))} |"
        yield ""


def _cases() -> Iterator[str]:
    ids, excuses = acceptance().ids, acceptance().excuses
    yield (
        "## Acceptance cases without a test\n\n"
        f"There are {len(ids)} acceptance cases; {len(ids) - len(excuses)} are carried by tests. "
        "These are not:\n\n| id | case | why no test runs it |\n|---|---|---|"
    )
    for excuse in excuses:
        yield f"| {excuse.id} | {excuse.case} | {excuse.reason} |"
    yield "\nThese are carried, but not to the last word:\n\n| id | what is not shown |\n|---|---|"
    for reservation in acceptance().reservations:
        yield f"| {reservation.id} | {reservation.missing} |"
    yield ""


def shown(marks: Iterable[Mark]) -> str:
    """Name the tests nearest to the user, of different files where there are some, and count."""
    seen: Counter[str] = Counter()
    ranks: dict[str, tuple[int, int]] = {}
    for mark in marks:
        if name_of(mark) not in ranks:
            ranks[name_of(mark)] = (_nearness(mark), seen[mark.place])
            seen[mark.place] += 1
    order = sorted(ranks, key=lambda name: ranks[name])
    text = "<br>".join(f"`{name}`" for name in order[:SHOWN])
    return f"{text}<br>and {len(order) - SHOWN} more" if len(order) > SHOWN else text


def name_of(mark: Mark) -> str:
    """Give the words that make pytest run it."""
    return f"tests/{mark.place}::{mark.test}" if mark.test else f"tests/{mark.place}"


def _nearness(mark: Mark) -> int:
    folder = mark.place.partition("/")[0]
    known = folder in NEAREST_THE_USER
    return NEAREST_THE_USER.index(folder) if known else len(NEAREST_THE_USER)


if __name__ == "__main__":
    sys.stdout.write(page())
