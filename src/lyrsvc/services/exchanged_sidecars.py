"""Sidecars of audio that took the names of others: what we wrote goes along.

Only files that are ours to the last byte are moved, all of a stem or none, and never
onto another file. In a ring one stem is put aside first. Every move is in the backup, and
where a file stands is told by its content: a killed exchange is gone on with by the next.
"""

import logging
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from lyrsvc.brand import PROGRAM
from lyrsvc.core.library import Library
from lyrsvc.core.ptext import path_hash
from lyrsvc.core.relinking import is_ring
from lyrsvc.core.sidecar import content_hash
from lyrsvc.files.move_log import MoveLog
from lyrsvc.files.pairing import NAMED, split_name
from lyrsvc.files.sidecars import LARGEST_OWN_BYTES, read_regular
from lyrsvc.services.sidecar_moves import SidecarMover, Unit, UnitEnd
from lyrsvc.store import written_files
from lyrsvc.store.database import Tx

_LOG: Final = logging.getLogger("lyrsvc.scan")


class OwnMove(NamedTuple):
    """A file of ours at its old name, aside, and at its new one."""

    old: Path
    aside: Path
    new: Path


@dataclass(slots=True)
class Exchanged:
    """What became of the sidecars of a group."""

    files: list[OwnMove] = field(default_factory=list)
    """Ours, at their new names."""
    stale: set[Path] = field(default_factory=set)
    """Audio beside which other words stand than those that were written for it."""


class _Unfinished(Exception):
    """The storage refused a move; the next scan goes on."""


class ExchangedSidecars:
    """Moves the sidecars of one group of exchanged audio files."""

    def __init__(
        self, tx: Tx, mover: SidecarMover, library: Library, moves: Sequence[tuple[Path, Path]]
    ) -> None:
        self._mover = mover
        self._library = library
        self._moves = moves
        self._is_ring = is_ring(moves)
        files = [move.old for old, new in moves for move in _own_moves(old, new)]
        self._own = {file: written_files.own_hashes(tx, file) for file in files}
        self._known = Counter(sha256 for hashes in self._own.values() for sha256 in hashes)

    def carry_out(self, log: MoveLog, *, method: str) -> Exchanged | None:
        """Move what can be moved; None when it is left to the next scan."""
        first, *others = self._moves
        done = Exchanged()
        came: set[Path] = set()
        try:
            self._collect(log, method)
            if self._is_ring and all(self._unit(*move) is not None for move in self._moves):
                self._put_aside(first, log, method)
                order = [*others, first]
            else:
                order = [] if self._is_ring else list(self._moves)
            for move in order:
                if self._is_brought(move, done, log, method):
                    came.add(move[1])
        except _Unfinished as stop:
            _LOG.warning("sidecars of exchanged files stay behind", extra={"reason": str(stop)})
            return None
        places = {place for move in self._moves for place in move}
        done.stale = {place for place in places - came if _has_sidecar(place)}
        return done

    def _collect(self, log: MoveLog, method: str) -> None:
        """Put aside what a killed exchange has left at a place that is not its own any more."""
        every = [own for move in self._moves for own in _own_moves(*move)]
        places = {path: _hash(path) for own in every for path in (own.old, own.new)}
        for own in every:
            own_places = {own.old, own.aside, own.new}
            lost = [
                path
                for path, sha256 in places.items()
                if sha256 in self._own[own.old] and path not in own_places
            ]
            is_clear = len(lost) == 1 and self._known[places[lost[0]] or ""] == 1
            if is_clear and not self._is_moved([(lost[0], own.aside)], log, method):
                raise _Unfinished(f"{lost[0].name} cannot be put aside")

    def _put_aside(self, move: tuple[Path, Path], log: MoveLog, method: str) -> None:
        unit = self._unit(*move) or []
        files = [(source, own.aside) for own, source in unit if source == own.old]
        if files and not self._is_moved(files, log, method):
            raise _Unfinished(f"{move[0].name} cannot be put aside")

    def _is_brought(
        self, move: tuple[Path, Path], done: Exchanged, log: MoveLog, method: str
    ) -> bool:
        """Bring the files of a stem to their new names; tell whether they stand there."""
        unit = self._unit(*move)
        if not unit:
            return False
        files = [(source, own.new) for own, source in unit if source != own.new]
        if files and not self._is_moved(files, log, method):
            if self._is_ring:
                raise _Unfinished(f"the place beside {move[1].name} is taken")
            return False
        done.files += [own for own, _ in unit]
        return True

    def _is_moved(self, files: Sequence[tuple[Path, Path]], log: MoveLog, method: str) -> bool:
        unit = Unit(files=tuple(files), library=self._library, method=method)
        moved = self._mover.move_files(unit, log)
        if moved.end is UnitEnd.FAILED:
            raise _Unfinished(moved.reason)
        fields = {"old_path": str(unit.old), "new_path": str(unit.new)}
        if moved.end is UnitEnd.CONFLICT:
            _LOG.debug("sidecar stays behind", extra={**fields, "reason": moved.reason})
            return False
        _LOG.info("sidecar moved", extra={**fields, "method": method})
        return True

    def _unit(self, old: Path, new: Path) -> list[tuple[OwnMove, Path]] | None:
        """Give the files of a stem and where each stands; None when one of them is not ours."""
        found: list[tuple[OwnMove, Path]] = []
        for move in _own_moves(old, new):
            own = self._own[move.old]
            here = _hash(move.old)
            if here is not None and here not in own and here not in self._known:
                return None
            if (there := _hash(move.new)) in own and self._known[there] == 1:
                found.append((move, move.new))
            elif _hash(move.aside) in own:
                found.append((move, move.aside))
            elif here in own:
                found.append((move, move.old))
        return found


def _own_moves(old: Path, new: Path) -> list[OwnMove]:
    stems = split_name(old.name)[0], split_name(new.name)[0]
    moves: list[OwnMove] = []
    for kind in NAMED:
        source = old.with_name(f"{stems[0]}.{kind}")
        aside = f"{PROGRAM}-moving-{path_hash(os.fspath(source))[:16]}.{kind}"
        goal = new.with_name(f"{stems[1]}.{kind}")
        moves.append(OwnMove(source, old.with_name(aside), goal))
    return moves


def _hash(path: Path) -> str | None:
    """Give the hash of a file; blank for what cannot be ours, None when nothing is there."""
    data = read_regular(path, most=LARGEST_OWN_BYTES)
    if data is not None:
        return content_hash(data)
    return "" if os.path.lexists(path) else None


def _has_sidecar(audio: Path) -> bool:
    stem = split_name(audio.name)[0]
    return any(os.path.lexists(audio.with_name(f"{stem}.{kind}")) for kind in NAMED)
