"""Retry and recheck, and whom they refuse."""

from datetime import timedelta
from random import Random

import pytest

from lyrsvc.core.errors import Refused
from lyrsvc.core.item import Priority, Result, Status
from lyrsvc.core.requeueing import park, recheck, reopen, retry, seek
from queue_cases import HOUR, NOW, an_item


def again(step, item, **options):
    return step(item, now=NOW, chance=Random(1), **options)


@pytest.mark.seed("S-053")
def test_t11_a_failed_item_is_pending_again_at_once():
    item = an_item(
        status=Status.FAILED,
        attempts=7,
        misses=2,
        priority=10,
        reason="network",
        reason_text="no route",
        due_at=NOW + 20 * HOUR,
    )
    after = again(retry, item)
    assert (after.status, after.attempts, after.misses) == (Status.PENDING, 0, 2)
    assert (after.priority, after.due_at, after.reason, after.reason_text) == (10, NOW, "", "")
    assert after.ready_key is not None


@pytest.mark.spec("E-10")
@pytest.mark.seed("S-053")
@pytest.mark.parametrize("status", [Status.PENDING, Status.PROCESSING, Status.DONE])
def test_t11_every_other_status_is_refused(status):
    with pytest.raises(Refused) as refusal:
        again(retry, an_item(id=9, status=status))
    assert str(refusal.value) == f"item 9 is {status}, only failed items can be retried"


@pytest.mark.spec("E-10")
@pytest.mark.seed("S-053")
def test_t11_a_deferred_item_says_when_it_comes_back_and_how_to_hurry_it():
    with pytest.raises(Refused) as refusal:
        again(retry, an_item(id=9, status=Status.DEFERRED), shown_due="2026-02-07T14:05:06.000Z")
    assert str(refusal.value) == (
        "item 9 is deferred, only failed items can be retried; it is checked again at "
        "2026-02-07T14:05:06.000Z, or now with: lyrsvc queue recheck 9 --yes"
    )


def test_t18_a_deferred_item_is_checked_now():
    item = an_item(status=Status.DEFERRED, misses=3, priority=-100, due_at=NOW + 90 * HOUR)
    after = again(recheck, item)
    assert (after.status, after.due_at, after.misses) == (Status.DEFERRED, NOW, 3)
    assert after.ready_key is not None


def test_t18_a_later_moment_never_delays_what_comes_sooner():
    item = an_item(status=Status.DEFERRED, due_at=NOW + HOUR)
    assert again(recheck, item, due_at=NOW + 9 * HOUR).due_at == NOW + HOUR
    far = an_item(status=Status.DEFERRED, due_at=NOW + 90 * HOUR)
    assert again(recheck, far, due_at=NOW + 9 * HOUR).due_at == NOW + 9 * HOUR


@pytest.mark.parametrize("outcome", [Result.MISS, Result.REJECTED])
def test_t17_an_item_given_up_is_deferred_again_with_a_new_budget(outcome):
    item = an_item(status=Status.DONE, outcome=outcome, misses=15, completed_at=NOW, due_at=None)
    after = again(recheck, item, due_at=NOW + HOUR)
    assert (after.status, after.misses, after.priority) == (
        Status.DEFERRED,
        0,
        Priority.RECHECK,
    )
    assert (after.completed_at, after.outcome, after.due_at) == (None, Result.NONE, NOW + HOUR)
    assert after.ready_key is None


@pytest.mark.parametrize(
    "item",
    [
        an_item(),
        an_item(status=Status.FAILED),
        an_item(status=Status.PROCESSING),
        an_item(status=Status.DONE, outcome=Result.SYNCED, completed_at=NOW),
    ],
)
def test_recheck_refuses_what_is_neither_deferred_nor_given_up(item):
    with pytest.raises(Refused, match="only deferred items and items given up"):
        again(recheck, item)


def test_t15_and_t16_are_told_apart():
    lost = an_item(status=Status.DONE, outcome=Result.MISS, completed_at=NOW)
    found = an_item(status=Status.DONE, outcome=Result.SYNCED, completed_at=NOW)
    with pytest.raises(Refused, match="found nothing"):
        again(reopen, lost, priority=0)
    with pytest.raises(Refused, match="has lyrics"):
        again(seek, found, priority=0)


def test_t21_a_parked_item_is_due_never():
    item = an_item(status=Status.DEFERRED, ready_key=4, due_at=NOW - timedelta(1))
    assert (park(item).due_at, park(item).ready_key) == (None, None)
    with pytest.raises(Refused):
        park(an_item(status=Status.DONE))
