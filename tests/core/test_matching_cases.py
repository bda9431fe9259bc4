import pytest

from lyrsvc.core.lyrics import Quality
from lyrsvc.core.matching import judge_match, rank
from matching_pairs import answered, asked, load

CASES = load("cases.json")
PAIRS = CASES["pairs"] + load("more_cases.json")["pairs"]
HAS = {"synced": Quality.SYNCED, "plain": Quality.UNSYNCED}


@pytest.mark.parametrize("case", PAIRS, ids=[case["id"] for case in PAIRS])
def test_a_pair_from_the_world_gets_the_verdict_a_listener_would_give(case):
    verdict = judge_match(asked(case["asked"]), answered(case["answered"]))
    assert (verdict.decision, verdict.reason) == (case["expected"], case["reason"])


@pytest.mark.parametrize("case", CASES["rankings"], ids=lambda case: case["id"])
def test_the_candidate_to_serve_is_the_one_of_the_ranking(case):
    recording = asked(case["asked"])
    ranked = rank(
        (place, judge_match(recording, answered(row)), HAS[row["has"]])
        for place, row in enumerate(case["candidates"])
    )
    assert (ranked[0][0] if ranked else None) == case["expected_index"]


def test_every_case_has_its_own_name():
    assert len({case["id"] for case in PAIRS}) == len(PAIRS)
