"""How far apart requests for a token are."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.core.token_asking import (
    FIRST_REST,
    LONGEST_REST,
    Asking,
    after_fault,
    after_refusal,
    announced,
    rest,
)

NOW = datetime(2026, 1, 31, 14, 5, 6, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def test_a_new_one_may_ask_at_once():
    assert rest(Asking(), NOW) == timedelta()


def test_an_announced_request_keeps_the_next_start_away_for_half_an_hour():
    assert rest(announced(Asking(), NOW), NOW) == 30 * MINUTE
    assert rest(announced(Asking(), NOW), NOW + 31 * MINUTE) == timedelta()


def test_refusals_double_from_half_an_hour_to_twelve_hours():
    asking, rests = Asking(), []
    for _ in range(7):
        asking = after_refusal(asking, NOW, chance=0.5)
        rests.append(rest(asking, NOW) / MINUTE)
    assert rests == [30, 60, 120, 240, 480, 720, 720]


@given(st.integers(0, 2000), st.floats(0, 1))
def test_a_rest_is_spread_by_a_tenth_and_never_shorter_than_the_first(refusals, chance):
    plain = min(FIRST_REST * 2 ** min(refusals, 10), LONGEST_REST)
    found = rest(after_refusal(Asking(refusals=refusals), NOW, chance=chance), NOW)
    assert max(plain * 0.9, FIRST_REST) <= found <= plain * 1.1


@pytest.mark.parametrize(
    ("asked", "expected"),
    [(timedelta(hours=2), 120), (timedelta(minutes=2), 30), (timedelta(days=9), 720)],
)
def test_what_the_provider_asks_for_counts_up_to_twelve_hours(asked, expected):
    asking = after_refusal(Asking(), NOW, chance=0.5, retry_after=asked)
    assert rest(asking, NOW) == expected * MINUTE


def test_a_way_that_is_not_there_is_tried_sooner():
    asking, rests = Asking(), []
    for _ in range(7):
        asking = after_fault(asking, NOW)
        rests.append(rest(asking, NOW) / MINUTE)
    assert rests == [1, 2, 4, 8, 16, 30, 30]
    assert asking.refusals == 0


def test_a_fault_does_not_forget_refusals():
    asking = after_fault(after_refusal(Asking(), NOW, chance=0.5), NOW)
    assert rest(after_refusal(asking, NOW, chance=0.5), NOW) == 60 * MINUTE


def test_a_clock_that_once_ran_ahead_freezes_nothing():
    asking = Asking(not_before_at=NOW + timedelta(days=4000))
    assert rest(asking, NOW) == LONGEST_REST * 1.1
