"""Breakers and pace in the database: a restart forgets nothing, one prober at a time."""

from dataclasses import replace
from datetime import timedelta

import pytest

from fakes import FakeClock
from lyrsvc.core import pacing
from lyrsvc.core.outcome import Answer
from lyrsvc.core.pacing import LaneState, RestPolicy
from lyrsvc.services.lane_memory import StoredLaneMemory
from lyrsvc.store import lane_state
from lyrsvc.store.database import Database
from queue_cases import NOW

POLICY = RestPolicy()


def change(db, step, lane="lrclib", owner="me", now=NOW):
    return db.write(lambda tx: lane_state.change(tx, lane, step, owner=owner, now=now))


def read(db, lane="lrclib"):
    with db.read() as tx:
        return lane_state.read(tx, lane)


def columns(db, lane="lrclib"):
    with db.read() as tx:
        return tx.first("SELECT * FROM lane_state WHERE lane = :lane", lane=lane)


def prober(tx, lane):
    return tx.value("SELECT probe_owner FROM lane_state WHERE lane = :lane", lane=lane)


def throttled(state, now=NOW):
    return pacing.after(state, Answer.THROTTLED, now=now, policy=POLICY)


def test_a_lane_never_asked_is_ready(db):
    assert read(db) == LaneState()
    assert columns(db) is None


def test_every_field_survives_and_lanes_are_apart(db):
    full = LaneState(
        cause="throttled",
        trips=3,
        bad_streak=1,
        ok_streak=2,
        pace_level=2,
        closed_until_at=NOW,
        probe_until_at=NOW + timedelta(seconds=9),
        next_slot_at=NOW + timedelta(seconds=15),
        last_ok_at=NOW - timedelta(hours=1),
        last_throttle_at=NOW - timedelta(minutes=1),
    )
    before, after = change(db, lambda _: full)
    assert (before, after) == (LaneState(), full)
    assert (read(db), read(db, "defaultprov")) == (full, LaneState())
    with db.read() as tx:
        assert lane_state.read_all(tx) == {"lrclib": full}


def test_a_restart_keeps_the_closed_lane_its_trips_and_its_slot(path):
    clock = FakeClock(NOW)
    with Database.open(path, create=True, clock=clock) as db:
        change(db, throttled)
        change(db, throttled)
        change(db, lambda s: pacing.reserve(s, NOW, timedelta(seconds=15))[1])
        before = read(db)
    with Database.open(path, create=True, clock=clock) as db:
        assert read(db) == before
        assert (before.trips, before.closed_until_at) == (2, NOW + timedelta(seconds=120))
        admitted = []
        change(db, lambda s: _admit(s, NOW + timedelta(seconds=119), admitted))
        change(db, lambda s: _admit(s, NOW + timedelta(seconds=120), admitted))
        assert admitted == [False, True]


def _admit(state, now, admitted):
    answer, after = pacing.admit(state, now, POLICY)
    admitted.append(answer)
    return after


def test_of_all_who_come_to_a_rested_lane_one_may_probe(db):
    change(db, throttled)
    later = NOW + timedelta(seconds=60)
    admitted = []
    for owner in ("a", "b", "c"):
        change(db, lambda s: _admit(s, later, admitted), owner=owner, now=later)
    assert admitted == [True, False, False]
    row = columns(db)
    assert (row["state"], row["probe_owner"]) == ("probing", "a")


def test_the_columns_name_the_state(db):
    change(db, throttled)
    assert columns(db)["state"] == "closed"
    change(db, lambda s: pacing.after(s, Answer.MISS, now=NOW, policy=POLICY))
    row = columns(db)
    assert (row["state"], row["probe_owner"], row["closed_until_at"]) == ("ready", "", None)


def take_probe(db, owner, now):
    admitted = []

    def step(state):
        answer, after = pacing.admit(state, now, POLICY)
        admitted.append(answer)
        return after

    db.write(lambda tx: lane_state.change(tx, "lrclib", step, owner=owner, now=now))
    return admitted == [True]


def test_the_probe_is_taken_by_one_until_its_time_is_over(db):
    def take(owner, seconds):
        return take_probe(db, owner, NOW + timedelta(seconds=seconds))

    change(db, throttled)
    assert not take("a", 59)
    assert take("a", 60)
    assert not take("b", 61)
    assert not take("b", 179)
    assert take("b", 180)  # the process of the first one died
    with db.read() as tx:
        assert prober(tx, "lrclib") == "b"


def test_a_probe_further_ahead_than_it_can_be_is_over_when_it_would_be(db):
    far = NOW + timedelta(days=365)
    change(db, lambda s: replace(throttled(s), closed_until_at=NOW, probe_until_at=far))
    assert not take_probe(db, "b", NOW)
    assert take_probe(db, "b", NOW + pacing.PROBE_TIME)


def test_a_reset_lets_a_closed_lane_be_probed_at_once(db):
    assert not db.write(lambda tx: lane_state.reset(tx, "lrclib", now=NOW))
    change(db, throttled)
    assert db.write(lambda tx: lane_state.reset(tx, "lrclib", now=NOW))
    assert pacing.standing(read(db), NOW) is pacing.Standing.PROBING
    assert read(db).trips == 1
    assert columns(db)["state"] == "probing"


def test_slots_of_two_processes_never_fall_together(db, path):
    clock = FakeClock(NOW)
    slots = []
    with Database.open(path, create=False, clock=clock) as other:
        memories = [
            StoredLaneMemory(database, "lrclib", clock=clock, owner=name)
            for database, name in ((db, "a"), (other, "b"))
        ]

        def reserve(state):
            slot, after = pacing.reserve(state, clock.now(), timedelta(seconds=15))
            slots.append(slot)
            return after

        for turn in range(6):
            memories[turn % 2].change(reserve)
    assert [(slot - NOW).total_seconds() for slot in slots] == [0, 15, 30, 45, 60, 75]


def test_the_stored_memory_tells_who_probes(db, clock):
    one, other = (StoredLaneMemory(db, "lrclib", clock=clock, owner=name) for name in ("a", "b"))
    before, after = one.change(lambda s: throttled(s, clock.now()))
    assert (before, after, other.read()) == (LaneState(), after, after)
    clock.advance(60)
    other.change(lambda s: pacing.admit(s, clock.now(), POLICY)[1])
    one.change(lambda s: pacing.admit(s, clock.now(), POLICY)[1])
    with db.read() as tx:
        assert prober(tx, "lrclib") == "b"


def test_a_step_that_raises_changes_nothing(db):
    change(db, throttled)
    before = read(db)

    def fail(_state):
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        change(db, fail)
    assert read(db) == before
