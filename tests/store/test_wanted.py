"""What is wanted: files without a sidecar, and files whose lyrics of ours are unsynced."""

import pytest

from lyrsvc.store import counts
from lyrsvc.store.ordering import Order
from lyrsvc.store.wanted import (
    WantedFilter,
    WantedKind,
    count_nameless,
    ids_after,
    kind_of,
    reasons_of,
    wanted_page,
)
from query_plans import plans_of
from report_rows import NOW, ask, insert

MISSING, UNSYNCED = WantedKind
KINDS = {
    1: {},
    2: {"sidecar_class": "lrc", "ours": 1},
    3: {"sidecar_class": "txt", "ours": 1},
    4: {"sidecar_class": "txt"},
    5: {"sidecar_class": "marker", "ours": 1},
    6: {"missing_since_at": NOW},
    7: {"status": "unreadable"},
    8: {"sidecar_class": "txt", "ours": 1, "missing_since_at": NOW},
    9: {"artist_key": "bjork", "title_key": "joga", "album_key": "homogenic"},
    10: {"alt_artist_key": "various", "ours": 1},
}


@pytest.fixture
def inventory(db):
    def write(tx):
        for number, name in ((1, "rock"), (2, "jazz")):
            place = {"path": f"/music/{name}", "path_hash": name, "name_key": name}
            insert(tx, "libraries", {"id": number, "name": name, **place})
            insert(tx, "scan_dirs", {"id": number, "library_id": number, "path_hash": name})
        for number, columns in KINDS.items():
            home = 2 if number > 8 else 1
            known = {"id": number, "library_id": home, "dir_id": home, "name": f"{number}.flac"}
            names = {"artist_key": f"artist {number}", "title_key": f"title {11 - number}"}
            insert(tx, "scan_results", {**known, **names, "out_stem": str(number), **columns})
        counts.correct(tx, now=NOW)

    db.write(write)
    return db


def wanted(db, *, by="id", descending=None, number=1, size=50, **which):
    order = Order(by=by, descending=descending)
    found = ask(db, wanted_page, WantedFilter(**which), order, page=number, page_size=size)
    return [row["id"] for row in found.rows], found.total


def test_missing_are_present_files_without_any_sidecar(inventory):
    assert wanted(inventory) == ([1, 7, 9, 10], 4)


def test_unsynced_are_plain_texts_of_ours_and_no_markers(inventory):
    assert wanted(inventory, kind=UNSYNCED) == ([3], 1)


def test_a_library_narrows_both(inventory):
    assert wanted(inventory, library_id=2) == ([9, 10], 2)
    assert wanted(inventory, library_id=1, kind=UNSYNCED) == ([3], 1)
    assert wanted(inventory, library_id=2, kind=UNSYNCED) == ([], 0)
    assert wanted(inventory, library_id=9) == ([], 0)


@pytest.mark.parametrize("text", ["Björk", "JÓGA", "homogénic", "omog"])
def test_text_is_found_whatever_its_accents(inventory, text):
    assert wanted(inventory, text=text) == ([9], 1)


def test_a_file_without_a_title_is_found_by_its_own_name(inventory):
    nameless = {"name": "Take 100%_a.flac", "title_key": "", "artist_key": ""}
    sets = ", ".join(f"{column} = :{column}" for column in nameless)
    inventory.write(lambda tx: tx.run(f"UPDATE scan_results SET {sets} WHERE id = 7", **nameless))
    assert wanted(inventory, text="take 100%_") == ([7], 1)
    assert wanted(inventory, text="1.flac") == ([], 0), "a title is what others are found by"


def test_files_that_nobody_can_be_asked_for_are_counted_up_to_a_limit(inventory):
    def count(limit=9, **which):
        return ask(inventory, count_nameless, WantedFilter(**which), limit=limit)

    assert count() == 0, "what could be read before still has its names"
    inventory.write(
        lambda tx: tx.run(
            "UPDATE scan_results SET title_key = '', status = 'unreadable', reason = 'no_metadata' "
            "WHERE id IN (2, 6, 7, 9)"
        )
    )
    assert (count(), count(limit=1), count(library_id=1), count(kind=UNSYNCED)) == (2, 1, 1, 0)
    assert ask(inventory, reasons_of, [1, 7, 9]) == {7: "no_metadata", 9: "no_metadata"}
    plans = plans_of(inventory, lambda tx: count_nameless(tx, WantedFilter(), limit=9))
    assert "ix_scan_list (library_id=? AND status=?)" in str(plans)


def test_text_is_found_in_the_other_credit_too(inventory):
    assert wanted(inventory, text="various") == ([10], 1)
    assert wanted(inventory, text="%") == ([], 0)


def test_orders(inventory):
    assert wanted(inventory, descending=True)[0] == [10, 9, 7, 1]
    assert wanted(inventory, by="title")[0] == [9, 10, 1, 7]
    assert wanted(inventory, by="artist")[0] == [1, 10, 7, 9]


def test_pages(inventory):
    assert wanted(inventory, number=2, size=3) == ([10], 4)
    assert wanted(inventory, number=3, size=3) == ([], 4)
    assert wanted(inventory, number=2, size=3, text="i") == ([10], 4)


def test_the_walk_goes_on_behind_an_id(inventory):
    with inventory.read() as tx:
        assert ids_after(tx, MISSING, library_id=None, after=0, limit=3) == [1, 7, 9]
        assert ids_after(tx, MISSING, library_id=None, after=9, limit=3) == [10]
        assert ids_after(tx, MISSING, library_id=1, after=1, limit=3) == [7]


def test_every_row_knows_why_it_is_wanted(inventory):
    with inventory.read() as tx:
        rows = tx.all("SELECT * FROM scan_results ORDER BY id")
    found = {row["id"]: kind_of(row) for row in rows}

    assert {number for number, kind in found.items() if kind is MISSING} == {1, 7, 9, 10}
    assert {number for number, kind in found.items() if kind is UNSYNCED} == {3}


@pytest.mark.parametrize("kind", list(WantedKind))
def test_the_usual_page_is_walked_along_its_index(inventory, kind):
    plans = plans_of(inventory, lambda tx: wanted_page(tx, WantedFilter(kind=kind), page_size=1))
    walk = next(plan for plan in plans if any("ix_scan_wanted" in line for line in plan))

    assert not any("TEMP B-TREE" in line for line in walk)
