"""One record, one line: as text for people, as JSON for programs.

Data comes in ``extra=``. A field whose name ``logging`` keeps for itself, such
as ``name``, travels in ``extra={"fields": {...}}``. Both formats clean every
value first and look through the finished line for secrets again.
"""

import json
import logging
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, cast

from lyrsvc import brand
from lyrsvc.core.display import escape_controls
from lyrsvc.core.redaction import Redactor
from lyrsvc.logs.request_ids import current_request_id

LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}
"""The level names of the settings."""

NOTE: Final = "lyrsvc_note"
"""A record with this attribute is a sentence for the user, not a line of the log."""

_LINES: Final = "lyrsvc_lines"
"""The lines a record was made into: several handlers write the same one."""

_NOT_FIELDS: Final = frozenset(
    {*logging.makeLogRecord({}).__dict__, "message", "asctime", "taskName", "color_message"}
    | {NOTE, "fields", _LINES}
)
_OWN_NAMES: Final = frozenset({"time", "level", "logger", "msg", "exc"})


class LineFormat(logging.Formatter, ABC):
    """What both formats share; formatting never raises."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        """Give the record as one line without its line break."""
        lines: dict[object, str] = vars(record).setdefault(_LINES, {})
        kind = self._kind(record), self._redactor, self._redactor.known_forms
        if kind not in lines:
            lines[kind] = self._made(record)
        return lines[kind]

    @abstractmethod
    def _kind(self, record: logging.LogRecord) -> str:
        """Name what tells this line from those of other formats."""

    def _made(self, record: logging.LogRecord) -> str:
        try:
            return self._line(record, self._message(record), self._fields(record))
        except Exception as fault:  # noqa: BLE001 a log call never fails in the caller's face
            return self._line(record, "unloggable record", {"reason": type(fault).__name__})

    @abstractmethod
    def _line(self, record: logging.LogRecord, message: str, fields: dict[str, object]) -> str:
        """Put the parts of one line together."""

    def _message(self, record: logging.LogRecord) -> str:
        try:
            message = record.getMessage()
        except (TypeError, ValueError, KeyError):  # arguments that do not fit the sentence
            message = f"{record.msg} {record.args}"
        return self._redactor.clean(message)

    def _fields(self, record: logging.LogRecord) -> dict[str, object]:
        fields = {name: value for name, value in vars(record).items() if name not in _NOT_FIELDS}
        if (more := getattr(record, "fields", None)) is not None:
            fields |= _mapping(more)
        if not fields.get("request_id"):
            fields.pop("request_id", None)
            if request_id := current_request_id():
                fields["request_id"] = request_id
        if record.stack_info:
            fields["stack"] = record.stack_info
        named = self._redactor.clean_fields(fields)
        if not _OWN_NAMES.isdisjoint(named):
            named = {f"{key}_" if key in _OWN_NAMES else key: one for key, one in named.items()}
        if record.exc_info and record.exc_info[1]:
            named["exc"] = self._redactor.clean(self.formatException(record.exc_info))
        return named


class TextFormat(LineFormat):
    """``time LEVEL logger message key=value``, in the local zone."""

    def _kind(self, record: logging.LogRecord) -> str:  # noqa: ARG002 - every record alike
        return "text"

    def _line(self, record: logging.LogRecord, message: str, fields: dict[str, object]) -> str:
        second, zone = _local(int(record.created), time.tzname)
        thousandths = min(round(record.created % 1 * 1_000_000) // 1000, 999)
        head = (
            f"{second}.{thousandths:03}{zone} {level_name(record.levelno).upper():<5} "
            f"{escape_controls(record.name)} {escape_controls(message)}"
        )
        pairs = [
            f" {_key(name)}={one if type(one) is int else _value(one)}"
            for name, one in _flat(fields.items())
        ]
        return self._redactor.clean_values(head + "".join(pairs))


class ConsoleTextFormat(TextFormat):
    """As text, but a note for the user is a plain sentence behind the program's name."""

    def _kind(self, record: logging.LogRecord) -> str:
        return "note" if getattr(record, NOTE, False) else super()._kind(record)

    def _line(self, record: logging.LogRecord, message: str, fields: dict[str, object]) -> str:
        if getattr(record, NOTE, False):
            return plain_note(message, self._redactor)
        return super()._line(record, message, fields)


class JsonFormat(LineFormat):
    """One object per line, in UTC; ``ascii_only`` for streams that know no Unicode."""

    def __init__(self, redactor: Redactor, *, ascii_only: bool = False) -> None:
        super().__init__(redactor)
        self._ascii_only = ascii_only

    def _kind(self, record: logging.LogRecord) -> str:  # noqa: ARG002 - every record alike
        return "ascii json" if self._ascii_only else "json"

    def _line(self, record: logging.LogRecord, message: str, fields: dict[str, object]) -> str:
        moment = datetime.fromtimestamp(record.created, UTC)
        head: dict[str, object] = {
            "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": level_name(record.levelno),
            "logger": self._redactor.clean(record.name),
            "msg": message,
        }
        line = self._dumped(head | fields)
        hidden = self._redactor.clean_values(line)
        # Every value is clean already: what breaks the object is our own punctuation.
        return hidden if hidden == line or _is_object(hidden) else line

    def _dumped(self, document: dict[str, object]) -> str:
        line = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        line = line.replace("\x7f", "\\u007f")
        if line.isascii():
            return line
        if re.search(_SURROGATES, line):
            line = line.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        unsafe = _NOT_ASCII if self._ascii_only else _UNSAFE
        return re.sub(unsafe, lambda match: json.dumps(match[0])[1:-1], line)


def plain_note(sentence: str, redactor: Redactor) -> str:
    """Give a sentence for the user as ``lyrsvc: what; remedy``, in one line."""
    return f"{brand.PROGRAM}: {escape_controls(redactor.clean(sentence.strip()))}"


def level_name(level: int) -> str:
    """Name a level with one of the four words the settings know."""
    for name in ("error", "warn", "info"):
        if level >= LEVELS[name]:
            return name
    return "debug"


_SURROGATES: Final = "[\ud800-\udfff]"
_UNSAFE: Final = "[\x80-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
_NOT_ASCII: Final = "[^\x00-\x7f]"
_SECOND: Final = len("2026-01-31T14:05:06")
_BARE: Final = r"[^\s\"=\\]+"
_LONGEST_RECALLED: Final = 64
_KEY_BREAKERS: Final = r"[\s\"=\\]"


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _flat(items: Iterable[tuple[str, object]]) -> list[tuple[str, object]]:
    flat: list[tuple[str, object]] = []
    for name, value in items:
        if isinstance(value, dict):
            flat += [(f"{name}.{inner}", one) for inner, one in _flat(value.items())]
        else:
            flat.append((name, value))
    return flat


@lru_cache(maxsize=4)
def _local(second: int, _zone: tuple[str, str]) -> tuple[str, str]:
    """Give a second in the local zone, and how far that is from UTC: what its lines share."""
    text = datetime.fromtimestamp(second, UTC).astimezone().isoformat()
    return text[:_SECOND], text[_SECOND:]


@lru_cache(maxsize=256)
def _key(name: str) -> str:
    return re.sub(_KEY_BREAKERS, "_", escape_controls(name)) or "_"


def _value(value: object) -> str:
    if type(value) is str:
        return _recalled(value) if len(value) <= _LONGEST_RECALLED else _shown(value)
    if isinstance(value, list):
        value = ",".join(one if isinstance(one, str) else _number(one) for one in value)
    if type(value) is int or type(value) is float:
        return _number(value)
    if not isinstance(value, str):
        return json.dumps(value)
    return _recalled(value) if len(value) <= _LONGEST_RECALLED else _shown(value)


def _shown(text: str) -> str:
    if re.fullmatch(_BARE, text) and escape_controls(text) == text:
        return text
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escape_controls(quoted)}"'


_recalled: Final = lru_cache(maxsize=256)(_shown)
"""Most values are short and stand in many lines."""


def _number(value: object) -> str:
    """Write a number as JSON has it; whatever else there is, too."""
    return repr(value) if type(value) in (int, float) else json.dumps(value)


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False
