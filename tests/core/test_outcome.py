"""What the attempts of a walk come to."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.core.judging import Judgement
from lyrsvc.core.lyrics import Candidate, Cue, Matched, Quality
from lyrsvc.core.outcome import (
    Answer,
    Attempt,
    Broken,
    Missed,
    Served,
    Unjudged,
    decide,
    ends_the_walk,
)
from lyrsvc.core.verdict import Decision, Verdict

NOW = datetime(2026, 1, 31, 14, 5, 6, tzinfo=UTC)
ACCEPT = Verdict(decision=Decision.ACCEPT, reason="ok_strong")
REFUSING = (
    Answer.THROTTLED,
    Answer.QUOTA,
    Answer.TOKEN_FINISHED,
    Answer.IDENTITY_REFUSED,
    Answer.SKIPPED,
)


def hit(lane: str, quality: Quality, words: str = "one\ntwo") -> Attempt:
    cues = tuple(Cue(at * 1000, line) for at, line in enumerate(words.split("\n")))
    candidate = Candidate(
        matched=Matched(),
        cues=cues if quality >= Quality.SYNCED else (),
        plain=words if quality is Quality.UNSYNCED else None,
        instrumental=quality is Quality.INSTRUMENTAL,
    )
    judged = Judgement(candidate=candidate, verdict=ACCEPT, quality=quality)
    return Attempt(lane=lane, answer=Answer.HIT, result=judged, answered_at=NOW)


def other(lane: str, answer: Answer, reason: str = "", until: datetime | None = None) -> Attempt:
    return Attempt(lane=lane, answer=answer, reason=reason, until=until, text=f"text of {lane}")


SYNCED, PLAIN, CLAIM = Quality.SYNCED, Quality.UNSYNCED, Quality.INSTRUMENTAL


@pytest.mark.parametrize("quality", list(Quality)[1:])
def test_only_synced_words_end_the_walk(quality):
    assert ends_the_walk(hit("a", quality)) is (quality >= Quality.SYNCED)
    assert not ends_the_walk(other("a", Answer.MISS))


@pytest.mark.spec("P-33", "P-36")
@pytest.mark.parametrize(
    ("qualities", "lane"),
    [
        ((SYNCED,), "a"),
        ((PLAIN, SYNCED), "b"),
        ((PLAIN, PLAIN), "a"),
        ((CLAIM, PLAIN), "b"),
        ((CLAIM, CLAIM), "a"),
        ((PLAIN, CLAIM), "a"),
        ((PLAIN, Quality.WORD_SYNCED), "b"),
    ],
)
def test_the_best_is_served_and_of_equals_the_earlier_lane(qualities, lane):
    attempts = [hit(name, quality) for name, quality in zip("abc", qualities, strict=False)]
    outcome = decide(attempts)
    assert isinstance(outcome, Served)
    assert (outcome.accepted.lane, outcome.accepted.fetched_at) == (lane, NOW)
    assert outcome.attempts == tuple(attempts)


@pytest.mark.parametrize("answer", REFUSING)
def test_words_are_served_although_another_lane_is_closed(answer):
    assert isinstance(decide([other("a", answer), hit("b", PLAIN)]), Served)
    assert isinstance(decide([hit("a", PLAIN), other("b", answer)]), Served)


@pytest.mark.parametrize("answer", REFUSING)
def test_a_claim_passes_when_the_other_lanes_answered_or_are_closed(answer):
    assert isinstance(decide([hit("a", CLAIM), other("b", answer)]), Served)
    assert isinstance(decide([hit("a", CLAIM), other("b", Answer.MISS)]), Served)


@pytest.mark.parametrize("answer", [Answer.TRANSIENT, Answer.MALFORMED])
def test_a_claim_waits_for_a_lane_that_is_out_of_order(answer):
    outcome = decide([hit("a", CLAIM), other("b", answer, "network")])
    assert isinstance(outcome, Broken)
    assert outcome.lane == "b"


@pytest.mark.spec("P-33")
def test_misses_of_every_lane_are_one_miss():
    outcome = decide([other("a", Answer.MISS, "not_found"), other("b", Answer.MISS, "not_found")])
    assert isinstance(outcome, Missed)
    assert (outcome.reason, outcome.detail, outcome.rejected) == ("not_found", "", False)


@pytest.mark.parametrize(
    ("reasons", "reason"),
    [
        (("not_found", "no_lyrics"), "no_lyrics"),
        (("no_lyrics", "restricted"), "restricted"),
        (("not_found", "placeholder_text"), "no_lyrics"),
        (("not_found",), "not_found"),
    ],
)
def test_the_most_telling_reason_of_a_miss_is_kept(reasons, reason):
    attempts = [other(str(at), Answer.MISS, text) for at, text in enumerate(reasons)]
    outcome = decide(attempts)
    assert isinstance(outcome, Missed)
    assert outcome.reason == reason


@pytest.mark.parametrize(
    ("detail", "reason"),
    [
        ("title_mismatch", "rejected_match"),
        ("duration_far", "rejected_match"),
        ("isrc_contradicted", "rejected_match"),
        ("too_few_lines", "rejected_content"),
        ("spam_text", "rejected_content"),
        ("too_long", "rejected_content"),
        ("timing_other_recording", "rejected_timing"),
        ("decoy_pattern", "rejected_timing"),
        ("script_guard", "rejected_script"),
    ],
)
def test_a_rejection_keeps_the_first_reason_and_names_its_kind(detail, reason):
    attempts = [
        other("a", Answer.MISS, "not_found"),
        other("b", Answer.MISMATCH, detail),
        other("c", Answer.MISMATCH, "artist_mismatch"),
    ]
    outcome = decide(attempts)
    assert isinstance(outcome, Missed)
    assert (outcome.reason, outcome.detail, outcome.rejected) == (reason, detail, True)


@pytest.mark.spec("P-34")
@pytest.mark.parametrize("answer", REFUSING)
@pytest.mark.parametrize("rest", [Answer.MISS, Answer.MISMATCH, Answer.TRANSIENT, Answer.MALFORMED])
def test_without_a_result_a_lane_that_could_not_be_asked_leaves_it_unjudged(answer, rest):
    late, soon = NOW + timedelta(hours=2), NOW + timedelta(minutes=1)
    outcome = decide([other("a", answer, until=late), other("b", rest)])
    assert isinstance(outcome, Unjudged)
    assert (outcome.lane, outcome.answer, outcome.until) == ("a", answer, late)
    assert outcome.text == "text of a"
    both = decide([other("a", answer, until=late), other("b", answer, until=soon)])
    assert isinstance(both, Unjudged)
    assert (both.lane, both.until) == ("a", soon)


@pytest.mark.spec("P-35")
@pytest.mark.parametrize(
    ("answer", "given", "reason"),
    [
        (Answer.TRANSIENT, "network", "network"),
        (Answer.TRANSIENT, "timeout", "timeout"),
        (Answer.TRANSIENT, "upstream_error", "upstream_error"),
        (Answer.TRANSIENT, "something else", "upstream_error"),
        (Answer.MALFORMED, "malformed", "bad_response"),
    ],
)
def test_a_fault_breaks_the_lookup_with_the_reason_of_the_first_lane(answer, given, reason):
    attempts = [
        other("a", Answer.MISS, "not_found"),
        other("b", answer, given),
        other("c", Answer.TRANSIENT, "timeout"),
    ]
    outcome = decide(attempts)
    assert isinstance(outcome, Broken)
    assert (outcome.lane, outcome.reason, outcome.text) == ("b", reason, "text of b")


OURS = "\n".join(f"lantern{a} harbour{a} window{a}" for a in "abcdefghij")
THEIRS = "\n".join(f"thunder{a} bicycle{a} marmalade{a}" for a in "abcdefghij")


@pytest.mark.spec("P-38")
@pytest.mark.parametrize("second", [PLAIN, SYNCED])
def test_two_lanes_with_disjoint_words_write_nothing_and_are_named(second):
    outcome = decide([hit("first", PLAIN, OURS), hit("second", second, THEIRS)])
    assert isinstance(outcome, Missed)
    assert (outcome.reason, outcome.detail) == ("rejected_content", "text_conflict")
    assert outcome.rejected
    assert "first" in outcome.text
    assert "second" in outcome.text


def test_words_that_overlap_are_no_conflict():
    shared = f"{THEIRS}\nlanterna"
    assert isinstance(decide([hit("a", PLAIN, OURS), hit("b", SYNCED, shared)]), Served)
    assert isinstance(decide([hit("a", PLAIN, "few words"), hit("b", SYNCED, THEIRS)]), Served)


attempts_of_any_kind = st.one_of(
    st.builds(hit, st.sampled_from("abc"), st.sampled_from(list(Quality)[1:])),
    st.builds(
        other,
        st.sampled_from("abc"),
        st.sampled_from([answer for answer in Answer if answer is not Answer.HIT]),
        st.sampled_from(["", "network", "not_found", "script_guard"]),
    ),
)


@given(st.lists(attempts_of_any_kind, min_size=1, max_size=5))
def test_a_miss_is_charged_only_when_every_lane_really_answered(attempts):
    outcome = decide(attempts)
    if isinstance(outcome, Missed):
        assert all(attempt.answer.definitive for attempt in attempts)
    if isinstance(outcome, Unjudged):
        assert any(attempt.waiting for attempt in attempts)
    words = [a for a in attempts if a.result and a.result.quality >= PLAIN]
    if words:
        assert isinstance(outcome, Served)
        best = max(a.result.quality for a in words)
        assert outcome.accepted.quality == best
