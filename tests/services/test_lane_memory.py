"""The stored cache as lookups see it."""

from lyrsvc.core.lyrics import Quality
from lyrsvc.core.sidecar import FetchMode
from lyrsvc.services.lane_memory import StoredCache
from lyrsvc.store import lyrics_cache
from lyrsvc.store.lyrics_cache import CacheKey
from queue_cases import NOW, a_recording, some_lyrics


def test_lookups_find_what_was_recorded_and_record_nothing_themselves(db):
    cache, recording = StoredCache(db), a_recording()
    cache.keep(recording, some_lyrics())
    assert cache.find(recording) is None
    plain = some_lyrics(quality=Quality.UNSYNCED)
    key = CacheKey.of(recording)
    cache_id = db.write(lambda tx: lyrics_cache.keep(tx, key, plain, now=NOW))
    assert cache.find(recording) == plain
    assert cache.get(cache_id) == cache.find_row(recording)
    assert cache.find_row(recording, mode=FetchMode.UPGRADE) is None
    assert cache.find(a_recording(seconds=260)) is None
