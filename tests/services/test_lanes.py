"""A provider behind its pace and its breaker."""

import logging
import threading
from datetime import timedelta

import pytest

from candidates import matched, plain, song, synced
from fakes import FakeClock, Scripted, Wire
from lyrsvc.core.errors import (
    ConfigError,
    IdentityRefused,
    LaneError,
    Malformed,
    Miss,
    Quota,
    Throttled,
    TokenFinished,
    Transient,
)
from lyrsvc.core.judging import GuardPolicy, judge
from lyrsvc.core.lyrics import Candidate
from lyrsvc.core.outcome import Answer, Attempt
from lyrsvc.core.pacing import RestPolicy
from lyrsvc.core.recording import Recording
from lyrsvc.services.lanes import Cancelled, Lane


def ask(lane: Lane, recording: Recording | None = None) -> Attempt:
    asked = recording or song()
    return lane.ask(asked, lambda candidate: judge(asked, candidate, GuardPolicy()))


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        (Miss(reason="no_lyrics"), Answer.MISS),
        (Throttled(), Answer.THROTTLED),
        (Quota(), Answer.QUOTA),
        (TokenFinished(), Answer.TOKEN_FINISHED),
        (IdentityRefused(), Answer.IDENTITY_REFUSED),
        (Malformed(), Answer.MALFORMED),
        (Transient(reason="timeout"), Answer.TRANSIENT),
        (LaneError("outside the set"), Answer.TRANSIENT),
        (ConfigError(["not for a lookup"]), Answer.TRANSIENT),
        (ZeroDivisionError("no secret text"), Answer.TRANSIENT),
    ],
)
def test_whatever_a_provider_raises_becomes_an_attempt(make_lane, error, answer):
    attempt = ask(make_lane(Scripted("a", error)))
    assert (attempt.lane, attempt.answer, attempt.result) == ("a", answer, None)
    assert "no secret text" not in attempt.text


def test_the_best_candidate_is_the_lanes_result(make_lane, clock: FakeClock):
    attempt = ask(make_lane(Scripted("a", [plain(), synced(number="2")])))
    assert (attempt.answer, attempt.matched.ids) == (Answer.HIT, ("2",))
    assert attempt.answered_at == clock.now()


def test_a_placeholder_text_is_a_miss_and_no_words_are_one_too(make_lane):
    attempt = ask(make_lane(Scripted("a", plain(lines=("Lyrics not available",)))))
    assert (attempt.answer, attempt.reason) == (Answer.MISS, "placeholder_text")
    empty = ask(make_lane(Scripted("a", Candidate(matched=matched()))))
    assert (empty.answer, empty.reason) == (Answer.MISS, "no_lyrics")


def test_a_rejected_answer_is_a_mismatch_with_its_evidence(make_lane):
    attempt = ask(make_lane(Scripted("a", synced("Another Song"))))
    assert (attempt.answer, attempt.reason) == (Answer.MISMATCH, "title_mismatch")
    assert attempt.verdict.title == "different"
    assert attempt.matched.title == "Another Song"


# --- the breaker -----------------------------------------------------------------------------


@pytest.mark.spec("P-11")
@pytest.mark.parametrize(("retry_after_s", "rest_s"), [(None, 60), (120, 120)])
def test_a_throttled_lane_is_not_asked_until_it_opens(
    make_lane, clock: FakeClock, retry_after_s, rest_s
):
    provider = Scripted("a", Throttled(retry_after_s=retry_after_s), synced())
    lane = make_lane(provider)
    opening = clock.now() + timedelta(seconds=rest_s)
    assert ask(lane).until == opening
    skipped = ask(lane)
    assert (skipped.answer, skipped.reason, skipped.until) == (
        *(Answer.SKIPPED, "throttled", opening),
    )
    clock.advance(rest_s - 1)
    assert ask(lane).answer is Answer.SKIPPED
    clock.advance(1)
    assert ask(lane).answer is Answer.HIT
    assert len(provider.asked) == 2


def test_a_lane_that_has_rested_is_asked_by_one_thread_only(make_lane, clock: FakeClock):
    inside, go_on = threading.Event(), threading.Event()

    class Slow(Scripted):
        def lookup(self, recording, ctx):
            if self.asked:
                inside.set()
                assert go_on.wait(10)
            return super().lookup(recording, ctx)

    provider = Slow("a", Throttled(), synced())
    lane = make_lane(provider)
    ask(lane)
    clock.advance(60)
    answers: list[Answer] = []
    first = threading.Thread(target=lambda: answers.append(ask(lane).answer))
    first.start()
    assert inside.wait(10)
    assert ask(lane).answer is Answer.SKIPPED
    go_on.set()
    first.join(10)
    assert answers == [Answer.HIT]
    assert ask(lane).answer is Answer.HIT


@pytest.mark.spec("P-12")
@pytest.mark.parametrize(
    ("error", "cause", "rest_s"),
    [
        (Quota(), "quota", 6 * 3600),
        (IdentityRefused(), "refused", 1800),
        (TokenFinished(), "refused", 1800),
    ],
)
def test_other_refusals_close_the_lane_for_long(make_lane, clock, error, cause, rest_s):
    lane = make_lane(Scripted("a", error))
    ask(lane)
    assert lane.state.cause == cause
    assert lane.state.closed_until_at == clock.now() + timedelta(seconds=rest_s)


@pytest.mark.spec("P-16")
@pytest.mark.parametrize(
    ("error", "cause"), [(Malformed(), "malformed"), (Transient(), "unreachable")]
)
def test_five_faults_on_different_songs_close_the_lane(make_lane, error, cause):
    provider = Scripted("a", error)
    lane = make_lane(provider)
    for number in range(5):
        for _ in range(3):
            ask(lane, song(f"Song {number}"))
    assert len(provider.asked) == 13, "the fifth song's first fault closed it"
    assert lane.state.cause == cause


@pytest.mark.spec("P-17")
def test_the_second_wrong_answer_closes_the_lane_and_there_is_no_third_request(
    make_lane, clock: FakeClock
):
    decoy = synced("NEON", artist="Someone Else Entirely", number="99")
    provider = Scripted("a", decoy)
    lane = make_lane(provider)
    first = ask(lane, song("Paper Lantern Weather"))
    second = ask(lane, song("Glass Orchard"))
    third = ask(lane, song("Kitchen Radio"))
    assert (first.answer, second.answer, third.answer) == (
        *(Answer.MISMATCH, Answer.IDENTITY_REFUSED, Answer.SKIPPED),
    )
    assert (second.reason, third.reason) == ("decoy", "refused")
    assert lane.state.closed_until_at == clock.now() + timedelta(minutes=30)
    assert len(provider.asked) == 2


@pytest.mark.parametrize(
    ("titles", "answers"),
    [
        (("Night Suite", "Night Suite"), "Night Suite (Live at Home)"),
        (("Night Suite, Pt. 2", "Night Suite, Pt. 3"), "Night Suite, Pt. 1"),
        (("Intro", "Outro"), "Intro and Outro"),
    ],
)
def test_a_clumsy_matcher_is_not_taken_for_a_decoy(make_lane, titles, answers):
    lane = make_lane(Scripted("a", synced(answers)))
    found = [ask(lane, song(title)).answer for title in titles]
    assert Answer.IDENTITY_REFUSED not in found


@pytest.mark.parametrize("titles", [("Aria", "Gigue"), ("Gigue (Live)", "Aria"), ("?", "*")])
def test_a_medley_that_a_search_finds_twice_is_no_decoy(make_lane, titles):
    lane = make_lane(Scripted("a", synced("Aria, Gigue & Sarabande", artist="Camerata Nova")))
    assert [ask(lane, song(title)).answer for title in titles] == [
        *(Answer.MISMATCH, Answer.MISMATCH)
    ]


def test_a_local_lane_has_no_decoys(make_lane):
    lane = make_lane(Scripted("a", synced("NEON", artist="Someone"), local=True))
    assert [ask(lane, song(title)).answer for title in ("One Song", "Other Words")] == [
        *(Answer.MISMATCH, Answer.MISMATCH)
    ]


@pytest.mark.spec("P-21")
def test_a_throttled_translation_trips_the_breaker_although_the_words_are_given(make_lane):
    lane = make_lane(Scripted("a", synced(), faults=[Throttled(retry_after_s=300)]))
    assert ask(lane).answer is Answer.HIT
    assert (lane.state.cause, lane.state.pace_level) == ("throttled", 1)
    assert ask(lane).answer is Answer.SKIPPED


def test_closing_is_told_once_with_its_cause(make_lane, caplog):
    lane = make_lane(Scripted("a", Throttled("HTTP 429, 0 bytes")))
    with caplog.at_level(logging.WARNING):
        ask(lane)
        ask(lane)
    (record,) = caplog.records
    assert (record.message, record.cause, record.rest_s) == ("lane closed", "throttled", 60)
    assert record.why == "HTTP 429, 0 bytes"


@pytest.mark.seed("S-110")
@pytest.mark.seed("S-124")
@pytest.mark.parametrize("source", ["--token", "PROVIDER_TOKEN"])
def test_a_throttle_after_the_longest_rest_names_the_pace_and_the_token(
    make_lane, clock: FakeClock, caplog, source
):
    rest = RestPolicy(base=timedelta(minutes=30), cap=timedelta(minutes=30))
    lane = make_lane(Scripted("a", Throttled()), rest=rest, token_source=source)
    with caplog.at_level(logging.WARNING):
        ask(lane)
        assert not hasattr(caplog.records[-1], "remedy")
        clock.advance(1800)
        assert ask(lane).answer is Answer.THROTTLED
    assert "raise LYRSVC_API_COOLDOWN" in caplog.records[-1].remedy
    assert f"the token of {source} may be stale" in caplog.records[-1].remedy


# --- the pace --------------------------------------------------------------------------------


def gaps(wire: Wire) -> list[float]:
    pairs = zip(wire.times, wire.times[1:], strict=False)
    return [(later - earlier).total_seconds() for earlier, later in pairs]


@pytest.mark.spec("P-19")
def test_requests_keep_the_cooldown_and_the_first_does_not_wait(make_lane, clock: FakeClock):
    wire = Wire(clock)
    lane = make_lane(Scripted("a", synced()), wire=wire, cooldown_s=15)
    for _ in range(4):
        ask(lane)
    assert gaps(wire) == [15, 15, 15]
    assert clock.waits == [15, 15, 15], "nothing waits after the last"


def test_a_pause_of_the_user_counts_as_waiting(make_lane, clock: FakeClock):
    wire = Wire(clock)
    lane = make_lane(Scripted("a", synced()), wire=wire, cooldown_s=15)
    ask(lane)
    clock.advance(60)
    ask(lane)
    assert clock.waits == []


def test_every_single_request_takes_a_slot(make_lane, clock: FakeClock):
    class Twice(Scripted):
        def lookup(self, recording, ctx):
            ctx.http.get("http://first")
            return super().lookup(recording, ctx)

    wire = Wire(clock)
    ask(make_lane(Twice("a", synced()), wire=wire, cooldown_s=15))
    assert gaps(wire) == [15]


@pytest.mark.spec("P-28")
def test_some_lanes_count_from_the_end_of_the_answer(make_lane, clock: FakeClock):
    wire = Wire(clock, takes_s=3)
    lane = make_lane(Scripted("a", synced()), wire=wire, cooldown_s=1, from_end=True)
    for _ in range(3):
        ask(lane)
    assert gaps(wire) == [4, 4]


def test_a_slow_answer_is_part_of_the_cooldown_of_the_others(make_lane, clock: FakeClock):
    wire = Wire(clock, takes_s=3)
    lane = make_lane(Scripted("a", synced()), wire=wire, cooldown_s=15)
    for _ in range(3):
        ask(lane)
    assert gaps(wire) == [pytest.approx(15, abs=0.3)] * 2
    assert min(gaps(wire)) >= 15


def test_after_a_throttle_the_pace_is_slower(make_lane, clock: FakeClock):
    wire = Wire(clock)
    lane = make_lane(Scripted("a", Throttled(), synced()), wire=wire, cooldown_s=15)
    assert ask(lane).answer is Answer.THROTTLED
    clock.advance(60)
    ask(lane)
    ask(lane)
    assert gaps(wire) == [60, 30]
    assert lane.pace_s == 30


def test_local_lanes_never_wait(make_lane, clock: FakeClock):
    lane = make_lane(Scripted("a", synced(), local=True), cooldown_s=15)
    for _ in range(3):
        ask(lane)
    assert (clock.waits, lane.pace_s) == ([], 0)


def test_a_cancelled_wait_gives_its_slot_back(make_lane, clock: FakeClock):
    wire = Wire(clock)
    lane = make_lane(Scripted("a", synced()), wire=wire, cooldown_s=15, stops=True)
    ask(lane)
    before = lane.state.next_slot_at
    with pytest.raises(Cancelled):
        ask(lane)
    assert lane.state.next_slot_at == before
    assert len(wire.times) == 1


def test_closing_lets_go_of_the_provider(make_lane):
    provider = Scripted("a", synced())
    make_lane(provider).close()
    assert provider.closed == 1
