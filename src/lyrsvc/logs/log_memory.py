"""The memory behind the log page: the last records, as they were written, secrets hidden."""

import logging
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Final, Self

from lyrsvc.core.redaction import Redactor
from lyrsvc.logs.formats import LEVELS, TextFormat, level_name

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

    @classmethod
    def of(cls, line: str) -> Self:
        """Read a line as it was written; raise ``ValueError`` for one that is no record."""
        moment, level, logger, *_ = line.split(maxsplit=3)
        if (number := LEVELS.get(level.lower())) is None:
            raise ValueError(f"no level: {level}")
        return cls(datetime.fromisoformat(moment).astimezone(UTC), number, logger, line)

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
        for record in earlier:
            self._keep(record.line)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one record."""
        line = self.format(record)
        if len(line) > LONGEST_LINE:
            line = f"{line[: LONGEST_LINE - 1]}…"
        self._keep(line)

    def lines(
        self, *, level: int = logging.NOTSET, text: str = "", limit: int = 0
    ) -> list[LogLine]:
        """Give records of a level and above that hold a text, the newest first; limit 0 = all."""
        with self._guard:
            sheets, newest = list(self._sheets), list(self._newest)
        wanted = text.casefold()
        kept = islice(_backwards(sheets, newest), self._kept)
        records = (LogLine.of(line) for line in kept if wanted in line.casefold())
        found = (record for record in records if record.level >= level)
        return list(islice(found, limit or None))

    def _keep(self, line: str) -> None:
        with self._guard:
            self._newest.append(line)
            if len(self._newest) == SHEET:
                self._sheets.append("\n".join(self._newest).encode("utf-8", "surrogatepass"))
                self._newest.clear()


def _backwards(sheets: Sequence[bytes], newest: Sequence[str]) -> Iterator[str]:
    """Give lines, the newest first."""
    yield from reversed(newest)
    for sheet in reversed(sheets):
        yield from reversed(sheet.decode("utf-8", "surrogatepass").split("\n"))
