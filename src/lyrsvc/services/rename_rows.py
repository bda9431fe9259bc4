"""What the database says after an audio file was renamed: its row and its target go along."""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from lyrsvc.core.item import Target, TargetStatus
from lyrsvc.core.library import Library
from lyrsvc.core.ptext import to_ptext
from lyrsvc.core.waiting import Moment
from lyrsvc.services.move_rows import StemStand, open_again, restand, stem_of
from lyrsvc.services.target_leaving import drop_target
from lyrsvc.services.vanished_files import merge_rows
from lyrsvc.store import scan_dirs, scan_results, stem_rows, targets
from lyrsvc.store.counts import Tally

if TYPE_CHECKING:
    from lyrsvc.store.database import Tx
    from lyrsvc.store.engine import Row


@dataclass(frozen=True, kw_only=True, slots=True)
class Renamed:
    """An audio file under its old and its new name, each with the library that holds it.

    ``also`` are other spellings of the old path that rows may have: what is gone from the disk
    cannot be looked up there any more.
    """

    old: Path
    new: Path
    old_library: Library | None
    new_library: Library
    also: tuple[Path, ...] = ()

    @property
    def former(self) -> tuple[Path, ...]:
        """Give every path that rows may know the file by, unless it is the new one."""
        return tuple(path for path in (*self.also, self.old) if path != self.new)


def follow_audio(
    tx: "Tx", renamed: Renamed, stands: tuple[StemStand, ...], tally: Tally, moment: Moment
) -> None:
    """Give row and targets the new place; the second time there is nothing left to do."""
    for former in renamed.former:
        _follow_row(tx, former, renamed, tally, moment)
        for target in targets.of_source(tx, os.fspath(former)):
            _follow(tx, target, renamed, tally, moment)
    for stand in stands:
        restand(tx, stand, tally, moment, settles=False)


def _follow_row(tx: "Tx", former: Path, renamed: Renamed, tally: Tally, moment: Moment) -> None:
    old_row = _row(tx, renamed.old_library, former)
    new_row = _row(tx, renamed.new_library, renamed.new)
    if old_row is not None and new_row is not None:
        merge_rows(tx, old_row["id"], new_row["id"], tally, now=moment.now)
    elif old_row is not None:
        _rehouse(tx, old_row, renamed, tally, moment)


def _row(tx: "Tx", library: Library | None, path: Path) -> "Row | None":
    if library is None:
        return None
    return stem_rows.at_path(tx, library.id, os.fspath(path.relative_to(library.path)))


def _rehouse(tx: "Tx", row: "Row", renamed: Renamed, tally: Tally, moment: Moment) -> None:
    library, new = renamed.new_library, renamed.new
    folder = "" if new.parent == library.path else os.fspath(new.parent.relative_to(library.path))
    dir_id = scan_dirs.ensure(tx, library.id, [folder], now=moment.now)[folder]
    scan_results.rehouse(
        tx,
        row["id"],
        library_id=library.id,
        dir_id=dir_id,
        name=to_ptext(new.name),
        now=moment.now,
    )
    after = {
        **row,
        "library_id": library.id,
        "out_stem": to_ptext(stem_of(new)),
        "missing_since_at": None,
    }
    scan_results.update(tx, row, after, tally, now=moment.now)


def _follow(tx: "Tx", target: Target, renamed: Renamed, tally: Tally, moment: Moment) -> None:
    """Give a target the new place, or let it go when another one has that already."""
    directory, stem = os.fspath(renamed.new.parent), stem_of(renamed.new)
    owner = targets.find(tx, directory, stem)
    if owner is not None and owner.id != target.id:
        drop_target(tx, target.id, tally, now=moment.now)
        targets.delete(tx, target.id)
        return
    moved = replace(
        target,
        library_id=renamed.new_library.id,
        source_path=os.fspath(renamed.new),
        out_dir=directory,
        out_stem=stem,
    )
    if target.status is TargetStatus.PARKED:
        open_again(tx, moved, tally, moment)
    else:
        targets.save(tx, moved, now=moment.now)
