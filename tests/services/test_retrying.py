"""Bringing items back, following the lanes, clearing what is finished."""

from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from lyrsvc.core.errors import NotFound, Refused
from lyrsvc.core.item import Result, Route, Status, TargetStatus
from lyrsvc.core.settling import Ending
from lyrsvc.core.waiting import WaitPolicy
from lyrsvc.services import retrying
from lyrsvc.services.retrying import Hand, Selection
from lyrsvc.store import libraries, lyrics_cache, meta
from lyrsvc.store.moments import to_db
from queue_cases import HOUR, NOW, a_recording, a_spot, a_wish, cache_key, some_lyrics


def hand(queue):
    return Hand(by="cli:tester", now=queue.now, chance=queue.chance)


def retry(queue, item_id):
    return queue.db.write(lambda tx: retrying.retry(tx, item_id, hand(queue), show=to_db))


def defer(queue, *titles, **fields):
    queue.enqueue(*(a_wish(title, **fields) for title in titles))
    for _ in titles:
        queue.miss(queue.claim())


def give_up(queue, *titles):
    before, queue.policy = queue.policy, WaitPolicy(max_misses=1)
    defer(queue, *titles)
    queue.policy = before


@pytest.mark.seed("S-053")
def test_a_retried_item_is_claimed_next_time_and_its_targets_are_open(queue):
    queue.enqueue(a_wish())
    queue.fail(queue.claim())
    assert queue.claim() is None
    after = retry(queue, 1)
    assert (after.status, queue.item(1)) == (Status.PENDING, after)
    assert queue.targets(1)[0].status is TargetStatus.PENDING
    assert queue.claim().id == 1


@pytest.mark.spec("E-10")
def test_whatever_is_not_failed_is_refused_and_stays_as_it_was(queue):
    defer(queue, "Deferred")
    queue.enqueue(a_wish("Done"))
    queue.serve(queue.claim())
    queue.enqueue(a_wish("Pending"))
    before = queue.items()
    for item in before:
        with pytest.raises(Refused, match=f"item {item.id} is {item.status}, only failed"):
            retry(queue, item.id)
    with pytest.raises(NotFound, match="no item 99"):
        retry(queue, 99)
    assert (queue.items(), queue.count("history")) == (before, 2)


def test_a_retry_is_in_the_history_under_the_name_of_who_did_it(queue):
    queue.enqueue(a_wish())
    queue.fail(queue.claim())
    retry(queue, 1)
    with queue.db.read() as tx:
        row = tx.all("SELECT * FROM history ORDER BY id")[-1]
    assert (row["event"], row["by"], row["title"]) == ("retried", "cli:tester", "Tidewater")


def test_a_retry_goes_the_local_route_when_the_cache_can_serve(queue):
    queue.enqueue(a_wish())
    queue.fail(queue.claim())
    key = cache_key(a_recording())
    queue.db.write(lambda tx: lyrics_cache.keep(tx, key, some_lyrics(), now=queue.now))
    assert retry(queue, 1).route is Route.LOCAL


def test_recheck_brings_back_deferred_items_and_those_given_up(queue):
    defer(queue, "One", "Two")
    give_up(queue, "Lost")
    both = Selection(deferred=True, retired=True)
    with queue.db.read() as tx:
        assert retrying.count_selected(tx, both) == 3
        assert retrying.count_selected(tx, Selection(retired=True)) == 1
    assert retrying.recheck_selected(queue.db, both, hand(queue)) == 3
    items = queue.items()
    assert {item.status for item in items} == {Status.DEFERRED}
    assert {item.due_at for item in items} == {queue.now}
    assert next(item for item in items if item.title == "Lost").misses == 0
    assert all(queue.targets(item.id)[0].is_open for item in items)
    assert [queue.claim() is not None for _ in range(4)] == [True, True, True, False]


def test_recheck_can_be_kept_to_one_library(queue):
    from dataclasses import replace

    for name in ("rock", "jazz"):
        library = queue.db.write(
            lambda tx, name=name: libraries.add(tx, name=name, path=Path("/" + name), now=NOW).id
        )
        spot = a_spot(name, out_dir="/" + name, library_id=library)
        queue.enqueue(replace(a_wish(name), spot=spot))
        queue.miss(queue.claim())
    chosen = Selection(deferred=True, library_id=2)
    with queue.db.read() as tx:
        assert retrying.count_selected(tx, chosen) == 1
    assert retrying.recheck_selected(queue.db, chosen, hand(queue)) == 1
    assert [item.due_at == queue.now for item in queue.items()] == [False, True]


def test_more_than_a_chunk_is_rechecked_whole(queue, monkeypatch):
    monkeypatch.setattr(retrying, "STEP", 3)
    defer(queue, *(f"Song {at}" for at in range(7)))
    assert retrying.recheck_selected(queue.db, Selection(deferred=True), hand(queue)) == 7
    assert {item.due_at for item in queue.items()} == {queue.now}


@pytest.mark.spec("E-16")
def test_when_the_lanes_change_retired_and_deferred_items_come_due_over_a_day(queue):
    assert retrying.follow_provider_set(queue.db, 1, hand(queue)) == 0
    defer(queue, *(f"Deferred {at}" for at in range(10)))
    give_up(queue, *(f"Lost {at}" for at in range(10)))
    queue.enqueue(a_wish("Waiting"))

    queue.version = 2
    assert retrying.follow_provider_set(queue.db, 2, hand(queue)) == 20
    moved = [item for item in queue.items() if item.status is Status.DEFERRED]
    waits = sorted((item.due_at - queue.now) / HOUR for item in moved)
    assert len(waits) == 20
    assert waits[0] >= 0
    assert waits[-1] <= 24
    gaps = [later - sooner for sooner, later in pairwise(waits)]
    assert max(gaps) < 1.3
    assert {item.provider_set_version for item in moved} == {2}
    assert {item.misses for item in moved if item.title.startswith("Lost")} == {0}
    assert {item.completed_at for item in moved} == {None}


@pytest.mark.spec("E-16")
def test_a_set_that_did_not_change_or_was_followed_already_moves_nothing(queue):
    retrying.follow_provider_set(queue.db, 1, hand(queue))
    defer(queue, "One")
    due = queue.items()[0].due_at
    assert retrying.follow_provider_set(queue.db, 1, hand(queue)) == 0
    assert queue.items()[0].due_at == due
    assert retrying.follow_provider_set(queue.db, 2, hand(queue)) == 1
    queue.advance(hours=1)
    assert retrying.follow_provider_set(queue.db, 2, hand(queue)) == 0
    with queue.db.read() as tx:
        assert meta.provider_set_version(tx) == 2


def test_an_interrupted_following_goes_on_where_it_was(queue):
    retrying.follow_provider_set(queue.db, 1, hand(queue))
    defer(queue, "One", "Two")
    queue.db.write(lambda tx: tx.run("UPDATE work_items SET provider_set_version = 2 WHERE id = 1"))
    due = queue.item(1).due_at
    assert retrying.follow_provider_set(queue.db, 2, hand(queue)) == 1
    assert queue.item(1).due_at == due
    assert queue.item(2).due_at <= queue.now + timedelta(hours=24)


@pytest.mark.spec("E-18")
@pytest.mark.seed("S-056")
def test_clearing_takes_finished_items_and_leaves_everything_else(queue):
    queue.enqueue(a_wish("Found", stem="found"))
    item = queue.claim()
    key = cache_key(a_recording("Found"))
    queue.db.write(lambda tx: lyrics_cache.keep(tx, key, some_lyrics(), now=queue.now))
    queue.serve(item)
    give_up(queue, "Lost")
    queue.enqueue(a_wish("Waiting"))
    tables = ("lane_attempts", "lane_counters", "lyrics_cache", "written_files", "history")
    before = {table: queue.count(table) for table in tables}
    assert all(before.values())

    with queue.db.read() as tx:
        assert retrying.count_done(tx, now=queue.now) == 2
    assert len(queue.items()) == 3
    assert retrying.clear_done(queue.db, now=queue.now) == 2
    assert [item.title for item in queue.items()] == ["Waiting"]
    assert {table: queue.count(table) for table in tables} == before
    assert queue.count("work_targets") == 1


def test_an_item_parked_while_deferred_says_what_it_waits_for(queue):
    from lyrsvc.core.item import TargetResult
    from queue_cases import an_end

    defer(queue, "One")
    queue.advance(days=8)
    item = queue.claim()
    gone = an_end(1, TargetResult.NONE, status=TargetStatus.PARKED, kind=None)
    queue.settle(item, Ending(outcome=None, targets=(gone,)))
    with pytest.raises(Refused, match="checked again at the return of its audio"):
        retry(queue, item.id)
    assert queue.item(item.id).outcome is Result.NONE
