"""Writing down who changed what from the command line: a log line, and a row when it can be."""

import logging
from typing import TYPE_CHECKING, Any

from lyrsvc.cli.identity import would_leave_traces
from lyrsvc.logs.audit import Audit

if TYPE_CHECKING:
    from lyrsvc.cli.call import Call
    from lyrsvc.logs.audit import AuditEntry

_LOG = logging.getLogger("lyrsvc.audit_trail")


def write_down(call: "Call", event: str, fields: dict[str, Any]) -> None:
    """Write one event; trouble with the row is told and never fails the command."""
    audit = Audit(
        clock=call.world.clock,
        redactor=call.voice.redactor,
        keep=lambda entry: _keep(call, entry),
    )
    audit.event(event, actor=f"cli:{call.world.user}", **fields)


def _keep(call: "Call", entry: "AuditEntry") -> None:
    """Add the row to a database that is there; none is made, and none becomes root's."""
    from lyrsvc.services.audit_trail import AuditTrail
    from lyrsvc.store.database import Database, exists

    path = call.settings.db.path
    try:
        if path is None or not exists(path) or would_leave_traces(path.parent):
            return
        with Database.open(path, create=False, clock=call.world.clock) as db:
            AuditTrail(db).keep(entry)
    except Exception as error:  # noqa: BLE001 - what was done must not fail afterwards
        _LOG.warning("the audit row was not kept", extra={"event": entry.event, "why": error})
