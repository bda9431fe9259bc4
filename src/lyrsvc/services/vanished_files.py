"""Files that are gone: followed to their new place, marked as missing, in the end forgotten.

Nothing is concluded from a root that is not there, from a directory that could not
be listed, or when too much is gone at once.
"""

import logging
import os
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lyrsvc.core.library import Library
from lyrsvc.core.ports import Clock
from lyrsvc.core.ptext import from_ptext
from lyrsvc.core.relinking import pair_up
from lyrsvc.core.scan_decision import WORDS
from lyrsvc.core.scan_run import RunReason, ScanReport
from lyrsvc.services.target_leaving import drop_target, park_target
from lyrsvc.store import absences, scan_results, targets
from lyrsvc.store.counts import Tally
from lyrsvc.store.database import Database

if TYPE_CHECKING:
    from lyrsvc.store.database import Tx
    from lyrsvc.store.engine import Row

CHUNK: Final = 500
MANY: Final = 50
"""So many may go unquestioned."""

_LOG: Final = logging.getLogger("lyrsvc.scan")


@dataclass(frozen=True, kw_only=True, slots=True)
class Leave:
    """What a run may do about what is gone."""

    accept_missing: bool = False
    retention: timedelta = timedelta(days=30)


class VanishedFiles:
    """Gathers the rows whose file a run did not meet, and settles them at its end."""

    def __init__(self, db: Database, library: Library, *, clock: Clock, newest_before: int) -> None:
        self._db = db
        self._library = library
        self._clock = clock
        self._newest_before = newest_before
        self._gone: array[int] = array("q")

    def add(self, row_ids: "array[int]") -> None:
        """Take note of rows whose file is not where it was."""
        self._gone.extend(row_ids)

    def settle(self, report: ScanReport, leave: Leave) -> None:
        """Follow what moved; mark the rest, unless that is suspiciously much."""
        if not self._gone:
            return
        gone = self._relink(report)
        if len(gone) > MANY and not leave.accept_missing and self._is_most(len(gone)):
            report.reason = RunReason.MASS_MISSING
            _LOG.warning(
                "%s of the files in library %s are gone; nothing is marked as missing. "
                "If that is right: lyrsvc scan --library %s --accept-missing",
                len(gone),
                self._library.name,
                self._library.name,
            )
            return
        for at in range(0, len(gone), CHUNK):
            report.counts.missing += self._mark(gone[at : at + CHUNK])

    def _is_most(self, number: int) -> bool:
        with self._db.read(deadline_s=None) as tx:
            every = absences.count_present(tx, self._library.id, until=self._newest_before)
        return number * 2 > every

    def _relink(self, report: ScanReport) -> Sequence[int]:
        with self._db.read(deadline_s=None) as tx:
            new = absences.new_rows(tx, self._library.id, after=self._newest_before)
            gone = absences.facts_of(tx, self._gone) if new else []
        pairs = pair_up(gone, new)
        followed: set[int] = set()
        for at in range(0, len(pairs), CHUNK):
            some = pairs[at : at + CHUNK]
            followed |= self._db.write(self._follow(some), bulk=True)
        report.counts.relinked += len(followed)
        report.counts.new -= len(followed)
        return [row_id for row_id in self._gone if row_id not in followed]

    def _follow(self, pairs: Sequence[tuple[int, int]]) -> "Callable[[Tx], set[int]]":
        now = self._clock.now()

        def follow(tx: "Tx") -> set[int]:
            tally = Tally()
            followed = {old for old, new in pairs if merge_rows(tx, old, new, tally, now=now)}
            tally.write(tx, now=now)
            return followed

        return follow

    def _mark(self, row_ids: Sequence[int]) -> int:
        now = self._clock.now()

        def mark(tx: "Tx") -> int:
            tally = Tally()
            rows = absences.mark(tx, row_ids, now=now)
            for row in rows:
                scan_results.count(tally, row, {**row, "missing_since_at": now})
                if row["target_id"] is not None and not absences.share_target(
                    tx, row["target_id"], but=row["id"]
                ):
                    park_target(tx, row["target_id"], tally, now=now)
            tally.write(tx, now=now)
            return len(rows)

        return self._db.write(mark, bulk=True)


def prune(db: Database, library: Library, *, clock: Clock, retention: timedelta) -> int:
    """Forget files that have been missing for long; call it only while the root is there.

    A directory that is empty now may be a share that is not mounted: its rows stay.
    """
    before = clock.now() - retention
    pruned, after = 0, 0
    while True:
        with db.read() as tx:
            rows = absences.long_missing(tx, library.id, before=before, after=after, limit=CHUNK)
        if not rows:
            return pruned
        after = rows[-1]["id"]
        lost = [row for row in rows if _is_lost(library.path, row)]
        pruned += db.write(_forget(lost, clock.now()), bulk=True)


def _forget(rows: "Sequence[Row]", now: datetime) -> "Callable[[Tx], int]":
    def forget(tx: "Tx") -> int:
        tally = Tally()
        number = 0
        for row in rows:
            target_id = row["target_id"]
            if absences.is_processing(tx, target_id):
                continue
            if target_id is not None and not absences.share_target(tx, target_id, but=row["id"]):
                drop_target(tx, target_id, tally, now=now)
            scan_results.delete(tx, row, tally)
            number += 1
        tally.write(tx, now=now)
        return number

    return forget


def _is_lost(root: Path, row: "Row") -> bool:
    directory = root / from_ptext(row["rel_path"])
    if os.path.lexists(directory / from_ptext(row["name"])):
        return False
    try:
        with os.scandir(directory) as entries:
            return next(entries, None) is not None
    except FileNotFoundError:
        return True
    except OSError:
        return False


def merge_rows(tx: "Tx", old_id: int, new_id: int, tally: Tally, *, now: datetime) -> bool:
    """Let a vanished row stand for the new place of its file; the new row goes.

    The row keeps its number and status. Its target follows, unless the new place has
    one already: then that one stays and the old one leaves.
    """
    old, new = scan_results.get(tx, old_id), scan_results.get(tx, new_id)
    if old is None or new is None or absences.is_processing(tx, old["target_id"]):
        return False
    if absences.is_processing(tx, new["target_id"]):
        return False
    is_shared = old["target_id"] is not None and absences.share_target(
        tx, old["target_id"], but=old_id
    )
    scan_results.delete(tx, new, tally)
    columns = {name: new[name] for name in scan_results.COLUMNS}
    merged = {**old, **columns, "library_id": new["library_id"]}
    if new["target_id"] is None and not is_shared:
        merged["target_id"] = old["target_id"]
        if not new["sidecar"] & WORDS and old["status"] != "unreadable":
            merged |= {name: old[name] for name in ("status", "reason", "reason_text")}
        _move_target(tx, old["target_id"], new, now=now)
    elif not is_shared and old["target_id"] not in (None, new["target_id"]):
        drop_target(tx, old["target_id"], tally, now=now)
        targets.delete(tx, old["target_id"])  # one of a finished item, too: its file is here
    scan_results.rehouse(
        tx, old_id, library_id=new["library_id"], dir_id=new["dir_id"], name=new["name"], now=now
    )
    scan_results.update(tx, old, merged, tally, now=now)
    return True


def _move_target(tx: "Tx", target_id: int | None, new: "Row", *, now: datetime) -> None:
    target = targets.get(tx, target_id) if target_id is not None else None
    if target is None:
        return
    directory = Path(from_ptext(new["root"]), from_ptext(new["rel_path"]))
    stem = from_ptext(new["out_stem"])
    if targets.find(tx, os.fspath(directory), stem) is not None:
        return
    targets.save(
        tx,
        replace(
            target,
            out_dir=os.fspath(directory),
            out_stem=stem,
            source_path=os.fspath(directory / from_ptext(new["name"])),
            duration_ms=new["duration_ms"],
        ),
        now=now,
    )
