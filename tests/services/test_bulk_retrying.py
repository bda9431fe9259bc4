"""Bringing many items back at once."""

from random import Random

import pytest

from lyrsvc.services import retrying
from lyrsvc.services.retrying import Hand, Selection
from lyrsvc.store import counts, history_pages, work_items
from lyrsvc.store.database import Database
from query_plans import plans_of
from queue_cases import NOW
from report_rows import ask, fill

HAND = Hand(by="user:somebody", now=NOW, chance=Random(1))


@pytest.fixture
def db(tmp_path, clock):
    with Database.open(tmp_path / "lyrsvc.db", create=True, clock=clock) as database:
        database.write(fill)
        yield database
        with database.read() as tx:
            assert counts.differences(tx) == {}


def statuses(db):
    with db.read() as tx:
        return {row["id"]: row["status"] for row in tx.all("SELECT id, status FROM work_items")}


def test_named_items_are_retried_and_every_other_status_is_refused(db):
    before = statuses(db)
    refused = [number for number, status in before.items() if status != "failed"]

    assert retrying.retry_all(db, [8, 8, 9, 999, *refused], HAND) == (2, len(refused) + 1)
    after = statuses(db)
    assert (after[8], after[9]) == ("pending", "pending")
    assert {number: after[number] for number in refused} == {n: before[n] for n in refused}


def test_all_failed_items_or_those_of_one_reason(db):
    assert retrying.retry_failed(db, HAND, reason="network") == 2
    assert statuses(db)[10] == "failed"
    assert retrying.retry_failed(db, HAND, reason="bogus") == 0
    assert retrying.retry_failed(db, HAND) == 1
    assert "failed" not in statuses(db).values()


def test_items_that_failed_without_a_reason_are_those_of_unknown(db):
    db.write(lambda tx: tx.run("UPDATE work_items SET reason = '' WHERE id = 8"))
    db.write(lambda tx: counts.correct(tx, now=NOW))

    assert retrying.retry_failed(db, HAND, reason="unknown") == 1
    assert statuses(db)[8] == "pending"


def test_each_retry_is_part_of_the_history(db):
    retrying.retry_failed(db, HAND)

    rows = ask(db, history_pages.history_page).rows
    assert [(row["item_id"], row["event"], row["by"]) for row in rows] == [
        (number, "retried", "user:somebody") for number in (10, 9, 8)
    ]


def test_named_items_are_looked_at_again_as_far_as_they_can_be(db):
    assert retrying.recheck_all(db, [6, 4, 1, 8, 999], HAND) == 2
    after = statuses(db)
    assert (after[6], after[4], after[1], after[8]) == ("deferred", "deferred", "done", "failed")
    with db.read() as tx:
        ready = tx.all("SELECT id FROM work_items WHERE ready_key IS NOT NULL ORDER BY id")
    assert {4, 6} <= {row["id"] for row in ready}


def test_items_of_a_library_are_told_by_their_own_targets(db):
    """Walking all targets of the library for each item would take minutes."""
    chosen = Selection(deferred=True, retired=True, library_id=1)
    plans = plans_of(db, lambda tx: retrying.count_selected(tx, chosen))
    plans += plans_of(db, lambda tx: work_items.each_after(tx, "deferred", after=0, library_id=1))

    for plan in plans:
        assert any("ix_targets_item" in line for line in plan)
        assert not any("ix_targets_lib" in line for line in plan)
