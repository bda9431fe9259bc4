"""The history as a page: what happened to tracks, newest first."""

from typing import Final

from lyrsvc.store.history_pages import ORDERS
from lyrsvc.store.queue_listing import known_items
from lyrsvc.web import history_api
from lyrsvc.web.exchange import Exchange
from lyrsvc.web.gates import PAGE
from lyrsvc.web.history_api import HistoryQuery
from lyrsvc.web.list_filters import filters_of
from lyrsvc.web.list_links import Pages, links_of, sort_links
from lyrsvc.web.rendering import show
from lyrsvc.web.replies import Reply
from lyrsvc.web.route import page


def show_history(exchange: Exchange, query: HistoryQuery) -> Reply:
    """Show a page of what happened; rows lead to their item while it is in the queue."""
    found = history_api.list_history(exchange, query)
    links = links_of(exchange)
    filters = filters_of(exchange, query)
    ids = list({row.item_id for row in found.items if row.item_id is not None})
    with exchange.service.db.read() as tx:
        known = known_items(tx, ids)
    return show(
        exchange,
        "history.html",
        title="History",
        query=query,
        rows=found.items,
        known=known,
        kept_days=exchange.service.settings.history.retention_days,
        filters=filters,
        narrowed=any(one.in_use for one in filters),
        sorts=sort_links(links, ORDERS, query.order(query.sort), default="at"),
        links=links,
        pages=Pages(page=query.page, page_size=query.page_size, total=found.total, links=links),
    )


ROUTES: Final = (page("/history", PAGE, show_history),)
