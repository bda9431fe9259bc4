"""Questions of webhooks to the inventory and the targets: answered by indexes."""

from datetime import UTC, datetime

import pytest

from lyrsvc.store import inventory, rename_jobs, target_sources
from query_plans import plans_of
from scans import Scans

NOW = datetime(2026, 1, 31, 14, 5, 6, tzinfo=UTC)


@pytest.fixture
def scans(db, clock, tmp_path):
    return Scans(db, clock, tmp_path / "music")


@pytest.mark.seed("S-022")
def test_files_are_found_by_their_names_with_the_two_indexes(db):
    plans = plans_of(db, lambda tx: inventory.called(tx, "title", "artist", album_key="album"))
    assert [any("ix_scan_keys" in line for line in plan) for plan in plans] == [True, False]
    assert [any("ix_scan_altkeys" in line for line in plan) for plan in plans] == [False, True]
    whole = [line for plan in plans for line in plan if line.startswith("SCAN ")]
    assert all(line == "SCAN f" for line in whole), plans  # the few that were found


def test_what_is_known_of_one_file_is_found_without_a_search(scans, db):
    scans.song("a/b/x.flac", "Tide")
    scans.scan()
    library = scans.library.id
    with db.read() as tx:
        known = inventory.at(tx, library, "a/b", "x.flac")
        assert (known.path, known.stem) == (str(scans.root / "a/b/x.flac"), "x")
        assert inventory.at(tx, library, "a/b", "y.flac") is None
        assert inventory.at(tx, library, "a/c", "x.flac") is None
        (found,), other = inventory.called(tx, "tide", "quillon marsh")
        assert (found.row["id"], other) == (known.row["id"], [])
    plans = plans_of(db, lambda tx: inventory.at(tx, library, "a/b", "x.flac"))
    assert not [line for plan in plans for line in plan if line.startswith("SCAN ")]


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


# Renames


def test_renames_wait_in_their_order_and_are_settled_once(db):
    pairs = [("/a", "/b"), ("/b\udcff", "/c")]
    assert db.write(lambda tx: rename_jobs.insert(tx, pairs, now=NOW)) == 2
    with db.read() as tx:
        jobs = rename_jobs.waiting(tx)
        assert [job[1:] for job in jobs] == pairs
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
