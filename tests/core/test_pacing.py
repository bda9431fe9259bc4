"""How far apart a lane's requests are, and how long it rests."""

import itertools
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.core import pacing
from lyrsvc.core.outcome import Answer
from lyrsvc.core.pacing import LaneState, RestPolicy, Standing

NOW = datetime(2026, 1, 31, 14, 5, 6, tzinfo=UTC)
POLICY = RestPolicy()
CLEAN = (Answer.HIT, Answer.MISS, Answer.MISMATCH)


def s(seconds: float) -> timedelta:
    return timedelta(seconds=seconds)


def after(state: LaneState, *answers: Answer, now: datetime = NOW, **options) -> LaneState:
    for answer in answers:
        state = pacing.after(state, answer, now=now, policy=POLICY, **options)
    return state


# --- closing ---------------------------------------------------------------------------------


def test_each_throttle_in_a_row_doubles_the_rest_up_to_the_cap():
    state, rests = LaneState(), []
    for _ in range(8):
        state = after(state, Answer.THROTTLED)
        rests.append((state.closed_until_at - NOW).total_seconds())
    assert rests == [60, 120, 240, 480, 960, 1800, 1800, 1800]
    assert (state.cause, state.trips, state.last_throttle_at) == ("throttled", 8, NOW)


@pytest.mark.parametrize(
    ("asked_s", "rest_s"), [(None, 60), (0, 60), (59, 60), (120, 120), (7 * 3600, 6 * 3600)]
)
def test_a_longer_retry_after_wins_up_to_six_hours(asked_s, rest_s):
    state = after(
        LaneState(), Answer.THROTTLED, retry_after=None if asked_s is None else s(asked_s)
    )
    assert state.closed_until_at == NOW + s(rest_s)


@pytest.mark.parametrize(
    ("asked_s", "rest_s"), [(None, 6 * 3600), (120, 120), (0, 0), (9e9, 6 * 3600)]
)
def test_a_spent_allowance_closes_until_the_named_time_else_for_six_hours(asked_s, rest_s):
    named = None if asked_s is None else s(asked_s)
    state = after(LaneState(), Answer.QUOTA, retry_after=named)
    assert (state.closed_until_at, state.cause) == (NOW + s(rest_s), "quota")
    assert state.pace_level == 0


@pytest.mark.parametrize("answer", [Answer.IDENTITY_REFUSED, Answer.TOKEN_FINISHED])
def test_a_refusal_closes_for_the_full_cap(answer):
    state = after(LaneState(), answer)
    assert (state.closed_until_at, state.cause) == (NOW + POLICY.cap, "refused")


@pytest.mark.parametrize(
    ("last", "cause"), [(Answer.MALFORMED, "malformed"), (Answer.TRANSIENT, "unreachable")]
)
def test_five_faults_in_a_row_close_by_the_last_one(last, cause):
    faults = [Answer.TRANSIENT, Answer.MALFORMED, Answer.TRANSIENT, Answer.MALFORMED]
    state = after(LaneState(), *faults)
    assert pacing.standing(state, NOW) is Standing.READY
    state = after(state, last)
    assert (state.cause, state.closed_until_at) == (cause, NOW + s(60))


def test_a_clean_answer_between_faults_starts_the_count_again():
    state = after(LaneState(), *[Answer.TRANSIENT] * 4, Answer.MISS, *[Answer.TRANSIENT] * 4)
    assert pacing.standing(state, NOW) is Standing.READY


def test_faults_of_one_item_count_once():
    state = LaneState()
    for _ in range(9):
        state = after(state, Answer.TRANSIENT)
        state = after(state, Answer.TRANSIENT, Answer.TRANSIENT, repeated=True)
        if state.closed_until_at:
            break
    assert state.bad_streak == 5


def test_a_skipped_lane_is_left_as_it_is():
    state = after(LaneState(), Answer.THROTTLED)
    assert after(state, Answer.SKIPPED) == state


@pytest.mark.parametrize("answer", CLEAN)
def test_a_clean_answer_makes_the_lane_ready_and_forgives(answer):
    closed = after(LaneState(), Answer.THROTTLED, Answer.THROTTLED, Answer.TRANSIENT)
    state = after(closed, answer)
    assert pacing.standing(state, NOW) is Standing.READY
    assert (state.trips, state.bad_streak, state.cause, state.last_ok_at) == (0, 0, "", NOW)


# --- probing ---------------------------------------------------------------------------------


def test_after_its_rest_a_lane_admits_exactly_one():
    closed = after(LaneState(), Answer.THROTTLED)
    opening = NOW + s(60)
    assert pacing.admit(closed, opening - s(1), POLICY)[0] is False
    admitted, probing = pacing.admit(closed, opening, POLICY)
    assert (admitted, pacing.standing(probing, opening)) == (True, Standing.PROBING)
    assert pacing.admit(probing, opening + s(119), POLICY)[0] is False
    assert pacing.reopens_at(probing, opening) == opening + s(120)
    # The process that asked has died: somebody else may.
    assert pacing.admit(probing, opening + s(120), POLICY)[0] is True


@pytest.mark.parametrize(
    ("answer", "trips", "rest_s"),
    [(Answer.THROTTLED, 2, 120), (Answer.TRANSIENT, 1, 60), (Answer.MALFORMED, 1, 60)],
)
def test_a_failed_probe_closes_the_lane_again(answer, trips, rest_s):
    opening = NOW + s(60)
    _, probing = pacing.admit(after(LaneState(), Answer.THROTTLED), opening, POLICY)
    state = after(probing, answer, now=opening)
    assert (state.trips, state.closed_until_at) == (trips, opening + s(rest_s))
    assert state.probe_until_at is None


@pytest.mark.parametrize("answer", CLEAN)
def test_a_good_probe_opens_the_lane_for_all(answer):
    opening = NOW + s(60)
    _, probing = pacing.admit(after(LaneState(), Answer.THROTTLED), opening, POLICY)
    state = after(probing, answer, now=opening)
    assert pacing.admit(state, opening, POLICY) == (True, state)
    assert pacing.reopens_at(state, opening) is None


# --- moments that cannot be ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cause", "longest_s"),
    [
        *(("throttled", 6 * 3600), ("quota", 6 * 3600)),
        *(("refused", 1800), ("unreachable", 1800), ("malformed", 1800)),
    ],
)
def test_a_clock_that_ran_ahead_freezes_no_lane(cause, longest_s):
    state = LaneState(cause=cause, closed_until_at=NOW + timedelta(days=400))
    admitted, cut = pacing.admit(state, NOW, POLICY)
    assert (admitted, cut.closed_until_at) == (False, NOW + s(longest_s))
    assert pacing.admit(cut, NOW + s(longest_s), POLICY)[0] is True


def test_a_probe_in_the_far_future_is_cut_too():
    state = LaneState(closed_until_at=NOW, probe_until_at=NOW + timedelta(days=400))
    admitted, cut = pacing.admit(state, NOW, POLICY)
    assert (admitted, cut.probe_until_at) == (False, NOW + s(120))


def test_a_longer_cap_of_the_operator_is_legal():
    policy = RestPolicy(cap=timedelta(hours=20))
    state = LaneState(cause="throttled", closed_until_at=NOW + timedelta(hours=19))
    assert pacing.admit(state, NOW, policy)[1] == state


def test_a_slot_is_at_most_eight_intervals_ahead():
    state = LaneState(next_slot_at=NOW + timedelta(days=3))
    slot, following = pacing.reserve(state, NOW, s(15))
    assert (slot, following.next_slot_at) == (NOW + s(120), NOW + s(135))


# --- pace ------------------------------------------------------------------------------------


def test_slots_are_one_interval_apart_whoever_takes_them():
    state, slots = LaneState(), []
    for _ in range(3):
        slot, state = pacing.reserve(state, NOW, s(15))
        slots.append((slot - NOW).total_seconds())
    assert slots == [0, 15, 30]
    late, _ = pacing.reserve(state, NOW + s(100), s(15))
    assert late == NOW + s(100)


def test_the_pace_slows_down_with_each_throttle_up_to_eightfold():
    state, intervals = LaneState(), []
    for _ in range(5):
        state = after(state, Answer.THROTTLED)
        intervals.append(pacing.interval(state, s(15)).total_seconds())
    assert intervals == [30, 60, 120, 120, 120]


def test_five_clean_answers_in_a_row_take_one_level_back():
    state = after(LaneState(), Answer.THROTTLED, Answer.THROTTLED)
    assert state.pace_level == 2
    state = after(state, *[Answer.HIT] * 4)
    assert state.pace_level == 2
    state = after(state, Answer.MISS)
    assert state.pace_level == 1
    state = after(state, *[Answer.HIT] * 4, Answer.TRANSIENT, *[Answer.HIT] * 4)
    assert state.pace_level == 1, "a fault breaks the row"
    assert after(state, Answer.HIT).pace_level == 0


def test_twenty_minutes_without_a_throttle_take_a_level_back_too():
    state = after(LaneState(), Answer.THROTTLED)
    assert after(state, Answer.HIT, now=NOW + s(1199)).pace_level == 1
    assert after(state, Answer.HIT, now=NOW + s(1200)).pace_level == 0


def test_an_unused_slot_is_given_back_unless_a_later_one_is_taken():
    slot, state = pacing.reserve(LaneState(), NOW, s(15))
    assert pacing.reserve(pacing.give_back(state, slot, s(15)), NOW, s(15))[0] == slot
    _, later = pacing.reserve(state, NOW, s(15))
    assert pacing.give_back(later, slot, s(15)) == later


def test_the_distance_counts_from_the_moment_a_request_really_left():
    slot, state = pacing.reserve(LaneState(), NOW, s(2))
    sent, ended = slot + s(0.4), slot + s(0.41)
    assert pacing.count_from(state, sent, ended, s(2)).next_slot_at == ended + s(2)
    slow = pacing.count_from(state, sent, sent + s(9), s(2))
    assert slow.next_slot_at == sent + pacing.SENDING_TIME + s(2), "a slow answer costs nothing"
    ahead = replace(state, next_slot_at=NOW + s(60))
    assert pacing.count_from(ahead, sent, ended, s(2)) == ahead, "others have reserved already"


def test_some_lanes_count_from_the_end_of_the_answer():
    state = pacing.count_from_end(LaneState(pace_level=1), NOW, s(1))
    assert state.next_slot_at == NOW + s(2)


@given(
    st.lists(
        st.tuples(st.sampled_from(list(Answer)), st.floats(0, 4000), st.floats(0, 30_000)),
        max_size=40,
    )
)
def test_whatever_happens_a_lane_opens_again_within_six_hours(story):
    state, now = LaneState(), NOW
    for answer, pause_s, asked_s in story:
        now += s(pause_s)
        _, state = pacing.admit(state, now, POLICY)
        state = pacing.after(state, answer, now=now, policy=POLICY, retry_after=s(asked_s))
        assert 0 <= state.pace_level <= 3
        opening = pacing.reopens_at(state, now)
        assert opening is None or now < opening <= now + timedelta(hours=6)
    assert pacing.admit(state, now + timedelta(hours=6), POLICY)[0] is True


@given(st.lists(st.floats(0, 40), min_size=2, max_size=30), st.integers(0, 3))
def test_no_two_slots_are_closer_than_the_interval(arrivals, level):
    state, now, slots = LaneState(pace_level=level), NOW, []
    for pause in arrivals:
        now += s(pause)
        if len(slots) > 7 and slots[-1] > now + s(15) * 2**level * 6:
            continue  # further ahead than anybody would wait
        slot, state = pacing.reserve(state, now, s(15))
        slots.append(slot)
    gaps = [later - earlier for earlier, later in itertools.pairwise(slots)]
    assert all(gap >= s(15) * 2**level for gap in gaps)
