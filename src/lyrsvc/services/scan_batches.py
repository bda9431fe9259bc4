"""Writing down what a scan found: rows, targets and items of some files at once.

Each batch is one transaction that stands or falls as a whole. One batch is written
while the next is gathered; nothing waits for the end of the run, so the worker
begins with the first batch.
"""

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lyrsvc.core.merging import Effect
from lyrsvc.core.ports import Clock
from lyrsvc.core.scan_run import ScanReport
from lyrsvc.files.pairing import split_name
from lyrsvc.services.enqueueing import Placed, Terms, enqueue
from lyrsvc.services.scan_gate import Folder
from lyrsvc.services.scan_rows import Change
from lyrsvc.store import (
    scan_dirs,
    scan_results,
    scan_runs,
    standings,
    targets,
    written_files,
)
from lyrsvc.store.counts import Tally
from lyrsvc.store.database import Database

if TYPE_CHECKING:
    from lyrsvc.store.database import Tx
    from lyrsvc.store.writing import Pending

MOST: Final = 500
FEWEST: Final = 16
"""Rows of one bulk operation: few at first, then as many as the database writes in ``HELD_S``."""
HELD_S: Final = 0.02
"""So long a bulk operation may keep the writer; a webhook waits behind one at most."""
SHARED_HELD_S: Final = 0.005
"""The same while others are seen to wait."""
EVERY_S: Final = 1.0
_TICK_S: Final = 1e-6
_WAIT_S: Final = 30.0


@dataclass(slots=True)
class Written:
    """What a batch came to."""

    enqueued: int = 0
    from_cache: int = 0
    reopened: int = 0
    rows: int = 0
    seconds: float = 0.0
    """How long the writer was kept, and for how many rows."""


class ScanBatches:
    """Gathers changes and hands them to the database, a batch at a time."""

    def __init__(
        self,
        db: Database,
        report: ScanReport,
        *,
        clock: Clock,
        terms: Callable[[datetime], Terms],
        wake: Callable[[], None],
    ) -> None:
        self._db = db
        self._report = report
        self._clock = clock
        self._terms = terms
        self._wake = wake
        self._changes: list[Change] = []
        self._errors: list[tuple[Folder, str]] = []
        self._under_way: deque[Pending[Written]] = deque()
        self._sent_at = clock.monotonic()
        self._most = FEWEST

    def add(self, change: Change) -> None:
        """Take one change in; one that changes nothing is let go."""
        if change.is_idle:
            return
        self._changes.append(change)
        if len(self._changes) >= self._most:
            self.send()

    def add_error(self, folder: Folder, error: str) -> None:
        """Take in that a directory could not be listed, or can be again."""
        self._errors.append((folder, error))
        if len(self._errors) >= MOST:
            self.send()

    def tick(self) -> None:
        """Send what has waited for a second."""
        if self._clock.monotonic() - self._sent_at >= EVERY_S:
            self.send()

    def send(self) -> None:
        """Hand over what was gathered; wait when the database is behind."""
        self._sent_at = self._clock.monotonic()
        if not self._changes and not self._errors:
            return
        changes, self._changes = self._changes, []
        errors, self._errors = self._errors, []
        while len(self._under_way) > 1:
            self._settle()
        operation = self._operation(changes, errors)
        self._under_way.append(self._db.submit(operation, bulk=True, wait_s=_WAIT_S))

    def finish(self) -> None:
        """Send the rest and wait until everything is durable."""
        self.send()
        while self._under_way:
            self._settle()

    def _settle(self) -> None:
        written = self._under_way.popleft().result()
        counts = self._report.counts
        counts.enqueued += written.enqueued
        counts.from_cache += written.from_cache
        counts.reopened += written.reopened
        held_s = SHARED_HELD_S if self._db.is_wanted else HELD_S
        self._most = fitting(self._most, written, held_s=held_s)
        self._wake()

    def _operation(
        self, changes: Sequence[Change], errors: Sequence[tuple[Folder, str]]
    ) -> "Callable[[Tx], Written]":
        counters = self._report.counts.as_dict()
        run_id, library_id = self._report.run_id, self._report.library_id
        terms = self._terms(self._clock.now())

        def write(tx: "Tx") -> Written:
            began = time.monotonic()
            _note_errors(tx, errors, library_id, terms.now)
            written = _write(tx, changes, library_id, terms)
            scan_runs.save_counts(tx, run_id, counters)
            written.rows, written.seconds = len(changes), time.monotonic() - began
            return written

        return write


def fitting(most: int, written: Written, *, held_s: float = HELD_S) -> int:
    """Give how many rows the next operation may have, by how long the last one took.

    It shrinks at once, but grows by steps: a short batch says little about a long one.
    """
    if not written.rows:
        return most
    fits = int(held_s / max(written.seconds, _TICK_S) * written.rows)
    return max(FEWEST, min(fits, most * 3 // 2, MOST))


def _note_errors(
    tx: "Tx", errors: Sequence[tuple[Folder, str]], library_id: int, now: datetime
) -> None:
    dir_ids = _dir_ids(tx, [folder for folder, _ in errors], library_id, now)
    for folder, error in errors:
        scan_dirs.set_error(tx, dir_ids[folder.rel_path], error, now=now)


def _write(tx: "Tx", changes: Sequence[Change], library_id: int, terms: Terms) -> Written:
    """Write rows and wishes; what somebody else changed meanwhile is left to the next scan."""
    valid = [change for change in changes if _is_valid(tx, change)]
    written = _enqueue(tx, valid, terms)
    new = [change for change in valid if change.finding.row is None]
    dir_ids = _dir_ids(tx, [change.finding.folder for change in new], library_id, terms.now)
    for change in new:
        change.row["dir_id"] = dir_ids[change.finding.folder.rel_path]
    tally = Tally()
    for change in valid:
        if (before := change.finding.row) is not None:
            scan_results.update(tx, before, change.row, tally, now=terms.now)
        _adopt(tx, change, now=terms.now)
    scan_results.insert_many(tx, [change.row for change in new], tally, now=terms.now)
    tally.write(tx, now=terms.now)
    return written


def _enqueue(tx: "Tx", changes: Sequence[Change], terms: Terms) -> Written:
    """Place what is wished, and tie every row to the target it has by then."""
    written = Written()
    wishes = [(change, change.wish) for change in changes if change.wish is not None]
    settled: set[int | None] = {None}
    placed = enqueue(tx, [wish for _, wish in wishes], terms)
    for (change, _), place in zip(wishes, placed, strict=True):
        if place.is_fresh:
            _link_fresh(change, place, written)
            settled.add(place.target_id)
        else:
            _link(tx, change, place, written)
        _take_siblings_along(tx, change)
    for change in changes:
        if change.row["target_id"] not in settled:
            _follow_stem(tx, change)
    return written


def _dir_ids(tx: "Tx", folders: Sequence[Folder], library_id: int, now: datetime) -> dict[str, int]:
    """Give the id of every directory; new ones are written down."""
    known = {folder.rel_path: folder.dir_id for folder in folders}
    new = [path for path, dir_id in known.items() if dir_id is None]
    made = scan_dirs.ensure(tx, library_id, new, now=now) if new else {}
    return {path: made[path] if dir_id is None else dir_id for path, dir_id in known.items()}


def _is_valid(tx: "Tx", change: Change) -> bool:
    before = change.finding.row
    return before is None or scan_results.is_as_it_was(tx, before)


def _link_fresh(change: Change, place: Placed, written: Written) -> None:
    """Tie a row to the target that was made for it; nothing else can be known of that yet."""
    change.row["target_id"] = place.target_id
    if change.wish is not None and not change.wish.has_sidecar:
        change.row.update(status="pending", reason="", reason_text="")
    written.enqueued += 1
    written.from_cache += place.is_local
    written.reopened += change.reopens


def _link(tx: "Tx", change: Change, place: Placed, written: Written) -> None:
    """Tie a row to its target, and take its status from how that stands."""
    row = change.row
    if place.item_id is None:
        row.update(status="unreadable", reason="no_metadata")
        return
    stand = standings.of_target(tx, place.item_id, place.target_id)
    row["target_id"] = place.target_id if place.target_id is not None else row["target_id"]
    if change.wish is not None and not change.wish.has_sidecar:
        row.update(status=stand.status, reason=stand.reason, reason_text=stand.reason_text)
    if place.effect is Effect.ENQUEUED:
        written.enqueued += 1
        written.from_cache += stand.is_local
        written.reopened += change.reopens


def _take_siblings_along(tx: "Tx", change: Change) -> None:
    """Tie the other files of a stem to its new target when the old one is gone."""
    before, target_id = change.finding.row, change.row["target_id"]
    if before is None or before["target_id"] in (None, target_id) or target_id is None:
        return
    if not targets.exists(tx, before["target_id"]):
        scan_results.tie_stem(tx, before["dir_id"], before["out_stem"], target_id)


def _follow_stem(tx: "Tx", change: Change) -> None:
    """Find the target of a stem again when another file of it was given a new one."""
    row, finding = change.row, change.finding
    if targets.exists(tx, row["target_id"]):
        return
    now = targets.find(tx, finding.folder.path, split_name(finding.name)[0])
    row["target_id"] = now.id if now else None


def _adopt(tx: "Tx", change: Change, *, now: datetime) -> None:
    """Follow a sidecar of ours to where somebody moved it."""
    standing = change.finding.standing
    if standing.moved_from is not None:
        written_files.move(tx, standing.moved_from, Path(standing.path), now=now)
