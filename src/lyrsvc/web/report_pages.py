"""The five reports as pages, and their downloads; the table of reports is ``report_views``."""

from typing import Any, Final

import msgspec

from lyrsvc.store.reporting import TOTAL
from lyrsvc.web.csv_export import Cell
from lyrsvc.web.exchange import Exchange
from lyrsvc.web.gates import PAGE
from lyrsvc.web.list_filters import filters_of
from lyrsvc.web.list_links import Pages, links_of, with_query
from lyrsvc.web.parsing_requests import read_query
from lyrsvc.web.problems import Problem
from lyrsvc.web.rendering import show
from lyrsvc.web.replies import Reply
from lyrsvc.web.report_api import ReportPage, answer_report
from lyrsvc.web.report_views import BY_KEY, REPORTS, Report, ReportQuery
from lyrsvc.web.route import Room, page

HOME: Final = "/reports"


def show_reports(exchange: Exchange) -> Reply:
    """Show what reports there are; none of them is read."""
    return show(exchange, "reports.html", title="Reports", reports=REPORTS)


def show_report(exchange: Exchange, key: str) -> Reply:
    """Show a page of a report."""
    report, query = _asked(exchange, key)
    rows, total = report.page(exchange.service, query)
    cells = [dict(zip(report.columns, row, strict=True)) for row in rows]
    links, filters = links_of(exchange), filters_of(exchange, query)
    return show(
        exchange,
        "report.html",
        title=report.title,
        report=report,
        rows=[(row, _rows_behind(exchange, query, row)) for row in cells],
        largest=_largest(cells),
        as_of=exchange.service.clock.now(),
        filters=filters,
        narrowed=any(one.in_use for one in filters),
        links=links,
        pages=Pages(page=query.page, page_size=query.page_size, total=total, links=links),
        downloads=_downloads(exchange, report),
    )


def download_csv(exchange: Exchange, key: str) -> ReportPage | Reply:
    """Give all rows of a report as CSV, filtered as the page is."""
    report, query = _asked(exchange, key)
    return answer_report(exchange, report, msgspec.structs.replace(query, format="csv"))


def download_json(exchange: Exchange, key: str) -> ReportPage | Reply:
    """Give one page of a report as JSON, filtered as the page is."""
    report, query = _asked(exchange, key)
    return answer_report(exchange, report, msgspec.structs.replace(query, format="json"))


def _asked(exchange: Exchange, key: str) -> tuple[Report[Any], Any]:
    report = BY_KEY.get(key)
    if report is None:
        raise Problem("not_found", "there is no such report")
    return report, read_query(exchange, report.query)


def _downloads(exchange: Exchange, report: Report[Any]) -> dict[str, str]:
    """Give the addresses of the same rows in other forms; a CSV holds every page."""
    kept = [(name, value) for name, value in exchange.query_pairs if value and name != "format"]
    whole = [pair for pair in kept if pair[0] not in ("page", "page_size")]
    address = exchange.url(f"{HOME}/{report.key}")
    return {"CSV": with_query(f"{address}.csv", whole), "JSON": with_query(f"{address}.json", kept)}


def _largest(rows: list[dict[str, Cell]]) -> int:
    """Give the greatest count of a line, the total aside."""
    counts = [row.get("count") for row in rows if row.get("status") != TOTAL]
    return max((count for count in counts if isinstance(count, int)), default=0)


def _rows_behind(exchange: Exchange, query: ReportQuery, row: dict[str, Cell]) -> str:
    """Give the address of the items that a line counts."""
    if "count" not in row:
        return ""
    given = {**row, "library": getattr(query, "library", None)}
    wanted = [
        (name, str(given[name]))
        for name in ("status", "reason", "library")
        if given.get(name) not in (None, TOTAL)
    ]
    return with_query(exchange.url("/queue"), wanted)


ROUTES: Final = (
    page(HOME, PAGE, show_reports),
    page(f"{HOME}/{{key}}.csv", PAGE, download_csv, room=Room.REPORT),
    page(f"{HOME}/{{key}}.json", PAGE, download_json, room=Room.REPORT),
    page(f"{HOME}/{{key}}", PAGE, show_report, room=Room.REPORT),
)
