"""The JSON shapes that more than one address speaks: lists, items, scan results, history rows.

Moments are RFC 3339 in UTC, to the second. A path is shown as text; bytes of it that
are none are shown as U+FFFD.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Generic, Literal, TypeVar, overload

import msgspec
from msgspec import Meta

from lyrsvc.store.ordering import Order
from lyrsvc.web.problems import Problem

T = TypeVar("T")

MOST_ROWS: Final = 500

Moment = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
Id = Annotated[int, Meta(ge=1, le=2**63 - 1)]
PageNumber = Annotated[int, Meta(ge=1, le=2**31, description="The page, counted from 1.")]
PageSize = Annotated[int, Meta(ge=1, le=MOST_ROWS, description="Rows of one page.")]
Direction = Annotated[
    Literal["asc", "desc"],
    Meta(description="Which way the rows are ordered; each order has a usual one."),
]
Text = Annotated[
    str,
    Meta(max_length=1000, description="Text in artist, title or album; not its case or accents."),
]
Instant = Annotated[
    str,
    Meta(
        max_length=40,
        description="A moment (RFC 3339) or a day; without a zone it is UTC.",
        extra_json_schema={"format": "date-time"},
    ),
]
Library = Annotated[int, Meta(ge=1, le=2**63 - 1, description="The id of a library.")]

Status = Literal["pending", "processing", "done", "failed", "deferred"]
ResultClass = Literal["synced", "unsynced-or-instrumental", "miss"]
Outcome = Literal["synced", "unsynced", "instrumental", "miss", "rejected"]
Event = Literal[
    "written", "upgraded", "already_present", "miss", "failed", "rejected", "moved", "retried",
    "enqueued",
]  # fmt: skip


class ListQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What every list understands."""

    page: PageNumber = 1
    page_size: PageSize = 50
    dir: Direction | None = None
    q: Text = ""

    def order(self, by: str) -> Order:
        """Give the order asked for."""
        return Order(by=by, descending=None if self.dir is None else self.dir == "desc")


class Page(msgspec.Struct, Generic[T]):
    """One page of a list; ``total`` counts the rows of all pages."""

    items: list[T]
    page: int
    page_size: int
    total: int


class Detection(msgspec.Struct):
    """Whether audio detection is asked for, and who decided that."""

    value: bool | None
    origin: Literal["explicit", "library", "global"] | None


class Target(msgspec.Struct, rename={"origin": "from"}):
    """One sidecar to write: the written file, or the ``.lrc`` hoped for."""

    id: int
    library: int | None
    source_path: str
    destination: str
    done: bool
    origin: Literal["inventory", "path", "metadata"]


class Item(msgspec.Struct):
    """One recording in the queue."""

    id: int
    artist: str
    title: str
    album: str
    status: Status
    priority: int
    reason: str | None
    detail: str | None
    attempts: int
    misses: int
    due_at: Moment | None
    created_at: Moment
    completed_at: Moment | None
    lane: str | None
    result: ResultClass | None
    outcome: Outcome | None
    duration_bucket: int
    provider_set_version: int
    detect_instrumental: Detection
    targets: list[Target]


class ScanResult(msgspec.Struct):
    """One audio file of a library."""

    id: int
    library: int
    source_path: str
    destination: str
    artist: str
    title: str
    album: str
    status: Literal["pending", "processing", "done", "failed", "deferred", "unreadable"]
    isrc: str
    mbid: str
    duration_s: float | None
    sidecar: Literal["lrc", "txt", "marker"] | None
    ours: bool
    item_id: int | None


class HistoryRow(msgspec.Struct):
    """Something that happened to a track."""

    id: int
    at: Moment
    item_id: int | None
    event: Event
    artist: str
    title: str
    album: str
    lane: str | None
    result: ResultClass | None
    outcome: Outcome | None
    reason: str | None
    destination: str | None
    by: str


def item_of(row: Mapping[str, Any]) -> Item:
    """Give the shape of an item as the store lists it."""
    return Item(
        **{
            **row,
            "due_at": to_seconds(row["due_at"]),
            "created_at": to_seconds(row["created_at"]),
            "completed_at": to_seconds(row["completed_at"]),
            "detect_instrumental": Detection(**row["detect_instrumental"]),
            "targets": [target_of(target) for target in row["targets"]],
        }
    )


def target_of(row: Mapping[str, Any]) -> Target:
    """Give the shape of a target as the store lists it."""
    return Target(
        id=row["id"],
        library=row["library"],
        source_path=as_text(row["source_path"]),
        destination=as_text(row["destination"]),
        done=row["done"],
        origin=row["from"],
    )


def scan_result_of(row: Mapping[str, Any]) -> ScanResult:
    """Give the shape of an inventory row as the store lists it."""
    known = {name: row[name] for name in ScanResult.__struct_fields__}
    paths = {name: as_text(row[name]) for name in ("source_path", "destination")}
    return ScanResult(**{**known, **paths})


def history_row_of(row: Mapping[str, Any]) -> HistoryRow:
    """Give the shape of a history row as the store lists it."""
    destination = row["destination"]
    return HistoryRow(
        **{
            **row,
            "at": to_seconds(row["at"]),
            "destination": None if destination is None else as_text(destination),
        }
    )


def page_of(items: Iterable[T], query: ListQuery, total: int) -> Page[T]:
    """Give the answer to a list."""
    return Page(items=list(items), page=query.page, page_size=query.page_size, total=total)


@overload
def to_seconds(stored: str) -> str: ...
@overload
def to_seconds(stored: str | None) -> str | None: ...
def to_seconds(stored: str | None) -> str | None:
    """Cut a stored moment to the second."""
    return None if stored is None else f"{stored[:19]}Z"


@overload
def shown_moment(moment: datetime) -> str: ...
@overload
def shown_moment(moment: datetime | None) -> str | None: ...
def shown_moment(moment: datetime | None) -> str | None:
    """Write a moment down."""
    return None if moment is None else f"{moment.astimezone(UTC).isoformat()[:19]}Z"


def read_instant(name: str, text: str | None) -> datetime | None:
    """Read a moment or a day that a parameter names."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise Problem(
            "invalid_request", f"{name}: expected a moment such as 2026-01-31T14:05:06Z"
        ) from error


def as_text(path: str) -> str:
    """Give a path as valid text."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
