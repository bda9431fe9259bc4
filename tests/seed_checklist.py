"""Reads the promises of the checklist and which tests say that they prove one."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent
CHECKLIST = TESTS.parent / "docs" / "seed-checklist.md"

ROW = re.compile(r"^\| (S-\d{3}) \| (.+) \|$", re.MULTILINE)
AREA = re.compile(r"^## ([A-Z])\. ", re.MULTILINE)


@dataclass(frozen=True)
class Mark:
    """One use of ``pytest.mark.seed`` or ``pytest.mark.spec``."""

    kind: str
    row: object
    place: str


def rows_by_area(text: str) -> dict[str, dict[str, str]]:
    """Read a checklist: area letter, row id, promise."""
    parts = AREA.split(text)[1:]
    return {
        area: dict(ROW.findall(body)) for area, body in zip(parts[::2], parts[1::2], strict=True)
    }


@cache
def checklist() -> dict[str, dict[str, str]]:
    return rows_by_area(CHECKLIST.read_text("utf-8"))


@cache
def marks() -> tuple[Mark, ...]:
    """Collect the marks of all tests, without importing them."""
    found = []
    for path in sorted(TESTS.rglob("*.py")):
        found += marks_in(path.read_text("utf-8"), str(path.relative_to(TESTS)))
    return tuple(found)


def marks_in(source: str, place: str) -> Iterator[Mark]:
    """Collect the marks of one module."""
    if "mark." not in source:
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            kind, owner = node.func.attr, node.func.value
            if (
                kind in ("seed", "spec")
                and isinstance(owner, ast.Attribute)
                and owner.attr == "mark"
            ):
                for word in node.args:
                    row = word.value if isinstance(word, ast.Constant) else None
                    yield Mark(kind, row, f"{place}:{node.lineno}")


def unproven_rows() -> dict[str, str]:
    """Give the promises that no test proves."""
    proven = {mark.row for mark in marks() if mark.kind == "seed"}
    rows = {row: promise for area in checklist().values() for row, promise in area.items()}
    return {row: promise for row, promise in rows.items() if row not in proven}
