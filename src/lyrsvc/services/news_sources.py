"""Where events come from: what is looked at, and what of it counts as a change."""

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lyrsvc.services.health_checks import HealthChecks
from lyrsvc.services.lane_desk import LaneDesk
from lyrsvc.services.noticing import Sight, Source
from lyrsvc.services.task_board import TaskBoard
from lyrsvc.store import scan_runs
from lyrsvc.store.database import Database
from lyrsvc.store.stock_taking import take_stock

if TYPE_CHECKING:
    from lyrsvc.store.engine import Row

Sights = Mapping[Hashable, Sight]


@dataclass(frozen=True, kw_only=True, slots=True)
class LaneTally:
    """What the queue event tells about a lane."""

    hits: int
    misses: int
    state: str


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueNews:
    """How the queue stands: items by status, confirmed instrumentals, lanes by name."""

    statuses: dict[str, int]
    instrumental: int
    lanes: dict[str, LaneTally]


def news_sources(  # noqa: PLR0913 - one keyword for each thing that is looked at
    db: Database,
    *,
    lane_desk: LaneDesk,
    tasks: TaskBoard,
    health: HealthChecks,
    pending: Callable[[], Collection[str]],
    saved: Callable[[], object] = lambda: None,
    live: Callable[["Row"], "Row"] = lambda row: row,
) -> dict[str, Source]:
    """Name every source by its event.

    ``saved`` gives a mark that each save changes, ``live`` brings a scan up to date.
    """

    def queue() -> Sights:
        with db.read() as tx:
            stock = take_stock(tx)
        lanes = {
            view.name: LaneTally(hits=view.hits, misses=view.misses, state=view.state)
            for view in lane_desk.views()
        }
        news = QueueNews(statuses=stock.statuses, instrumental=stock.instrumental, lanes=lanes)
        return {"": Sight(news, news)}

    def lane() -> Sights:
        return {
            view.name: Sight((view.state, view.closed_until_at, view.reason), view)
            for view in lane_desk.views()
        }

    def scan() -> Sights:
        with db.read() as tx:
            rows = [live(row) for row in scan_runs.recent(tx)]
        return {row["id"]: Sight(row, row) for row in rows}

    def task() -> Sights:
        return {
            view.name: Sight((view.running, view.last_started_at, view.last_result), view)
            for view in tasks.views()
        }

    def health_list() -> Sights:
        entries = health.entries()
        return {"": Sight(entries, entries)}

    def settings() -> Sights:
        names = tuple(sorted(pending()))
        return {"": Sight((saved(), names), names)}

    return {
        "queue": queue,
        "lane": lane,
        "scan": scan,
        "task": task,
        "health": health_list,
        "settings": settings,
    }
