"""Moving sidecars: backup first, all files of a unit or none, then the rows in one transaction.

Whatever stops it, the files can be brought back by the backup, and what the database
does not know yet the next scan finds out.
"""

import os
import re
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from random import Random
from typing import Final

from lyrsvc.core.display import escape_controls
from lyrsvc.core.errors import FileFault
from lyrsvc.core.library import Library
from lyrsvc.core.ports import Clock
from lyrsvc.core.sidecar import content_hash
from lyrsvc.core.waiting import Moment
from lyrsvc.files.atomic import Announce, remove_file, write_fault
from lyrsvc.files.move_log import LoggedMove, MoveLog
from lyrsvc.files.moving import MoveResult, move_file
from lyrsvc.services.move_rows import (
    follow_files,
    look_at_stem,
    relink,
    remember_move,
    restand,
)
from lyrsvc.store import written_files
from lyrsvc.store.counts import Tally
from lyrsvc.store.database import Database, Tx

_HEADER: Final = re.compile(rb"\[[a-zA-Z]+:")


class UnitEnd(Enum):
    """What became of a unit; unless it was moved, everything is as it was."""

    MOVED = "moved"
    CONFLICT = "conflict"
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Unit:
    """Files that move together, all from one stem to another.

    ``library`` holds the new place, and the old one unless ``from_library`` does.
    """

    files: tuple[tuple[Path, Path], ...]
    library: Library | None
    method: str
    is_exact: bool = False
    from_library: Library | None = None

    @property
    def old(self) -> Path:
        """Give the first file's old path."""
        return self.files[0][0]

    @property
    def new(self) -> Path:
        """Give the first file's new path."""
        return self.files[0][1]


@dataclass(frozen=True, slots=True)
class Moved:
    """The end of a unit, and why it was not moved."""

    end: UnitEnd
    reason: str = ""


class SidecarMover:
    """Moves units of sidecars; ``by`` is the name the history gives to whoever does it."""

    def __init__(
        self,
        db: Database,
        *,
        clock: Clock,
        chance: Random,
        by: str,
        announce: Announce | None = None,
    ) -> None:
        self._db = db
        self._clock = clock
        self._chance = chance
        self._by = by
        self._announce = announce

    @property
    def moment(self) -> Moment:
        """Give the present, for rows to be written down."""
        return Moment(now=self._clock.now(), chance=self._chance)

    def move(self, unit: Unit, log: MoveLog) -> Moved:
        """Move a unit and write it down."""
        moved = self.move_files(unit, log)
        if moved.end is UnitEnd.MOVED and unit.library is not None:
            self.write_down(unit, unit.library)
        return moved

    def move_files(self, unit: Unit, log: MoveLog) -> Moved:
        """Move the files of a unit, or none of them; the rows are left to the caller."""
        log.open()
        before: int | None = None
        done: list[tuple[Path, Path]] = []
        try:
            for old, new in unit.files:
                _confine(unit, old, new)
                length = self._log(unit, old, new, log)
                before = length if before is None else before
                result = move_file(old, new, announce=self._announce)
                if result is not MoveResult.MOVED:
                    log.take_back(length)
                    return self._back(done, log, before, _conflict(result, old, new))
                done.append((old, new))
        except FileFault as fault:
            return self._back(done, log, before, Moved(UnitEnd.FAILED, str(fault)))
        except OSError as error:
            reason = str(write_fault(error, log.path))
            return self._back(done, log, before, Moved(UnitEnd.FAILED, reason))
        return Moved(UnitEnd.MOVED)

    def is_own_copy(self, old: Path, new: Path) -> bool:
        """Tell whether we wrote the same words at both names, and nobody has edited them.

        Headers may differ: more may have been known about the track the second time.
        """
        try:
            here, there = old.read_bytes(), new.read_bytes()
        except OSError:
            return False
        if _words(here) != _words(there):
            return False
        with self._db.read() as tx:
            return written_files.owns(tx, old, content_hash(here)) and written_files.owns(
                tx, new, content_hash(there)
            )

    def drop(self, path: Path) -> None:
        """Remove the old name of a file that has its new one already."""
        remove_file(path, announce=self._announce)

    def write_down(self, unit: Unit, library: Library) -> None:
        """Let the rows follow a unit that was moved, in one transaction."""
        old = look_at_stem(self._db, library, unit.old)
        new = look_at_stem(self._db, library, unit.new, [goal for _, goal in unit.files])
        moment = self.moment

        def write(tx: Tx) -> None:
            tally = Tally()
            follow_files(tx, unit.files, moment)
            restand(tx, old, tally, moment)
            restand(tx, new, tally, moment)
            if unit.is_exact:
                relink(tx, old, new, tally, moment)
            remember_move(tx, new, unit.new, by=self._by, method=unit.method, moment=moment)
            tally.write(tx, now=moment.now)

        self._db.write(write)

    def _log(self, unit: Unit, old: Path, new: Path, log: MoveLog) -> int:
        return log.append(
            LoggedMove(
                old_path=os.fspath(old),
                new_path=os.fspath(new),
                library_id=unit.library.id if unit.library else None,
                method=unit.method,
            )
        )

    def _back(
        self, done: list[tuple[Path, Path]], log: MoveLog, before: int | None, end: Moved
    ) -> Moved:
        """Bring back what was moved of a unit; what cannot be brought back stays in the backup."""
        for old, new in reversed(done):
            try:
                result = move_file(new, old, announce=self._announce)
            except FileFault as fault:
                return Moved(UnitEnd.FAILED, f"{end.reason}; half of it stays moved: {fault}")
            if result is not MoveResult.MOVED:
                shown = escape_controls(str(new))
                return Moved(UnitEnd.FAILED, f"{end.reason}; {shown} could not be brought back")
        if before is not None:
            try:
                log.take_back(before)
            except OSError as error:
                return Moved(UnitEnd.FAILED, f"{end.reason}; {write_fault(error, log.path)}")
        return end


def _words(data: bytes) -> list[bytes]:
    return [line for line in data.splitlines() if not _HEADER.match(line)]


def _conflict(result: MoveResult, old: Path, new: Path) -> Moved:
    if result is MoveResult.GONE:
        return Moved(UnitEnd.FAILED, f"{escape_controls(old.name)} is no longer there")
    return Moved(UnitEnd.CONFLICT, f"{escape_controls(new.name)} is there already")


def _confine(unit: Unit, old: Path, new: Path) -> None:
    """Refuse directories that links have led out of the library since they were listed."""
    for path, library in ((old, unit.from_library or unit.library), (new, unit.library)):
        if library is None:
            continue
        root, real = os.path.realpath(library.path), os.path.realpath(path.parent)
        if real != root and not real.startswith(f"{root.rstrip('/')}/"):
            shown = escape_controls(str(path))
            raise FileFault("path_escape", f"{shown} is outside the library; check symbolic links")
