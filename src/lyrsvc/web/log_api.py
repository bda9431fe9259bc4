"""What was logged lately, and who did what."""

import logging
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from lyrsvc.logs.audit import LEVELS as AUDIT_LEVELS
from lyrsvc.logs.formats import LEVELS, level_name
from lyrsvc.logs.log_memory import LogLine
from lyrsvc.store import audit_log
from lyrsvc.store.audit_log import AuditRow
from lyrsvc.web.exchange import Exchange
from lyrsvc.web.gates import API
from lyrsvc.web.replies import Reply
from lyrsvc.web.route import get
from lyrsvc.web.shapes import Moment, shown_moment

MOST: Final = 1_000
MOST_DOWNLOADED: Final = 10_000

Limit = Annotated[int, Meta(ge=1, le=MOST, description="How many records at most.")]
Level = Annotated[
    Literal["debug", "info", "warn", "warning", "error"],
    Meta(description="Records of this level and above; audit events have none."),
]
Text = Annotated[str, Meta(max_length=1000, description="Text to look for; not its case.")]


class LogQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which records to give."""

    kind: Literal["log", "audit"] = "log"
    level: Level | None = None
    q: Text = ""
    limit: Limit = 200


class DownloadQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which records to put into the file; without a limit all that are kept."""

    kind: Literal["log", "audit"] = "log"
    level: Level | None = None
    q: Text = ""
    limit: Limit | None = None


class LogRecord(msgspec.Struct):
    """One line of the log; ``text`` is its message with the fields.

    An audit event has its parts beside it; ``data`` holds the fields of the event.
    """

    time: Moment
    level: str
    logger: str
    text: str
    id: int | UnsetType = UNSET
    event: str | UnsetType = UNSET
    outcome: str | UnsetType = UNSET
    actor: str | UnsetType = UNSET
    client: str | UnsetType = UNSET
    request_id: str | UnsetType = UNSET
    data: dict[str, Any] | UnsetType = UNSET


class LogRecords(msgspec.Struct):
    """Records, the newest first."""

    items: list[LogRecord]


def list_records(exchange: Exchange, query: LogQuery) -> LogRecords:
    """Give what was logged lately, or who did what, the newest first."""
    if query.kind == "audit":
        return LogRecords(
            items=[audit_record_of(row) for row in _audit(exchange, query, query.limit)]
        )
    return LogRecords(items=[log_record_of(line) for line in _lines(exchange, query, query.limit)])


def download_records(exchange: Exchange, query: DownloadQuery) -> Reply:
    """Give the same as a text file, the oldest first."""
    limit = query.limit or MOST_DOWNLOADED
    if query.kind == "audit":
        lines = [
            f"{shown_moment(row.at)} {_audit_text(row)}" for row in _audit(exchange, query, limit)
        ]
    else:
        lines = [line.line for line in _lines(exchange, query, limit)]
    day = exchange.service.clock.now().strftime("%Y%m%d")
    return Reply(
        text="".join(f"{line}\n" for line in reversed(lines)),
        content_type="text/plain; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="lyrsvc-{query.kind}-{day}.txt"'},
    )


def log_record_of(line: LogLine) -> LogRecord:
    """Give the shape of a line of the log."""
    return LogRecord(
        time=line.at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        level=line.level_name,
        logger=line.logger,
        text=line.text,
    )


def audit_record_of(row: AuditRow) -> LogRecord:
    """Give the shape of an audit event."""
    return LogRecord(
        id=row.id,
        time=shown_moment(row.at) or "",
        level=level_name(AUDIT_LEVELS.get(row.event, logging.WARNING)),
        logger="lyrsvc.audit",
        text=_audit_text(row),
        event=row.event,
        outcome=row.outcome,
        actor=row.actor,
        client=row.client,
        request_id=row.request_id,
        data=dict(row.data),
    )


def _lines(exchange: Exchange, query: LogQuery | DownloadQuery, limit: int) -> list[LogLine]:
    level = LEVELS[query.level] if query.level else 0
    return exchange.service.log_memory.lines(level=level, text=query.q, limit=limit)


def _audit(exchange: Exchange, query: LogQuery | DownloadQuery, limit: int) -> list[AuditRow]:
    with exchange.service.db.read() as tx:
        return audit_log.list_rows(tx, text=query.q, limit=limit)


def _written(value: object) -> str:
    """Write a value as JSON does; a plain text stays as it is."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _audit_text(row: AuditRow) -> str:
    fields = " ".join(f"{name}={_written(value)}" for name, value in row.data.items())
    parts = (f"{row.event} outcome={row.outcome} actor={row.actor}", f"client={row.client}")
    return " ".join(filter(None, (*parts, f"request_id={row.request_id}", fields)))


ROUTES: Final = (
    get("/api/v1/logs", API, list_records),
    get("/api/v1/logs/download", API, download_records, media=("text/plain",)),
)
