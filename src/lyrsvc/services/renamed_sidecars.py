"""Sidecars of audio that a scan met under another name: what we wrote goes along.

All files of a stem are moved or none, and never onto another file; where our own words
stand already the old copy goes. What we wrote and somebody has edited goes along with the
very same audio file only. Whatever else is not ours to the last byte is left to realign.
"""

import logging
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from lyrsvc.core.errors import FileFault, Refused
from lyrsvc.core.library import Library
from lyrsvc.core.ports import Clock
from lyrsvc.core.sidecar import content_hash
from lyrsvc.files.atomic import Announce
from lyrsvc.files.move_log import MoveLog
from lyrsvc.files.moving import is_half_moved
from lyrsvc.files.pairing import NAMED
from lyrsvc.files.sidecars import LARGEST_OWN_BYTES, read_regular
from lyrsvc.services.exchanged_sidecars import Exchanged, ExchangedSidecars
from lyrsvc.services.move_rows import StemStand, follow_files, look_at_stem, remember_move, stem_of
from lyrsvc.services.serve_backup import serve_backup
from lyrsvc.services.sidecar_moves import SidecarMover, Unit, UnitEnd
from lyrsvc.services.vanished_files import RenamedFile
from lyrsvc.store import written_files
from lyrsvc.store.database import Database, Tx

BY: Final = "scan"
METHOD: Final = "rename"
_LOG: Final = logging.getLogger("lyrsvc.scan")


class _Remembered(NamedTuple):
    """A unit, and the names under which its files are remembered as ours, with the new ones."""

    unit: Unit
    files: tuple[tuple[Path, Path], ...]


@dataclass(slots=True)
class Brought:
    """What became of some sidecars: units at their new names, and copies that are gone."""

    moved: list[_Remembered] = field(default_factory=list)
    dropped: list[Path] = field(default_factory=list)


class RenamedSidecars:
    """Moves our own sidecars to the new names of their audio; ``backup`` remembers each move."""

    def __init__(
        self,
        db: Database,
        *,
        clock: Clock,
        chance: Random,
        backup: Path,
        announce: Announce | None = None,
    ) -> None:
        self._db = db
        self._clock = clock
        self._backup = backup
        self._mover = SidecarMover(db, clock=clock, chance=chance, by=BY, announce=announce)

    def bring(self, library: Library, renamed: Iterable[RenamedFile]) -> Brought:
        """Move the sidecars of some audio files; give what was done, for the rows to follow."""
        brought = Brought()
        units = [(unit, each.is_bare) for each in renamed if (unit := self._unit(library, each))]
        try:
            with serve_backup(self._backup, self._clock) as log:
                for known, is_bare in units:
                    if self._is_spare(known.unit):
                        brought.dropped += self._drop(known.unit)
                    elif is_bare and self._is_moved(known.unit, log):
                        brought.moved.append(known)
        except (Refused, OSError) as error:
            _LOG.warning("sidecars of renamed files stay behind", extra={"reason": str(error)})
        return brought

    def write_down(self, tx: Tx, brought: Brought) -> None:
        """Let what is remembered of our files follow them, after the rows of their audio."""
        moment = self._mover.moment
        written_files.forget_all(tx, brought.dropped)
        for unit, files in brought.moved:
            follow_files(tx, files, moment)
            if unit.library is not None:
                stand = _stand(unit.library, unit.new)
                remember_move(tx, stand, unit.new, by=BY, method=METHOD, moment=moment)

    @property
    def now(self) -> datetime:
        """Give the present, for rows to be written down."""
        return self._clock.now()

    def exchange(self, library: Library, moves: Sequence[tuple[Path, Path]]) -> Exchanged | None:
        """Move the sidecars of a group of audio files that took each other's names.

        None when that is left to the next scan; then the rows must not follow either.
        """
        with self._db.read() as tx:
            sidecars = ExchangedSidecars(tx, self._mover, library, moves)
        try:
            with serve_backup(self._backup, self._clock) as log:
                return sidecars.carry_out(log, method=METHOD)
        except (Refused, OSError) as error:
            _LOG.warning("sidecars of exchanged files stay behind", extra={"reason": str(error)})
            return None

    def write_down_exchange(self, tx: Tx, library: Library, exchanged: Exchanged) -> None:
        """Let what is remembered of our files follow them, all at once."""
        moment = self._mover.moment
        for file in exchanged.files:
            written_files.move(tx, file.old, file.aside, now=moment.now)
        for file in exchanged.files:
            written_files.move(tx, file.aside, file.new, now=moment.now)
            stand = _stand(library, file.new)
            remember_move(tx, stand, file.new, by=BY, method=METHOD, moment=moment)

    def _unit(self, library: Library, renamed: RenamedFile) -> _Remembered | None:
        """Give the files that may go along; none when one of them is not ours.

        They were carried along when their directory was renamed; so they are looked for
        beside the new name when the old directory is gone.
        """
        old, new = renamed.old, renamed.new
        stems = stem_of(old), stem_of(new)
        here = old.parent if os.path.lexists(old.parent) else new.parent
        if (here, stems[0]) == (new.parent, stems[1]):
            return None
        names = [(f"{stems[0]}.{kind}", f"{stems[1]}.{kind}") for kind in NAMED]
        there = [names for names in names if os.path.lexists(here / names[0])]
        if not there or not all(
            self._is_ours(here / name, old.parent / name, or_edited=renamed.is_same)
            for name, _ in there
        ):
            return None
        if look_at_stem(self._db, library, here / old.name).has_audio:
            return None  # another file of the stem needs them
        files = tuple((here / name, new.parent / goal) for name, goal in there)
        known = tuple((old.parent / name, new.parent / goal) for name, goal in there)
        return _Remembered(Unit(files=files, library=library, method=METHOD), known)

    def _is_spare(self, unit: Unit) -> bool:
        """Tell whether we have written the same words at the new name already."""
        return all(
            not is_half_moved(old, new) and self._mover.is_own_copy(old, new)
            for old, new in unit.files
        )

    def _drop(self, unit: Unit) -> list[Path]:
        """Remove what stands at the old name; give what is gone."""
        gone: list[Path] = []
        for old, _ in unit.files:
            try:
                self._mover.drop(old)
            except FileFault as fault:
                _LOG.debug("sidecar stays behind", extra={"path": str(old), "reason": str(fault)})
                break
            gone.append(old)
        return gone

    def _is_ours(self, path: Path, known_as: Path, *, or_edited: bool) -> bool:
        """Tell whether we wrote a file under a name; ``or_edited``: whatever became of it."""
        data = read_regular(path, most=LARGEST_OWN_BYTES)
        if data is None:
            return False
        with self._db.read() as tx:
            hashes = written_files.own_hashes(tx, known_as)
        return bool(hashes) if or_edited else content_hash(data) in hashes

    def _is_moved(self, unit: Unit, log: MoveLog) -> bool:
        moved = self._mover.move_files(unit, log)
        fields = {"old_path": str(unit.old), "new_path": str(unit.new)}
        if moved.end is UnitEnd.MOVED:
            _LOG.info("sidecar moved", extra={**fields, "method": METHOD})
            return True
        _LOG.debug("sidecar stays behind", extra={**fields, "reason": moved.reason})
        return False


def _stand(library: Library, path: Path) -> StemStand:
    rel_path = "" if path.parent == library.path else str(path.parent.relative_to(library.path))
    return StemStand(
        library_id=library.id, rel_path=rel_path, directory=str(path.parent), stem=stem_of(path)
    )
