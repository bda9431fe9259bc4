"""The menu and the banners: one table, with what each entry counts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from lyrsvc.core.errors import LyrsvcError
from lyrsvc.settings.settings_desk import SettingsDesk
from lyrsvc.store.stock_taking import take_stock
from lyrsvc.web.identity_kinds import IdentityKind
from lyrsvc.web.report_views import REPORTS
from lyrsvc.web.shapes import as_text

if TYPE_CHECKING:
    from lyrsvc.web.exchange import Exchange


_HEALTH: Final = "/system/status"


@dataclass(frozen=True, kw_only=True)
class NavEntry:
    """One page in the menu."""

    title: str
    path: str
    icon: str
    badge: int = 0
    badge_title: str = ""
    alarm: bool = False
    current: bool = False


@dataclass(frozen=True, kw_only=True)
class NavGroup:
    """Pages that belong together."""

    title: str
    entries: tuple[NavEntry, ...]


@dataclass(frozen=True, kw_only=True)
class Banner:
    """Something every page should tell."""

    level: str
    text: str
    link: str = ""
    link_text: str = ""


MENU: Final = (
    NavGroup(
        title="",
        entries=(
            NavEntry(title="Dashboard", path="/dashboard", icon="dashboard"),
            NavEntry(title="Wanted", path="/wanted", icon="wanted"),
            NavEntry(title="Libraries", path="/libraries", icon="libraries"),
        ),
    ),
    NavGroup(
        title="Activity",
        entries=(
            NavEntry(title="Queue", path="/queue", icon="queue"),
            NavEntry(title="History", path="/history", icon="history"),
        ),
    ),
    NavGroup(
        title="Reports",
        entries=tuple(
            NavEntry(title=report.menu, path=f"/reports/{report.key}", icon="report")
            for report in REPORTS
        ),
    ),
    NavGroup(
        title="Settings",
        entries=(
            NavEntry(title="Configuration", path="/settings", icon="settings"),
            NavEntry(title="API keys", path="/settings/keys", icon="keys"),
            NavEntry(title="Account", path="/settings/account", icon="account"),
        ),
    ),
    NavGroup(
        title="System",
        entries=(
            NavEntry(title="Status", path="/system/status", icon="status"),
            NavEntry(title="Providers", path="/system/providers", icon="providers"),
            NavEntry(title="Tasks", path="/system/tasks", icon="tasks"),
            NavEntry(title="Logs", path="/system/logs", icon="logs"),
        ),
    ),
)


def navigation_of(exchange: "Exchange") -> Sequence[NavGroup]:
    """Give the menu as it stands for this page; without the database it has no numbers."""
    badges = _badges(exchange)
    return [
        replace(
            group, entries=tuple(_entry(entry, exchange.path, badges) for entry in group.entries)
        )
        for group in MENU
    ]


def banners_of(exchange: "Exchange") -> Sequence[Banner]:
    """Give what every page tells: no usable lane, a restart that is due, trust by network."""
    try:
        return _banners(exchange)
    except LyrsvcError:
        return ()


def _banners(exchange: "Exchange") -> Sequence[Banner]:
    found = []
    if not any(lane.active for lane in exchange.service.lookup.lanes):
        found.append(
            Banner(
                level="error",
                text="No lyrics provider can be asked: set a token (api.token), "
                'or set providers.primary to "lrclib", which needs none.',
                link="/settings",
                link_text="Open the settings",
            )
        )
    found += _settings_banners(exchange.service.settings_desk)
    if exchange.identity.kind is IdentityKind.TRUSTED:
        found.append(_trust_banner(exchange))
    return found


def _settings_banners(desk: SettingsDesk) -> Iterator[Banner]:
    """Tell what waits for a restart, or that one would fail."""
    if faults := desk.faults():
        more = f" ({len(faults) - 1} more)" if len(faults) > 1 else ""
        yield Banner(
            level="error",
            text=f"The next start would fail: {as_text(faults[0])}{more}",
            link="/settings",
            link_text="Open the settings",
        )
    elif pending := desk.pending():
        names = ", ".join(sorted(pending)[:5]) + (" …" if len(pending) > 5 else "")
        yield Banner(level="warning", text=f"Saved, but in force only after a restart: {names}")


def _trust_banner(exchange: "Exchange") -> Banner:
    if exchange.service.access.has_admin():
        return Banner(
            level="info",
            text="You are not signed in: this network is trusted.",
            link="/login",
            link_text="Sign in",
        )
    return Banner(
        level="warning",
        text="You are here because this network is trusted. No admin account exists yet.",
        link="/setup",
        link_text="Create one",
    )


def _entry(entry: NavEntry, path: str, badges: Mapping[str, tuple[int, str]]) -> NavEntry:
    number, words = badges.get(entry.path, (0, ""))
    return replace(
        entry,
        current=path == entry.path,
        badge=number,
        badge_title=words,
        alarm=entry.path == _HEALTH,
    )


def _badges(exchange: "Exchange") -> Mapping[str, tuple[int, str]]:
    """Count what the menu shows, by page; nothing while the database cannot be read."""
    try:
        with exchange.service.db.read() as tx:
            stock = take_stock(tx)
        troubles = len(exchange.service.health.entries())
    except LyrsvcError:
        return {}
    return {
        "/wanted": (stock.wanted_missing, "missing"),
        "/queue": (stock.due, "due"),
        _HEALTH: (troubles, "problems"),
    }
