"""The table ``audit_log``: who did what, for the page of logs."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from lyrsvc.core.ptext import clean_text
from lyrsvc.store.moments import from_db, to_db

if TYPE_CHECKING:
    from lyrsvc.store.engine import Row
    from lyrsvc.store.transaction import Tx

LONGEST_TEXT: Final = 1_000
"""A database refuses patterns of any length."""

_MATCHES: Final = r"""
    lower(event || ' ' || outcome || ' ' || actor || ' ' || client || ' ' || request_id || ' '
          || data) LIKE lower(:pattern) ESCAPE '\'
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditRow:
    """One event; ``data`` holds the event's own fields. ``id`` is 0 until it is stored."""

    id: int = 0
    at: datetime
    event: str
    outcome: str = ""
    actor: str = ""
    client: str = ""
    request_id: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


def add(tx: "Tx", row: AuditRow) -> None:
    """Store an event."""
    tx.run(
        """
        INSERT INTO audit_log (at, event, outcome, actor, client, request_id, data)
        VALUES (:at, :event, :outcome, :actor, :client, :request_id, :data)
        """,
        at=to_db(row.at),
        event=clean_text(row.event),
        outcome=clean_text(row.outcome),
        actor=clean_text(row.actor),
        client=clean_text(row.client),
        request_id=clean_text(row.request_id),
        data=clean_text(json.dumps(dict(row.data), ensure_ascii=False)),
    )


def list_rows(tx: "Tx", *, text: str = "", limit: int = 50, offset: int = 0) -> list[AuditRow]:
    """Give events, the newest first; with ``text`` only those that hold it anywhere."""
    rows = tx.each(
        f"""
        SELECT id, at, event, outcome, actor, client, request_id, data
          FROM audit_log
         WHERE {_condition(text)}
         ORDER BY at DESC, id DESC
         LIMIT :limit OFFSET :offset
        """,  # noqa: S608 - one of two constants
        limit=limit,
        offset=offset,
        **_parameters(text),
    )
    return [_row(row) for row in rows]


def _condition(text: str) -> str:
    return _MATCHES if text else "1 = 1"


def _parameters(text: str) -> dict[str, str]:
    if not text:
        return {}
    escaped = clean_text(text)[:LONGEST_TEXT]
    for sign in ("\\", "%", "_"):
        escaped = escaped.replace(sign, f"\\{sign}")
    return {"pattern": f"%{escaped}%"}


def _row(row: "Row") -> AuditRow:
    return AuditRow(
        id=row["id"],
        at=from_db(row["at"]),
        event=row["event"],
        outcome=row["outcome"],
        actor=row["actor"],
        client=row["client"],
        request_id=row["request_id"],
        data=json.loads(row["data"]),
    )
