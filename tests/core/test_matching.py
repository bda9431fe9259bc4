from dataclasses import replace

import pytest

from lyrsvc.core.comparison import compare, same_album
from lyrsvc.core.isrc import read_isrcs
from lyrsvc.core.lyrics import Matched, Quality
from lyrsvc.core.matching import ROWS, judge_match, rank
from lyrsvc.core.recording import Recording
from lyrsvc.core.verdict import Decision, Evidence, Verdict

ASKED = Recording(
    artist="Wishmaker", title="Harbour Lights", album="Night Ferry", duration_ms=251_000
)
ANSWER = Matched(
    artist="Wishmaker", title="Harbour Lights", album="Night Ferry", duration_ms=251_000
)
ISRC = ("ZZWMK2600001",)
OTHER = {"artist": "Other People", "title": "Different Thing"}


def asked(**changes):
    return replace(ASKED, **changes)


def answer(**changes):
    return replace(ANSWER, **changes)


TABLE = [
    ("0", asked(title=" \u200b"), ANSWER, "reject", "no_title", "none"),
    ("1", asked(isrcs=ISRC), answer(isrcs=ISRC, **OTHER), "reject", "isrc_contradicted", "none"),
    ("1b", asked(isrcs=ISRC), answer(isrcs=ISRC, title="Other"), "accept", "isrc", "exact"),
    ("1b", asked(isrcs=ISRC), answer(isrcs=ISRC, duration_ms=None), "accept", "isrc", "exact"),
    ("1b", asked(isrcs=ISRC), answer(isrcs=ISRC, duration_ms=259_000), "accept", "isrc", "exact"),
    (
        "1c",
        asked(isrcs=ISRC),
        answer(isrcs=ISRC, duration_ms=259_001),
        "accept_unsynced_only",
        "isrc_duration",
        "exact",
    ),
    (
        "1d",
        asked(isrcs=ISRC),
        answer(isrcs=ISRC, duration_ms=300_000, title="Other"),
        "reject",
        "isrc_contradicted",
        "none",
    ),
    ("2", ASKED, answer(title="Harbour Lights 2"), "reject", "title_number", "none"),
    ("2", asked(title="66A →"), answer(title="→ 66A"), "reject", "title_symbols", "none"),
    ("2", ASKED, answer(title="ハーバー・ライツ"), "reject", "title_script", "none"),
    ("2", ASKED, answer(title="Sow the Salt"), "reject", "title_mismatch", "none"),
    ("3", ASKED, answer(artist="Other People"), "reject", "artist_mismatch", "none"),
    (
        "4",
        asked(artist="Wishmaker feat. Ana Rue"),
        answer(title="Harbour Lights (feat. Bo Lind)"),
        "reject",
        "guest_mismatch",
        "none",
    ),
    ("5", ASKED, answer(title="Harbour Lights (Remix)"), "reject", "version_words", "none"),
    ("6", asked(artist="VA"), answer(duration_ms=253_000), "accept", "album_stand_in", "strong"),
    (
        "6",
        ASKED,
        answer(artist="ウィッシュ", album="Night Ferry (Deluxe)"),
        "accept",
        "album_stand_in",
        "strong",
    ),
    ("6b", ASKED, answer(artist="ウィッシュ", album="Other"), "reject", "artist_script", "none"),
    ("6b", asked(artist=""), answer(duration_ms=253_001), "reject", "artist_unknown", "none"),
    ("6b", asked(artist="", title="?"), answer(title="?"), "reject", "artist_unknown", "none"),
    (
        "6b",
        asked(artist=""),
        answer(title="Harbour Lights (Live)"),
        "reject",
        "artist_unknown",
        "none",
    ),
    (
        "7",
        asked(title="?"),
        answer(title="?", duration_ms=254_000),
        "accept",
        "ok_strong",
        "strong",
    ),
    (
        "7",
        asked(title="?"),
        answer(title="?", duration_ms=254_001),
        "reject",
        "symbol_title",
        "none",
    ),
    (
        "7",
        asked(title="?"),
        answer(title="?", artist="Wishmaker & X"),
        "reject",
        "symbol_title",
        "none",
    ),
    (
        "8",
        asked(title="Intro"),
        answer(title="Intro", duration_ms=255_000),
        "reject",
        "generic_title",
        "none",
    ),
    (
        "8",
        asked(title="Intro", duration_ms=None),
        answer(title="Intro", album="Other"),
        "reject",
        "generic_title",
        "none",
    ),
    (
        "9",
        asked(low_confidence=True),
        answer(title="Harbor Lights"),
        "reject",
        "low_confidence",
        "none",
    ),
    (
        "9b",
        asked(low_confidence=True),
        answer(duration_ms=None),
        "accept_unsynced_only",
        "low_confidence",
        "fair",
    ),
    ("10", ASKED, answer(duration_ms=254_000), "accept", "ok_strong", "strong"),
    ("10", ASKED, answer(title="Harbor Lights"), "accept", "ok_strong", "strong"),
    ("10", ASKED, answer(artist="Wishmakers"), "accept", "ok_strong", "strong"),
    (
        "10",
        ASKED,
        answer(title="Harbor Lights", artist="Wishmakers"),
        "reject",
        "title_weak",
        "none",
    ),
    ("11", ASKED, answer(duration_ms=259_001), "reject", "duration_far", "none"),
    (
        "12",
        ASKED,
        answer(title="Harbor Lights", duration_ms=255_000),
        "reject",
        "title_weak",
        "none",
    ),
    (
        "12",
        ASKED,
        answer(title="Harbour Lights (Beta)", duration_ms=None),
        "reject",
        "title_weak",
        "none",
    ),
    ("13", ASKED, answer(artist="Wishmakers", duration_ms=None), "reject", "artist_weak", "none"),
    (
        "14",
        ASKED,
        answer(title="Harbour Lights (Live)", duration_ms=400_000),
        "accept_unsynced_only",
        "version_timing",
        "fair",
    ),
    ("15", ASKED, answer(duration_ms=254_001), "accept_unsynced_only", "duration_near", "fair"),
    ("15", ASKED, answer(duration_ms=243_000), "accept_unsynced_only", "duration_near", "fair"),
    (
        "16",
        ASKED,
        answer(artist="Wishmaker & X", duration_ms=0),
        "accept_unsynced_only",
        "artist_partial",
        "fair",
    ),
    (
        "17",
        asked(title="Harbour Lights (Live)"),
        answer(title="Harbour Lights (Live in Oslo)", duration_ms=None),
        "accept_unsynced_only",
        "version_unpinned",
        "fair",
    ),
    ("18", ASKED, answer(duration_ms=None), "accept", "ok_no_duration", "fair"),
]


@pytest.mark.parametrize(
    ("number", "recording", "matched", "decision", "reason", "evidence"),
    TABLE,
    ids=[f"row {row[0]} {row[4]}" for row in TABLE],
)
def test_every_row_of_the_table_gives_its_verdict(
    number, recording, matched, decision, reason, evidence
):
    verdict = judge_match(recording, matched)
    assert (verdict.decision, verdict.reason, verdict.evidence) == (decision, reason, evidence)
    row = next(row for row in ROWS if row.applies(compare(recording, matched)))
    assert row.number == number


def test_no_row_of_the_table_is_untried():
    tried = {next(row for row in ROWS if row.applies(compare(*case[1:3]))) for case in TABLE}
    assert tried == set(ROWS)


def test_the_verdict_holds_the_relations_as_evidence():
    verdict = judge_match(ASKED, answer(title="Harbor Lights (Live)", duration_ms=252_500))
    assert (verdict.title, verdict.artist, verdict.version) == ("close", "equal", "timing")
    assert (verdict.delta_s, verdict.album_equal) == (1.5, True)


def test_another_isrc_album_case_or_year_is_no_counter_evidence():
    recording = asked(isrcs=("ZZWMK2600002",), album="Best Of")
    matched = answer(isrcs=ISRC, title="HARBOUR LIGHTS (1999)")
    assert judge_match(recording, matched).accepted


def test_the_album_artist_may_name_the_answered_one():
    recording = asked(artist="Somebody", album_artist="Wishmaker")
    assert judge_match(recording, ANSWER).accepted


@pytest.mark.parametrize("duration_ms", [None, 0, -1])
def test_a_length_that_is_missing_or_not_positive_is_unknown(duration_ms):
    assert judge_match(asked(duration_ms=duration_ms), ANSWER).delta_s is None


def test_only_well_formed_isrcs_count():
    isrcs = ["zz-wmk-26-00001", "ZZ WMK 26 00002", "N/A", "", "ZZWMK26000011"]
    assert set(read_isrcs(isrcs)) == {"ZZWMK2600001", "ZZWMK2600002"}
    assert read_isrcs(["ZZWMK2600001; ZZWMK2600002"]) == ("ZZWMK2600001", "ZZWMK2600002")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Night Ferry", "Night Ferry (Deluxe Edition)", True),
        ("...Famous Last Words...", "Famous Last Words", True),
        ("Night Ferry Remastered", "Night Ferry", True),
        ("÷", "÷ (Deluxe)", True),
        ("Night Ferry", "Night Ferries", False),
        ("Hits Vol. 1", "Hits Vol. 2", False),
        ("", "", False),
        ("Night Ferry", "", False),
    ],
)
def test_albums_are_compared_without_what_qualifies_them(one, other, same):
    assert same_album(one, other) is same
    assert same_album(other, one) is same


def verdict(**changes):
    values = {
        "decision": Decision.ACCEPT,
        "reason": "",
        "evidence": Evidence.STRONG,
        "delta_s": 1.0,
    }
    return Verdict(**{**values, **changes})


BETTER_FIRST = [
    (verdict(), Quality.UNSYNCED, verdict(decision=Decision.UNSYNCED_ONLY), Quality.SYNCED),
    (verdict(), Quality.SYNCED, verdict(album_equal=True), Quality.UNSYNCED),
    (verdict(evidence=Evidence.EXACT), Quality.SYNCED, verdict(album_equal=True), Quality.SYNCED),
    (verdict(), Quality.SYNCED, verdict(evidence=Evidence.FAIR, album_equal=True), Quality.SYNCED),
    (verdict(album_equal=True), Quality.SYNCED, verdict(delta_s=0.0), Quality.SYNCED),
    (verdict(delta_s=0.5), Quality.SYNCED, verdict(), Quality.SYNCED),
    (verdict(), Quality.SYNCED, verdict(delta_s=None), Quality.SYNCED),
    (verdict(), Quality.UNSYNCED, verdict(album_equal=True), Quality.INSTRUMENTAL),
    (verdict(delta_s=0.5), Quality.SYNCED, verdict(title_literal=True), Quality.SYNCED),
    (verdict(title_literal=True), Quality.SYNCED, verdict(artist_literal=True), Quality.SYNCED),
    (verdict(artist_literal=True), Quality.SYNCED, verdict(), Quality.SYNCED),
]


@pytest.mark.parametrize(("good", "good_quality", "poor", "poor_quality"), BETTER_FIRST)
def test_candidates_are_ordered_by_match_then_quality_then_evidence(
    good, good_quality, poor, poor_quality
):
    ranked = rank([(0, poor, poor_quality), (1, good, good_quality)])
    assert [place for place, _, _ in ranked] == [1, 0]


@pytest.mark.parametrize("title", ["In the Flesh", "In the Flesh?", "in the flesh?"])
def test_without_lengths_the_answer_spelled_as_asked_comes_first(title):
    wanted = asked(title=title, duration_ms=None)
    titles = ["In the Flesh!", "In the Flesh?", "In the Flesh"]
    rows = [
        (place, judge_match(wanted, answer(title=each, duration_ms=None)), Quality.SYNCED)
        for place, each in enumerate(titles)
    ]
    ranked = [titles[place] for place, _, _ in rank(rows)]
    assert len(ranked) == 3
    assert ranked[0].lower() == title.lower()
    assert ranked[1:] == [each for each in titles if each != ranked[0]]


def test_words_only_candidates_gain_nothing_from_their_cues():
    words_only = verdict(decision=Decision.UNSYNCED_ONLY)
    ranked = rank([(0, words_only, Quality.UNSYNCED), (1, words_only, Quality.SYNCED)])
    assert [place for place, _, _ in ranked] == [0, 1]


def test_equal_candidates_keep_the_order_of_the_lane_and_rejected_ones_are_left_out():
    rejected = verdict(decision=Decision.REJECT)
    rows = [
        (2, verdict(), Quality.SYNCED),
        (0, rejected, Quality.SYNCED),
        (1, verdict(), Quality.SYNCED),
    ]
    assert [place for place, _, _ in rank(rows)] == [1, 2]
