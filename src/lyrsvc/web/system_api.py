"""The service itself: versions, places, room on disks, and what is not as it should be."""

import platform
from pathlib import Path
from typing import Final, Literal

import msgspec

from lyrsvc import __version__
from lyrsvc.services.health_checks import HealthEntry
from lyrsvc.settings.zones import shown_zone
from lyrsvc.store.database_facts import engine_version
from lyrsvc.web.exchange import Exchange
from lyrsvc.web.gates import API
from lyrsvc.web.route import get
from lyrsvc.web.shapes import Moment, Page, shown_moment
from lyrsvc.web.short_lists import ShortListQuery, short_page


class FreeBytes(msgspec.Struct):
    """Room left; libraries go by id. Null where nobody can say."""

    database: int | None
    libraries: dict[str, int | None]


class SystemStatus(msgspec.Struct):
    """The running service; ``restart_pending`` names settings that wait for a restart."""

    version: str
    python: str
    sqlite: str
    started_at: Moment
    uptime_s: int
    timezone: str
    database_size_bytes: int
    library_count: int
    restart_pending: list[str]
    free_bytes: FreeBytes


class Trouble(msgspec.Struct):
    """Something that is not as it should be."""

    code: str
    level: Literal["warning", "error"]
    detail: str
    remedy: str


def show_status(exchange: Exchange) -> SystemStatus:
    """Show versions, times and room on disks."""
    service = exchange.service
    views = service.library_board.views()
    with service.db.read() as tx:
        sqlite = engine_version(tx)
    now = service.clock.now()
    directory = Path(service.db.location).parent
    return SystemStatus(
        version=__version__,
        python=platform.python_version(),
        sqlite=sqlite,
        started_at=shown_moment(service.started_at) or "",
        uptime_s=max(0, int((now - service.started_at).total_seconds())),
        timezone=str(shown_zone(service.settings.environment.tz)),
        database_size_bytes=_size_of(Path(service.db.location)),
        library_count=len(views),
        restart_pending=list(service.settings_desk.pending()),
        free_bytes=FreeBytes(
            database=service.library_board.free_bytes(directory),
            libraries={str(view.library.id): view.root.free_bytes for view in views},
        ),
    )


def list_troubles(exchange: Exchange, query: ShortListQuery) -> Page[Trouble]:
    """List what is not as it should be, errors first, each with its remedy."""
    troubles = [trouble_of(entry) for entry in exchange.service.health.entries()]
    return short_page(troubles, query, text=lambda one: f"{one.code} {one.detail}")


def trouble_of(entry: HealthEntry) -> Trouble:
    """Give the shape of a health entry."""
    return Trouble(code=entry.code, level=entry.level, detail=entry.detail, remedy=entry.remedy)


def _size_of(database: Path) -> int:
    """Give the bytes of the database, with what its log holds."""
    total = 0
    for name in (database, database.with_name(f"{database.name}-wal")):
        try:
            total += name.stat().st_size
        except OSError:
            continue
    return total


ROUTES: Final = (
    get("/api/v1/system/status", API, show_status),
    get("/api/v1/system/health", API, list_troubles),
)
