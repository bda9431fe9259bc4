"""Reads the promises and the acceptance cases, and which tests say that they prove one."""

import ast
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent
PROMISES = TESTS / "data" / "promises" / "seed.md"
CASES = TESTS / "data" / "promises" / "acceptance.toml"

ROW = re.compile(r"^\| (S-\d{3}) \| (.+) \|$", re.MULTILINE)
AREA = re.compile(r"^## (([A-Z])\. .+)$", re.MULTILINE)


@dataclass(frozen=True)
class Mark:
    """One use of ``pytest.mark.seed`` or ``pytest.mark.spec``; ``test`` is empty for a module."""

    kind: str
    row: object
    place: str
    test: str = ""


@dataclass(frozen=True)
class Area:
    """A chapter of the promises."""

    title: str
    rows: dict[str, str]


@dataclass(frozen=True)
class Excuse:
    """An acceptance case that no test runs, and why."""

    id: str
    case: str
    reason: str


@dataclass(frozen=True)
class Reservation:
    """An acceptance case that tests run, but for something."""

    id: str
    missing: str


@dataclass(frozen=True)
class Acceptance:
    """All acceptance cases."""

    ids: tuple[str, ...]
    excuses: tuple[Excuse, ...]
    reservations: tuple[Reservation, ...]


def areas_in(text: str) -> dict[str, Area]:
    """Read promises: area letter, its title, row ids with their words."""
    parts = AREA.split(text)[1:]
    found = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    return {letter: Area(title, dict(ROW.findall(body))) for title, letter, body in found}


@cache
def checklist() -> dict[str, Area]:
    return areas_in(PROMISES.read_text("utf-8"))


@cache
def acceptance() -> Acceptance:
    data = tomllib.loads(CASES.read_text("utf-8"))
    ids = [
        f"{letter}-{number:02}"
        for letter, group in data["groups"].items()
        for number in range(1, group["cases"] + 1)
    ]
    return Acceptance(
        ids=tuple(ids),
        excuses=tuple(Excuse(**each) for each in data.get("excused", [])),
        reservations=tuple(Reservation(**each) for each in data.get("reserved", [])),
    )


@cache
def marks() -> tuple[Mark, ...]:
    """Collect the marks of all tests, without importing them."""
    found: list[Mark] = []
    for path in sorted(TESTS.rglob("*.py")):
        found += marks_in(path.read_text("utf-8"), path.relative_to(TESTS).as_posix())
    return tuple(found)


def marks_in(source: str, place: str) -> Iterator[Mark]:
    """Collect the marks of one module."""
    if "mark." not in source:
        return
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.ClassDef):
            for each in statement.body:
                yield from _marks_below(each, place)
            for each in statement.decorator_list:
                yield from _marks_below(each, place)
        else:
            yield from _marks_below(statement, place)


def _marks_below(statement: ast.AST, place: str) -> Iterator[Mark]:
    is_test = isinstance(statement, ast.FunctionDef) and statement.name.startswith("test_")
    test = statement.name if is_test else ""
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            kind, owner = node.func.attr, node.func.value
            if (
                kind in ("seed", "spec")
                and isinstance(owner, ast.Attribute)
                and owner.attr == "mark"
            ):
                for word in node.args:
                    row = word.value if isinstance(word, ast.Constant) else None
                    yield Mark(kind, row, place, test)


def proofs(kind: str) -> dict[object, list[Mark]]:
    """Give the tests that carry each id."""
    found: dict[object, list[Mark]] = {}
    for mark in marks():
        if mark.kind == kind:
            found.setdefault(mark.row, []).append(mark)
    return found


def unproven_rows() -> dict[str, str]:
    """Give the promises that no test proves."""
    proven = proofs("seed")
    rows = {row: promise for area in checklist().values() for row, promise in area.rows.items()}
    return {row: promise for row, promise in rows.items() if row not in proven}
