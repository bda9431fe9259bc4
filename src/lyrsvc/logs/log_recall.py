"""Reading the log file back, so that the log page shows what was before the start."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from lyrsvc.core.display import escape_controls
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
        text = _as_text(line) if line.startswith("{") else line
        moment, level, logger, *_ = text.split(maxsplit=3)
        at = datetime.fromisoformat(moment).astimezone(UTC)
        return LogLine(at, LEVELS[level.lower()], logger, text)
    except (ValueError, KeyError, TypeError):
        return None


def _as_text(line: str) -> str:
    """Show an object as the line it would have been as text."""
    parts = json.loads(line)
    moment, level, logger = (str(parts.pop(name)) for name in ("time", "level", "logger"))
    message = str(parts.pop("msg"))
    fields = " ".join(f"{name}={json.dumps(value)}" for name, value in parts.items())
    return escape_controls(f"{moment} {level.upper():<5} {logger} {message} {fields}".rstrip())
