"""The table of transitions: complete, and nothing beside it."""

from dataclasses import replace

import pytest

from lyrsvc.core.claiming import Turns, claimed
from lyrsvc.core.errors import Refused
from lyrsvc.core.item import (
    RESULT_CLASSES,
    TRANSITIONS,
    WAITING,
    Event,
    Fate,
    OwnTags,
    Priority,
    Result,
    Status,
    move,
)
from queue_cases import NOW, a_target, an_item

TABLE = {
    "T1": ((None,), Status.PENDING),
    "T2": (WAITING, Status.PROCESSING),
    "T3": ((Status.PROCESSING,), Status.DONE),
    "T4": ((Status.PROCESSING,), Status.FAILED),
    "T5": ((Status.PROCESSING,), Status.DEFERRED),
    "T6": ((Status.PROCESSING,), Status.DONE),
    "T7": ((Status.PROCESSING,), Fate.BACK),
    "T8": ((Status.PROCESSING,), Fate.BACK),
    "T9": ((Status.PROCESSING,), Status.PENDING),
    "T10": ((Status.PROCESSING,), Status.DONE),
    "T11": ((Status.FAILED,), Status.PENDING),
    "T12": (WAITING, Fate.SAME),
    "T13": (WAITING, Fate.SAME),
    "T14": (WAITING, Fate.SAME),
    "T15": ((Status.DONE,), Status.PENDING),
    "T16": ((Status.DONE,), Status.PENDING),
    "T17": ((Status.DONE,), Status.DEFERRED),
    "T18": ((Status.DEFERRED,), Fate.SAME),
    "T19": ((Status.DONE,), Fate.GONE),
    "T20": (WAITING, Fate.GONE),
    "T21": (WAITING, Fate.SAME),
}


def test_the_table_has_its_21_rows_and_no_other():
    found = {row.number: (row.sources, row.leads_to) for row in TRANSITIONS.values()}
    assert found == TABLE
    assert set(TRANSITIONS) == set(Event)


@pytest.mark.seed("S-051")
@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("event", Event)
def test_an_event_moves_an_item_as_the_table_says_or_is_refused(event, status):
    item = an_item(status=status, claimed_from=Status.FAILED)
    sources, leads_to = TABLE[TRANSITIONS[event].number]
    if status not in sources:
        with pytest.raises(Refused, match=f"item 1 is {status}"):
            move(item, event)
    elif leads_to is Fate.BACK:
        assert move(item, event) is Status.FAILED
    elif isinstance(leads_to, Fate):
        assert move(item, event) is status
    else:
        assert move(item, event) is leads_to


@pytest.mark.seed("S-058")
def test_exactly_three_result_classes_are_shown():
    assert {str(result): shown for result, shown in RESULT_CLASSES.items()} == {
        "synced": "synced",
        "unsynced": "unsynced-or-instrumental",
        "instrumental": "unsynced-or-instrumental",
        "miss": "miss",
        "rejected": "miss",
    }
    assert [str(result) for result in Result if result.is_miss] == ["miss", "rejected"]


@pytest.mark.parametrize("status", WAITING)
def test_a_claim_remembers_where_it_came_from_and_raises_the_fence(status):
    item = an_item(status=status, ready_key=5, claim_seq=3)
    taken = claimed(item, owner="me", now=NOW)
    assert (taken.status, taken.claimed_from) == (Status.PROCESSING, status)
    assert (taken.ready_key, taken.claim_seq, taken.lease_owner) == (None, 4, "me")
    assert (taken.lease_until_at - NOW).total_seconds() == 120


def test_an_item_asks_lanes_as_it_was_tagged():
    item = an_item(
        artists=("Quillon Marsh", "Ada Fenn"), isrc="GBAYE0601498,USRC17607839", duration_ms=1000
    )
    recording = item.recording_for(a_target(duration_ms=2000))
    assert recording.artists == ("Quillon Marsh", "Ada Fenn")
    assert recording.isrcs == ("GBAYE0601498", "USRC17607839")
    assert (recording.duration_ms, str(recording.source_path)) == (2000, "/music/1.flac")
    assert an_item().recording.isrcs == ()
    assert an_item().recording.duration_ms is None


def test_an_answer_is_judged_with_the_tags_of_the_file_it_is_to_stand_beside():
    item = an_item(album="First", album_artist="Ana Rue", isrc="GBAYE0601498", mbid="m-1")
    own = OwnTags(album="Second", isrc="USRC17607839,USRC17607840", low_confidence=True)
    recording = item.recording_for(a_target(tags=own))
    assert (recording.album, recording.album_artist, recording.mbid) == ("Second", "", None)
    assert recording.isrcs == ("USRC17607839", "USRC17607840")
    assert recording.low_confidence
    assert item.recording_for(a_target()).album == "First"


def test_a_question_fills_the_gaps_of_a_file_from_its_copies():
    item = an_item(album="First", album_artist="Ana Rue", isrc="GBAYE0601498", mbid="m-1")
    question = item.question_for(a_target(tags=OwnTags(album="Second")))
    assert (question.album, question.album_artist) == ("Second", "Ana Rue")
    assert (question.isrcs, question.mbid) == (("GBAYE0601498",), "m-1")


def test_after_fifty_urgent_items_in_a_row_another_gets_its_turn():
    urgent = an_item(priority=Priority.WEBHOOK)
    turns = Turns()
    for _ in range(50):
        assert not turns.others_first
        turns = turns.after(urgent)
    assert turns.others_first
    assert not turns.after(replace(urgent, priority=0)).others_first
    assert not turns.after(urgent).others_first  # nobody else was waiting: counted anew
    assert turns.after(None) == turns
