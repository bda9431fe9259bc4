"""The memory behind the log page: the last records, as they were written, secrets hidden."""

import logging
import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from lyrsvc.core.redaction import Redactor
from lyrsvc.logs.formats import TextFormat, level_name

KEPT: Final = 5_000
LONGEST_LINE: Final = 8_192


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

    ``earlier`` are those of an earlier run, the oldest first.
    """

    def __init__(
        self, redactor: Redactor, *, kept: int = KEPT, earlier: Iterable[LogLine] = ()
    ) -> None:
        super().__init__()
        self.setFormatter(TextFormat(redactor))
        self._guard = threading.Lock()
        self._lines: deque[LogLine] = deque(earlier, maxlen=kept)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one record."""
        at = datetime.fromtimestamp(record.created, UTC)
        text = self.format(record)
        if len(text) > LONGEST_LINE:
            text = f"{text[: LONGEST_LINE - 1]}…"
        line = LogLine(at, record.levelno, record.name, text)
        with self._guard:
            self._lines.append(line)

    def lines(
        self, *, level: int = logging.NOTSET, text: str = "", limit: int = 0
    ) -> list[LogLine]:
        """Give records of a level and above that hold a text, the newest first; limit 0 = all."""
        with self._guard:
            kept = list(self._lines)
        wanted = text.casefold()
        found: list[LogLine] = []
        for line in reversed(kept):
            if line.level >= level and wanted in line.line.casefold():
                found.append(line)
                if len(found) == limit:
                    break
        return found
