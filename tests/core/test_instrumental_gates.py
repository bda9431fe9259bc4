import math
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.core.instrumental_gates import (
    Gates,
    IncompleteScores,
    Scores,
    is_instrumental,
    read_scores,
    stored_scores,
)
from lyrsvc.core.item import NOT_RUN, DetectorFinding
from scored import score_maps

GATES = Gates()


def scores(**changes) -> Scores:
    known = {"music_sum": 0.95, "vocal_peak": 0.001, "vocal_class": "Choir", "speech_mean": 0.01}
    return Scores(**{**known, **changes})


@pytest.mark.parametrize(
    ("changes", "passes"),
    [
        ({"music_sum": 0.90}, True),
        ({"music_sum": math.nextafter(0.90, 0)}, False),
        ({"vocal_peak": 0.015}, False),
        ({"vocal_peak": math.nextafter(0.015, 0)}, True),
        ({"speech_mean": 0.20}, False),
        ({"speech_mean": math.nextafter(0.20, 0)}, True),
    ],
)
def test_each_gate_decides_exactly_at_its_threshold(changes, passes):
    assert is_instrumental(scores(**changes), GATES) is passes


def test_music_is_summed_the_loudest_voice_counts_and_is_named():
    maps = score_maps(music=0.4)
    maps["mean"]["Music"] = 0.55
    maps["max"]["Rapping"] = 0.3
    maps["mean"]["Rapping"] = 0.0  # once is enough
    found = read_scores(maps, GATES)
    assert found.music_sum == pytest.approx(0.95)
    assert (found.vocal_peak, found.vocal_class, found.speech_mean) == (0.3, "Rapping", 0.01)


@pytest.mark.spec("E-65")
@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        "text",
        {},
        {"mean": {}, "max": {}},
        {"mean": score_maps()["mean"]},
        {"max": 3, "mean": 4},
    ],
)
def test_an_answer_without_both_maps_is_incomplete(answer):
    with pytest.raises(IncompleteScores):
        read_scores(answer, GATES)


@pytest.mark.spec("E-65")
@pytest.mark.parametrize("which", ["mean", "max"])
@pytest.mark.parametrize("name", ["Music", "Humming", "Speech"])
def test_every_named_class_has_to_be_in_both_maps(which, name):
    maps = score_maps()
    del maps[which][name]
    with pytest.raises(IncompleteScores, match=name):
        read_scores(maps, GATES)


@pytest.mark.parametrize("value", [math.nan, math.inf, -0.001, 1.001, True, "0.5", None, [0.5]])
@pytest.mark.parametrize("name", ["Music", "Dog"])
def test_every_value_has_to_be_a_probability(value, name):
    maps = score_maps()
    maps["mean"][name] = value
    with pytest.raises(IncompleteScores, match="probability"):
        read_scores(maps, GATES)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner) | st.dictionaries(st.sampled_from(["mean", "max", "Music"]), inner)
        ),
    )
)
def test_no_answer_that_is_not_complete_is_ever_judged(answer):
    with pytest.raises(IncompleteScores):
        read_scores(answer, GATES)


def test_gates_without_classes_are_open():
    gates = Gates(vocal_classes=(), speech_classes=())
    found = read_scores(score_maps(voice=0.9, speech=0.9), gates)
    assert is_instrumental(found, gates)


def test_a_class_named_twice_counts_once():
    gates = Gates(music_classes=("Music", "Music"))
    assert read_scores(score_maps(music=0.48), gates).music_sum == 0.48


def test_the_version_is_the_models_unless_other_classes_are_asked_for():
    assert GATES.version_of("model") == "model"
    assert Gates(min_music=0.5, vocal_below=0.9).version_of("model") == "model"
    assert Gates(music_classes=("Musical instrument", "Music")).version_of("model") == "model"
    other = Gates(vocal_classes=("Singing",)).version_of("model")
    assert other.startswith("model+")
    assert other != Gates(vocal_classes=("Choir",)).version_of("model")
    assert Gates(vocal_classes=("Choir",)).version_of("") == ""


def test_scores_are_read_back_from_a_finding_only_when_it_has_all():
    at = datetime(2026, 1, 1, tzinfo=UTC)
    finding = DetectorFinding(
        verdict=False, music_sum=0.9, vocal_peak=0.1, speech_mean=0.0, detected_at=at
    )
    assert stored_scores(finding) == Scores(
        music_sum=0.9, vocal_peak=0.1, vocal_class="", speech_mean=0.0
    )
    assert stored_scores(NOT_RUN) is None
