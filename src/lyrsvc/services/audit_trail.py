"""Keeping audit entries as rows; a row that cannot be written never stops what it is about."""

import logging
from typing import Final

from lyrsvc.core.display import escape_controls
from lyrsvc.logs.audit import AuditEntry
from lyrsvc.store import audit_log
from lyrsvc.store.audit_log import AuditRow
from lyrsvc.store.database import Database

WAIT_S: Final = 2.0
"""How long a busy database is waited for; the line in the log is written already."""

_LOG = logging.getLogger("lyrsvc.audit_trail")


class AuditTrail:
    """Writes audit entries down; hand ``keep`` to the ``Audit``, and never call it in a write."""

    def __init__(self, db: Database, *, wait_s: float = WAIT_S) -> None:
        self._db = db
        self._wait_s = wait_s

    def keep(self, entry: AuditEntry) -> None:
        """Store an entry as a row, durable when this returns."""
        row = AuditRow(
            at=entry.at,
            event=entry.event,
            outcome=entry.outcome,
            actor=escape_controls(entry.actor),
            client=escape_controls(entry.client),
            request_id=entry.request_id,
            data={name: _escaped(value) for name, value in entry.data.items()},
        )
        try:
            self._db.write(lambda tx: audit_log.add(tx, row), wait_s=self._wait_s)
        except Exception as error:  # noqa: BLE001 - what was done must not fail afterwards
            _LOG.warning("the audit row was not kept", extra={"event": row.event, "why": error})


def _escaped(value: object) -> object:
    if isinstance(value, str):
        return escape_controls(value)
    if isinstance(value, dict):
        return {name: _escaped(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_escaped(part) for part in value]
    return value
