"""Scans as pages show them: under way with how far they are, and the last of each library."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lyrsvc.services.scan_desk import ScanDesk
from lyrsvc.store.moments import from_db
from lyrsvc.web.scan_api import Scan, scan_of

if TYPE_CHECKING:
    from lyrsvc.store.engine import Row


@dataclass(frozen=True, kw_only=True)
class ScanLine:
    """One scan; ``expected`` is how many files the one before came across, 0 when unknown."""

    scan: Scan
    started_at: datetime
    ended_at: datetime | None
    seconds: float
    expected: int = 0

    @property
    def errors(self) -> int:
        """Count the directories and files that could not be dealt with."""
        return self.scan.dir_errors + self.scan.file_errors

    @property
    def share(self) -> int | None:
        """Give the part that is done, in percent; None when nobody can say."""
        if not self.expected or self.scan.scope or self.scan.seen > self.expected:
            return None
        return 100 * self.scan.seen // self.expected


@dataclass(frozen=True, kw_only=True)
class ScanLines:
    """The scans under way, and the last whole one of each library."""

    running: Sequence[ScanLine]
    last: Sequence[ScanLine]

    def running_of(self, library_id: int) -> ScanLine | None:
        """Give the scan of a library that is under way."""
        return _of(self.running, library_id)

    def last_of(self, library_id: int) -> ScanLine | None:
        """Give the last whole scan of a library."""
        return _of(self.last, library_id)


def scan_lines(desk: ScanDesk, *, now: datetime) -> ScanLines:
    """Read the scans that pages show."""
    last = [_line(row, now=now) for row in desk.last()]
    expected = {line.scan.library: line.scan.seen for line in last if line.scan.state == "done"}
    running = [
        _line(row, now=now, expected=expected.get(row["library_id"], 0)) for row in desk.running()
    ]
    return ScanLines(running=running, last=last)


def _line(row: "Row | dict[str, Any]", *, now: datetime, expected: int = 0) -> ScanLine:
    started_at, ended_at = from_db(row["started_at"]), from_db(row["ended_at"])
    return ScanLine(
        scan=scan_of(row),
        started_at=started_at,
        ended_at=ended_at,
        seconds=max(0.0, ((ended_at or now) - started_at).total_seconds()),
        expected=expected,
    )


def _of(lines: Iterable[ScanLine], library_id: int) -> ScanLine | None:
    return next((line for line in lines if line.scan.library == library_id), None)
