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
from typing import TYPE_CHECKING, Final, NamedTuple

from lyrsvc.core.item import TargetStatus
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
from lyrsvc.store.moments import to_db

if TYPE_CHECKING:
    from lyrsvc.services.renamed_audio import RenamedAudio
    from lyrsvc.services.renamed_sidecars import Brought, RenamedSidecars
    from lyrsvc.store.database import Tx
    from lyrsvc.store.engine import Row

CHUNK: Final = 500
MANY: Final = 50
"""So many may go unquestioned."""
_STANDING: Final = ("status", "reason", "reason_text", "sidecar", "sidecar_class", "ours")
_STAMP: Final = ("inode", "size", "mtime_ns")

_LOG: Final = logging.getLogger("lyrsvc.scan")


@dataclass(frozen=True, kw_only=True, slots=True)
class Leave:
    """What a run may do about what is gone."""

    accept_missing: bool = False
    retention: timedelta = timedelta(days=30)


class RenamedFile(NamedTuple):
    """An audio file under both names; ``is_bare`` when no words stand or are awaited at the new.

    ``is_same`` when it is the very same file, and not only the same recording.
    """

    old: Path
    new: Path
    is_bare: bool
    is_same: bool


class VanishedFiles:
    """Gathers the rows whose file a run did not meet, and settles them at its end."""

    def __init__(
        self,
        db: Database,
        library: Library,
        *,
        clock: Clock,
        newest_before: int,
        sidecars: "RenamedSidecars | None" = None,
    ) -> None:
        self._db = db
        self._library = library
        self._clock = clock
        self._newest_before = newest_before
        self._sidecars = sidecars
        self._gone: array[int] = array("q")

    def add(self, row_ids: "array[int]") -> None:
        """Take note of rows whose file is not where it was."""
        self._gone.extend(row_ids)

    def spare(self, row_ids: set[int]) -> None:
        """Leave out rows that stand for files at other places by now."""
        self._gone = array("q", (row_id for row_id in self._gone if row_id not in row_ids))

    def settle(
        self, report: ScanReport, leave: Leave, *, renamed: "RenamedAudio | None" = None
    ) -> None:
        """Follow what moved; mark the rest, unless that is suspiciously much."""
        gone = self._relink(report, renamed)
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

    def _relink(self, report: ScanReport, renamed: "RenamedAudio | None") -> Sequence[int]:
        lost = {*self._gone, *(renamed.lost if renamed else ())}
        if not lost:
            return ()
        with self._db.read(deadline_s=None) as tx:
            new = absences.new_rows(tx, self._library.id, after=self._newest_before)
            new += absences.facts_of(tx, renamed.unplaced if renamed else ())
            gone = absences.facts_of(tx, sorted(lost)) if new else []
        pairs = pair_up(gone, new)
        followed: set[int] = set()
        for at in range(0, len(pairs), CHUNK):
            some = pairs[at : at + CHUNK]
            brought = self._bring_sidecars(some)
            followed |= self._db.write(self._follow(some, brought), bulk=True)
        report.counts.relinked += len(followed)
        report.counts.new -= len(followed)
        return [row_id for row_id in self._gone if row_id not in followed]

    def _bring_sidecars(self, pairs: Sequence[tuple[int, int]]) -> "Brought | None":
        """Let our own sidecars follow their audio on disk, before the rows do."""
        if self._sidecars is None:
            return None
        with self._db.read() as tx:
            found = [(scan_results.get(tx, old), scan_results.get(tx, new)) for old, new in pairs]
        return self._sidecars.bring(
            self._library,
            [
                RenamedFile(_path(old), _path(new), _is_bare(new), is_same=_is_same(old, new))
                for old, new in found
                if old and new
            ],
        )

    def _follow(
        self, pairs: Sequence[tuple[int, int]], brought: "Brought | None"
    ) -> "Callable[[Tx], set[int]]":
        now = self._clock.now()

        def follow(tx: "Tx") -> set[int]:
            tally = Tally()
            followed = {old for old, new in pairs if merge_rows(tx, old, new, tally, now=now)}
            if self._sidecars is not None and brought is not None:
                self._sidecars.write_down(tx, brought)
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

    The row keeps its number and status, and says what stood beside the file, so that what
    did not come along is missed. Its target follows, unless the new place has one already:
    then that one stays and the old one leaves. One that waits for the file goes on waiting
    until a scan has met it.
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
    if not is_shared and _is_free(tx, new):
        merged["target_id"] = old["target_id"]
        if not new["sidecar"] & WORDS and old["status"] != "unreadable":
            merged |= {name: old[name] for name in _STANDING}
        if _move_target(tx, old["target_id"], new, now=now):
            merged["missing_since_at"] = old["missing_since_at"] or to_db(now)
    elif not is_shared and old["target_id"] not in (None, new["target_id"]):
        drop_target(tx, old["target_id"], tally, now=now)
        targets.delete(tx, old["target_id"])  # one of a finished item, too: its file is here
    scan_results.rehouse(
        tx, old_id, library_id=new["library_id"], dir_id=new["dir_id"], name=new["name"], now=now
    )
    scan_results.update(tx, old, merged, tally, now=now)
    return True


def _path(row: "Row") -> Path:
    return Path(from_ptext(row["root"]), from_ptext(row["rel_path"]), from_ptext(row["name"]))


def _is_bare(row: "Row") -> bool:
    return row["target_id"] is None and not row["sidecar"] & WORDS


def _is_same(old: "Row", new: "Row") -> bool:
    return bool(new["inode"]) and all(old[name] == new[name] for name in _STAMP)


def _is_free(tx: "Tx", new: "Row") -> bool:
    """Tell whether no target has the place of a row yet."""
    if new["target_id"] is not None:
        return False
    return targets.find(tx, os.fspath(_path(new).parent), from_ptext(new["out_stem"])) is None


def _move_target(tx: "Tx", target_id: int | None, new: "Row", *, now: datetime) -> bool:
    """Give a target the place of a row; tell whether it waits for its file."""
    target = targets.get(tx, target_id) if target_id is not None else None
    if target is None:
        return False
    path = _path(new)
    targets.save(
        tx,
        replace(
            target,
            out_dir=os.fspath(path.parent),
            out_stem=from_ptext(new["out_stem"]),
            source_path=os.fspath(path),
            duration_ms=new["duration_ms"],
        ),
        now=now,
    )
    return target.status is TargetStatus.PARKED
