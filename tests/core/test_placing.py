"""Which file names a song that several share, and what a target keeps."""

from dataclasses import replace

import pytest

from lyrsvc.core.item import Result, Status, TargetOrigin, TargetResult, TargetStatus
from lyrsvc.core.placing import (
    chosen,
    is_about,
    missed,
    names_of,
    new_target,
    re_sourced,
    speaks_first,
)
from queue_cases import NOW, a_recording, a_spot, a_target, a_wish, an_item

FLAC = a_target(source_path="/music/x.flac", out_stem="x", duration_ms=200_000)


def wish_for(source, **fields):
    return replace(a_wish(**fields), spot=a_spot("x", source_path=source))


def test_the_item_of_a_wish_is_the_one_of_its_length():
    items = [an_item(id=1), an_item(id=2, duration_bucket=40)]
    assert chosen(items, a_wish(seconds=200), 40, None).id == 2
    assert chosen(items, a_wish(seconds=300), 60, None) is None
    assert chosen(items, a_wish(seconds=None), 0, None).id == 1
    assert chosen(items[1:], a_wish(seconds=None), 0, None).id == 2
    assert chosen(items, a_wish(seconds=None), 0, a_target(item_id=2)).id == 2
    assert chosen([], a_wish(), 40, None) is None


@pytest.mark.parametrize(
    ("source", "status", "speaks"),
    [
        ("/music/x.flac", TargetStatus.PENDING, True),
        ("/music/x.aac", TargetStatus.PENDING, True),
        ("/music/x.mp3", TargetStatus.PENDING, False),
        ("/music/x.mp3", TargetStatus.PARKED, True),
        ("", TargetStatus.PARKED, False),
    ],
)
def test_the_first_file_of_a_stem_or_the_one_that_is_left_speaks_for_it(source, status, speaks):
    assert speaks_first(replace(FLAC, status=status), wish_for(source)) is speaks
    assert not speaks_first(FLAC, a_wish(stem=None))


def test_what_is_known_of_the_same_file_is_not_forgotten():
    known = wish_for("/music/x.flac", recording=a_recording(seconds=None))
    again = re_sourced(FLAC, known)
    assert (again.library_id, again.origin, again.duration_ms) == (
        1,
        TargetOrigin.INVENTORY,
        200_000,
    )
    other = re_sourced(FLAC, wish_for("/music/x.aac", recording=a_recording(seconds=None)))
    assert (other.library_id, other.origin, other.duration_ms) == (None, TargetOrigin.PATH, 0)
    assert re_sourced(FLAC, a_wish(stem=None)) is FLAC


def test_a_target_needs_a_place_and_only_libraries_have_an_inventory():
    with pytest.raises(ValueError, match="place"):
        new_target(a_wish(stem=None), 1)
    assert new_target(a_wish(), 1).origin is TargetOrigin.PATH
    spot = a_spot(library_id=3)
    assert new_target(replace(a_wish(), spot=spot), 1).origin is TargetOrigin.INVENTORY


@pytest.mark.parametrize("outcome", [Result.MISS, Result.REJECTED])
def test_a_target_of_an_item_given_up_shares_its_fate(outcome):
    item = an_item(status=Status.DONE, outcome=outcome, completed_at=NOW)
    end = missed(a_target(), item, NOW)
    assert (end.status, end.result) == (TargetStatus.DONE, TargetResult(str(outcome)))


@pytest.mark.parametrize(
    ("fields", "same"),
    [
        ({}, True),
        ({"album": "Another"}, True),
        ({"title": "Another"}, False),
        ({"artist": "Another", "artists": ("Another",)}, False),
        ({"duration_ms": 204_000}, True),
        ({"duration_ms": 206_000}, False),
        ({"duration_ms": None}, True),
        ({"title": "Another", "low_confidence": True}, True),
        ({"title": ""}, True),
    ],
)
def test_an_item_asks_for_the_song_of_a_file_while_names_and_length_agree(fields, same):
    recording = a_recording(seconds=200)
    artist, title = names_of(a_wish(seconds=200))
    item = an_item(artist_key=artist, title_key=title, duration_bucket=40)
    assert is_about(item, replace(recording, **fields)) is same
