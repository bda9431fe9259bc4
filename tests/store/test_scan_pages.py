"""Pages of the inventory: the same rows as a plain walk through everything gives."""

from itertools import product

import pytest

from lyrsvc.core.keys import match_key
from lyrsvc.store import counts, scan_listing
from lyrsvc.store.ordering import Order
from lyrsvc.store.scan_pages import ResultFilter, results_page
from query_plans import plans_of
from report_rows import NOW, fill, insert

STATUSES = (None, "processing", *scan_listing.STORED_STATUSES)


@pytest.fixture
def filled(db):
    db.write(fill)
    db.write(add_files)
    db.write(lambda tx: counts.correct(tx, now=NOW))
    return db


def add_files(tx):
    """Put files of every status into two libraries; item 12 is claimed and has four of them."""
    insert(tx, "scan_dirs", {"id": 2, "library_id": 2, "path_hash": "j"})
    names = ("Tidewater", "Low Tide", "Ember", "Ältere Tür")
    for number, (library, status, title) in enumerate(
        product((1, 2), scan_listing.STORED_STATUSES, names)
    ):
        target_id = 1000 + number
        if title == "Ember":
            target = {"id": target_id, "item_id": 12, "library_id": library, "origin": "inventory"}
            place = {"out_dir": "/m", "out_stem": "x", "out_hash": f"t{number}"}
            insert(tx, "work_targets", {**target, **place})
        row = {"library_id": library, "dir_id": library, "name": f"f{number}", "status": status}
        words = {"title_key": match_key(title), "artist_key": f"artist {number % 3}"}
        more = {
            "alt_artist_key": "tidal" if number % 7 == 0 else "",
            "album_key": "a" * (number % 4),
        }
        tied = {"target_id": target_id} if title == "Ember" else {}
        insert(tx, "scan_results", {**row, **words, **more, **tied})


def expected(db, library_id, status, text, by, descending):
    with db.read() as tx:
        rows = list(scan_listing.list_results(tx))
        keys = {row["id"]: row for row in tx.all("SELECT * FROM scan_results")}
    wanted = match_key(text)
    found = [
        row["id"]
        for row in rows
        if library_id in (None, row["library"])
        and status in (None, row["status"])
        and any(
            wanted in keys[row["id"]][name]
            for name in ("artist_key", "alt_artist_key", "title_key", "album_key")
        )
    ]
    columns = {
        "id": (),
        "artist": ("artist_key", "title_key"),
        "title": ("title_key", "artist_key"),
        "album": ("album_key", "title_key"),
    }[by]
    found.sort(key=lambda id: (*(keys[id][name] for name in columns), id), reverse=bool(descending))
    return found


@pytest.mark.parametrize("by", ["id", "artist", "title", "album"])
@pytest.mark.parametrize("descending", [None, True])
def test_every_filter_and_order_gives_what_a_plain_walk_gives(filled, by, descending):
    order = Order(by=by, descending=descending)
    seen = 0
    for library_id, status, text in product((None, 1, 2, 99), STATUSES, ("", "t", "TIDE", "zzz")):
        wanted = expected(filled, library_id, status, text, by, descending)
        which = ResultFilter(library_id=library_id, status=status, text=text)
        with filled.read() as tx:
            whole = results_page(tx, which, order, page_size=500)
            parts = [results_page(tx, which, order, page=n, page_size=2) for n in range(1, 9)]

        assert [row["id"] for row in whole.rows] == wanted, which
        assert whole.total == len(wanted)
        assert [row["id"] for part in parts for row in part.rows] == wanted[:16]
        assert {part.total for part in parts} == {len(wanted)}
        seen += len(wanted)
    assert seen > 50


@pytest.mark.parametrize(
    "which",
    [
        ResultFilter(library_id=1),
        ResultFilter(status="pending"),
        ResultFilter(library_id=1, status="failed"),
    ],
)
def test_no_page_by_id_looks_through_all_rows(filled, which):
    plans = [" / ".join(plan) for plan in plans_of(filled, lambda tx: results_page(tx, which))]

    assert not any("SCAN s" in plan for plan in plans), plans
    assert any("SEARCH s USING COVERING INDEX ix_scan_list" in plan for plan in plans), plans


def test_claimed_files_are_found_from_their_items(filled):
    which = ResultFilter(status="processing")
    plans = [" / ".join(plan) for plan in plans_of(filled, lambda tx: results_page(tx, which))]

    assert any("SEARCH s USING INTEGER PRIMARY KEY" in plan for plan in plans), plans
    assert any("ix_targets_item" in plan and "ix_scan_target" in plan for plan in plans), plans
