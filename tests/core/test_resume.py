"""What an attempt leaves behind survives being written down."""

import json
from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.core.lyrics import Candidate, Cue, Matched, Word
from lyrsvc.core.lyrics_text import from_text as lyrics_from
from lyrsvc.core.lyrics_text import to_text as lyrics_to
from lyrsvc.core.outcome import Answer, Attempt
from lyrsvc.core.resume import Detected, Found, Partial, evidence_of, from_text, to_text
from lyrsvc.core.verdict import Decision, Evidence, Verdict
from queue_cases import ACCEPTED, NOW, an_attempt

texts = st.text(st.characters(blacklist_categories=("Cs",)), max_size=20)
verdicts = st.builds(
    Verdict,
    decision=st.sampled_from(Decision),
    reason=texts,
    evidence=st.sampled_from(Evidence),
    title=texts,
    delta_s=st.none() | st.floats(0, 100),
    album_equal=st.booleans(),
    title_literal=st.booleans(),
    artist_literal=st.booleans(),
)
attempts = st.builds(
    Attempt,
    lane=texts,
    answer=st.sampled_from(Answer),
    reason=texts,
    text=texts,
    verdict=st.none() | verdicts,
    matched=st.none() | st.builds(Matched, ids=st.lists(texts, min_size=1).map(tuple)),
    answered_at=st.none() | st.datetimes(timezones=st.just(UTC)),
)
answers = st.lists(attempts, max_size=3).map(tuple)
resumes = (
    st.builds(
        Found,
        cache_id=st.integers(1, 2**60),
        lane=texts,
        answers=answers,
        fetched_at=st.none() | st.just(NOW),
        from_cache=st.booleans(),
    )
    | st.builds(Partial, answers=answers, releases=st.integers(0, 100))
    | st.builds(
        Detected,
        version=texts,
        scores=st.dictionaries(texts, st.none() | texts | st.floats(0, 1)),
        answers=answers,
    )
)


@given(resumes)
def test_what_is_left_behind_comes_back_as_it_was(resume):
    assert from_text(to_text(resume)) == resume


def test_nothing_left_behind_is_nothing():
    assert to_text(None) is None
    assert from_text(None) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "7",
        '{"kind":"other"}',
        '{"kind":"result"}',
        '{"kind":"partial","answers":[{}]}',
    ],
)
def test_what_cannot_be_understood_is_as_good_as_nothing(text):
    assert from_text(text) is None


def test_the_kinds_are_named_as_the_data_model_says():
    assert json.loads(to_text(Found(cache_id=3, lane="lrclib")))["kind"] == "result"
    assert json.loads(to_text(Detected(version="v")))["kind"] == "detector"
    partial = json.loads(to_text(Partial(answers=(an_attempt(answer=Answer.MISS),), releases=2)))
    assert (partial["kind"], partial["releases"]) == ("partial", 2)
    assert {"lane", "verdict", "at"} <= set(partial["answers"][0])


def test_the_evidence_of_an_attempt_tells_whom_it_matched_and_how_well():
    attempt = an_attempt(verdict=ACCEPTED, matched=Matched(ids=("77",)))
    assert evidence_of(attempt) == {
        "ids": ["77"],
        "delta_s": 0.4,
        "title": "",
        "artist": "",
        "version": "",
        "class": "exact",
    }
    assert evidence_of(an_attempt(answer=Answer.MISS)) == {}


cues = st.builds(
    Cue,
    ms=st.integers(0, 10**7),
    text=texts,
    words=st.lists(st.builds(Word, st.integers(0, 10**7), texts), max_size=3).map(tuple),
    end_ms=st.none() | st.integers(0, 10**7),
)
candidates = st.builds(
    Candidate,
    matched=st.builds(
        Matched,
        artist=texts,
        title=texts,
        album=texts,
        duration_ms=st.none() | st.integers(0, 10**8),
        isrcs=st.lists(texts, max_size=2).map(tuple),
        ids=st.lists(texts, max_size=2).map(tuple),
    ),
    cues=st.lists(cues, max_size=4).map(tuple),
    plain=st.none() | texts,
    instrumental=st.booleans(),
    language=st.none() | texts,
    translation=st.none() | st.lists(cues, max_size=2).map(tuple),
    translation_language=st.none() | st.just("de"),
)


@given(candidates, verdicts)
def test_every_field_of_a_candidate_survives_the_cache(candidate, verdict):
    assert lyrics_from(lyrics_to(candidate, verdict)) == (candidate, verdict)


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"verdict":null}'])
def test_a_text_that_is_no_lyrics_is_refused(text):
    with pytest.raises(ValueError, match=r"Expecting|lyrics"):
        lyrics_from(text)


def test_lone_surrogates_cannot_break_the_cache():
    candidate = Candidate(matched=Matched(title="\ud800"), plain="a\udcffb\0c")
    stored, _ = lyrics_from(lyrics_to(candidate, ACCEPTED))
    assert stored.plain == "a\ufffdb\0c"
