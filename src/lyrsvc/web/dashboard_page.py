"""The dashboard: the queue, the lanes and what was finished last, at a glance."""

from dataclasses import dataclass
from datetime import datetime
from math import pi
from typing import Final

from lyrsvc.services.lane_desk import DETECTOR, LaneView
from lyrsvc.store.completions import Completion, recent_outcomes
from lyrsvc.store.queue_listing import STATUSES
from lyrsvc.store.reporting import LaneRecord, provider_effectiveness
from lyrsvc.store.stock_taking import Stock, take_stock
from lyrsvc.store.upcoming import OpenItem, up_next
from lyrsvc.web.exchange import Exchange
from lyrsvc.web.gates import PAGE
from lyrsvc.web.rendering import show
from lyrsvc.web.replies import Reply
from lyrsvc.web.route import page

RECENT: Final = 20
NEXT: Final = 10
_RADIUS: Final = 42.0


@dataclass(frozen=True, kw_only=True)
class Slice:
    """One status in the doughnut: where its arc begins and how long it is."""

    status: str
    count: int
    share: float
    length: float
    offset: float


@dataclass(frozen=True, kw_only=True)
class LaneTile:
    """One lane with its record and its state."""

    title: str
    record: LaneRecord
    view: LaneView | None


@dataclass(frozen=True, kw_only=True)
class Overview:
    """Everything the dashboard shows, from one state of the database."""

    as_of: datetime
    stock: Stock
    slices: tuple[Slice, ...]
    lanes: tuple[LaneTile, ...]
    recent: tuple[Completion, ...]
    upcoming: tuple[OpenItem, ...]


def show_dashboard(exchange: Exchange) -> Reply:
    """Show the queue, the lanes and the latest completions; it changes nothing."""
    return show(exchange, "dashboard.html", title="Dashboard", overview=look_over(exchange))


def look_over(exchange: Exchange) -> Overview:
    """Read what the dashboard shows: a handful of indexed reads at any size."""
    service = exchange.service
    now = service.clock.now()
    views = {view.name: view for view in service.lane_desk.views()}
    with service.db.read() as tx:
        stock = take_stock(tx)
        records = provider_effectiveness(tx, lanes=service.lane_desk.names)
        recent = tuple(recent_outcomes(tx, limit=RECENT))
        upcoming = tuple(up_next(tx, limit=NEXT, now=now))
    return Overview(
        as_of=now,
        stock=stock,
        slices=slices_of(stock.statuses),
        lanes=tuple(
            LaneTile(title=_title(one.lane), record=one, view=views.get(one.lane))
            for one in records
        ),
        recent=recent,
        upcoming=upcoming,
    )


def slices_of(counts: dict[str, int]) -> tuple[Slice, ...]:
    """Cut the ring: one arc for each status that has items, none when all are zero."""
    total = sum(counts.values())
    if not total:
        return ()
    around, begun, found = 2 * pi * _RADIUS, 0.0, []
    for status in STATUSES:
        count = counts.get(status, 0)
        share = count / total
        if count:
            found.append(
                Slice(
                    status=status,
                    count=count,
                    share=share,
                    length=round(share * around, 3),
                    offset=round(-begun * around, 3),
                )
            )
        begun += share
    return tuple(found)


def _title(lane: str) -> str:
    return "Instrumental Detector" if lane == DETECTOR else lane


ROUTES: Final = (page("/dashboard", PAGE, show_dashboard),)
