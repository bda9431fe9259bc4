"""Who did what: one line for every event that matters to security.

Lines are written whatever the log level. A client that causes more than ten
lines of one event within a second is written about ten times; what came in
between is counted in ``suppressed`` on the next line.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from lyrsvc import brand
from lyrsvc.core.ports import Clock
from lyrsvc.core.redaction import Redactor
from lyrsvc.logs.request_ids import current_request_id

LINES_PER_SECOND: Final = 10
LONGEST_TEXT: Final = 200

LEVELS: Final[Mapping[str, int]] = {
    "auth.key.failed": logging.WARNING,
    "auth.key.forbidden": logging.WARNING,
    "auth.login.ok": logging.INFO,
    "auth.login.failed": logging.WARNING,
    "auth.login.locked": logging.WARNING,
    "auth.logout": logging.INFO,
    "auth.password.changed": logging.INFO,
    "admin.created": logging.INFO,
    "auth.csrf.rejected": logging.WARNING,
    "auth.host.rejected": logging.WARNING,
    "key.created": logging.INFO,
    "key.revoked": logging.INFO,
    "secret.stored": logging.INFO,
    "setting.changed": logging.INFO,
    "backup.created": logging.INFO,
    "backup.restored": logging.INFO,
    "session.revoked": logging.INFO,
    "library.added": logging.INFO,
    "library.changed": logging.INFO,
    "library.removed": logging.INFO,
    "queue.cleared": logging.INFO,
    "queue.retried": logging.INFO,
    "scan.started": logging.INFO,
    "lane.reset": logging.INFO,
    "setup.opened": logging.INFO,
}
LOG_ONLY: Final = frozenset({"auth.key.failed", "auth.host.rejected"})
"""Strangers can cause these at will, so they never become rows of the database."""

_LOG: Final = logging.getLogger(f"{brand.PROGRAM}.audit")


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditEntry:
    """One event as it is written and kept; ``data`` holds the event's own fields."""

    at: datetime
    event: str
    outcome: str
    actor: str
    client: str
    request_id: str
    data: Mapping[str, object]


@dataclass(slots=True)
class _Spell:
    written: deque[float] = field(default_factory=lambda: deque(maxlen=LINES_PER_SECOND))
    suppressed: int = 0
    latest: AuditEntry | None = None


class Audit:
    """Writes audit lines and hands the lasting ones to ``keep``."""

    def __init__(
        self,
        *,
        clock: Clock,
        redactor: Redactor,
        keep: Callable[[AuditEntry], None] | None = None,
    ) -> None:
        self._clock = clock
        self._redactor = redactor
        self._keep = keep
        self._lock = threading.Lock()
        self._spells: dict[tuple[str, str], _Spell] = {}
        self._flushed_at = clock.monotonic()

    def event(
        self,
        name: str,
        /,
        *,
        outcome: str = "ok",
        actor: str = "anonymous",
        client: str = "",
        request_id: str = "",
        **fields: object,
    ) -> None:
        """Write one event; the request id is the current one unless given."""
        entry = AuditEntry(
            at=self._clock.now(),
            event=name,
            outcome=outcome,
            actor=self._short(actor),
            client=self._short(client),
            request_id=request_id or current_request_id(),
            data=self._short_fields(fields),
        )
        self.flush()
        suppressed = self._admit(entry)
        if suppressed is not None:
            self._write(entry, suppressed)

    def flush(self) -> None:
        """Write what was suppressed by clients that have fallen silent; call it now and then."""
        for entry, suppressed in self._silent():
            self._write(entry, suppressed)

    def close(self) -> None:
        """Write everything that is still suppressed."""
        for entry, suppressed in self._silent(at_once=True):
            self._write(entry, suppressed)

    def _admit(self, entry: AuditEntry) -> int | None:
        now = self._clock.monotonic()
        with self._lock:
            spell = self._spells.setdefault((entry.client, entry.event), _Spell())
            if len(spell.written) == LINES_PER_SECOND and now - spell.written[0] < 1.0:
                spell.suppressed += 1
                spell.latest = entry
                return None
            spell.written.append(now)
            suppressed, spell.suppressed = spell.suppressed, 0
            return suppressed

    def _silent(self, *, at_once: bool = False) -> list[tuple[AuditEntry, int]]:
        now = self._clock.monotonic()
        merged: list[tuple[AuditEntry, int]] = []
        with self._lock:
            if now - self._flushed_at < 1.0 and not at_once:
                return merged
            self._flushed_at = now
            for key, spell in list(self._spells.items()):
                if now - spell.written[-1] >= 1.0 or at_once:
                    del self._spells[key]
                    if spell.suppressed and spell.latest:
                        merged.append((spell.latest, spell.suppressed - 1))
        return merged

    def _write(self, entry: AuditEntry, suppressed: int) -> None:
        fields: dict[str, object] = {
            "event": entry.event,
            "outcome": entry.outcome,
            "actor": entry.actor,
            "client": entry.client,
            "request_id": entry.request_id,
            **entry.data,
        }
        if suppressed:
            fields["suppressed"] = suppressed
        _LOG.log(LEVELS.get(entry.event, logging.WARNING), "audit", extra={"fields": fields})
        if self._keep is not None and entry.event not in LOG_ONLY:
            self._keep(entry)

    def _short_fields(self, fields: Mapping[str, object]) -> dict[str, object]:
        clean = self._redactor.clean_fields(fields)
        return {
            name: _cut(value) if isinstance(value, str) else value for name, value in clean.items()
        }

    def _short(self, text: str) -> str:
        return _cut(self._redactor.clean(text))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 1]}…"
