"""Scans: start one, see how it fares, call it off; and the inventory they leave."""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from lyrsvc.core.ptext import from_ptext
from lyrsvc.core.sidecar import FetchMode
from lyrsvc.services.scan_desk import RunsElsewhere, ScanWish
from lyrsvc.services.scanning import ScanFlags
from lyrsvc.store import libraries
from lyrsvc.store.scan_pages import ResultFilter, results_page
from lyrsvc.web.audit_notes import audited
from lyrsvc.web.exchange import Exchange
from lyrsvc.web.gates import API
from lyrsvc.web.library_api import registry
from lyrsvc.web.problems import Problem
from lyrsvc.web.route import get, post
from lyrsvc.web.shapes import (
    Id,
    ListQuery,
    Moment,
    Page,
    ScanResult,
    as_text,
    page_of,
    scan_result_of,
    to_seconds,
)
from lyrsvc.web.shapes import Library as LibraryId

COUNTERS: Final = (
    "seen", "opened", "new", "changed", "unchanged", "enqueued", "from_cache", "reopened",
    "missing", "relinked", "pruned", "unreadable", "dir_errors", "file_errors",
)  # fmt: skip


class ScanFault(msgspec.Struct):
    """One file or directory a scan could not deal with."""

    path: str
    reason: str


class Scan(msgspec.Struct):
    """One run: who began it, how far it is, how it ended."""

    id: int
    library: int
    started_by: Literal["schedule", "start", "user", "watcher", "webhook", "cli"]
    scope: str | None
    mode: str
    state: Literal["running", "done", "failed", "cancelled"]
    reason: str | None
    started_at: Moment
    ended_at: Moment | None
    seen: int
    opened: int
    new: int
    changed: int
    unchanged: int
    enqueued: int
    from_cache: int
    reopened: int
    missing: int
    relinked: int
    pruned: int
    unreadable: int
    dir_errors: int
    file_errors: int
    error_sample: list[ScanFault]


class Scans(msgspec.Struct):
    """The runs under way, and the newest whole run of each library that has ended."""

    running: list[Scan]
    last: list[Scan]


class ScanStart(msgspec.Struct, forbid_unknown_fields=True):
    """What to scan and how; without a library all of them, one after another."""

    library: Id | None = None
    enrich: bool | None = None
    detect_instrumental: bool | None = None
    update: bool = False
    upgrade: bool = False


class ResultQuery(ListQuery):
    """Which files of the inventory to list, and how."""

    library: LibraryId | None = None
    status: Literal["pending", "processing", "done", "failed", "deferred", "unreadable"] | None = (
        None
    )
    sort: Annotated[
        Literal["id", "artist", "title", "album"], Meta(description="By what files are ordered.")
    ] = "id"


class ScanClearing(msgspec.Struct, forbid_unknown_fields=True):
    """Whose inventory to forget; nothing is deleted unless ``confirm`` says so."""

    library: Id
    confirm: bool = False


class ScanCleared(msgspec.Struct):
    """What would be forgotten, and what was; waiting items go with their last file."""

    would_delete: int
    deleted: int
    queue_cancelled: int
    queue_trimmed: int


def list_scans(exchange: Exchange) -> Scans:
    """List the scans under way and the last of each library."""
    desk = exchange.service.scan_desk
    return Scans(
        running=[scan_of(row) for row in desk.running()],
        last=[scan_of(row) for row in desk.last()],
    )


def start_scan(exchange: Exchange, body: ScanStart) -> Scan:
    """Begin a scan; with several libraries the first one's is answered."""
    if body.update and body.upgrade:
        raise Problem("invalid_request", "update: cannot go together with upgrade")
    mode = FetchMode.NORMAL
    if body.update or body.upgrade:
        mode = FetchMode.UPDATE if body.update else FetchMode.UPGRADE
    flags = ScanFlags(enrich=body.enrich, detect_instrumental=body.detect_instrumental)
    wish = ScanWish(library_id=body.library, mode=mode, flags=flags)
    row = exchange.service.scan_desk.start(wish)
    audited(exchange, "scan.started", library=body.library or "all", mode=str(mode))
    return scan_of(row)


def show_scan(exchange: Exchange, id: int) -> Scan:
    """Show one scan."""
    return scan_of(exchange.service.scan_desk.get(id))


def cancel_scan(exchange: Exchange, id: int) -> Scan:
    """Call a scan off; nothing counts as missing because of it."""
    try:
        return scan_of(exchange.service.scan_desk.cancel(id))
    except RunsElsewhere as error:
        raise Problem("locked", str(error), extra={"locked_by": "another process"}) from error


def list_results(exchange: Exchange, query: ResultQuery) -> Page[ScanResult]:
    """List the files that scans have found."""
    which = ResultFilter(library_id=query.library, status=query.status, text=query.q)
    with exchange.service.db.read() as tx:
        found = results_page(
            tx, which, query.order(query.sort), page=query.page, page_size=query.page_size
        )
    return page_of(map(scan_result_of, found.rows), query, found.total)


def clear_results(exchange: Exchange, body: ScanClearing) -> ScanCleared:
    """Forget a library's inventory and the work that only it wanted; files stay."""
    with exchange.service.db.read() as tx:
        library = libraries.get(tx, body.library)
    desk = registry(exchange)
    held = desk.clear(library) if body.confirm else desk.count(library, inventory_only=True)
    return ScanCleared(
        would_delete=held.scan_rows,
        deleted=held.scan_rows if body.confirm else 0,
        queue_cancelled=held.cancelled,
        queue_trimmed=held.trimmed,
    )


def scan_of(row: Mapping[str, Any]) -> Scan:
    """Give the shape of a run as the store keeps it."""
    sample = [
        ScanFault(path=as_text(from_ptext(str(one.get("path", "")))), reason=str(one.get("reason")))
        for one in json.loads(row["error_sample"])
    ]
    return Scan(
        id=row["id"],
        library=row["library_id"],
        started_by=row["started_by"],
        scope=as_text(from_ptext(row["scope"])) or None,
        mode=row["mode"],
        state=row["state"],
        reason=row["reason"] or None,
        started_at=to_seconds(row["started_at"]) or "",
        ended_at=to_seconds(row["ended_at"]),
        error_sample=sample,
        **{name: row[name] for name in COUNTERS},
    )


ROUTES: Final = (
    get("/api/v1/scan", API, list_scans),
    post("/api/v1/scan", API, start_scan, status=202, refusals=("already_running", "not_found")),
    get("/api/v1/scan/results", API, list_results),
    post("/api/v1/scan/clear", API, clear_results, refusals=("already_running", "not_found")),
    get("/api/v1/scan/{id}", API, show_scan),
    post("/api/v1/scan/{id}/cancel", API, cancel_scan, refusals=("locked",)),
)
