"""Questions of webhooks to the inventory and the targets: answered by indexes."""

from datetime import UTC, datetime

import pytest

from lyrsvc.store import inventory, rename_jobs, target_sources, targets
from lyrsvc.store.inventory import MOST, Called, Place
from query_plans import plans_of
from scans import Scans

NOW = datetime(2026, 1, 31, 14, 5, 6, tzinfo=UTC)


@pytest.fixture
def scans(db, clock, tmp_path):
    return Scans(db, clock, tmp_path / "music")


def asked(*titles):
    return [Called(title, "quillon marsh", "low tide") for title in titles]


def searches(plan, table):
    found = [line for line in plan if line.split()[:2] in (["SEARCH", table], ["SCAN", table])]
    assert found, plan
    return found


@pytest.mark.seed("S-022")
def test_files_are_found_by_their_names_with_the_two_indexes(db):
    (plan,) = plans_of(db, lambda tx: inventory.called(tx, asked("a", "b", "c")))

    by_artist, by_other = searches(plan, "r")
    assert "ix_scan_keys (title_key=? AND artist_key=?)" in by_artist
    assert "ix_scan_altkeys (title_key=? AND alt_artist_key=?)" in by_other
    for table in ("s", "d", "l"):
        assert all("INTEGER PRIMARY KEY" in line for line in searches(plan, table)), plan


def test_the_files_of_many_names_are_found_with_one_question(scans, db):
    for number in range(20):
        scans.song(f"a/{number}.flac", f"Tide {number}")
    scans.song("b/3.flac", "Tide 3")
    scans.scan()
    wanted = asked(*(f"tide {number}" for number in range(1, 20)), "unknown")

    with db.read() as tx:
        found = inventory.called(tx, wanted)

    files = {key.title_key: [file.name for file in same.own] for key, same in found.items()}
    assert files["tide 7"] == ["7.flac"]
    assert sorted(files["tide 3"]) == ["3.flac", "3.flac"]
    assert files["unknown"] == []
    assert [sum(map(len, same)) for same in found.values()].count(1) == 18
    assert len(plans_of(db, lambda tx: inventory.called(tx, wanted))) == 1


def test_no_more_files_of_one_name_are_looked_at_than_is_sensible(scans, db):
    for number in range(MOST + 5):
        scans.song(f"{number:03}/x.flac", "Tide", album="Low Tide" if number == MOST else "Ebb")
    scans.scan()

    with db.read() as tx:
        (same,) = inventory.called(tx, asked("tide")).values()

    assert len(same.own) == MOST
    assert f"{MOST:03}" in {file.directory[-3:] for file in same.own}  # of the album, so first


def test_what_is_known_of_some_files_is_found_without_a_search(scans, db):
    scans.song("a/b/x.flac", "Tide")
    scans.song("x\udcff.flac", "Ebb")
    scans.scan()
    library = scans.library.id
    there, top = Place(library, "a/b", "x.flac"), Place(library, "", "x\udcff.flac")
    wanted = [there, top, Place(library, "a/b", "y.flac"), Place(library, "a/c", "x.flac")]

    with db.read() as tx:
        known = inventory.at(tx, wanted)
        assert known.keys() == {there, top}
        assert (known[there].path, known[there].stem) == (str(scans.root / "a/b/x.flac"), "x")
        (same,) = inventory.called(tx, asked("tide")).values()
        assert ([file.row["id"] for file in same.own], same.other) == ([known[there].row["id"]], [])
        assert inventory.at(tx, []) == inventory.called(tx, []) == {}
    (plan,) = plans_of(db, lambda tx: inventory.at(tx, wanted))
    for table in ("s", "d", "l"):
        assert all(line.startswith("SEARCH") for line in searches(plan, table)), plan


def test_targets_are_found_by_their_source_and_below_a_directory(scans, db):
    scans.song("a/x.flac", "One")
    scans.song("ab/x.flac", "Two")
    scans.scan()
    with db.read() as tx:
        (one,) = target_sources.of_source(tx, str(scans.root / "a/x.flac"))
        below = target_sources.waiting_below(tx, scans.library.id, str(scans.root / "a"))
        assert [(target.id, target.album) for target in below] == [(one, "Low Tide")]
        assert len(target_sources.waiting_below(tx, scans.library.id, str(scans.root))) == 2
    plans = plans_of(db, lambda tx: target_sources.of_source(tx, "/x"))
    assert "ix_targets_source" in plans[0][0]


def test_the_targets_of_an_item_come_with_the_tags_of_their_own_files(scans, db):
    scans.song("a/x.flac", "Tide", album="Low Tide")
    scans.song("b/x.flac", "Tide", album="Ebb")
    scans.song("b/y.flac", "Tide", album="")
    scans.scan()

    with db.read() as tx:
        (item,) = tx.all("SELECT id FROM work_items")
        found = {t.source_path[-8:]: t.tags.album for t in targets.with_tags(tx, item["id"])}
    assert found == {"a/x.flac": "Low Tide", "b/x.flac": "Ebb", "b/y.flac": ""}

    plan, _ = plans_of(db, lambda tx: targets.with_tags(tx, item["id"]))
    assert all("ix_targets_item" in line for line in searches(plan, "t"))
    assert all("ix_scan_target" in line for line in searches(plan, "s"))


def test_served_targets_are_found_by_the_names_of_their_items(db):
    names = [("quillon marsh", f"tide {number}") for number in range(3)]
    (plan,) = plans_of(db, lambda tx: targets.served_by_name(tx, names))
    assert all("ux_items_key" in line for line in searches(plan, "i"))
    assert all("ix_targets_item" in line for line in searches(plan, "t"))


# Renames


def test_renames_wait_in_their_order_and_are_settled_once(db):
    pairs = [("/a", "/b"), ("/b\udcff", "/c")]
    assert db.write(lambda tx: rename_jobs.insert(tx, pairs, now=NOW)) == 2
    with db.read() as tx:
        jobs = rename_jobs.waiting(tx)
        assert [(job.old_path, job.new_path) for job in jobs] == pairs
        assert [job.id for job in rename_jobs.waiting(tx, 1)] == [jobs[0].id]
    for state, error in (("done", ""), ("ignored", "too late\0")):
        told = db.write(
            lambda tx, state=state, error=error: rename_jobs.settle(
                tx, jobs[0].id, state=state, error=error, now=NOW
            )
        )
        assert told is (state == "done")
    with db.read() as tx:
        assert rename_jobs.waiting(tx) == jobs[1:]


def test_a_rename_that_waits_already_is_not_stored_again_unless_others_came_between(db):
    def insert(*pairs):
        return db.write(lambda tx: rename_jobs.insert(tx, pairs, now=NOW))

    assert insert(("/a", "/b"), ("/a", "/b")) == 1
    assert insert(("/a", "/b")) == 0
    assert insert(("/b", "/a")) == 1
    assert insert(("/a", "/b")) == 1
    assert insert(("/a", "/b")) == 0
