"""Undo: the moves of a backup made backwards, last line first.

Each one is a move like any other: it is written down first, and never costs another
file its place.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

from lyrsvc.core.library import Library
from lyrsvc.core.orphans import extension
from lyrsvc.core.ports import Clock
from lyrsvc.files.move_log import BadLine, LoggedMove, MoveLog
from lyrsvc.files.moving import is_half_moved, is_taken
from lyrsvc.files.tree import SIDECAR_SUFFIXES
from lyrsvc.services.library_lock import library_lock
from lyrsvc.services.realigning import Action, Line, Tell
from lyrsvc.services.sidecar_moves import Moved, SidecarMover, Unit, UnitEnd
from lyrsvc.store import libraries
from lyrsvc.store.database import Database

METHOD: Final = "undo"
_EXTENSIONS: Final = frozenset(f".{suffix}" for suffix in SIDECAR_SUFFIXES)


@dataclass(slots=True)
class UndoReport:
    """What undoing came to: lines, those to be moved back, those moved, and the rest."""

    lines: int = 0
    planned: int = 0
    applied: int = 0
    already: int = 0
    conflict: int = 0
    errors: int = 0


class Undo:
    """Undoes the moves of one backup."""

    def __init__(
        self,
        db: Database,
        *,
        clock: Clock,
        chance: Random,
        tell: Tell = lambda _line: None,
    ) -> None:
        self._db = db
        self._clock = clock
        self._tell = tell
        self._mover = SidecarMover(db, clock=clock, chance=chance, by=METHOD)
        self.report = UndoReport()

    def preview(self, lines: Iterable[LoggedMove | BadLine]) -> None:
        """Say what would be moved back."""
        known = self._libraries()
        for line in reversed(list(lines)):
            if (move := self._judge(line, known)) is not None:
                self._say("would-move", move)

    def undo(
        self, lines: Iterable[LoggedMove | BadLine], log: MoveLog, *, wait_s: float = 0.0
    ) -> None:
        """Move everything back under the locks of the libraries it is about."""
        every = list(lines)
        with self._locked(every, wait_s) as known:
            for line in reversed(every):
                if (move := self._judge(line, known)) is not None:
                    self._move(move, log)

    def _judge(self, line: LoggedMove | BadLine, known: Sequence[Library]) -> "_Return | None":
        """Give what is to be moved back, or say why there is nothing to do."""
        self.report.lines += 1
        if isinstance(line, BadLine):
            self.report.errors += not line.is_cut_off
            self._skip("", "", f"line {line.number}: {line.reason}")
            return None
        old, new = Path(line.old_path), Path(line.new_path)
        if not _is_sidecar_move(old, new):
            self.report.errors += 1
            self._skip(line.new_path, line.old_path, "bad line: this is no move of a sidecar")
            return None
        move = _Return(new, old, _library_of(line, known))
        return move if self._is_open(move) else None

    def _is_open(self, move: "_Return") -> bool:
        old_there = os.path.lexists(move.goal)
        if not os.path.lexists(move.source):
            reason = "already undone" if old_there else "neither name is there any more"
            self.report.already += old_there
            self.report.errors += not old_there
        elif is_taken(move.source, move.goal) and not move.is_half:
            self.report.conflict += 1
            reason = "both names are there"
        else:
            self.report.planned += 1
            return True
        self._skip(os.fspath(move.source), os.fspath(move.goal), reason)
        return False

    def _move(self, move: "_Return", log: MoveLog) -> None:
        moved = self._move_back(move, log)
        if moved.end is UnitEnd.MOVED:
            self.report.applied += 1
            self._say("moved", move)
            return
        self.report.conflict += moved.end is UnitEnd.CONFLICT
        self.report.errors += moved.end is UnitEnd.FAILED
        self._skip(os.fspath(move.source), os.fspath(move.goal), moved.reason)

    def _move_back(self, move: "_Return", log: MoveLog) -> Moved:
        unit = Unit(files=((move.source, move.goal),), library=move.library, method=METHOD)
        if move.is_half:
            self._mover.drop(move.source)
            if move.library is not None:
                self._mover.write_down(unit, move.library)
            return Moved(UnitEnd.MOVED)
        if not move.goal.parent.is_dir():
            try:
                move.goal.parent.mkdir(parents=True)
            except OSError as error:
                why = (error.strerror or "unknown error").lower()
                return Moved(UnitEnd.FAILED, f"its directory cannot be made again: {why}")
        return self._mover.move(unit, log)

    def _libraries(self) -> list[Library]:
        with self._db.read() as tx:
            return libraries.all_libraries(tx)

    @contextmanager
    def _locked(
        self, lines: Sequence[LoggedMove | BadLine], wait_s: float
    ) -> Iterator[Sequence[Library]]:
        known = self._libraries()
        moves = [line for line in lines if isinstance(line, LoggedMove)]
        concerned = {lib.id: lib for line in moves if (lib := _library_of(line, known))}
        with ExitStack() as stack:
            for _, library in sorted(concerned.items()):
                stack.enter_context(
                    library_lock(
                        self._db, library, clock=self._clock, purpose=METHOD, wait_s=wait_s
                    )
                )
            yield known

    def _say(self, action: Action, move: "_Return") -> None:
        self._tell(
            Line(
                action=action,
                method=METHOD,
                old_path=os.fspath(move.source),
                new_path=os.fspath(move.goal),
            )
        )

    def _skip(self, source: str, goal: str, reason: str) -> None:
        self._tell(
            Line(action="skip", method=METHOD, old_path=source, new_path=goal, reason=reason)
        )


@dataclass(frozen=True, slots=True)
class _Return:
    source: Path
    goal: Path
    library: Library | None

    @property
    def is_half(self) -> bool:
        """Tell whether both names are one file: the move was cut off between link and unlink."""
        return is_half_moved(self.source, self.goal) and is_taken(self.source, self.goal)


def _is_sidecar_move(old: Path, new: Path) -> bool:
    kind = extension(old.name)
    return kind.lower() in _EXTENSIONS and extension(new.name) == kind and old != new


def _library_of(line: LoggedMove, known: Iterable[Library]) -> Library | None:
    """Give the library that a line names, or that holds its place by now."""
    place = Path(line.old_path)
    holding = [library for library in known if library.path in place.parents]
    named = [library for library in holding if library.id == line.library_id]
    return next(iter(named or sorted(holding, key=_depth, reverse=True)), None)


def _depth(library: Library) -> int:
    return len(library.path.parts)
