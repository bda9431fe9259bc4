"""The log as a page: what was logged lately, and who did what."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from msgspec import UNSET

from lyrsvc.logs.log_memory import KEPT
from lyrsvc.web import log_api
from lyrsvc.web.exchange import Exchange
from lyrsvc.web.gates import PAGE
from lyrsvc.web.list_links import links_of, with_query
from lyrsvc.web.log_api import LogQuery, LogRecord
from lyrsvc.web.rendering import show
from lyrsvc.web.replies import Reply
from lyrsvc.web.route import page
from lyrsvc.web.setting_words import value_text
from lyrsvc.web.shapes import as_text

HOME: Final = "/system/logs"
LIMITS: Final = (100, 200, 500, 1000)
LEVELS: Final = ("debug", "info", "warn", "error")
_FIELDS: Final = re.compile(r"\s(?=[^\s=\"]+=)")
"""Where the sentence of a line ends and its fields begin."""
_TRACE: Final = re.compile(r'(?:^|\s)exc="((?:[^"\\]|\\.)*)"$')
_ESCAPED: Final = re.compile(r'\\([nt"\\])')
_MEANT: Final = {"n": "\n", "t": "\t"}


@dataclass(frozen=True, kw_only=True)
class LogEntry:
    """One record: its sentence, its fields as they were written, and its traceback."""

    record: LogRecord
    at: datetime
    message: str
    fields: str
    trace: str = ""


def show_logs(exchange: Exchange, query: LogQuery) -> Reply:
    """Show the latest records of a level and above that hold a text."""
    links = links_of(exchange)
    service = exchange.service
    log_file = service.settings.logging.file
    return show(
        exchange,
        "logs.html",
        title="Logs",
        query=query,
        level="warn" if query.level == "warning" else query.level,
        levels=LEVELS,
        limits=sorted({*LIMITS, query.limit}),
        entries=[entry_of(one) for one in log_api.list_records(exchange, query).items],
        links=links,
        download=with_query(exchange.url("/api/v1/logs/download"), _download(query)),
        kept=KEPT,
        kept_days=service.settings.history.retention_days,
        log_file=as_text(str(log_file)) if log_file else "",
        log_level=service.settings.logging.level,
    )


def entry_of(record: LogRecord) -> LogEntry:
    """Tell the sentence of a record from its fields and its traceback."""
    trace = ""
    if record.event is not UNSET:
        data: dict[str, Any] = record.data if record.data is not UNSET else {}
        message, fields = (
            record.event,
            "; ".join(f"{name}={value_text(data[name])}" for name in data),
        )
    else:
        message, *rest = _FIELDS.split(record.text, maxsplit=1)
        fields, trace = _apart(rest[0] if rest else "")
    return LogEntry(
        record=record,
        at=datetime.fromisoformat(record.time),
        message=message,
        fields=fields,
        trace=trace,
    )


def _apart(fields: str) -> tuple[str, str]:
    """Take a traceback off the fields and give it its lines back."""
    found = _TRACE.search(fields)
    if found is None:
        return fields, ""
    lines = _ESCAPED.sub(lambda sign: _MEANT.get(sign[1], sign[1]), found[1])
    return fields[: found.start()], lines


def _download(query: LogQuery) -> list[tuple[str, str]]:
    """Give the same filters for the file; it holds all that is kept."""
    given = {"kind": "audit" if query.kind == "audit" else "", "level": query.level, "q": query.q}
    return [(name, value) for name, value in given.items() if value]


ROUTES: Final = (page(HOME, PAGE, show_logs),)
