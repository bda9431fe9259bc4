"""The service itself as a page: what is wrong and how to mend it, versions, places, webhooks."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lyrsvc.services.health_checks import HealthEntry
from lyrsvc.services.health_rules import LEAST_FREE_BYTES
from lyrsvc.web import system_api
from lyrsvc.web.exchange import Exchange
from lyrsvc.web.gates import PAGE
from lyrsvc.web.own_address import webhook_address
from lyrsvc.web.page_actions import sentence
from lyrsvc.web.rendering import show, shown_here
from lyrsvc.web.replies import Reply
from lyrsvc.web.route import page
from lyrsvc.web.shapes import as_text


@dataclass(frozen=True, kw_only=True)
class Ailment:
    """Something that is wrong, in sentences, with the page where it can be mended."""

    code: str
    level: str
    detail: str
    remedy: str
    href: str
    link: str


@dataclass(frozen=True, kw_only=True)
class Place:
    """A file or directory of the service."""

    title: str
    path: str
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class DiskSpace:
    """How much may still be written somewhere; None when nobody can say."""

    title: str
    path: str
    free_bytes: int | None

    @property
    def is_low(self) -> bool:
        """Tell whether it should be looked after."""
        return self.free_bytes is not None and self.free_bytes < LEAST_FREE_BYTES


def show_system_status(exchange: Exchange) -> Reply:
    """Show the health list and everything one wants to know before asking for help."""
    service = exchange.service
    return show(
        exchange,
        "system_status.html",
        title="Status",
        status_now=system_api.show_status(exchange),
        started_at=service.started_at,
        next_faults=service.settings_desk.faults(),
        ailments=[ailment_of(exchange, entry) for entry in service.health.entries()],
        places=list(_places(exchange)),
        disk_spaces=_disk_spaces(exchange),
        address=webhook_address(exchange),
        webhook=service.webhooks.last,
        listens=service.settings.server.addr,
        certificate_ends_at=service.certificates.expires_at if service.certificates else None,
    )


def ailment_of(exchange: Exchange, entry: HealthEntry) -> Ailment:
    """Give a health entry in sentences."""
    href, link = _MENDED_AT.get(entry.code, ("", ""))
    return Ailment(
        code=entry.code,
        level=entry.level,
        detail=sentence(shown_here(exchange, as_text(entry.detail))),
        remedy=sentence(as_text(entry.remedy)),
        href=href,
        link=link,
    )


def _places(exchange: Exchange) -> Iterable[Place]:
    service = exchange.service
    settings, config = service.settings, service.loaded.config_path
    if config is not None:
        yield Place(title="Settings", path=_text(config))
    yield Place(title="Database", path=as_text(service.db.location))
    if settings.secrets.key_file is not None:
        replaced = bool(settings.environment.master_key)
        yield Place(
            title="Key of the secrets",
            path=_text(settings.secrets.key_file),
            note="not used: the key comes from the environment" if replaced else "",
        )
    if settings.output.dir is not None:
        yield Place(
            title="Lyrics without audio",
            path=_text(settings.output.dir),
            note="for tracks whose files this service cannot see",
        )
    if settings.logging.file is not None:
        yield Place(title="Log file", path=_text(settings.logging.file))


def _disk_spaces(exchange: Exchange) -> list[DiskSpace]:
    board = exchange.service.library_board
    database = Path(exchange.service.db.location).parent
    return [
        DiskSpace(title="Database", path=_text(database), free_bytes=board.free_bytes(database)),
        *(
            DiskSpace(
                title=view.library.name,
                path=_text(view.library.path),
                free_bytes=view.root.free_bytes,
            )
            for view in board.views()
        ),
    ]


def _text(path: Path) -> str:
    return as_text(str(path))


_SETTINGS: Final = ("/settings", "Open the settings")
_LANES: Final = ("/system/providers", "See the providers")
_LIBRARIES: Final = ("/libraries", "See the libraries")
_MENDED_AT: Final[Mapping[str, tuple[str, str]]] = {
    "no_provider": _SETTINGS,
    "lane_closed": _LANES,
    "library_missing": _LIBRARIES,
    "library_empty": _LIBRARIES,
    "library_readonly": _LIBRARIES,
    "proxy_not_declared": ("/settings?tab=advanced", "Open the settings"),
    "settings_invalid": _SETTINGS,
    "restart_pending": _SETTINGS,
    "webhook_never_received": ("/settings/keys", "See the keys"),
    "webhook_paths": ("/settings?tab=advanced", "Open the settings"),
    "scan_failed": _LIBRARIES,
    "worker_paused": _LANES,
    "watcher_degraded": ("/system/logs", "Read the log"),
}

ROUTES: Final = (page("/system/status", PAGE, show_system_status),)
