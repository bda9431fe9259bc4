"""Every promise of the checklist is to be proven by a test that carries its id."""

import re

import pytest

from seed_checklist import checklist, marks, marks_in, rows_by_area, unproven_rows

FINISHED: tuple[str, ...] = ()
"""Areas (``"A"``) or rows (``"S-012"``) whose promises must all be proven."""

SPEC_ID = re.compile(r"[HEPC]-\d{2}")


def test_the_checklist_is_read_whole() -> None:
    areas = checklist()
    assert list(areas) == list("ABCDEFGHIJK")
    assert sum(len(rows) for rows in areas.values()) == 126
    assert areas["G"]["S-062"].startswith(r"`scan [--enrich\|--no-enrich]")


def test_every_seed_id_used_by_a_test_exists() -> None:
    known = {row for rows in checklist().values() for row in rows}
    assert [mark for mark in marks() if mark.kind == "seed" and mark.row not in known] == []


def test_every_spec_id_used_by_a_test_is_well_formed() -> None:
    wrong = [m for m in marks() if m.kind == "spec" and not SPEC_ID.fullmatch(str(m.row))]
    assert wrong == []


def test_finished_areas_are_proven_whole() -> None:
    areas = checklist()
    known = {*areas, *(row for rows in areas.values() for row in rows)}
    assert set(FINISHED) <= known
    demanded = {row for area, rows in areas.items() for row in rows if {area, row} & set(FINISHED)}
    assert sorted(demanded & unproven_rows().keys()) == []


@pytest.mark.parametrize(
    "source",
    [
        '@pytest.mark.seed("S-001", "S-002")\ndef test_a(): ...',
        'pytestmark = [pytest.mark.seed("S-001"), pytest.mark.seed("S-002")]',
        'from pytest import mark\nx = param(1, marks=[pytest.mark.seed("S-001", "S-002")])',
    ],
)
def test_marks_are_found_wherever_they_stand(source: str) -> None:
    assert [mark.row for mark in marks_in(source, "x.py")] == ["S-001", "S-002"]


def test_a_computed_id_counts_as_unknown() -> None:
    assert [mark.row for mark in marks_in("@pytest.mark.seed(ID)\ndef test_a(): ...", "x.py")] == [
        None
    ]


def test_areas_and_rows_are_told_apart() -> None:
    text = "# T\n## A. One\n| id | promise |\n|---|---|\n| S-001 | x |\n## B. Two\n| S-002 | y \\| z |\n"
    assert rows_by_area(text) == {"A": {"S-001": "x"}, "B": {"S-002": "y \\| z"}}
