"""Merging: what a wish does to an item that is there already.

One table, one decision: the status of the item against who wishes and how far the
fetch may go. Everything else about a wish (display names, detection, route) is
settled elsewhere.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum, StrEnum
from random import Random
from typing import Final

from lyrsvc.core import requeueing
from lyrsvc.core.item import Status, Target, TargetStatus, WorkItem
from lyrsvc.core.recording import Recording
from lyrsvc.core.resume import Partial
from lyrsvc.core.sidecar import FetchMode
from lyrsvc.core.waiting import lined_up
from lyrsvc.core.wish import Wish

_MODES: Final = tuple(FetchMode)


class Step(StrEnum):
    """What is done to the item."""

    NOTHING = "nothing"
    JOIN = "join"
    HASTEN = "hasten"
    BOOST = "boost"
    RERUN = "rerun"
    REOPEN = "reopen"
    SEEK = "seek"


class TargetStep(StrEnum):
    """What is done to the wish's own target."""

    LEAVE = "leave"
    OPEN = "open"
    MISS = "miss"


class Effect(StrEnum):
    """What a wish came to, as webhooks and scans count it."""

    ENQUEUED = "enqueued"
    REFRESHED = "refreshed"
    ALREADY_DONE = "already_done"
    SKIPPED = "skipped"


class _Column(Enum):
    SCAN = 0
    UPGRADE = 1
    UPDATE = 2
    URGENT = 3


@dataclass(frozen=True, slots=True)
class Decision:
    """The row of the table that applies."""

    step: Step
    target: TargetStep = TargetStep.LEAVE

    @property
    def effect(self) -> Effect:
        """Name it for whoever counts."""
        match self.step:
            case Step.NOTHING:
                return Effect.ALREADY_DONE
            case Step.REOPEN | Step.SEEK:
                return Effect.ENQUEUED
            case _:
                return Effect.REFRESHED


_OPEN, _MISS, _LEAVE = TargetStep.OPEN, TargetStep.MISS, TargetStep.LEAVE
_JOIN, _HASTEN = Decision(Step.JOIN, _OPEN), Decision(Step.HASTEN, _OPEN)
_BOOST, _RERUN = Decision(Step.BOOST, _OPEN), Decision(Step.RERUN, _OPEN)
_REOPEN, _SEEK = Decision(Step.REOPEN, _OPEN), Decision(Step.SEEK, _OPEN)
_NOTHING, _NOTE_MISS = Decision(Step.NOTHING, _LEAVE), Decision(Step.NOTHING, _MISS)

_TABLE: Final[Mapping[Status, tuple[Decision, Decision, Decision, Decision]]] = {
    #                   scan   --upgrade --update, words at hand  webhook, search
    Status.PENDING: (_JOIN, _HASTEN, _HASTEN, _BOOST),
    Status.PROCESSING: (_RERUN, _RERUN, _RERUN, _RERUN),
    Status.FAILED: (_JOIN, _JOIN, _JOIN, _BOOST),
    Status.DEFERRED: (_JOIN, _JOIN, _HASTEN, _BOOST),
}
_DONE_WITH_LYRICS: Final = (_REOPEN, _REOPEN, _REOPEN, _REOPEN)
_DONE_WITHOUT: Final = (_NOTE_MISS, _NOTE_MISS, _SEEK, _SEEK)


def decide(item: WorkItem, wish: Wish, target: Target | None) -> Decision:
    """Choose what a wish does; ``target`` is the one it has at this item already."""
    column = _column(wish)
    if item.status is Status.DONE:
        row = _DONE_WITHOUT if item.outcome.is_miss else _DONE_WITH_LYRICS
        chosen = row[column.value]
        return _NOTHING if chosen is _REOPEN and not _wants_more(wish) else chosen
    chosen = _TABLE[item.status][column.value]
    if chosen is _RERUN and column is not _Column.URGENT and not _adds(wish, target):
        return Decision(Step.JOIN, _LEAVE)
    return chosen


def apply(
    item: WorkItem, wish: Wish, decision: Decision, *, now: datetime, chance: Random
) -> WorkItem:
    """Give the item after the step; its place in the queue follows from it."""
    urgency = wish.urgency
    match decision.step:
        case Step.NOTHING:
            after = item
        case Step.JOIN:
            after = _joined(item, wish, now=now, chance=chance)
        case Step.HASTEN:
            hurried = requeueing.hasten(item, now=now, chance=chance, priority=urgency)
            after = _stronger(hurried, wish)
        case Step.BOOST:
            boosted = requeueing.boost(item, now=now, chance=chance, priority=urgency)
            after = _stronger(boosted, wish)
        case Step.RERUN:
            after = _rerun(_stronger(item, wish), wish)
        case Step.REOPEN:
            after = requeueing.reopen(item, now=now, chance=chance, priority=urgency)
        case Step.SEEK:
            forget = wish.mode in (FetchMode.UPDATE, FetchMode.FORCE)
            after = requeueing.seek(
                item, now=now, chance=chance, priority=urgency, forget_misses=forget
            )
    return after


def raised(mode: FetchMode, wanted: FetchMode) -> FetchMode:
    """Give the stronger of two modes."""
    return max(mode, wanted, key=_MODES.index)


def described(item: WorkItem, recording: Recording) -> WorkItem:
    """Fill in what the item does not know yet; tags beat file names, ids are never emptied."""
    better = item.low_confidence and not recording.low_confidence

    def chosen(old: str, new: str) -> str:
        return new if new and (better or not old) else old

    artist = recording.artist or ", ".join(recording.artists)
    spelled_anew = bool(artist) and chosen(item.artist, artist) == artist
    known = replace(
        item,
        artist=chosen(item.artist, artist),
        artists=recording.artists if spelled_anew and recording.artists else item.artists,
        title=chosen(item.title, recording.title),
        album=chosen(item.album, recording.album),
        album_artist=chosen(item.album_artist, recording.album_artist),
        isrc=item.isrc or ",".join(recording.isrcs),
        mbid=item.mbid or recording.mbid or "",
        duration_ms=item.duration_ms or recording.duration_ms or 0,
        low_confidence=item.low_confidence and recording.low_confidence,
    )
    return item if known == item else known


def _column(wish: Wish) -> _Column:
    if wish.origin.urgent:
        return _Column.URGENT
    if wish.at_hand:  # nobody need be asked, so no cooldown is to be kept
        return _Column.UPDATE
    return {
        FetchMode.NORMAL: _Column.SCAN,
        FetchMode.UPGRADE: _Column.UPGRADE,
    }.get(wish.mode, _Column.UPDATE)


def _wants_more(wish: Wish) -> bool:
    """Tell whether a finished item has anything left to do for a wish."""
    if wish.mode is not FetchMode.NORMAL:
        return True
    return wish.has_sidecar is False if wish.spot is None else not wish.has_sidecar


def _adds(wish: Wish, target: Target | None) -> bool:
    """Tell whether a wish asks for more than the attempt under way looks after."""
    if target is None:
        return wish.spot is not None
    if raised(target.mode, wish.mode) is not target.mode:
        return True
    return target.status is not TargetStatus.PENDING and not wish.has_sidecar


def _joined(item: WorkItem, wish: Wish, *, now: datetime, chance: Random) -> WorkItem:
    """Merge a target; backoff and cooldown stay as they are, parked items wake up."""
    if item.status is Status.PROCESSING:
        return item
    item = _stronger(item, wish)
    if item.due_at is None and wish.spot is not None:
        return requeueing.due_now(item, now=now, chance=chance)
    if item.status is not Status.PENDING or wish.urgency <= item.priority:
        return item
    sooner = replace(item, priority=wish.urgency, ready_key=None)
    return lined_up(sooner, now, chance)


def _rerun(item: WorkItem, wish: Wish) -> WorkItem:
    if not wish.origin.urgent:
        return replace(item, rerun=True)
    priority = max(item.priority, wish.urgency)
    return replace(item, rerun=True, boosted=True, priority=priority)


def _stronger(item: WorkItem, wish: Wish) -> WorkItem:
    """Forget lyrics that were found for less than is wanted now."""
    if wish.mode is FetchMode.NORMAL or item.resume is None or isinstance(item.resume, Partial):
        return item
    return replace(item, resume=None)
