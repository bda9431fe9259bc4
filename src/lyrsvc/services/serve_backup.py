"""The backup of moves that the running service makes by itself: one file, put aside when large."""

from functools import partial
from pathlib import Path
from typing import Final

from lyrsvc.core.ports import Clock
from lyrsvc.files.move_log import MoveLog, rotate

NAME: Final = "realign-serve-backup.jsonl"
LARGEST: Final = 10 * 1024 * 1024
KEPT: Final = 5
_TRY_S: Final = 0.1
_LONGEST_S: Final = 30.0


def serve_backup(path: Path, clock: Clock) -> MoveLog:
    """Give the backup for some moves; another thread's are waited for."""
    rotate(path, largest=LARGEST, kept=KEPT)
    return MoveLog(path, wait=partial(_wait, clock, clock.monotonic() + _LONGEST_S))


def _wait(clock: Clock, until: float) -> bool:
    return clock.wait(_TRY_S) or clock.monotonic() >= until
