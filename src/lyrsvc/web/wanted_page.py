"""What is wanted, as a page: files without lyrics or with unsynced ones, and searching now."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from lyrsvc.store import lane_attempts, wanted
from lyrsvc.store.queue_listing import whole_items
from lyrsvc.store.stock_taking import Stock, take_stock
from lyrsvc.store.wanted import ORDERS, count_nameless
from lyrsvc.web import wanted_api
from lyrsvc.web.exchange import Exchange, Form
from lyrsvc.web.gates import PAGE
from lyrsvc.web.list_filters import filters_of, library_names
from lyrsvc.web.list_links import ListLinks, ListTab, Pages, links_of, sort_links
from lyrsvc.web.page_actions import Action, act, counted, may_act
from lyrsvc.web.page_messages import Message
from lyrsvc.web.parsing_requests import read_wish
from lyrsvc.web.rendering import show
from lyrsvc.web.replies import Reply
from lyrsvc.web.route import form, page
from lyrsvc.web.shapes import Item, ScanResult, item_of, to_seconds
from lyrsvc.web.wanted_api import SearchWish, WantedQuery, filter_of

HOME: Final = "/wanted"
MOST_NAMELESS: Final = 10_000
"""So many files without names are counted; of more, no number is told."""


@dataclass(frozen=True, kw_only=True)
class WantedRow:
    """A file with the item that looks after it, if any, and when lanes were last asked.

    ``reason`` says why it cannot be read, or that it tells no artist and title.
    """

    file: ScanResult
    library: str
    item: Item | None
    last_try_at: str | None
    reason: str = ""

    @property
    def title(self) -> str:
        """What the row is called: its title, else its file name."""
        return self.file.title or self.file.source_path.rpartition("/")[2]

    @property
    def searchable(self) -> bool:
        """Whether anybody can be asked for it."""
        return not self.reason or bool(self.file.title and self.file.artist)


def show_wanted(exchange: Exchange, query: WantedQuery) -> Reply:
    """Show a page of files whose lyrics are missing or unsynced."""
    found = wanted_api.list_wanted(exchange, query)
    links = links_of(exchange)
    filters = filters_of(exchange, query)
    narrowed = any(one.in_use for one in filters)
    with exchange.service.db.read() as tx:
        stock = take_stock(tx)
        nameless = count_nameless(tx, filter_of(query), limit=MOST_NAMELESS)
    names = library_names(exchange)
    return show(
        exchange,
        "wanted.html",
        title="Wanted",
        query=query,
        rows=_rows(exchange, found.items, names),
        now=exchange.service.clock.now(),
        libraries=names,
        searchable=max(0, found.total - nameless),
        is_exact=nameless < MOST_NAMELESS,
        files=sum(stock.files.values()),
        filters=filters,
        narrowed=narrowed,
        tabs=_tabs(links, query, stock, narrowed=narrowed),
        may_act=may_act(exchange),
        sorts=sort_links(links, ORDERS, query.order(query.sort), default="id"),
        links=links,
        pages=Pages(page=query.page, page_size=query.page_size, total=found.total, links=links),
    )


def act_on_wanted(exchange: Exchange, form: Form) -> Reply:
    """Search for the chosen files, or for all of a kind."""
    return act(exchange, form, ACTIONS, home=HOME)


def _search(exchange: Exchange, form: Form) -> Message:
    wish: SearchWish = read_wish(form, SearchWish)
    if wish.ids is None and wish.kind is None:
        return Message("warning", "Nothing was selected: tick the files first.")
    done = wanted_api.search_wanted(exchange, wish)
    if not done.enqueued:
        return Message("info", "There is nothing to search for: these files are not wanted now.")
    return Message("ok", f"{counted(done.enqueued, 'track')} will be looked up now.")


def _rows(exchange: Exchange, files: list[ScanResult], names: Mapping[int, str]) -> list[WantedRow]:
    ids = list({file.item_id for file in files if file.item_id is not None})
    with exchange.service.db.read() as tx:
        items = {row["id"]: item_of(row) for row in whole_items(tx, ids)}
        tries = lane_attempts.last_tries(tx, ids)
        reasons = wanted.reasons_of(tx, [file.id for file in files])
    return [
        WantedRow(
            file=file,
            library=names.get(file.library, ""),
            item=items.get(file.item_id or 0),
            last_try_at=to_seconds(tries.get(file.item_id or 0)),
            reason=reasons.get(file.id, ""),
        )
        for file in files
    ]


def _tabs(links: ListLinks, query: WantedQuery, stock: Stock, *, narrowed: bool) -> list[ListTab]:
    numbers = {"missing": stock.wanted_missing, "unsynced": stock.wanted_unsynced}
    return [
        ListTab(
            kind=kind,
            href=links.to(kind=None if kind == "missing" else kind),
            count=None if narrowed else count,
            current=query.kind == kind,
        )
        for kind, count in numbers.items()
    ]


ACTIONS: Final[Mapping[str, Action]] = {"search": _search}

ROUTES: Final = (page(HOME, PAGE, show_wanted), form(HOME, PAGE, act_on_wanted))
