"""Every promise and every acceptance case is proven by a test that carries its id."""

import pytest

from promise_page import page, shown
from seed_checklist import (
    Area,
    Mark,
    acceptance,
    areas_in,
    checklist,
    marks,
    marks_in,
    proofs,
    unproven_rows,
)
from source_tree import ROOT

FINISHED: tuple[str, ...] = tuple("ABCDEFGHIJK")
"""Areas (``"A"``) or rows (``"S-012"``) whose promises must all be proven."""


def test_the_checklist_is_read_whole() -> None:
    areas = checklist()
    assert list(areas) == list("ABCDEFGHIJK")
    assert sum(len(area.rows) for area in areas.values()) == 126
    assert areas["A"].title == "A. Outputs and modes"
    assert areas["G"].rows["S-062"].startswith(r"`scan [--enrich\|--no-enrich]")


def test_every_seed_id_used_by_a_test_exists() -> None:
    known = {row for area in checklist().values() for row in area.rows}
    assert [mark for mark in marks() if mark.kind == "seed" and mark.row not in known] == []


def test_every_spec_id_used_by_a_test_exists() -> None:
    known = set(acceptance().ids)
    assert len(known) == 273
    assert [mark for mark in marks() if mark.kind == "spec" and mark.row not in known] == []


def test_finished_areas_are_proven_whole() -> None:
    areas = checklist()
    known = {*areas, *(row for area in areas.values() for row in area.rows)}
    assert set(FINISHED) <= known
    demanded = {
        row for letter, area in areas.items() for row in area.rows if {letter, row} & set(FINISHED)
    }
    assert sorted(demanded & unproven_rows().keys()) == []


def test_an_acceptance_case_is_either_carried_or_excused() -> None:
    carried = set(proofs("spec"))
    excused = [excuse.id for excuse in acceptance().excuses]
    assert len(set(excused)) == len(excused)
    assert set(excused) <= set(acceptance().ids)
    assert sorted(set(acceptance().ids) - carried - set(excused)) == []
    assert sorted(carried & set(excused)) == []
    assert all(excuse.case and excuse.reason for excuse in acceptance().excuses)
    assert {each.id for each in acceptance().reservations} <= carried


def test_the_document_is_fresh() -> None:
    assert (ROOT / "docs" / "seed-checklist.md").read_text("utf-8") == page(), (
        "remedy: python3 dev.py docs"
    )


@pytest.mark.parametrize(
    "source",
    [
        '@pytest.mark.seed("S-001", "S-002")\ndef test_a(): ...',
        'pytestmark = [pytest.mark.seed("S-001"), pytest.mark.seed("S-002")]',
        'from pytest import mark\nx = param(1, marks=[pytest.mark.seed("S-001", "S-002")])',
        'class A:\n    @pytest.mark.seed("S-001", "S-002")\n    def test_a(self): ...',
    ],
)
def test_marks_are_found_wherever_they_stand(source: str) -> None:
    found = list(marks_in(source, "x.py"))
    assert [mark.row for mark in found] == ["S-001", "S-002"]
    assert {mark.test for mark in found} == {"test_a" if "test_a" in source else ""}


def test_a_computed_id_counts_as_unknown() -> None:
    assert [mark.row for mark in marks_in("@pytest.mark.seed(ID)\ndef test_a(): ...", "x.py")] == [
        None
    ]


def test_areas_and_rows_are_told_apart() -> None:
    text = "# T\n## A. One\n| id | promise |\n|---|---|\n| S-001 | x |\n## B. Two\n| S-002 | y \\| z |\n"
    assert areas_in(text) == {
        "A": Area("A. One", {"S-001": "x"}),
        "B": Area("B. Two", {"S-002": "y \\| z"}),
    }


def test_the_document_names_the_three_tests_nearest_to_the_user_and_counts_the_others() -> None:
    places = ("core/b.py", "core/a.py", "core/a.py", "journeys/c.py", "web/d.py", "web/d.py")
    found = [Mark("seed", "S-001", place, f"test_{n}") for n, place in enumerate(places)]
    assert shown([*found, found[0]]) == (
        "`tests/journeys/c.py::test_3`<br>`tests/web/d.py::test_4`<br>`tests/web/d.py::test_5`"
        "<br>and 3 more"
    )
    assert shown(found[:3]).count("a.py") == 2
    assert shown(found[:3]).index("test_1") < shown(found[:3]).index("test_2")
    assert shown(found[:1]) == "`tests/core/b.py::test_0`"
    assert shown([Mark("seed", "S-001", "core/a.py")]) == "`tests/core/a.py`"
