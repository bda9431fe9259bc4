"""The queue as a page: items by status, what they wait for, and bringing them back."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from lyrsvc.core.errors import LyrsvcError
from lyrsvc.store.queue_listing import STATUSES
from lyrsvc.store.queue_pages import ORDERS
from lyrsvc.store.stock_taking import Stock, take_stock
from lyrsvc.web import queue_api
from lyrsvc.web.exchange import Exchange, Form
from lyrsvc.web.gates import PAGE
from lyrsvc.web.list_filters import filters_of
from lyrsvc.web.list_links import ListLinks, ListTab, Pages, links_of, sort_links
from lyrsvc.web.page_actions import Action, act, counted, may_act, return_path
from lyrsvc.web.page_messages import Message, go_back
from lyrsvc.web.parsing_requests import read_query, read_wish
from lyrsvc.web.problems import Problem, translate
from lyrsvc.web.queue_offers import offers_of
from lyrsvc.web.queue_shapes import ClearWish, QueueQuery, RecheckWish, RetryWish
from lyrsvc.web.rendering import show
from lyrsvc.web.replies import Reply
from lyrsvc.web.route import form, page
from lyrsvc.web.shapes import Item
from lyrsvc.web.track_forms import BLANK, LONGEST, TrackForm, read_track, refused_form

HOME: Final = "/queue"
_NOTHING_CHOSEN: Final = Message("warning", "Nothing was selected: tick the items first.")


def show_queue(exchange: Exchange, query: QueueQuery) -> Reply:
    """Show a page of items; filters, order and page are in the address."""
    return _show(exchange, query)


def _show(
    exchange: Exchange, query: QueueQuery, *, adding: TrackForm = BLANK, status: int = 200
) -> Reply:
    found = queue_api.list_queue(exchange, query)
    links = links_of(exchange)
    with exchange.service.db.read() as tx:
        stock = take_stock(tx)
    filters = filters_of(exchange, query, besides=("status",))
    narrowed = any(one.in_use for one in filters)
    return show(
        exchange,
        "queue.html",
        title="Queue",
        status=status,
        adding=adding,
        longest=LONGEST,
        query=query,
        items=found.items,
        stock=stock,
        now=exchange.service.clock.now(),
        filters=filters,
        narrowed=narrowed,
        tabs=_tabs(links, query, stock, narrowed=narrowed),
        offers=offers_of(query, found.total) if may_act(exchange) else (),
        may_act=may_act(exchange),
        can_retry=can_retry,
        can_recheck=can_recheck,
        sorts=sort_links(links, ORDERS, query.order(query.sort), default="priority"),
        links=links,
        pages=Pages(page=query.page, page_size=query.page_size, total=found.total, links=links),
    )


def act_on_queue(exchange: Exchange, form: Form) -> Reply:
    """Retry, re-check, clear or add, as the button says."""
    return act(exchange, form, ACTIONS, home=HOME)


def can_retry(item: Item) -> bool:
    """Tell whether an item can be made pending again."""
    return item.status == "failed"


def can_recheck(item: Item) -> bool:
    """Tell whether an item can be looked at again before its time."""
    return item.status == "deferred" or (item.status == "done" and item.result == "miss")


def _retry(exchange: Exchange, form: Form) -> Message:
    wish: RetryWish = read_wish(form, RetryWish)
    if wish == RetryWish():
        return _NOTHING_CHOSEN
    done = queue_api.retry_items(exchange, wish)
    if not done.retried:
        return Message("warning", "Nothing was retried: only failed items can be.")
    refused = f" {counted(done.refused, 'item')} had not failed." if done.refused else ""
    return Message("ok", f"{counted(done.retried, 'item')} will be tried again now.{refused}")


def _recheck(exchange: Exchange, form: Form) -> Message:
    wish: RecheckWish = read_wish(form, RecheckWish)
    if wish == RecheckWish(library=wish.library):
        return _NOTHING_CHOSEN
    done = queue_api.recheck_items(exchange, wish)
    if not done.due:
        return Message(
            "warning",
            "Nothing was re-checked: only deferred items and items without lyrics can be.",
        )
    return Message("ok", f"{counted(done.due, 'item')} will be looked up again now.")


def _clear(exchange: Exchange, form: Form) -> Message | Reply:
    """Count first, ask, and delete only what was confirmed."""
    if form.get("status", "done") != "done":
        raise Problem("invalid_request", "status: only done items can be cleared")
    confirmed = bool(form.get("confirm"))
    done = queue_api.clear_items(exchange, ClearWish(status="done", confirm=confirmed))
    if not done.would_delete:
        return Message("info", "There is nothing to clear.")
    if not confirmed:
        return show(
            replace(exchange, path=HOME, query_string=""),
            "queue_clear.html",
            title="Clear finished items",
            count=done.would_delete,
            back=return_path(form, HOME),
        )
    return Message("ok", f"{counted(done.deleted, 'finished item')} cleared from the queue.")


def _add(exchange: Exchange, form: Form) -> Message | Reply:
    try:
        added = queue_api.add_track(exchange, read_track(form))
    except (Problem, LyrsvcError) as error:
        return _refused(exchange, form, error)
    assert isinstance(added, Reply)  # noqa: S101 - it tells new from known by the status
    item: Item = added.data
    text = "Queued ahead of everything else." if added.status == 201 else "It was queued already."
    return go_back(exchange, f"{HOME}/{item.id}", text)


def _refused(exchange: Exchange, form: Form, error: Problem | LyrsvcError) -> Reply:
    """Show the form again, above the list it was opened on; programs get the error itself."""
    problem = error if isinstance(error, Problem) else translate(error)
    if exchange.wants_json or problem.status >= 500:
        raise error
    back = return_path(form, HOME)
    listed = replace(exchange, method="GET", path=HOME, query_string=back.partition("?")[2])
    try:
        query: QueueQuery = read_query(listed, QueueQuery)
    except Problem:
        listed, query = replace(listed, query_string=""), QueueQuery()
    return _show(listed, query, adding=refused_form(form, problem), status=problem.status)


def _tabs(links: ListLinks, query: QueueQuery, stock: Stock, *, narrowed: bool) -> list[ListTab]:
    def tab(status: str, count: int) -> ListTab:
        return ListTab(
            kind=status,
            href=links.to(status=status or None),
            count=None if narrowed else count,
            current=query.status == ((status,) if status else ()),
        )

    return [tab("", stock.total), *(tab(status, stock.statuses[status]) for status in STATUSES)]


ACTIONS: Final[Mapping[str, Action]] = {
    "retry": _retry,
    "recheck": _recheck,
    "clear": _clear,
    "add": _add,
}

ROUTES: Final = (page(HOME, PAGE, show_queue), form(HOME, PAGE, act_on_queue))
