"""What an operator should know: everything that is not as it should be, with its remedy."""

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from lyrsvc.core.errors import LyrsvcError
from lyrsvc.core.ports import Clock

Level = Literal["warning", "error"]

WARNING: Final = "warning"
ERROR: Final = "error"
FRESH_S: Final = 5.0

CODES: Final = (
    "no_provider",
    "lane_closed",
    "library_missing",
    "library_empty",
    "library_readonly",
    "disk_low",
    "db_network_fs",
    "key_file_permissions",
    "proxy_not_declared",
    "settings_invalid",
    "restart_pending",
    "webhook_never_received",
    "webhook_paths",
    "tls_expiring",
    "scan_failed",
    "clock_jump",
    "worker_paused",
    "watcher_degraded",
)
"""Every code there is, in the order in which entries are shown within a level."""

_LOG = logging.getLogger("lyrsvc.health")


@dataclass(frozen=True, kw_only=True, slots=True)
class HealthEntry:
    """One thing that is not as it should be."""

    code: str
    level: Level
    detail: str
    remedy: str


Check = Callable[[], Iterable[HealthEntry]]
"""Looks at one thing; gives an entry for whatever is wrong with it."""


class HealthChecks:
    """Runs every check; what was found a moment ago is given again without looking.

    A check that cannot look says nothing: that the database is gone is told elsewhere.
    """

    def __init__(self, checks: Iterable[Check], *, clock: Clock, fresh_s: float = FRESH_S) -> None:
        self._checks = tuple(checks)
        self._clock = clock
        self._fresh_s = fresh_s
        self._lock = threading.Lock()
        self._found: tuple[HealthEntry, ...] = ()
        self._looked_s: float | None = None

    def entries(self) -> tuple[HealthEntry, ...]:
        """Give everything that is wrong, errors first."""
        with self._lock:
            now_s = self._clock.monotonic()
            if self._looked_s is None or now_s - self._looked_s >= self._fresh_s:
                self._found = self._look()
                self._looked_s = self._clock.monotonic()
            return self._found

    def count(self, level: str) -> int:
        """Count the entries of a level."""
        return sum(entry.level == level for entry in self.entries())

    def forget(self) -> None:
        """Look anew the next time: something was put right just now."""
        self._looked_s = None

    def _look(self) -> tuple[HealthEntry, ...]:
        found: list[HealthEntry] = []
        for check in self._checks:
            try:
                found += check()
            except (LyrsvcError, OSError) as error:
                _LOG.debug("a health check could not look", extra={"why": str(error)})
        return tuple(sorted(found, key=_order))


def _order(entry: HealthEntry) -> tuple[bool, int]:
    return entry.level != ERROR, CODES.index(entry.code)


def warning(code: str, detail: str, remedy: str) -> HealthEntry:
    """Say that something should be looked at."""
    return HealthEntry(code=code, level=WARNING, detail=detail, remedy=remedy)


def error(code: str, detail: str, remedy: str) -> HealthEntry:
    """Say that something does not work."""
    return HealthEntry(code=code, level=ERROR, detail=detail, remedy=remedy)


def in_words(names: Sequence[str]) -> str:
    """Name things in a sentence."""
    return ", ".join(names)
