"""What a wish does to an item: every cell of the table."""

from dataclasses import replace
from random import Random

import pytest

from lyrsvc.core.item import Priority, Result, Route, Status, TargetStatus
from lyrsvc.core.merging import Decision, Effect, Step, TargetStep, apply, decide, described, raised
from lyrsvc.core.resume import Found, Partial
from lyrsvc.core.sidecar import FetchMode
from lyrsvc.core.waiting import lined_up
from lyrsvc.core.wish import WishOrigin
from queue_cases import HOUR, NOW, a_recording, a_target, a_webhook, a_wish, an_item

SCAN = a_wish(has_sidecar=False)
UPGRADE = a_wish(mode=FetchMode.UPGRADE, has_sidecar=True)
UPDATE = a_wish(mode=FetchMode.UPDATE, has_sidecar=True)
FORCE = a_wish(mode=FetchMode.FORCE, has_sidecar=True)
WEBHOOK = a_webhook(has_sidecar=False)
SEARCH = a_wish(origin=WishOrigin.SEARCH, mode=FetchMode.UPGRADE, has_sidecar=True)

DONE = an_item(status=Status.DONE, outcome=Result.UNSYNCED, completed_at=NOW - HOUR, lane="lrclib")
MISS = an_item(status=Status.DONE, outcome=Result.MISS, completed_at=NOW - HOUR, misses=15)
REJECTED = replace(MISS, outcome=Result.REJECTED)
PENDING = lined_up(an_item(), NOW, Random(1))
WAITING = an_item(due_at=NOW + HOUR)
CLAIMED = an_item(status=Status.PROCESSING)
FAILED = an_item(status=Status.FAILED, attempts=4, due_at=NOW + HOUR, reason="network")
DEFERRED = an_item(
    status=Status.DEFERRED, misses=2, due_at=NOW + HOUR, reason="not_found", priority=-100
)


def met(item, wish, target=None):
    decision = decide(item, wish, target)
    return decision, apply(item, wish, decision, now=NOW, chance=Random(3))


@pytest.mark.parametrize(
    ("item", "wish", "step", "target_step"),
    [
        (PENDING, SCAN, Step.JOIN, TargetStep.OPEN),
        (PENDING, UPGRADE, Step.HASTEN, TargetStep.OPEN),
        (PENDING, UPDATE, Step.HASTEN, TargetStep.OPEN),
        (PENDING, FORCE, Step.HASTEN, TargetStep.OPEN),
        (PENDING, WEBHOOK, Step.BOOST, TargetStep.OPEN),
        (PENDING, SEARCH, Step.BOOST, TargetStep.OPEN),
        (CLAIMED, SCAN, Step.RERUN, TargetStep.OPEN),
        (CLAIMED, UPGRADE, Step.RERUN, TargetStep.OPEN),
        (CLAIMED, UPDATE, Step.RERUN, TargetStep.OPEN),
        (CLAIMED, WEBHOOK, Step.RERUN, TargetStep.OPEN),
        (FAILED, SCAN, Step.JOIN, TargetStep.OPEN),
        (FAILED, UPGRADE, Step.JOIN, TargetStep.OPEN),
        (FAILED, UPDATE, Step.JOIN, TargetStep.OPEN),
        (FAILED, WEBHOOK, Step.BOOST, TargetStep.OPEN),
        (DEFERRED, SCAN, Step.JOIN, TargetStep.OPEN),
        (DEFERRED, UPGRADE, Step.JOIN, TargetStep.OPEN),
        (DEFERRED, UPDATE, Step.HASTEN, TargetStep.OPEN),
        (DEFERRED, WEBHOOK, Step.BOOST, TargetStep.OPEN),
        (DONE, SCAN, Step.REOPEN, TargetStep.OPEN),
        (DONE, UPGRADE, Step.REOPEN, TargetStep.OPEN),
        (DONE, UPDATE, Step.REOPEN, TargetStep.OPEN),
        (DONE, WEBHOOK, Step.REOPEN, TargetStep.OPEN),
        (DONE, SEARCH, Step.REOPEN, TargetStep.OPEN),
        (DONE, replace(WEBHOOK, has_sidecar=True), Step.NOTHING, TargetStep.LEAVE),
        (DONE, replace(SCAN, has_sidecar=True), Step.NOTHING, TargetStep.LEAVE),
        (DONE, a_webhook(stem=None), Step.NOTHING, TargetStep.LEAVE),
        (DONE, a_webhook(stem=None, has_sidecar=False), Step.REOPEN, TargetStep.OPEN),
        (MISS, SCAN, Step.NOTHING, TargetStep.MISS),
        (MISS, UPGRADE, Step.NOTHING, TargetStep.MISS),
        (MISS, UPDATE, Step.SEEK, TargetStep.OPEN),
        (MISS, WEBHOOK, Step.SEEK, TargetStep.OPEN),
        (MISS, SEARCH, Step.SEEK, TargetStep.OPEN),
        (REJECTED, SCAN, Step.NOTHING, TargetStep.MISS),
        (REJECTED, WEBHOOK, Step.SEEK, TargetStep.OPEN),
    ],
)
def test_every_cell_of_the_table(item, wish, step, target_step):
    assert decide(item, wish, None) == Decision(step, target_step)


def test_what_was_met_is_told_as_webhooks_count_it():
    assert decide(PENDING, WEBHOOK, None).effect is Effect.REFRESHED
    assert decide(CLAIMED, WEBHOOK, None).effect is Effect.REFRESHED
    assert decide(DONE, WEBHOOK, None).effect is Effect.ENQUEUED
    assert decide(MISS, WEBHOOK, None).effect is Effect.ENQUEUED
    assert decide(DONE, replace(WEBHOOK, has_sidecar=True), None).effect is Effect.ALREADY_DONE


@pytest.mark.seed("S-055")
@pytest.mark.parametrize("item", [FAILED, DEFERRED])
@pytest.mark.parametrize("wish", [SCAN, UPGRADE])
def test_t13_a_scan_leaves_backoff_and_cooldown_alone(item, wish):
    _, after = met(item, wish)
    assert after == item


@pytest.mark.seed("S-055")
def test_t13_an_update_leaves_the_backoff_of_a_failed_item_alone_too():
    assert met(FAILED, UPDATE)[1] == FAILED


def test_an_update_makes_a_deferred_item_due_now_at_scan_priority():
    _, after = met(DEFERRED, UPDATE)
    assert (after.status, after.due_at, after.priority) == (Status.DEFERRED, NOW, Priority.SCAN)
    assert (after.misses, after.ready_key is not None) == (2, True)


@pytest.mark.seed("S-054")
@pytest.mark.parametrize("item", [WAITING, FAILED, DEFERRED])
def test_t12_a_webhook_makes_a_waiting_item_due_now_and_first(item):
    _, after = met(item, WEBHOOK)
    assert (after.status, after.due_at, after.priority) == (item.status, NOW, Priority.WEBHOOK)
    assert (after.attempts, after.misses) == (0, item.misses)
    assert after.ready_key < PENDING.ready_key


def test_t12_a_search_for_everything_keeps_scan_priority_but_cuts_the_wait():
    _, after = met(FAILED, replace(SEARCH, priority=Priority.SCAN))
    assert (after.due_at, after.priority) == (NOW, Priority.SCAN)


@pytest.mark.parametrize("wish", [SCAN, UPDATE, WEBHOOK])
def test_asking_twice_changes_nothing_and_loses_no_place(wish):
    once = met(PENDING, wish)[1]
    later = apply(once, wish, decide(once, wish, None), now=NOW + HOUR, chance=Random(9))
    assert later == once


def test_a_webhook_during_the_attempt_asks_for_another_look_and_hurry():
    _, after = met(CLAIMED, WEBHOOK)
    assert (after.rerun, after.boosted, after.priority) == (True, True, Priority.WEBHOOK)
    assert (after.status, after.due_at) == (Status.PROCESSING, CLAIMED.due_at)


def test_an_update_during_the_attempt_forgets_what_was_found():
    claimed = replace(CLAIMED, resume=Found(cache_id=1, lane="lrclib"))
    _, after = met(claimed, UPDATE)
    assert (after.rerun, after.boosted, after.resume) == (True, False, None)
    assert met(claimed, SCAN)[1].resume == claimed.resume


def test_a_scan_that_adds_nothing_to_the_attempt_under_way_asks_for_nothing():
    same = a_target(mode=FetchMode.UPDATE)
    for wish in (SCAN, UPDATE):
        decision, after = met(CLAIMED, wish, same)
        assert (decision.step, after) == (Step.JOIN, CLAIMED)
    vanished = a_target(status=TargetStatus.DONE)
    assert decide(CLAIMED, SCAN, vanished).step is Step.RERUN
    assert decide(CLAIMED, FORCE, same).step is Step.RERUN


def test_answers_of_lanes_outlast_a_stronger_wish_but_lyrics_do_not():
    partial = replace(FAILED, resume=Partial(releases=2))
    assert met(partial, UPDATE)[1].resume == partial.resume
    stored = replace(FAILED, resume=Found(cache_id=1, lane="lrclib"))
    assert met(stored, UPDATE)[1].resume is None


def test_t15_an_opened_item_keeps_what_it_had():
    _, after = met(DONE, UPDATE)
    assert (after.status, after.due_at, after.priority) == (Status.PENDING, NOW, Priority.SCAN)
    assert (after.outcome, after.lane, after.completed_at) == (
        Result.UNSYNCED,
        "lrclib",
        NOW - HOUR,
    )
    assert after.was_served


@pytest.mark.parametrize(("wish", "misses"), [(WEBHOOK, 15), (UPDATE, 0), (FORCE, 0)])
def test_t16_an_item_that_was_given_up_is_tried_again(wish, misses):
    _, after = met(MISS, wish)
    assert (after.status, after.misses, after.due_at) == (Status.PENDING, misses, NOW)
    assert (after.outcome, after.completed_at, after.route) == (Result.NONE, None, Route.REMOTE)


def test_t21_a_parked_item_wakes_when_its_file_is_back():
    parked = replace(FAILED, due_at=None)
    _, after = met(parked, SCAN)
    assert (after.status, after.due_at) == (Status.FAILED, NOW)
    assert met(parked, a_wish(stem=None))[1] == parked


def test_while_pending_the_higher_priority_counts():
    _, after = met(PENDING, replace(SCAN, priority=10))
    assert after.priority == 10
    assert after.ready_key < PENDING.ready_key
    assert met(after, SCAN)[1].priority == 10


def test_the_stronger_mode_counts():
    assert raised(FetchMode.UPDATE, FetchMode.UPGRADE) is FetchMode.UPDATE
    assert raised(FetchMode.NORMAL, FetchMode.FORCE) is FetchMode.FORCE


def test_empty_names_are_filled_and_known_ids_are_never_emptied():
    item = an_item(isrc="GBAYE0601498", mbid="m")
    after = described(item, a_recording(album="Northern Pier", artist="Somebody"))
    assert (after.artist, after.album, after.isrc, after.mbid) == (
        "Quillon Marsh",
        "Northern Pier",
        "GBAYE0601498",
        "m",
    )
    assert described(after, a_recording()) == after


def test_tags_beat_file_names_and_not_the_other_way_round():
    guessed = an_item(low_confidence=True, title="tidewater", artists=())
    tagged = a_recording("Tidewater", artists=("Quillon Marsh", "Ada Fenn"))
    after = described(guessed, tagged)
    assert (after.title, after.low_confidence, after.artists) == (
        "Tidewater",
        False,
        ("Quillon Marsh", "Ada Fenn"),
    )
    guess = a_recording("TIDE WATER", low_confidence=True)
    assert described(after, guess) == after
