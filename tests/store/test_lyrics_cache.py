"""The cache: found by name and length, and better never yields to worse."""

import pytest

from lyrsvc.core.judging import RULES_VERSION
from lyrsvc.core.lyrics import Quality
from lyrsvc.core.sidecar import FetchMode
from lyrsvc.store import lyrics_cache
from lyrsvc.store.lyrics_cache import CacheKey
from queue_cases import HOUR, NOW, some_lyrics

NAME = ("quillon marsh", "tidewater")


def key(seconds=None):
    return CacheKey(artist_key=NAME[0], title_key=NAME[1], duration_ms=int((seconds or 0) * 1000))


@pytest.fixture
def keep(db):
    def keep(seconds, lane="lrclib", quality=Quality.SYNCED, **options):
        accepted = some_lyrics(lane, quality)
        return db.write(
            lambda tx: lyrics_cache.keep(tx, key(seconds), accepted, now=NOW, **options)
        )

    return keep


@pytest.fixture
def find(db):
    def find(seconds, mode=FetchMode.NORMAL):
        with db.read() as tx:
            found = lyrics_cache.find(tx, key(seconds), mode=mode)
            assert lyrics_cache.may_serve(tx, key(seconds), mode=mode) == (found is not None)
            return found.accepted.lane if found else None

    return find


def test_a_result_comes_back_whole_with_its_lane_and_time(db, keep):
    cache_id = keep(200)
    with db.read() as tx:
        found = lyrics_cache.find(tx, key(200))
        assert lyrics_cache.get(tx, cache_id) == found
        assert lyrics_cache.get(tx, 99) is None
    assert found.accepted == some_lyrics()
    assert (found.id, found.rules_version) == (cache_id, RULES_VERSION)


@pytest.mark.parametrize(
    ("stored", "asked", "found"),
    [
        (200, 200, True),
        (200, 203, True),
        (200, 203.001, False),
        (200, 197, True),
        (200, 196.999, False),
        (199.9, 200.1, True),
        (204.9, 207.9, True),
        (3, 4.5, True),
        (4, 6, True),
        (6, 4, True),
        (4, 7.5, False),
    ],
)
def test_a_row_serves_lengths_up_to_three_seconds_away_across_buckets(
    keep, find, stored, asked, found
):
    keep(stored)
    assert find(asked) == ("lrclib" if found else None)


def test_of_several_rows_the_nearest_in_length_serves(keep, find):
    for seconds, lane in ((197, "below"), (201, "near"), (205, "above")):
        keep(seconds, lane)
    assert [find(seconds) for seconds in (198, 200, 202.9, 203.5, 208, 209)] == [
        "below",
        "near",
        "near",
        "above",
        "above",
        None,
    ]


@pytest.mark.parametrize(
    ("quality", "found"),
    [(Quality.UNSYNCED, True), (Quality.INSTRUMENTAL, True), (Quality.SYNCED, False)],
)
def test_a_row_of_unknown_length_serves_a_known_one_only_without_timing(keep, find, quality, found):
    keep(None, quality=quality)
    assert find(200) == ("lrclib" if found else None)
    assert find(None) == "lrclib"


def test_a_row_of_known_length_never_serves_an_unknown_one(keep, find):
    keep(200)
    assert find(None) is None


def test_a_near_row_beats_the_one_of_unknown_length(keep, find):
    keep(None, "unknown", Quality.UNSYNCED)
    keep(201, "near", Quality.UNSYNCED)
    assert (find(200), find(300)) == ("near", "unknown")


def test_a_very_short_track_of_known_length_is_not_taken_for_an_unknown_one(keep, find):
    keep(3, quality=Quality.UNSYNCED)
    assert find(200) is None


@pytest.mark.parametrize("mode", [FetchMode.UPDATE, FetchMode.FORCE])
def test_an_update_passes_over_the_cache(keep, find, mode):
    keep(200)
    assert find(200, mode) is None


def test_for_an_upgrade_only_synced_lyrics_count(keep, find):
    keep(200, quality=Quality.UNSYNCED)
    assert find(200, FetchMode.UPGRADE) is None
    keep(200, "synced")
    assert find(200, FetchMode.UPGRADE) == "synced"


def test_worse_never_replaces_better_except_with_an_update(keep, find):
    first = keep(200, "synced", Quality.SYNCED)
    assert keep(200, "plain", Quality.UNSYNCED) is None
    assert find(200) == "synced"
    assert keep(200, "again", Quality.SYNCED) == first
    assert find(200) == "again"
    assert keep(200, "words", Quality.WORD_SYNCED) == first
    assert keep(200, "forced", Quality.INSTRUMENTAL, update=True) == first
    assert find(200) == "forced"


def test_nothing_is_never_stored(keep):
    assert keep(200, quality=Quality.NONE) is None


def test_other_titles_are_never_found(keep, db):
    keep(200)
    with db.read() as tx:
        other = CacheKey(artist_key=NAME[0], title_key="tidewater ii", duration_ms=200_000)
        assert lyrics_cache.find(tx, other) is None


def test_a_row_that_cannot_be_read_is_no_hit(db, keep):
    cache_id = keep(200)
    db.write(lambda tx: tx.run("UPDATE lyrics_cache SET body = '{'"))
    with db.read() as tx:
        assert lyrics_cache.find(tx, key(200)) is None
        assert lyrics_cache.get(tx, cache_id) is None


def test_a_result_without_a_time_was_fetched_now(db):
    accepted = some_lyrics(fetched_at=None)
    db.write(lambda tx: lyrics_cache.keep(tx, key(200), accepted, now=NOW + HOUR))
    with db.read() as tx:
        assert lyrics_cache.find(tx, key(200)).accepted.fetched_at == NOW + HOUR


def test_the_lookup_uses_the_unique_index(db):
    with db.read() as tx:
        plan = tx.all(
            "EXPLAIN QUERY PLAN " + lyrics_cache._ROWS, artist="a", title="t", low=1, high=3
        )
    assert all("SCAN" not in row["detail"] for row in plan), plan
