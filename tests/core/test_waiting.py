"""The formulas: how long things wait, and who comes first."""

from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.core.item import Priority, Status
from lyrsvc.core.waiting import (
    TIER,
    WaitPolicy,
    backoff,
    highest_legal_key,
    lined_up,
    longest_wait,
    miss_cooldown,
    ready_key,
    release_wait,
)
from queue_cases import HOUR, NOW, an_item

DAY = timedelta(days=1)


@pytest.mark.spec("E-12")
@pytest.mark.parametrize("attempts", range(1, 13))
def test_failures_wait_a_minute_doubling_to_a_day_give_or_take_a_tenth(attempts):
    expected = min(timedelta(seconds=60) * 2 ** (attempts - 1), DAY)
    waits = [backoff(attempts, Random(seed)) for seed in range(200)]
    assert expected * 0.9 <= min(waits)
    assert max(waits) <= expected * 1.1
    assert len(set(waits)) > 100


def test_failures_wait_no_longer_however_many_there_are():
    assert backoff(10_000, Random(1)) <= DAY * 1.1


@pytest.mark.spec("E-11")
@pytest.mark.seed("S-052")
def test_misses_wait_a_fixed_week_by_default():
    waits = {miss_cooldown(misses, WaitPolicy()) for misses in range(1, 40)}
    assert waits == {timedelta(hours=168)}


@pytest.mark.spec("E-11")
def test_misses_wait_longer_each_time_when_the_cap_is_larger():
    policy = WaitPolicy(miss_cap=timedelta(hours=672))
    hours = [miss_cooldown(misses, policy) / HOUR for misses in (1, 2, 3, 4, 5, 1000)]
    assert hours == [168, 336, 672, 672, 672, 672]


@given(st.integers(1, 8760), st.integers(1, 87600), st.integers(0, 2000))
def test_a_miss_never_waits_longer_than_the_cap(base, cap, misses):
    policy = WaitPolicy(miss_base=timedelta(hours=base), miss_cap=timedelta(hours=cap))
    wait = miss_cooldown(misses, policy)
    assert timedelta(hours=base) <= wait <= timedelta(hours=max(base, cap))


@pytest.mark.parametrize(("releases", "seconds"), [(0, 60), (1, 120), (5, 1920), (9, 21600)])
def test_releases_wait_a_minute_doubling_to_six_hours(releases, seconds):
    waits = [release_wait(releases, Random(seed)).total_seconds() for seed in range(100)]
    assert seconds <= min(waits)
    assert max(waits) <= seconds * 1.1


@given(st.integers(-100, 20), st.integers(-100, 20), st.integers(0, 400), st.integers(0, 400))
def test_whoever_became_ready_an_hour_earlier_goes_first_within_a_tier(one, other, early, late):
    first = ready_key(NOW + early * HOUR, one, Random(1))
    second = ready_key(NOW + late * HOUR, other, Random(2))
    if (one >= Priority.WEBHOOK) != (other >= Priority.WEBHOOK):
        assert (first < second) == (one >= Priority.WEBHOOK)
    elif (one < 0) == (other < 0) and early != late:
        assert (first < second) == (early < late)


@pytest.mark.spec("E-17")
def test_a_recheck_is_overtaken_only_by_what_became_ready_within_72_hours_of_it():
    recheck = ready_key(NOW, Priority.RECHECK, Random(1))
    assert ready_key(NOW + 71 * HOUR, Priority.SCAN, Random(2)) < recheck
    assert ready_key(NOW + 73 * HOUR, Priority.SCAN, Random(2)) > recheck


def test_items_of_one_hour_are_shuffled():
    keys = [ready_key(NOW, Priority.SCAN, Random(seed)) for seed in range(50)]
    assert keys != sorted(keys)
    assert len(set(keys)) == 50


@given(st.integers(-100, 20), st.integers(0, 2**32))
def test_no_item_that_is_ready_now_has_an_illegal_key(priority, seed):
    tier = 0 if priority >= Priority.WEBHOOK else TIER
    assert ready_key(NOW, priority, Random(seed)) < highest_legal_key(NOW, tier=tier)
    assert ready_key(NOW + 80 * HOUR, priority, Random(seed)) >= highest_legal_key(NOW, tier=tier)


@pytest.mark.parametrize("status", Status)
def test_an_item_has_a_place_exactly_while_it_can_be_claimed(status):
    item = an_item(status=status)
    ready = lined_up(item, NOW, Random(1))
    waiting = status in (Status.PENDING, Status.FAILED, Status.DEFERRED)
    assert (ready.ready_key is not None) == waiting
    assert lined_up(replace(ready, due_at=NOW + HOUR), NOW, Random(1)).ready_key is None
    assert lined_up(replace(ready, due_at=None), NOW, Random(1)).ready_key is None
    assert lined_up(ready, NOW, Random(2)) == ready


def test_every_wait_has_a_longest_legal_distance():
    policy = WaitPolicy(miss_cap=timedelta(hours=672))
    assert longest_wait(Status.FAILED, policy) == timedelta(hours=26.4)
    assert longest_wait(Status.DEFERRED, policy) == timedelta(hours=672)
    assert longest_wait(Status.PENDING, policy) == timedelta(hours=6.6)
