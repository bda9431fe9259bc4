"""Lanes as they are shown, tried out and reset."""

import threading
from datetime import timedelta

import pytest

from candidates import synced
from fakes import Scripted
from lyrsvc.core.errors import (
    IdentityRefused,
    Malformed,
    Miss,
    NotFound,
    Throttled,
    Transient,
)
from lyrsvc.core.pacing import LaneState
from lyrsvc.services.lane_desk import SONG, LaneDesk, TestRunning
from lyrsvc.store import counts, lane_attempts, lane_state
from worker_shop import Shop

WORDS = synced(SONG.title, artist=SONG.artist, album=SONG.album, duration_ms=SONG.duration_ms)


@pytest.fixture
def open_shop(tmp_path, clock):
    shops = []

    def open_one(*providers, **options):
        shop = Shop(tmp_path, clock, *providers, **options)
        shops.append(shop)
        return shop

    yield open_one
    for shop in shops:
        shop.close()


def desk_of(shop, **more):
    return LaneDesk(shop.db, shop.lanes, clock=shop.clock, **more)


def kept(shop):
    with shop.db.read() as tx:
        return counts.read(tx), lane_attempts.counters(tx)


def test_lanes_are_shown_in_their_order_with_their_roles(open_shop):
    shop = open_shop(Scripted("lrclib", Miss()), Scripted("defaultprov", Miss()))
    views = desk_of(shop, detector=lambda: True).views()

    assert [(view.name, view.role, view.position) for view in views] == [
        ("lrclib", "primary", 0),
        ("defaultprov", "fallback", 1),
        ("detector", "detector", 2),
    ]
    assert {view.state for view in views} == {"ready"}
    assert [view.hit_rate for view in views] == [None, None, None]


def test_a_lane_without_a_credential_is_not_configured_and_names_the_remedy(open_shop):
    shop = open_shop(Scripted("defaultprov", Miss()), active={"defaultprov": lambda: False})
    lanes = desk_of(shop, detector=lambda: False)

    (lane, detector) = lanes.views()
    assert (lane.state, detector.state) == ("not_configured", "not_configured")
    assert "PROVIDER_TOKEN" in lane.remedy
    trial = lanes.test("defaultprov")

    assert not trial.ok
    assert "PROVIDER_TOKEN" in trial.detail
    assert shop.wires["defaultprov"].times == []


@pytest.mark.parametrize(
    ("answer", "ok"),
    [(WORDS, True), (Miss(), True), (Malformed(), False), (Transient(reason="timeout"), False)],
)
def test_a_trial_asks_once_and_counts_nowhere(open_shop, answer, ok):
    provider = Scripted("lrclib", answer)
    shop = open_shop(provider)
    before = kept(shop)

    trial = desk_of(shop).test("lrclib")

    assert trial.ok is ok
    assert trial.detail
    assert trial.ms >= 0
    assert provider.asked == [SONG]
    assert kept(shop) == before


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (Transient("certificate not trusted", reason="network"), "certificate not trusted"),
        (Transient(reason="timeout"), "timeout"),
    ],
)
def test_a_trial_that_fails_tells_why(open_shop, fault, why):
    trial = desk_of(open_shop(Scripted("lrclib", fault))).test("lrclib")
    assert trial.detail == f"it could not be reached ({why})"


def test_a_trial_keeps_the_pace_of_the_lane(open_shop, clock):
    shop = open_shop(Scripted("lrclib", Miss()), cooldown_s=15)
    lanes = desk_of(shop)

    lanes.test("lrclib")
    lanes.test("lrclib")

    first, second = shop.wires["lrclib"].times
    assert second - first >= timedelta(seconds=15)


def test_a_slot_too_far_ahead_is_told_and_not_waited_for(open_shop, clock):
    shop = open_shop(Scripted("lrclib", Miss()), cooldown_s=3600)
    lanes = desk_of(shop)
    lanes.test("lrclib")

    trial = lanes.test("lrclib")

    assert not trial.ok
    assert "15:05:06Z" in trial.detail
    assert len(shop.wires["lrclib"].times) == 1


@pytest.mark.parametrize(
    ("name", "answer", "helps"),
    [
        ("defaultprov", Throttled(retry_after_s=900), "raise api.cooldown if"),
        ("lrclib", Throttled(retry_after_s=900), "raise providers.lrclib.cooldown_seconds if"),
        ("mine", Throttled(retry_after_s=900), "raise its cooldown if"),
        ("defaultprov", IdentityRefused(), "check the token"),
        ("lrclib", IdentityRefused(), "it is asked again by itself"),
    ],
)
def test_the_remedy_of_a_closed_lane_is_its_own(open_shop, name, answer, helps):
    lanes = desk_of(open_shop(Scripted(name, answer)))
    lanes.test(name)

    closed = lanes.view(name)
    assert closed.state == "closed"
    assert helps in closed.remedy


@pytest.mark.parametrize("cause", ["malformed", "unreachable"])
def test_the_remedy_of_a_lane_that_is_not_found_names_its_address(open_shop, clock, cause):
    shop = open_shop(*(Scripted(name, Miss()) for name in ("defaultprov", "lrclib", "mine")))
    lanes = desk_of(shop, detector=lambda: True)
    now = clock.now()
    shut = LaneState(cause=cause, closed_until_at=now + timedelta(minutes=1))
    for name in lanes.names:
        shop.db.write(lambda tx, name=name: lane_state.change(tx, name, lambda _: shut, now=now))

    for view, address in zip(
        lanes.views(),
        (
            "providers.defaultprov.base_url",
            "providers.lrclib.base_url",
            "its address",
            "instrumental_detector.classifier_url",
        ),
        strict=True,
    ):
        assert address in view.remedy


def test_a_lane_that_is_closed_is_left_in_peace_until_it_is_reset(open_shop, clock):
    provider = Scripted("lrclib", Throttled(retry_after_s=900), Miss())
    shop = open_shop(provider)
    rung = []
    lanes = desk_of(shop, wake=lambda: rung.append(1))
    assert not lanes.test("lrclib").ok

    closed = lanes.view("lrclib")
    assert (closed.state, closed.reason) == ("closed", "throttled")
    assert closed.closed_until_at == clock.now() + timedelta(seconds=900)
    assert closed.remedy
    trial = lanes.test("lrclib")
    assert not trial.ok
    assert "closed until" in trial.detail
    assert len(provider.asked) == 1

    assert lanes.reset("lrclib").state == "probing"
    assert rung == [1]
    assert lanes.test("lrclib").ok
    assert lanes.view("lrclib").state == "ready"
    assert lanes.reset("lrclib").state == "ready"


def test_a_lane_that_is_reset_is_asked_about_the_track_that_waits_for_it(open_shop):
    provider = Scripted("lrclib", Throttled(retry_after_s=900), Miss())
    shop = open_shop(provider)
    shop.enqueue("Lanterns")
    shop.work()
    assert (len(provider.asked), shop.item("Lanterns").status) == (1, "pending")

    desk_of(shop).reset("lrclib")
    shop.work()
    assert (len(provider.asked), shop.item("Lanterns").status) == (2, "deferred")
    assert shop.wrong_counts() == {}


def test_one_lane_is_tried_out_once_at_a_time_and_not_waited_for_long(open_shop):
    go = threading.Event()

    class Slow(Scripted):
        def lookup(self, recording, ctx):
            go.wait(10)
            return super().lookup(recording, ctx)

    lanes = desk_of(open_shop(Slow("lrclib", Miss())))

    trial = lanes.test("lrclib", within_s=0.05)
    assert (trial.ok, "not answered" in trial.detail) == (False, True)
    with pytest.raises(TestRunning):
        lanes.test("lrclib")
    go.set()


def test_an_unknown_lane_is_not_found(open_shop):
    lanes = desk_of(open_shop(Scripted("lrclib", Miss())))

    for call in (lanes.view, lanes.test, lanes.reset):
        with pytest.raises(NotFound):
            call("nonsense")
    with pytest.raises(NotFound):
        lanes.test("detector")
