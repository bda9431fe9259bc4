"""Placing the wishes for which nothing is there yet, all at once.

The rules are those of :mod:`lyrsvc.services.enqueueing`; only a wish that those would
give a new item of its own is placed here. It may not share a name or a stem with a
wish before it, so that it makes no difference that the others are placed after it.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from lyrsvc.core import placing
from lyrsvc.core.detection import decide_detection
from lyrsvc.core.item import Route
from lyrsvc.core.keys import duration_bucket
from lyrsvc.core.merging import Effect
from lyrsvc.core.ptext import clean_text, path_hash, to_ptext
from lyrsvc.core.scan_facts import names_text
from lyrsvc.core.waiting import ready_key
from lyrsvc.core.wish import Spot, Wish
from lyrsvc.services.placement import Overrides, Placed, Terms
from lyrsvc.store import fresh_items, history, lyrics_cache
from lyrsvc.store.counts import Tally
from lyrsvc.store.fresh_items import FreshItem, FreshTarget, Met, Wanted
from lyrsvc.store.history import News
from lyrsvc.store.lyrics_cache import CacheKey
from lyrsvc.store.targets import stem_hash

if TYPE_CHECKING:
    from lyrsvc.store.transaction import Tx

_COUNTED: Final = re.compile(r" \(\d+\)$")


class _Asked(NamedTuple):
    """A wish that may be placed here, and what it is found by."""

    place: int
    wish: Wish
    spot: Spot
    names: tuple[str, str]
    bucket: int
    out_hash: str


class _Relations:
    """Which wishes of a call share a name or a stem."""

    def __init__(self, wishes: Sequence[Wish], output_dir: str) -> None:
        self.alone: list[_Asked] = []
        """Wishes that share nothing with one before them."""
        self._output_dir = output_dir
        self._met: set[tuple[str, str] | str] = set()
        self._shared: set[tuple[str, str] | str] = set()
        for index, wish in enumerate(wishes):
            self._add(index, wish)

    def has_followers(self, asked: _Asked) -> bool:
        """Tell whether a later wish shares something with this one."""
        return asked.names in self._shared or asked.out_hash in self._shared

    def _add(self, index: int, wish: Wish) -> None:
        names = placing.names_of(wish)
        if not all(names):
            return
        spot = wish.spot or placing.fallback_spot(wish, self._output_dir)
        out_hash = stem_hash(spot.out_dir, spot.out_stem)
        shared = self._met & {names, out_hash}
        self._shared |= shared
        self._met |= {names, out_hash}
        if not shared and not self._may_be_counted(spot):
            bucket = duration_bucket(wish.recording.duration_ms)
            self.alone.append(_Asked(index, wish, spot, names, bucket, out_hash))

    def _may_be_counted(self, spot: Spot) -> bool:
        """Tell whether a stem looks like the second of a name, which another wish may take."""
        return spot.out_dir == self._output_dir and _COUNTED.search(spot.out_stem) is not None


def place_fresh(
    tx: "Tx", wishes: Sequence[Wish], terms: Terms, tally: Tally
) -> list[Placed | None]:
    """Place what needs no care; None stands for every wish that is left to the desk."""
    placed: list[Placed | None] = [None] * len(wishes)
    relations = _Relations(wishes, terms.output_dir)
    if not relations.alone:
        return placed
    met = fresh_items.meet(tx, [Wanted(*each.names, each.out_hash) for each in relations.alone])
    fresh = _unknown(relations.alone, met)
    if not fresh:
        return placed
    served = _served(tx, fresh, met)
    overrides = Overrides(tx)
    items = [_item(each, terms, overrides, served=each.place in served) for each in fresh]
    targets = [_target(each) for each in fresh]
    ids = fresh_items.insert(tx, items, targets, tally, now=terms.now)
    for each, (item_id, target_id) in zip(fresh, ids, strict=True):
        placed[each.place] = Placed(
            effect=Effect.ENQUEUED,
            item_id=item_id,
            target_id=target_id,
            is_fresh=not relations.has_followers(each),
            is_local=each.place in served,
        )
    news = [
        _news(each, item, item_id)
        for each, item, (item_id, _) in zip(fresh, items, ids, strict=True)
        if each.wish.origin.urgent  # a first scan would only repeat what the inventory says
    ]
    history.add_enqueued(tx, news, now=terms.now)
    return placed


def _unknown(asked: Sequence[_Asked], met: Met) -> list[_Asked]:
    """Leave out what meets an item or a target.

    Without a length, or when somebody waits, every namesake is met.
    """
    namesakes = {(artist, title) for artist, title, _ in met.items}
    return [
        each
        for each in asked
        if each.out_hash not in met.stems
        and (each.names not in namesakes or _has_own_length(each, met.items))
    ]


def _has_own_length(asked: _Asked, items: set[tuple[str, str, int]]) -> bool:
    if asked.wish.origin.urgent or not asked.wish.recording.duration_ms:
        return False
    return (*asked.names, asked.bucket) not in items


def _served(tx: "Tx", fresh: Sequence[_Asked], met: Met) -> set[int]:
    """Give the wishes the cache may serve."""
    return {
        each.place
        for each in fresh
        if each.names in met.cached
        and lyrics_cache.may_serve(
            tx,
            CacheKey(
                artist_key=each.names[0],
                title_key=each.names[1],
                duration_ms=each.wish.recording.duration_ms or 0,
            ),
            mode=each.wish.mode,
        )
    }


def _item(asked: _Asked, terms: Terms, overrides: Overrides, *, served: bool) -> FreshItem:
    wish = asked.wish
    recording = wish.recording
    detect, origin = decide_detection(
        wish.detect, [overrides.of(asked.spot.library_id)], default=terms.detect_default
    )
    return FreshItem(
        clean_text(recording.artist or ", ".join(recording.artists)),
        clean_text(names_text(recording.artists)),
        clean_text(recording.title),
        clean_text(recording.album),
        clean_text(recording.album_artist),
        *asked.names,
        asked.bucket,
        recording.duration_ms or 0,
        ",".join(recording.isrcs),
        recording.mbid or "",
        recording.low_confidence,
        wish.urgency,
        Route.LOCAL if served else Route.REMOTE,
        ready_key(terms.now, wish.urgency, terms.chance),
        terms.provider_set_version,
        detect,
        str(origin),
    )


def _target(asked: _Asked) -> FreshTarget:
    spot = asked.spot
    return FreshTarget(
        spot.library_id,
        str(placing.origin_of(spot)),
        to_ptext(spot.source_path),
        path_hash(spot.source_path) if spot.source_path else "",
        to_ptext(spot.out_dir),
        to_ptext(spot.out_stem),
        asked.out_hash,
        asked.wish.recording.duration_ms or 0,
        str(asked.wish.mode),
    )


def _news(asked: _Asked, item: FreshItem, item_id: int) -> News:
    wish = asked.wish
    library_id = wish.spot.library_id if wish.spot else None
    by = wish.by or str(wish.origin)
    return News(item_id, library_id, item.artist, item.title, item.album, by)
