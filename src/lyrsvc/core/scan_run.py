"""One run of a scan: what was asked, what was counted, how it ended."""

from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Final

SAMPLES: Final = 20
"""Errors of a run that are kept word for word."""


class RunState(StrEnum):
    """Where a run stands."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class RunReason(StrEnum):
    """Why a run did less than it should."""

    NONE = ""
    ROOT_UNAVAILABLE = "root_unavailable"
    MASS_MISSING = "mass_missing"
    ABORTED = "aborted"
    STORAGE = "storage"


@dataclass(kw_only=True, slots=True)
class ScanCounts:
    """What a run came across; every field is a column of ``scan_runs``."""

    seen: int = 0
    opened: int = 0
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    enqueued: int = 0
    from_cache: int = 0
    reopened: int = 0
    missing: int = 0
    relinked: int = 0
    pruned: int = 0
    unreadable: int = 0
    dir_errors: int = 0
    file_errors: int = 0

    def as_dict(self) -> dict[str, int]:
        """Give the counters by name."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


@dataclass(kw_only=True, slots=True)
class ScanReport:
    """A run as its caller gets to see it; ``foreign`` files were kept from ``--update``."""

    run_id: int
    library_id: int
    library_name: str
    state: RunState = RunState.RUNNING
    reason: RunReason = RunReason.NONE
    counts: ScanCounts = field(default_factory=ScanCounts)
    foreign: int = 0
    seconds: float = 0.0
    errors: list[dict[str, str]] = field(default_factory=list)

    @property
    def errors_total(self) -> int:
        """Give the number of directories and files that could not be dealt with."""
        return self.counts.dir_errors + self.counts.file_errors

    def note_error(self, path: str, reason: str) -> None:
        """Keep an error as a sample while there is room."""
        if len(self.errors) < SAMPLES:
            self.errors.append({"path": path, "reason": reason})
