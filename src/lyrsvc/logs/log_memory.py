"""The memory behind the log page: the last records, as they were written, secrets hidden."""

import logging
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Final

from lyrsvc.core.display import escape_controls
from lyrsvc.core.redaction import Redactor
from lyrsvc.logs.formats import TextFormat, level_name

KEPT: Final = 5_000
LONGEST_LINE: Final = 8_192
SHEET: Final = 500
"""So many lines lie together in one piece of memory."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """One record; ``line`` is the whole line, ``text`` what follows time, level and logger."""

    at: datetime
    level: int
    logger: str
    line: str

    @property
    def level_name(self) -> str:
        """Name the level with one of the words the settings know."""
        return level_name(self.level)

    @property
    def text(self) -> str:
        """Give message and fields."""
        return self.line.split(maxsplit=3)[-1]


class LogMemory(logging.Handler):
    """Keeps the last records; hand it to the set-up of logging as a further handler.

    ``earlier`` are those of an earlier run, the oldest first. Lines are kept by the sheet:
    thousands of small things that live for minutes, each among others that live for a
    moment, would keep the memory between them from ever being given back.
    """

    def __init__(
        self, redactor: Redactor, *, kept: int = KEPT, earlier: Iterable[LogLine] = ()
    ) -> None:
        super().__init__()
        self.setFormatter(TextFormat(redactor))
        self._kept = kept
        self._guard = threading.Lock()
        self._sheets: deque[bytes] = deque(maxlen=kept // SHEET + 1)
        self._newest: list[str] = []
        for line in earlier:
            self._keep(line.at.timestamp(), line.level, line.logger, line.line)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one record."""
        line = self.format(record)
        if len(line) > LONGEST_LINE:
            line = f"{line[: LONGEST_LINE - 1]}…"
        self._keep(record.created, record.levelno, escape_controls(record.name), line)

    def lines(
        self, *, level: int = logging.NOTSET, text: str = "", limit: int = 0
    ) -> list[LogLine]:
        """Give records of a level and above that hold a text, the newest first; limit 0 = all."""
        with self._guard:
            sheets, newest = list(self._sheets), list(self._newest)
        wanted = text.casefold()
        kept = map(_read, islice(_backwards(sheets, newest), self._kept))
        found = (line for line in kept if line.level >= level and wanted in line.line.casefold())
        return list(islice(found, limit or None))

    def _keep(self, created_s: float, level: int, logger: str, line: str) -> None:
        with self._guard:
            self._newest.append(f"{created_s}\t{level}\t{logger}\t{line}")
            if len(self._newest) == SHEET:
                self._sheets.append("\n".join(self._newest).encode("utf-8", "surrogatepass"))
                self._newest.clear()


def _backwards(sheets: Sequence[bytes], newest: Sequence[str]) -> Iterator[str]:
    """Give what is kept, the newest first."""
    yield from reversed(newest)
    for sheet in reversed(sheets):
        yield from reversed(sheet.decode("utf-8", "surrogatepass").split("\n"))


def _read(kept: str) -> LogLine:
    created_s, level, logger, line = kept.split("\t", 3)
    return LogLine(datetime.fromtimestamp(float(created_s), UTC), int(level), logger, line)
