"""Lanes in order, from a recording to an outcome."""

import pytest

from candidates import claim, plain, song, synced
from fakes import FakeClock, Scripted
from lyrsvc.core.errors import IdentityRefused, Miss, Refused, Throttled, Transient
from lyrsvc.core.judging import GuardPolicy
from lyrsvc.core.lyrics import Quality
from lyrsvc.core.outcome import Answer, Attempt, Broken, Missed, Served, Unjudged
from lyrsvc.core.recording import Recording
from lyrsvc.services.lookup import Lookup, can_be_asked

MISS = Miss(reason="not_found")


def served(lookup: Lookup, recording: Recording | None = None) -> tuple[str, Quality]:
    outcome = lookup.look_up(recording or song())
    assert isinstance(outcome, Served)
    return outcome.accepted.lane, outcome.accepted.quality


@pytest.mark.seed("S-018")
@pytest.mark.spec("P-33", "P-36")
@pytest.mark.parametrize(
    ("first", "second", "lane", "quality"),
    [
        (MISS, synced(), "b", Quality.SYNCED),
        (plain(), synced(), "b", Quality.SYNCED),
        (plain(), plain(number="2"), "a", Quality.UNSYNCED),
        (claim(), plain(), "b", Quality.UNSYNCED),
        (claim(), claim(), "a", Quality.INSTRUMENTAL),
        (claim(), MISS, "a", Quality.INSTRUMENTAL),
        (synced("Another"), synced(), "b", Quality.SYNCED),
        (Throttled(), plain(), "b", Quality.UNSYNCED),
        (Transient(), synced(), "b", Quality.SYNCED),
    ],
)
def test_the_best_of_all_lanes_is_served_under_its_own_name(
    make_lookup, first, second, lane, quality
):
    assert served(make_lookup(Scripted("a", first), Scripted("b", second))) == (lane, quality)


@pytest.mark.spec("P-33", "P-37")
def test_synced_words_end_the_walk_and_each_lane_asked_has_its_attempt(make_lookup):
    later = Scripted("b", synced())
    outcome = make_lookup(Scripted("a", synced()), later).look_up(song())
    assert isinstance(outcome, Served)
    assert [(attempt.lane, attempt.answer) for attempt in outcome.attempts] == [("a", Answer.HIT)]
    assert later.asked == []


@pytest.mark.spec("P-33")
def test_a_miss_of_all_is_one_miss(make_lookup):
    outcome = make_lookup(Scripted("a", MISS), Scripted("b", MISS)).look_up(song())
    assert isinstance(outcome, Missed)
    assert [attempt.lane for attempt in outcome.attempts] == ["a", "b"]


@pytest.mark.spec("P-34")
def test_a_refused_primary_and_a_miss_leave_it_unjudged_and_a_hit_is_written(make_lookup):
    first = Scripted("a", IdentityRefused())
    lookup = make_lookup(first, Scripted("b", MISS, synced()))
    assert isinstance(lookup.look_up(song()), Unjudged)
    assert served(lookup) == ("b", Quality.SYNCED)
    assert len(first.asked) == 1


@pytest.mark.spec("P-35")
def test_a_miss_and_a_fault_are_a_failure(make_lookup):
    outcome = make_lookup(Scripted("a", MISS), Scripted("b", Transient(reason="timeout"))).look_up(
        song()
    )
    assert isinstance(outcome, Broken)
    assert (outcome.lane, outcome.reason) == ("b", "timeout")


@pytest.mark.spec("P-38")
def test_lanes_that_contradict_each_other_write_nothing(make_lookup):
    one = tuple(f"lantern{a} harbour{a} window{a}" for a in "abcdefghij")
    other = tuple(f"thunder{a} bicycle{a} marmalade{a}" for a in "abcdefghij")
    lookup = make_lookup(Scripted("a", plain(lines=one)), Scripted("b", plain(lines=other)))
    outcome = lookup.look_up(song())
    assert isinstance(outcome, Missed)
    assert (outcome.detail, outcome.rejected) == ("text_conflict", True)


@pytest.mark.seed("S-017")
@pytest.mark.spec("P-49")
def test_what_the_script_guard_rejects_is_looked_for_elsewhere(make_lookup):
    russian = ("Мы повесили фонари", "перед самым дождём", "и река знала", "всё остальное")
    policy = GuardPolicy(accepted_scripts=("Latin",))
    first = Scripted("a", synced(lines=russian))
    assert served(make_lookup(first, Scripted("b", synced()), policy=policy))[0] == "b"
    alone = make_lookup(Scripted("a", synced(lines=russian)), policy=policy).look_up(song())
    assert isinstance(alone, Missed)
    assert (alone.reason, alone.detail) == ("rejected_script", "script_guard")


def test_lanes_that_answered_before_are_not_asked_again(make_lookup):
    provider = Scripted("a", synced())
    before = {"a": Attempt(lane="a", answer=Answer.MISS, reason="not_found")}
    outcome = make_lookup(provider).look_up(song(), answered=before)
    assert isinstance(outcome, Missed)
    assert provider.asked == []


def test_a_song_without_a_title_is_never_asked_for(make_lookup):
    provider = Scripted("a", synced())
    outcome = make_lookup(provider).look_up(song("'"))
    assert isinstance(outcome, Missed)
    assert (outcome.detail, provider.asked) == ("no_title", [])


def test_an_inactive_lane_is_no_part_of_the_set(make_lane):
    sleeper = Scripted("a", synced())
    lanes = [make_lane(sleeper, active=lambda: False), make_lane(Scripted("b", MISS))]
    assert isinstance(Lookup(lanes, policy=GuardPolicy()).look_up(song()), Missed)
    assert sleeper.asked == []
    with pytest.raises(Refused):
        Lookup(lanes[:1], policy=GuardPolicy()).look_up(song())


def test_a_stored_result_is_judged_again_and_keeps_lane_and_time(make_lookup, clock: FakeClock):
    found = make_lookup(Scripted("first", synced(duration_ms=214_000))).look_up(song())
    assert isinstance(found, Served)
    provider = Scripted("a", plain())
    clock.advance(3600)
    lookup = make_lookup(provider)
    again = lookup.serve_again(song(duration_ms=214_000), found.accepted)
    assert again is not None
    assert (again.from_cache, again.attempts, provider.asked) == (True, (), [])
    assert (again.accepted.lane, again.accepted.fetched_at) == ("first", found.accepted.fetched_at)
    assert lookup.serve_again(song(duration_ms=300_000), found.accepted) is None, "another cut"


def test_closing_lets_go_of_lanes_and_connections(make_lookup):
    told = []
    provider = Scripted("a", MISS)
    make_lookup(provider, disconnect=lambda: told.append(1)).close()
    assert (provider.closed, told) == (1, [1])


@pytest.mark.parametrize(
    ("recording", "can"),
    [
        (Recording(title="T", artist="A"), True),
        (Recording(title="T", artist="Various Artists"), False),
        (Recording(title="T", artist="Various Artists", album="Al"), True),
        (Recording(title="T", isrcs=("ZZDM12600001",)), True),
        (Recording(title="'", artist="A"), False),
    ],
)
def test_what_names_enough_can_be_asked_for(recording, can):
    assert can_be_asked(recording) is can
