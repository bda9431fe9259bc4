"""What is asked of the queue over HTTP, and the answers that only the queue gives."""

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from lyrsvc.web.shapes import (
    HistoryRow,
    Id,
    Item,
    Library,
    ListQuery,
    Moment,
    ResultClass,
    Status,
)

MOST_NAMED: Final = 10_000

Ids = Annotated[list[Id], Meta(max_length=MOST_NAMED)]
Name = Annotated[str, Meta(min_length=1, max_length=1000)]
Label = Annotated[str, Meta(max_length=200)]


class QueueQuery(ListQuery):
    """Which items, in which order."""

    status: tuple[Status, ...] = ()
    library: Library | None = None
    lane: Label | None = None
    reason: Label | None = None
    result: ResultClass | None = None
    sort: Literal["id", "priority", "due_at", "completed_at", "artist", "title"] = "priority"


class NextQuery(msgspec.Struct, forbid_unknown_fields=True):
    """How far to look ahead."""

    limit: Annotated[int, Meta(ge=1, le=50)] = 10


class LaneAttempt(msgspec.Struct):
    """What a lane answered last about a track."""

    hit: bool
    answer: str
    reason: str | None
    evidence: dict[str, Any]
    attempted_at: Moment


class ItemDetail(Item):
    """An item with what each lane answered and what happened to it last."""

    attempts_by_lane: dict[str, LaneAttempt]
    history: list[HistoryRow]


class TrackWish(msgspec.Struct, forbid_unknown_fields=True):
    """A track to find lyrics for; ``path`` is its audio file inside a library."""

    artist: Name
    title: Name
    album: Annotated[str, Meta(max_length=1000)] = ""
    path: Annotated[str, Meta(max_length=4096)] | None = None


class RetryWish(msgspec.Struct, forbid_unknown_fields=True):
    """Which failed items: named ones, those of a reason, or all."""

    ids: Ids | None = None
    reason: Label | None = None
    all: bool = False


class Retried(msgspec.Struct):
    """How many items are pending again, and how many were not failed."""

    retried: int
    refused: int


class RecheckWish(msgspec.Struct, forbid_unknown_fields=True):
    """Which items: named ones, or all that are deferred or were given up."""

    ids: Ids | None = None
    kind: Literal["deferred", "retired"] | None = None
    library: Library | None = None


class Rechecked(msgspec.Struct):
    """How many items are due now."""

    due: int


class ClearWish(msgspec.Struct, forbid_unknown_fields=True):
    """Which items are deleted; without ``confirm`` they are only counted."""

    status: Literal["done"]
    confirm: bool = False


class Cleared(msgspec.Struct):
    """How many items there are to delete, and how many were."""

    would_delete: int
    deleted: int
