"""Reading the log file back, so that the log page shows what was before the start."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from lyrsvc.logs.formats import LEVELS
from lyrsvc.logs.log_memory import KEPT, LogLine

_REACH_BYTES: Final = 4 * 1024 * 1024
"""So much of the end of the file is looked at."""


def recall_lines(path: Path, *, most: int = KEPT) -> list[LogLine]:
    """Give the last records of a log file of ours, the oldest first; what is none is left out."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _REACH_BYTES))
            lines = file.read(_REACH_BYTES).split(b"\n")
    except OSError:
        return []
    if size > _REACH_BYTES:
        del lines[0]  # its beginning is missing
    found = (_record_of(line.decode("utf-8", "replace")) for line in lines[-most - 1 :])
    return [record for record in found if record is not None][-most:]


def _record_of(line: str) -> LogLine | None:
    try:
        return _record_of_json(line) if line.startswith("{") else _record_of_text(line)
    except (ValueError, KeyError, TypeError):
        return None


def _record_of_text(line: str) -> LogLine:
    moment, level, logger, _ = line.split(maxsplit=3)
    return LogLine(_moment(moment), LEVELS[level.lower()], logger, line)


def _record_of_json(line: str) -> LogLine:
    """Show an object as the line it would have been as text."""
    parts = json.loads(line)
    moment, level, logger = (str(parts.pop(name)) for name in ("time", "level", "logger"))
    message = str(parts.pop("msg"))
    fields = " ".join(f"{name}={json.dumps(value)}" for name, value in parts.items())
    text = f"{moment} {level.upper():<5} {logger} {message} {fields}".rstrip()
    return LogLine(_moment(moment), LEVELS[level], logger, text)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)
