"""The work item and its life.

A work item is the promise to find lyrics for one recording; its targets are the
sidecar stems to write. The status changes only as ``TRANSITIONS`` says; whatever is
not in that table is refused. Everything here is pure: time and chance are handed in,
and the store writes down what comes out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import Final, NamedTuple

from lyrsvc.core.errors import Refused
from lyrsvc.core.recording import Recording
from lyrsvc.core.resume import Resume
from lyrsvc.core.scan_facts import LastSeen
from lyrsvc.core.sidecar import FetchMode, Kind


class Status(StrEnum):
    """Where an item stands."""

    PENDING = "pending"
    PROCESSING = "processing"
    DONE = "done"
    FAILED = "failed"
    DEFERRED = "deferred"


WAITING: Final = (Status.PENDING, Status.FAILED, Status.DEFERRED)
"""Statuses from which an item is claimed once it is due."""


class Priority(IntEnum):
    """How urgent an item is; the larger the sooner."""

    WEBHOOK = 10
    SCAN = 0
    RECHECK = -100


class Route(IntEnum):
    """Whether an item can be served from here or needs a lane."""

    LOCAL = 0
    REMOTE = 1


class Result(StrEnum):
    """What a finished item found, in detail; its result class is coarser."""

    NONE = ""
    SYNCED = "synced"
    UNSYNCED = "unsynced"
    INSTRUMENTAL = "instrumental"
    MISS = "miss"
    REJECTED = "rejected"

    @property
    def has_lyrics(self) -> bool:
        """Tell whether something was found."""
        return self in (Result.SYNCED, Result.UNSYNCED, Result.INSTRUMENTAL)

    @property
    def is_miss(self) -> bool:
        """Tell whether the miss budget ran out."""
        return self in (Result.MISS, Result.REJECTED)


RESULT_CLASSES: Final[Mapping[Result, str]] = {
    Result.SYNCED: "synced",
    Result.UNSYNCED: "unsynced-or-instrumental",
    Result.INSTRUMENTAL: "unsynced-or-instrumental",
    Result.MISS: "miss",
    Result.REJECTED: "miss",
}
"""The result class of each result; exactly three are shown."""

RESULT_OF_KIND: Final[Mapping[Kind, Result]] = {
    Kind.LRC: Result.SYNCED,
    Kind.TXT: Result.UNSYNCED,
    Kind.MARKER: Result.INSTRUMENTAL,
}


class TargetStatus(StrEnum):
    """Where a target stands."""

    PENDING = "pending"
    DONE = "done"
    FAILED = "failed"
    PARKED = "parked"


class TargetResult(StrEnum):
    """What became of a target."""

    NONE = ""
    WRITTEN = "written"
    SAME = "same"
    PRESENT = "present"
    KEPT = "kept"
    MISS = "miss"
    REJECTED = "rejected"
    GONE = "gone"

    @property
    def is_served(self) -> bool:
        """Tell whether what was found stands there, written now or before."""
        return self in (TargetResult.WRITTEN, TargetResult.SAME)


class TargetOrigin(StrEnum):
    """Why a target is where it is."""

    INVENTORY = "inventory"
    PATH = "path"
    METADATA = "metadata"


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnTags:
    """What the tags of one file say beyond the names that all files of its item share."""

    album: str = ""
    album_artist: str = ""
    isrc: str = ""
    mbid: str = ""
    low_confidence: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """One sidecar stem to write; paths are as Python's file functions take them.

    ``tags`` and ``seen`` are known when they were asked for and a scan has read the file.
    """

    id: int
    item_id: int
    library_id: int | None = None
    origin: TargetOrigin = TargetOrigin.INVENTORY
    source_path: str = ""
    out_dir: str = ""
    out_stem: str = ""
    duration_ms: int = 0
    mode: FetchMode = FetchMode.NORMAL
    status: TargetStatus = TargetStatus.PENDING
    result: TargetResult = TargetResult.NONE
    kind: Kind | None = None
    reason: str = ""
    settled_at: datetime | None = None
    tags: OwnTags | None = field(default=None, compare=False)
    seen: LastSeen | None = field(default=None, compare=False)

    @property
    def is_open(self) -> bool:
        """Tell whether the next attempt has to look after it."""
        return self.status in (TargetStatus.PENDING, TargetStatus.FAILED)

    @property
    def has_file(self) -> bool:
        """Tell whether it stands beside an audio file that is known."""
        return bool(self.source_path)

    @property
    def trait(self) -> "TargetTrait":
        """Give what of it matters to its item as a whole."""
        return TargetTrait(
            self.library_id, self.is_open, self.mode, self.has_file, self.duration_ms
        )


class TargetTrait(NamedTuple):
    """What of a target matters to its item as a whole; the many copies of a file share it."""

    library_id: int | None
    is_open: bool
    mode: FetchMode
    has_file: bool
    duration_ms: int


@dataclass(frozen=True, kw_only=True, slots=True)
class DetectorFinding:
    """What audio detection said; ``verdict`` None means it was not run."""

    verdict: bool | None = None
    version: str = ""
    music_sum: float | None = None
    vocal_peak: float | None = None
    speech_mean: float | None = None
    vocal_class: str = ""
    detected_at: datetime | None = None


NOT_RUN: Final = DetectorFinding()


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkItem:
    """One recording in the queue.

    ``completed_at`` and ``outcome`` of an item that is not done are those of the
    result it had before it was opened again.
    """

    id: int
    artist: str = ""
    artists: tuple[str, ...] = ()
    title: str = ""
    album: str = ""
    album_artist: str = ""
    artist_key: str
    title_key: str
    duration_bucket: int = 0
    duration_ms: int = 0
    isrc: str = ""
    mbid: str = ""
    low_confidence: bool = False
    status: Status = Status.PENDING
    claimed_from: Status | None = None
    reason: str = ""
    reason_detail: str = ""
    reason_text: str = ""
    priority: int = Priority.SCAN
    route: Route = Route.REMOTE
    ready_key: int | None = None
    due_at: datetime | None = None
    attempts: int = 0
    misses: int = 0
    provider_set_version: int = 0
    detect_instrumental: bool | None = None
    detect_origin: str = ""
    rerun: bool = False
    boosted: bool = False
    lease_owner: str = ""
    lease_until_at: datetime | None = None
    claim_seq: int = 0
    resume: Resume | None = None
    completed_at: datetime | None = None
    fetched_at: datetime | None = None
    lane: str = ""
    outcome: Result = Result.NONE
    from_cache: bool = False
    detector: DetectorFinding = NOT_RUN
    created_at: datetime
    updated_at: datetime

    @property
    def was_served(self) -> bool:
        """Tell whether it has, or had before it was opened again, lyrics to show for itself."""
        return self.completed_at is not None and self.outcome.has_lyrics

    @property
    def recording(self) -> Recording:
        """Give what lanes are asked about; a target adds its own file and length."""
        return Recording(
            title=self.title,
            artist=self.artist,
            artists=self.artists,
            album_artist=self.album_artist,
            album=self.album,
            duration_ms=self.duration_ms or None,
            isrcs=_listed(self.isrc),
            mbid=self.mbid or None,
            low_confidence=self.low_confidence,
        )

    def recording_for(self, target: Target) -> Recording:
        """Give the recording as one target's own file has it, to judge with."""
        recording = replace(
            self.recording,
            duration_ms=target.duration_ms or self.duration_ms or None,
            source_path=Path(target.source_path) if target.source_path else None,
        )
        own = target.tags
        if own is None:
            return recording
        return replace(
            recording,
            album=own.album,
            album_artist=own.album_artist,
            isrcs=_listed(own.isrc),
            mbid=own.mbid or None,
            low_confidence=own.low_confidence,
        )

    def question_for(self, target: Target) -> Recording:
        """Give what to ask lanes for a target: its own data, the gaps filled from its copies."""
        known, own = self.recording, self.recording_for(target)
        return replace(
            own,
            album=own.album or known.album,
            album_artist=own.album_artist or known.album_artist,
            isrcs=own.isrcs or known.isrcs,
            mbid=own.mbid or known.mbid,
        )


class Event(StrEnum):
    """What may happen to an item; each is one row of the table."""

    ENQUEUE = "enqueued"
    CLAIM = "claimed"
    SERVE = "served"
    FAIL = "failed"
    MISS = "deferred"
    RETIRE = "given up"
    RELEASE = "released"
    EXPIRE = "taken back"
    RERUN = "run again"
    KEEP = "kept"
    RETRY = "retried"
    BOOST = "boosted"
    MEET = "met by a scan"
    PROMOTE = "made ready"
    REOPEN = "opened again"
    SEEK = "sought again"
    RECALL = "recalled"
    RECHECK = "rechecked"
    CLEAR = "cleared"
    DROP = "dropped"
    PARK = "parked"


class Fate(StrEnum):
    """Where a transition leads when that is not one fixed status."""

    SAME = "same"
    BACK = "claimed_from"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Transition:
    """One row of the table: from where an event leads whither; None is an item not yet there."""

    number: str
    sources: tuple[Status | None, ...]
    leads_to: Status | Fate


_P, _R, _D, _F, _L = Status.PENDING, Status.PROCESSING, Status.DONE, Status.FAILED, Status.DEFERRED

TRANSITIONS: Final[Mapping[Event, Transition]] = {
    Event.ENQUEUE: Transition("T1", (None,), _P),
    Event.CLAIM: Transition("T2", WAITING, _R),
    Event.SERVE: Transition("T3", (_R,), _D),
    Event.FAIL: Transition("T4", (_R,), _F),
    Event.MISS: Transition("T5", (_R,), _L),
    Event.RETIRE: Transition("T6", (_R,), _D),
    Event.RELEASE: Transition("T7", (_R,), Fate.BACK),
    Event.EXPIRE: Transition("T8", (_R,), Fate.BACK),
    Event.RERUN: Transition("T9", (_R,), _P),
    Event.KEEP: Transition("T10", (_R,), _D),
    Event.RETRY: Transition("T11", (_F,), _P),
    Event.BOOST: Transition("T12", WAITING, Fate.SAME),
    Event.MEET: Transition("T13", WAITING, Fate.SAME),
    Event.PROMOTE: Transition("T14", WAITING, Fate.SAME),
    Event.REOPEN: Transition("T15", (_D,), _P),
    Event.SEEK: Transition("T16", (_D,), _P),
    Event.RECALL: Transition("T17", (_D,), _L),
    Event.RECHECK: Transition("T18", (_L,), Fate.SAME),
    Event.CLEAR: Transition("T19", (_D,), Fate.GONE),
    Event.DROP: Transition("T20", WAITING, Fate.GONE),
    Event.PARK: Transition("T21", WAITING, Fate.SAME),
}
"""The complete table; anything else is a bug, and refused."""

RETRY_REFUSED: Final = "item {id} is {status}, only failed items can be retried"


def move(item: WorkItem, event: Event) -> Status:
    """Give the status an event leads to, or refuse; a deleted item has none to give."""
    row = TRANSITIONS[event]
    if item.status not in row.sources:
        raise Refused(f"item {item.id} is {item.status}, it cannot be {event}")
    if row.leads_to is Fate.BACK:
        return item.claimed_from or Status.PENDING
    if isinstance(row.leads_to, Fate):
        return item.status
    return row.leads_to


def _listed(isrc: str) -> tuple[str, ...]:
    return tuple(filter(None, isrc.split(",")))


def without_reason(item: WorkItem) -> WorkItem:
    """Give the item without what was said about its last failure or miss."""
    return replace(item, reason="", reason_detail="", reason_text="")
