"""Wanted lyrics over HTTP: files without any, files with unsynced ones of ours."""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from lyrsvc.services.wanted_search import WantedSearch
from lyrsvc.store import libraries
from lyrsvc.store.wanted import WantedFilter, WantedKind, count_wanted, wanted_page
from lyrsvc.web.audit_notes import audited
from lyrsvc.web.exchange import Exchange
from lyrsvc.web.gates import API
from lyrsvc.web.problems import Problem
from lyrsvc.web.route import get, post
from lyrsvc.web.shapes import (
    Id,
    Library,
    ListQuery,
    Page,
    ScanResult,
    page_of,
    scan_result_of,
)

Kind = Literal["missing", "unsynced"]


class WantedQuery(ListQuery):
    """Which files, in which order."""

    kind: Kind = "missing"
    library: Library | None = None
    sort: Literal["id", "artist", "title", "album"] = "id"


class SearchWish(msgspec.Struct, forbid_unknown_fields=True):
    """Which files: named ones, or all that are wanted for one reason."""

    ids: Annotated[list[Id], Meta(max_length=500)] | None = None
    kind: Kind | None = None
    library: Library | None = None


class Searched(msgspec.Struct):
    """How many items are due now."""

    enqueued: int


def list_wanted(exchange: Exchange, query: WantedQuery) -> Page[ScanResult]:
    """List the audio files whose lyrics are missing or unsynced."""
    order = query.order(query.sort)
    with exchange.service.db.read() as tx:
        found = wanted_page(tx, filter_of(query), order, page=query.page, page_size=query.page_size)
    return page_of(map(scan_result_of, found.rows), query, found.total)


def filter_of(query: WantedQuery) -> WantedFilter:
    """Say which files a query means."""
    return WantedFilter(kind=WantedKind(query.kind), library_id=query.library, text=query.q)


def search_wanted(exchange: Exchange, body: SearchWish) -> Searched:
    """Search now: named files ahead of everything else, all of a kind in the order of scans."""
    if (body.ids is None) == (body.kind is None):
        raise Problem("invalid_request", "exactly one of ids or kind is needed")
    service, by = exchange.service, exchange.identity.actor
    if body.kind is not None:
        enqueued = _search_kind(exchange, WantedKind(body.kind), body.library)
    elif body.library is not None:
        raise Problem("invalid_request", "library: goes with kind, not with ids")
    else:
        search = WantedSearch(service.db, service.enqueuer)
        enqueued = search.search_files(body.ids or (), by=by)
    audited(exchange, "queue.retried", searched=enqueued)
    return Searched(enqueued=enqueued)


def _search_kind(exchange: Exchange, kind: WantedKind, library_id: int | None) -> int:
    """Search for all of a kind; of a great many the count is given before the end."""
    service, by = exchange.service, exchange.identity.actor
    which = WantedFilter(kind=kind, library_id=library_id)

    def count() -> int:
        with service.db.read() as tx:
            if library_id is not None:
                libraries.get(tx, library_id)
            return count_wanted(tx, which)

    search = WantedSearch(service.db, service.enqueuer)
    return service.chores.run(
        f"the search for {kind} lyrics",
        lambda: search.search_kind(kind, by=by, library_id=library_id),
        expected=count,
    )


ROUTES: Final = (
    get("/api/v1/wanted", API, list_wanted),
    post(
        "/api/v1/wanted/search",
        API,
        search_wanted,
        status=202,
        refusals=("not_found", "already_running"),
    ),
)
