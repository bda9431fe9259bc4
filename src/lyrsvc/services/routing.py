"""Whether an item can be served from what is here, or needs a lane."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from lyrsvc.core.item import Route, Target, TargetTrait, WorkItem
from lyrsvc.core.resume import Detected, Found
from lyrsvc.core.sidecar import FetchMode
from lyrsvc.store import lyrics_cache
from lyrsvc.store.lyrics_cache import CacheKey

if TYPE_CHECKING:
    from lyrsvc.store.transaction import Tx


def route_of(
    tx: "Tx",
    item: WorkItem,
    targets: Iterable[Target | TargetTrait],
    *,
    may_be_cached: bool = True,
) -> Route:
    """Choose the local route when something was found before, or the cache may serve all."""
    if isinstance(item.resume, Found | Detected):
        return Route.LOCAL
    if not may_be_cached:
        return Route.REMOTE
    wanted = {(cache_key(item, t), t.mode) for t in targets if t.is_open}
    served = all(
        lyrics_cache.may_serve(tx, key, mode=mode)
        for key, mode in wanted or {(cache_key(item), FetchMode.NORMAL)}
    )
    return Route.LOCAL if served else Route.REMOTE


def cache_key(item: WorkItem, target: Target | TargetTrait | None = None) -> CacheKey:
    """Give the key under which the cache knows a recording, or one file of it.

    A file of unknown length is no copy of one whose length is known; without a file
    the length of the recording counts.
    """
    own = target is not None and target.has_file
    length = target.duration_ms if target is not None else 0
    return CacheKey(
        artist_key=item.artist_key,
        title_key=item.title_key,
        duration_ms=length if own else length or item.duration_ms,
    )
