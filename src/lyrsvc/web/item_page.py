"""One item of the queue as a page: what it is to write, what lanes answered, what happened."""

from typing import Final

from lyrsvc.web import queue_api
from lyrsvc.web.exchange import Exchange
from lyrsvc.web.gates import PAGE
from lyrsvc.web.list_filters import library_names
from lyrsvc.web.page_actions import may_act
from lyrsvc.web.queue_page import can_recheck, can_retry
from lyrsvc.web.rendering import show
from lyrsvc.web.replies import Reply
from lyrsvc.web.route import page


def show_item(exchange: Exchange, id: int) -> Reply:
    """Show one item with its targets, the answer of each lane and its latest history."""
    item = queue_api.show_item(exchange, id)
    return show(
        exchange,
        "queue_item.html",
        title=item.title or "Untitled",
        item=item,
        libraries=library_names(exchange),
        now=exchange.service.clock.now(),
        retries=may_act(exchange) and can_retry(item),
        rechecks=may_act(exchange) and can_recheck(item),
    )


ROUTES: Final = (page("/queue/{id}", PAGE, show_item),)
