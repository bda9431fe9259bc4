"""The five reports over HTTP, as JSON by pages or as CSV in full."""

from typing import Any, Final

import msgspec

from lyrsvc.web import report_views
from lyrsvc.web.csv_export import csv_reply
from lyrsvc.web.exchange import Exchange
from lyrsvc.web.gates import API
from lyrsvc.web.replies import Reply
from lyrsvc.web.report_views import (
    EffectivenessQuery,
    FailuresQuery,
    InstrumentalsQuery,
    OutcomesQuery,
    Report,
    ReportQuery,
    SummaryQuery,
)
from lyrsvc.web.route import Room, Route, get
from lyrsvc.web.shapes import Moment, shown_moment


class ReportPage(msgspec.Struct):
    """One page of a report; every item has a member for each column."""

    report: str
    generated_at: Moment
    columns: list[str]
    items: list[dict[str, str | int | None]]
    page: int
    page_size: int
    total: int


def report_summary(exchange: Exchange, query: SummaryQuery) -> ReportPage | Reply:
    """Count the items of each status, and all."""
    return answer_report(exchange, report_views.QUEUE_SUMMARY, query)


def report_outcomes(exchange: Exchange, query: OutcomesQuery) -> ReportPage | Reply:
    """List what is done, newest first."""
    return answer_report(exchange, report_views.RECENT_OUTCOMES, query)


def report_effectiveness(exchange: Exchange, query: EffectivenessQuery) -> ReportPage | Reply:
    """Tell how often each lane served the winning result."""
    return answer_report(exchange, report_views.PROVIDER_EFFECTIVENESS, query)


def report_instrumentals(exchange: Exchange, query: InstrumentalsQuery) -> ReportPage | Reply:
    """List the files whose audio was confirmed to be instrumental."""
    return answer_report(exchange, report_views.INSTRUMENTAL_INVENTORY, query)


def report_failures(exchange: Exchange, query: FailuresQuery) -> ReportPage | Reply:
    """Count failed and deferred items by reason, the most frequent first."""
    return answer_report(exchange, report_views.FAILURE_ANALYSIS, query)


def answer_report(
    exchange: Exchange, report: Report[Any], query: ReportQuery
) -> ReportPage | Reply:
    """Give a report in the form asked for; pages of the browser UI export through this too."""
    now = exchange.service.clock.now()
    if query.format == "csv":
        filename = f"lyrsvc-{report.key}-{now:%Y%m%d}.csv"
        pieces = report.pieces(exchange.service, query)
        return csv_reply(report.columns, pieces, filename=filename)
    rows, total = report.page(exchange.service, query)
    return ReportPage(
        report=report.key,
        generated_at=shown_moment(now),
        columns=list(report.columns),
        items=[dict(zip(report.columns, row, strict=True)) for row in rows],
        page=query.page,
        page_size=query.page_size,
        total=total,
    )


def _report(report: Report[Any], handler: Any) -> Route:  # noqa: ANN401 - its handler
    return get(f"/api/v1/reports/{report.key}", API, handler, room=Room.REPORT, media=("text/csv",))


ROUTES: Final = (
    _report(report_views.QUEUE_SUMMARY, report_summary),
    _report(report_views.RECENT_OUTCOMES, report_outcomes),
    _report(report_views.PROVIDER_EFFECTIVENESS, report_effectiveness),
    _report(report_views.INSTRUMENTAL_INVENTORY, report_instrumentals),
    _report(report_views.FAILURE_ANALYSIS, report_failures),
)
