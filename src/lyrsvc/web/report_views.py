"""The five reports as tables: their columns, their filters, one page of rows, or all of them.

JSON, CSV and pages show the same cells. All rows are read in pieces, each from the
state of its own moment: whoever takes them slowly keeps nobody from the database.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, Generic, Literal, TypeVar

import msgspec
from msgspec import Meta

from lyrsvc.store.completions import Completion, OutcomeFilter, outcomes_page, recent_outcomes
from lyrsvc.store.instrumentals import (
    InstrumentalFile,
    InstrumentalFilter,
    instrumental_inventory,
    instrumentals_page,
)
from lyrsvc.store.reporting import failure_analysis, provider_effectiveness, queue_summary
from lyrsvc.web.csv_export import Cell, csv_lines
from lyrsvc.web.shapes import (
    Instant,
    Library,
    PageNumber,
    PageSize,
    ResultClass,
    Text,
    as_text,
    read_instant,
    shown_moment,
)

if TYPE_CHECKING:
    from lyrsvc.serving import Service
    from lyrsvc.store.transaction import Tx

Row = tuple[Cell, ...]

PIECE: Final = 2000
"""Rows that are read at once when all are wanted."""
NO_RATE: Final = "–"


class ReportQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What every report understands; a CSV always holds all rows."""

    format: Literal["json", "csv"] = "json"
    page: PageNumber = 1
    page_size: PageSize = 50


class SummaryQuery(ReportQuery):
    """Of one library, or of all."""

    library: Library | None = None


class OutcomesQuery(ReportQuery):
    """Which completions; ``since`` is included, ``until`` is not."""

    result: ResultClass | None = None
    lane: Annotated[str, Meta(max_length=200)] | None = None
    library: Library | None = None
    q: Text = ""
    since: Instant | None = None
    until: Instant | None = None


class EffectivenessQuery(ReportQuery):
    """Which attempts; ``since`` is included, ``until`` is not."""

    since: Instant | None = None
    until: Instant | None = None


class InstrumentalsQuery(ReportQuery):
    """Which confirmed files."""

    library: Library | None = None
    origin: Literal["explicit", "library", "global"] | None = None
    q: Text = ""


class FailuresQuery(ReportQuery):
    """Which groups."""

    status: Literal["failed", "deferred"] | None = None
    library: Library | None = None


Q = TypeVar("Q", bound=ReportQuery)
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Report(Generic[Q]):
    """One report: ``page`` gives some rows and the total, ``pieces`` all as lines of CSV."""

    key: str
    title: str
    menu: str
    """The title where there is little room."""
    lead: str
    """What it tells, in a sentence."""
    columns: tuple[str, ...]
    query: type[Q]
    page: "Callable[[Service, Q], tuple[list[Row], int]]"
    pieces: "Callable[[Service, Q], Iterator[str]]"


def _short(
    lines: "Callable[[Tx, Service, Q], list[Row]]",
) -> "tuple[Callable[[Service, Q], Any], Callable[[Service, Q], Any]]":
    """Give both ways to read a report of a few lines."""

    def read(service: "Service", query: Q) -> list[Row]:
        with service.db.read() as tx:
            return lines(tx, service, query)

    def page(service: "Service", query: Q) -> tuple[list[Row], int]:
        rows = read(service, query)
        start = (query.page - 1) * query.page_size
        return rows[start : start + query.page_size], len(rows)

    def pieces(service: "Service", query: Q) -> Iterator[str]:
        yield csv_lines(read(service, query))

    return page, pieces


def _in_pieces(
    service: "Service",
    read: "Callable[[Tx, T | None], Iterator[T]]",
    row_of: Callable[[T], Row],
) -> Iterator[str]:
    """Read piece after piece behind the last one; ``read`` begins behind what it is given."""
    last: T | None = None
    count = PIECE

    def rows(found: Iterator[T]) -> Iterator[Row]:
        nonlocal last, count
        for last in found:
            count += 1
            yield row_of(last)

    while count == PIECE:
        count = 0
        with service.db.read() as tx:
            lines = csv_lines(rows(read(tx, last)))
        yield lines


def _summary(tx: "Tx", service: "Service", query: SummaryQuery) -> list[Row]:  # noqa: ARG001
    return [(line.status, line.count) for line in queue_summary(tx, library_id=query.library)]


def _effectiveness(tx: "Tx", service: "Service", query: EffectivenessQuery) -> list[Row]:
    records = provider_effectiveness(
        tx,
        lanes=service.lane_desk.names,
        since=read_instant("since", query.since),
        until=read_instant("until", query.until),
    )
    return [(one.lane, one.hits, one.misses, shown_rate(one.hit_rate)) for one in records]


def _failures(tx: "Tx", service: "Service", query: FailuresQuery) -> list[Row]:  # noqa: ARG001
    groups = failure_analysis(tx, status=query.status, library_id=query.library)
    return [(group.status, group.reason, group.count) for group in groups]


def _outcomes(query: OutcomesQuery) -> OutcomeFilter:
    return OutcomeFilter(
        result=query.result,
        lane=query.lane,
        library_id=query.library,
        text=query.q,
        since=read_instant("since", query.since),
        until=read_instant("until", query.until),
    )


def _outcomes_page(service: "Service", query: OutcomesQuery) -> tuple[list[Row], int]:
    which = _outcomes(query)
    with service.db.read() as tx:
        found = outcomes_page(tx, which, page=query.page, page_size=query.page_size)
    return [_outcome_row(one) for one in found.rows], found.total


def _outcome_pieces(service: "Service", query: OutcomesQuery) -> Iterator[str]:
    which = _outcomes(query)
    return _in_pieces(
        service,
        lambda tx, last: recent_outcomes(tx, which, limit=PIECE, after=last),
        _outcome_row,
    )


def _outcome_row(one: Completion) -> Row:
    moment = shown_moment(one.completed_at)
    return (one.artist, one.title, one.album, moment, one.lane, one.result, one.outcome)


def _instrumentals(query: InstrumentalsQuery) -> InstrumentalFilter:
    return InstrumentalFilter(library_id=query.library, origin=query.origin, text=query.q)


def _instrumentals_page(service: "Service", query: InstrumentalsQuery) -> tuple[list[Row], int]:
    which = _instrumentals(query)
    with service.db.read() as tx:
        found = instrumentals_page(tx, which, page=query.page, page_size=query.page_size)
    return [_file_row(one) for one in found.rows], found.total


def _instrumental_pieces(service: "Service", query: InstrumentalsQuery) -> Iterator[str]:
    which = _instrumentals(query)
    return _in_pieces(
        service,
        lambda tx, last: instrumental_inventory(tx, which, limit=PIECE, after=last),
        _file_row,
    )


def _file_row(one: InstrumentalFile) -> Row:
    return (one.id, one.artist, one.title, as_text(one.source_path), one.origin)


def shown_rate(rate: float | None) -> str:
    """Write a hit rate as all reports do."""
    return NO_RATE if rate is None else f"{rate:.1%}"


_summary_page, _summary_pieces = _short(_summary)
_effectiveness_page, _effectiveness_pieces = _short(_effectiveness)
_failures_page, _failures_pieces = _short(_failures)

QUEUE_SUMMARY: Final = Report[SummaryQuery](
    key="queue-summary",
    title="Queue summary",
    menu="Queue summary",
    lead="How many items of the queue are in each status.",
    columns=("status", "count"),
    query=SummaryQuery,
    page=_summary_page,
    pieces=_summary_pieces,
)
RECENT_OUTCOMES: Final = Report[OutcomesQuery](
    key="recent-outcomes",
    title="Recent outcomes",
    menu="Recent outcomes",
    lead="What every finished item came to, newest first.",
    columns=("artist", "title", "album", "completed_at", "lane", "result", "outcome"),
    query=OutcomesQuery,
    page=_outcomes_page,
    pieces=_outcome_pieces,
)
PROVIDER_EFFECTIVENESS: Final = Report[EffectivenessQuery](
    key="provider-effectiveness",
    title="Provider effectiveness",
    menu="Providers",
    lead="How often each provider served the winning result. Counted by its latest answer "
    "about each track, so the counters of metrics, which count every answer, may differ.",
    columns=("lane", "hits", "misses", "hit_rate"),
    query=EffectivenessQuery,
    page=_effectiveness_page,
    pieces=_effectiveness_pieces,
)
INSTRUMENTAL_INVENTORY: Final = Report[InstrumentalsQuery](
    key="instrumental-inventory",
    title="Instrumental inventory",
    menu="Instrumentals",
    lead="Tracks whose audio was confirmed to hold no voice, one line for each file.",
    columns=("id", "artist", "title", "source_path", "origin"),
    query=InstrumentalsQuery,
    page=_instrumentals_page,
    pieces=_instrumental_pieces,
)
FAILURE_ANALYSIS: Final = Report[FailuresQuery](
    key="failure-analysis",
    title="Failure analysis",
    menu="Failures",
    lead="Why items failed or had to be put off, the most frequent reason first.",
    columns=("status", "reason", "count"),
    query=FailuresQuery,
    page=_failures_page,
    pieces=_failures_pieces,
)

REPORTS: Final[Sequence[Report[Any]]] = (
    QUEUE_SUMMARY,
    RECENT_OUTCOMES,
    PROVIDER_EFFECTIVENESS,
    INSTRUMENTAL_INVENTORY,
    FAILURE_ANALYSIS,
)

BY_KEY: Final = {report.key: report for report in REPORTS}
