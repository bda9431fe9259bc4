"""Rows of files that took the names of others: all go to their new places at once.

A place has one row and one target. So everything first leaves its place, within the
transaction, and then comes to the next one.
"""

import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lyrsvc.core.item import Target, TargetStatus
from lyrsvc.core.library import Library
from lyrsvc.core.ptext import to_ptext
from lyrsvc.files.pairing import split_name
from lyrsvc.services.target_leaving import drop_target
from lyrsvc.store import absences, scan_dirs, scan_results, stem_rows, targets
from lyrsvc.store.counts import Tally
from lyrsvc.store.moments import to_db

if TYPE_CHECKING:
    from lyrsvc.store.database import Tx
    from lyrsvc.store.engine import Row


class RowMove(NamedTuple):
    """A row, the audio file it was written of, and where that file is now."""

    row_id: int
    old: Path
    new: Path


def are_free(tx: "Tx", library: Library, moves: Iterable[RowMove]) -> bool:
    """Tell whether nobody works for the files that are to be followed, or at their new places."""
    for move in moves:
        row = scan_results.get(tx, move.row_id)
        there = _at(tx, library, move.new)
        owner = targets.find(tx, os.fspath(move.new.parent), split_name(move.new.name)[0])
        if row is None:
            return False
        wanted: list[int | None] = [row["target_id"], owner.id if owner else None]
        wanted += [there["target_id"]] if there else []
        if any(absences.is_processing(tx, target_id) for target_id in wanted):
            return False
    return True


def rehouse_all(
    tx: "Tx",
    library: Library,
    moves: Sequence[RowMove],
    *,
    stale: Collection[Path],
    now: datetime,
) -> bool:
    """Let rows and their targets follow; tell whether they could.

    A row says what stood beside its file, so that what did not come along is missed. Where
    something else stands, in a ``stale`` place, it says nothing and is looked at again.
    """
    if not are_free(tx, library, moves):
        return False
    tally = Tally()
    rows = {row["id"]: row for move in moves if (row := scan_results.get(tx, move.row_id))}
    for move in moves:
        there = _at(tx, library, move.new)
        if there is not None and there["id"] not in rows:
            _give_up(tx, there, tally, now=now)
    left = {row_id: _leave(tx, row, now=now) for row_id, row in rows.items()}
    for move in moves:
        row, target = rows[move.row_id], left[move.row_id]
        after = {**row, "out_stem": to_ptext(split_name(move.new.name)[0])}
        after["missing_since_at"] = _come(tx, target, move.new, row, tally, now=now)
        if move.new in stale:
            after |= {"sidecar": 0, "sidecar_class": "", "ours": 0}
        folder = _folder(library, move.new)
        scan_results.rehouse(
            tx,
            row["id"],
            library_id=library.id,
            dir_id=scan_dirs.ensure(tx, library.id, [folder], now=now)[folder],
            name=to_ptext(move.new.name),
            now=now,
        )
        scan_results.update(tx, row, after, tally, now=now)
    tally.write(tx, now=now)
    return True


def _give_up(tx: "Tx", row: "Row", tally: Tally, *, now: datetime) -> None:
    """Forget a row whose file is nowhere: another has its name."""
    target_id = row["target_id"]
    if target_id is not None and not absences.share_target(tx, target_id, but=row["id"]):
        drop_target(tx, target_id, tally, now=now)
        targets.delete(tx, target_id)
    scan_results.delete(tx, row, tally)


def _leave(tx: "Tx", row: "Row", *, now: datetime) -> Target | None:
    """Take a row and its target from their place, to names that no file can have."""
    nowhere = f"/{row['id']}"
    scan_results.rehouse(
        tx, row["id"], library_id=row["library_id"], dir_id=row["dir_id"], name=nowhere, now=now
    )
    target = targets.get(tx, row["target_id"]) if row["target_id"] is not None else None
    if target is not None:
        targets.save(tx, replace(target, out_stem=nowhere), now=now)
    return target


def _come(
    tx: "Tx", target: Target | None, place: Path, row: "Row", tally: Tally, *, now: datetime
) -> str | None:
    """Give a target its new place; tell since when its row waits, when the target was parked."""
    if target is None:
        return None
    stem = split_name(place.name)[0]
    owner = targets.find(tx, os.fspath(place.parent), stem)
    if owner is not None:
        drop_target(tx, owner.id, tally, now=now)
        targets.delete(tx, owner.id)
    come = replace(
        target, out_dir=os.fspath(place.parent), out_stem=stem, source_path=os.fspath(place)
    )
    targets.save(tx, come, now=now)
    is_parked = target.status is TargetStatus.PARKED
    return (row["missing_since_at"] or to_db(now)) if is_parked else None


def _at(tx: "Tx", library: Library, path: Path) -> "Row | None":
    return stem_rows.at_path(tx, library.id, os.fspath(path.relative_to(library.path)))


def _folder(library: Library, path: Path) -> str:
    return "" if path.parent == library.path else os.fspath(path.parent.relative_to(library.path))
