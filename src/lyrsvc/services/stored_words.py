"""Lyrics that are at hand already: left behind by an attempt, in the cache, or in the tags.

Whatever it is, it is judged again with the data of each file it is to stand beside.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lyrsvc.core.item import NOT_RUN, DetectorFinding, TargetStatus, WorkItem
from lyrsvc.core.keys import NEAR_MS
from lyrsvc.core.outcome import Attempt, Served
from lyrsvc.core.result import Accepted
from lyrsvc.core.resume import Detected, Found
from lyrsvc.core.settling import TargetEnd
from lyrsvc.core.sidecar import FetchMode, OnDisk
from lyrsvc.services.embedding import LANE as EMBEDDED
from lyrsvc.services.embedding import extracted, words_inside
from lyrsvc.services.listening import marker, recalled
from lyrsvc.services.lookup import Lookup
from lyrsvc.services.routing import cache_key
from lyrsvc.services.target_writing import Spot, Told
from lyrsvc.store import lyrics_cache
from lyrsvc.store.database import Database
from lyrsvc.store.lyrics_cache import CachedLyrics, CacheKey


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """Lyrics to be written, where, and how they came.

    With a ``key`` they are new and go to the cache; with a ``cache_id`` they are there.
    ``resumed`` ones were recorded by an attempt before this one.
    """

    accepted: Accepted
    spots: tuple[Spot, ...]
    attempts: tuple[Attempt, ...] = ()
    key: CacheKey | None = None
    cache_id: int | None = None
    from_cache: bool = False
    resumed: bool = False
    heard: DetectorFinding = NOT_RUN
    detected: Detected | None = None


class StoredWords:
    """Finds lyrics without asking anybody."""

    def __init__(self, db: Database, lookup: Lookup, *, embedded: str = "off") -> None:
        self._db = db
        self._lookup = lookup
        self._embedded = embedded

    def find(self, item: WorkItem, spots: Sequence[Spot]) -> Source | None:
        """Give what is at hand, for as many of the spots as it serves; the first that has any."""
        return self._resumed(item, spots) or self._inside(item, spots) or self._cached(item, spots)

    def left_behind(self, item: WorkItem) -> Served | None:
        """Give what an attempt had found when it was cut short, for the credit of its lane."""
        left = item.resume
        if not isinstance(left, Found) or left.from_cache or not left.answers:
            return None
        with self._db.read() as tx:
            row = lyrics_cache.get(tx, left.cache_id)
        return Served(accepted=row.accepted, attempts=left.answers) if row else None

    def respects(self, spot: Spot) -> bool:
        """Tell whether a bare file is left alone because it has lyrics in its tags."""
        if self._embedded != "respect" or spot.beside.state is not OnDisk.NOTHING:
            return False
        audio = spot.target.source_path
        return bool(audio) and words_inside(Path(audio)) is not None

    def served_by(
        self, accepted: Accepted, item: WorkItem, spots: Sequence[Spot]
    ) -> tuple[Spot, ...]:
        """Give the spot that was asked for and those a new result fits; others ask themselves."""
        asked_for, *others = spots
        copies = (spot for spot in others if _are_copies(asked_for, spot))
        return (asked_for, *(spot for spot in copies if self._judged(item, spot, accepted)))

    def fitted(self, item: WorkItem, spot: Spot, source: Source) -> Accepted | None:
        """Judge a result with one file's own data; None when it does not fit there."""
        if source.detected is not None or source.accepted.lane == EMBEDDED:
            return source.accepted
        return self._judged(item, spot, source.accepted)

    def _resumed(self, item: WorkItem, spots: Sequence[Spot]) -> Source | None:
        left = item.resume
        if isinstance(left, Detected):
            finding = recalled(left)
            return Source(
                accepted=marker(item, finding.detected_at),
                spots=tuple(spots),
                attempts=left.answers,
                resumed=True,
                heard=finding,
                detected=left,
            )
        if not isinstance(left, Found):
            return None
        with self._db.read() as tx:
            row = lyrics_cache.get(tx, left.cache_id)
        if row is None:
            return None
        if left.from_cache:
            spots = [spot for spot in spots if self._is_served_by(row, item, spot)]
        spots = [spot for spot in spots if self._judged(item, spot, row.accepted)]
        if not spots:
            return None
        return Source(
            accepted=row.accepted,
            spots=self.served_by(row.accepted, item, spots),
            attempts=left.answers,
            from_cache=left.from_cache,
            resumed=True,
        )

    def _inside(self, item: WorkItem, spots: Sequence[Spot]) -> Source | None:
        """Give the words in the tags of the first bare file that has some."""
        if self._embedded != "extract":
            return None
        for spot in spots:
            if spot.beside.state is not OnDisk.NOTHING or not spot.target.source_path:
                continue
            tags = words_inside(Path(spot.target.source_path))
            if tags and (accepted := extracted(tags, item.recording_for(spot.target))):
                return Source(accepted=accepted, spots=(spot,))
        return None

    def _cached(self, item: WorkItem, spots: Sequence[Spot]) -> Source | None:
        """Give the row of the first spot that has one, for all spots it serves."""
        rows = [(spot, self._row(item, spot)) for spot in spots]
        first = next((row for _, row in rows if row), None)
        if first is None:
            return None
        served = tuple(spot for spot, row in rows if row and row.id == first.id)
        return Source(accepted=first.accepted, spots=served, cache_id=first.id, from_cache=True)

    def _row(self, item: WorkItem, spot: Spot) -> CachedLyrics | None:
        target = spot.target
        with self._db.read() as tx:
            row = lyrics_cache.find(tx, cache_key(item, target), mode=target.mode)
        return row if row and self._judged(item, spot, row.accepted) else None

    def _is_served_by(self, row: CachedLyrics, item: WorkItem, spot: Spot) -> bool:
        found = self._row(item, spot)
        return found is not None and found.id == row.id

    def _judged(self, item: WorkItem, spot: Spot, accepted: Accepted) -> Accepted | None:
        served = self._lookup.serve_again(item.recording_for(spot.target), accepted)
        return served.accepted if served else None


def _are_copies(one: Spot, other: Spot) -> bool:
    """Tell whether two files may share a result, as the cache would have it."""
    lengths = one.target.duration_ms, other.target.duration_ms
    return not all(lengths) or abs(lengths[0] - lengths[1]) <= NEAR_MS


def unstored(told: Told, source: Source) -> Told:
    """Leave a target open for better lyrics when only its own tags have served it."""
    end = told.report.end
    raised = end.mode is not FetchMode.NORMAL
    if source.accepted.lane != EMBEDDED or not raised or not end.result.is_served:
        return told
    still_open = TargetEnd(target_id=end.target_id, status=TargetStatus.PENDING, mode=end.mode)
    return replace(told, report=replace(told.report, end=still_open))
