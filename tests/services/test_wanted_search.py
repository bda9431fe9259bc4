"""Searching for wanted lyrics makes items due now, whatever they wait for."""

from random import Random

import pytest

from lyrsvc.core.errors import NotFound
from lyrsvc.core.sidecar import Kind
from lyrsvc.services.enqueueing import Enqueuer, Terms
from lyrsvc.services.wanted_search import WantedSearch
from lyrsvc.store import counts, work_items
from lyrsvc.store.database import Database
from lyrsvc.store.wanted import WantedKind
from queue_cases import Queue
from scans import Scans

MISSING, UNSYNCED = WantedKind
ME = "user:somebody"


class Shop:
    """A scanned library of three songs, and somebody who searches."""

    def __init__(self, db, clock, root):
        self.db, self.clock = db, clock
        self.scans = Scans(db, clock, root)
        for number in (1, 2, 3):
            self.scans.song(f"Album/{number}.flac", f"Song {number}", seconds=100.0 + 20 * number)
        self.scans.scan()
        self.queue = Queue(db, now=clock.now())
        self.woken = 0
        enqueuer = Enqueuer(db, clock=clock, terms=self.terms, wake=self.wake)
        self.search = WantedSearch(db, enqueuer)

    def terms(self, now):
        return Terms(now=now, chance=Random(1), output_dir="/nowhere")

    def wake(self):
        self.woken += 1

    def item(self, number):
        with self.db.read() as tx:
            return work_items.get(tx, number)

    def rows(self):
        return {row["item_id"]: row for row in self.scans.rows()}

    def settle_all(self, how):
        while (item := self.queue.claim()) is not None:
            how(item)

    def history(self):
        with self.db.read() as tx:
            return tx.all('SELECT item_id, event, "by" FROM history ORDER BY id')


@pytest.fixture
def shop(tmp_path, clock):
    with Database.open(tmp_path / "lyrsvc.db", create=True, clock=clock) as db:
        yield Shop(db, clock, tmp_path / "music")
        with db.read() as tx:
            assert counts.differences(tx) == {}


def deferred(shop):
    shop.settle_all(lambda item: shop.queue.miss(item))
    assert {shop.item(n).status for n in (1, 2, 3)} == {"deferred"}


def test_named_files_are_due_now_and_urgent(shop):
    deferred(shop)

    assert shop.search.search_files([1, 2, 2], by=ME) == 2
    assert shop.woken == 1
    for number in (1, 2):
        item = shop.item(number)
        assert (item.status, item.priority, item.due_at) == ("deferred", 10, shop.clock.now())
        assert item.ready_key is not None
        assert item.misses == 1
    assert shop.item(3).priority == -100


def test_all_of_a_kind_are_due_now_at_the_priority_of_scans(shop):
    deferred(shop)

    assert shop.search.search_kind(MISSING, by=ME) == 3
    assert {shop.item(n).priority for n in (1, 2, 3)} == {0}
    assert all(shop.item(n).ready_key is not None for n in (1, 2, 3))


def test_a_failed_item_does_not_wait_for_its_backoff(shop):
    item = shop.queue.claim()
    shop.queue.fail(item)

    assert shop.search.search_files([row["id"] for row in shop.scans.rows()], by=ME) == 3
    again = shop.item(item.id)
    assert (again.status, again.attempts, again.priority) == ("failed", 0, 10)
    assert again.ready_key is not None


def test_a_track_that_was_given_up_is_opened_again(shop):
    shop.queue.policy = type(shop.queue.policy)(max_misses=1)
    shop.settle_all(lambda item: shop.queue.miss(item))
    assert shop.item(1).outcome == "miss"

    assert shop.search.search_kind(MISSING, by=ME) == 3
    assert shop.item(1).status == "pending"
    assert shop.rows()[1]["status"] == "pending"
    assert ("enqueued", ME) in [(row["event"], row["by"]) for row in shop.history()]


def test_unsynced_lyrics_are_asked_for_in_the_hope_of_better_ones(shop):
    shop.settle_all(lambda item: shop.queue.serve(item, Kind.TXT))
    with shop.db.read() as tx:
        assert tx.value("SELECT count(*) FROM scan_results WHERE sidecar_class = 'txt'") == 3
    assert shop.search.search_kind(MISSING, by=ME) == 0

    assert shop.search.search_kind(UNSYNCED, by=ME) == 3
    item = shop.item(1)
    assert (item.status, item.outcome) == ("pending", "unsynced")
    with shop.db.read() as tx:
        modes = tx.all("SELECT DISTINCT mode, status FROM work_targets")
    assert modes == [{"mode": "upgrade", "status": "pending"}]
    assert {row["status"] for row in shop.scans.rows()} == {"pending"}


def test_synced_lyrics_and_unknown_files_are_passed_over(shop):
    shop.settle_all(lambda item: shop.queue.serve(item, Kind.LRC))

    assert shop.search.search_files([1, 2, 3, 99], by=ME) == 0
    assert {shop.item(n).status for n in (1, 2, 3)} == {"done"}


def test_a_file_whose_item_was_cleared_gets_a_new_one(shop):
    deferred(shop)
    shop.db.write(
        lambda tx: [tx.run("DELETE FROM work_items"), counts.correct(tx, now=shop.clock.now())]
    )

    assert shop.search.search_files([1], by=ME) == 1
    (row,) = [row for row in shop.scans.rows() if row["item_id"]]
    assert (row["id"], row["status"]) == (1, "pending")


def test_two_searches_leave_what_one_leaves(shop):
    deferred(shop)
    shop.search.search_kind(MISSING, by=ME)
    before = shop.scans.table("work_items")

    assert shop.search.search_kind(MISSING, by=ME) == 3
    assert shop.scans.table("work_items") == before


def test_a_library_that_does_not_exist_is_refused(shop):
    with pytest.raises(NotFound):
        shop.search.search_kind(MISSING, by=ME, library_id=9)


def test_only_the_named_library_is_searched(shop, tmp_path):
    deferred(shop)
    other = tmp_path / "other"
    other.mkdir()
    library = shop.scans.add(other, name="Other")

    assert shop.search.search_kind(MISSING, by=ME, library_id=library.id) == 0
    assert shop.search.search_kind(MISSING, by=ME, library_id=shop.scans.library.id) == 3
