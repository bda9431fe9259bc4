"""Whether an item can be served from what is here, or needs a lane."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from lyrsvc.core.item import Route, Target, WorkItem
from lyrsvc.core.resume import Detected, Found
from lyrsvc.core.sidecar import FetchMode
from lyrsvc.store import lyrics_cache
from lyrsvc.store.lyrics_cache import CacheKey

if TYPE_CHECKING:
    from lyrsvc.store.transaction import Tx


def route_of(tx: "Tx", item: WorkItem, targets: Iterable[Target]) -> Route:
    """Choose the local route when something was found before, or the cache may serve all."""
    if isinstance(item.resume, Found | Detected):
        return Route.LOCAL
    wanted = {(t.duration_ms or item.duration_ms, t.mode) for t in targets if t.is_open}
    served = all(
        lyrics_cache.may_serve(tx, cache_key(item, duration_ms), mode=mode)
        for duration_ms, mode in wanted or {(item.duration_ms, FetchMode.NORMAL)}
    )
    return Route.LOCAL if served else Route.REMOTE


def cache_key(item: WorkItem, duration_ms: int = 0) -> CacheKey:
    """Give the key under which the cache knows an item's recording."""
    return CacheKey(
        artist_key=item.artist_key,
        title_key=item.title_key,
        duration_ms=duration_ms or item.duration_ms,
    )
