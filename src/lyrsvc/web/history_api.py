"""The history over HTTP: what happened to tracks."""

from typing import Annotated, Final, Literal

from msgspec import Meta

from lyrsvc.store.history_pages import HistoryFilter, history_page
from lyrsvc.web.exchange import Exchange
from lyrsvc.web.gates import API
from lyrsvc.web.route import get
from lyrsvc.web.shapes import (
    Event,
    HistoryRow,
    Instant,
    Library,
    ListQuery,
    Page,
    history_row_of,
    page_of,
    read_instant,
)


class HistoryQuery(ListQuery):
    """Which rows, in which order; ``since`` is included, ``until`` is not."""

    event: Event | None = None
    lane: Annotated[str, Meta(max_length=200)] | None = None
    library: Library | None = None
    since: Instant | None = None
    until: Instant | None = None
    sort: Literal["at", "id"] = "at"


def list_history(exchange: Exchange, query: HistoryQuery) -> Page[HistoryRow]:
    """List what happened, newest first."""
    which = HistoryFilter(
        event=query.event,
        lane=query.lane,
        library_id=query.library,
        text=query.q,
        since=read_instant("since", query.since),
        until=read_instant("until", query.until),
    )
    order = query.order(query.sort)
    with exchange.service.db.read() as tx:
        found = history_page(tx, which, order, page=query.page, page_size=query.page_size)
    return page_of(map(history_row_of, found.rows), query, found.total)


ROUTES: Final = (get("/api/v1/history", API, list_history),)
