"""Renames that Lidarr told of: the sidecars follow their audio, and so do the rows.

Jobs are durable. One that was cut off is done again from its beginning; what has
happened already is found as it should be, and left so.
"""

import logging
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from enum import Enum
from itertools import groupby
from pathlib import Path
from random import Random
from typing import Final, Literal

from lyrsvc.core.errors import LyrsvcError
from lyrsvc.core.library import Library
from lyrsvc.core.ports import Clock
from lyrsvc.files.atomic import Announce
from lyrsvc.files.move_log import MoveLog
from lyrsvc.services.bell import Bell, work_on_rings
from lyrsvc.services.library_lock import LibraryBusy, library_lock
from lyrsvc.services.move_rows import (
    StemStand,
    follow_files,
    look_at_stem,
    remember_move,
    seen_hashes,
    stem_of,
)
from lyrsvc.services.rename_cases import RenameCase, RenameCases, RenameTerms
from lyrsvc.services.rename_moves import METHOD, RenameMoves, move_sidecars
from lyrsvc.services.rename_rows import Renamed, follow_audio
from lyrsvc.services.serve_backup import serve_backup
from lyrsvc.services.sidecar_moves import SidecarMover
from lyrsvc.store import announced_dirs, libraries, rename_jobs
from lyrsvc.store.counts import Tally
from lyrsvc.store.database import Database, Tx
from lyrsvc.store.rename_jobs import RenameJob

BATCH: Final = 500
IDLE_S: Final = 30.0
BUSY_S: Final = 5.0
RETRY_S: Final = 60.0
AWAY_S: Final = 15.0
TRIES: Final = 3
"""So often a job is tried that the file system refuses; then it is closed with the reason."""
LEFT_TO_SCAN: Final = "names were exchanged; a scan lets the words follow"
_LOG: Final = logging.getLogger("lyrsvc.rename")

Touched = Callable[[Library, Sequence[Path]], None]
"""Told which directories of a library were changed."""


class _Turn(Enum):
    DONE = "done"
    BLOCKED = "blocked"
    LATE = "late"


class Renamer:
    """Applies waiting rename jobs; ``run`` is made for a thread."""

    def __init__(
        self,
        db: Database,
        *,
        clock: Clock,
        chance: Random,
        terms: RenameTerms,
        announce: Announce | None = None,
        on_touched: Touched = lambda _library, _directories: None,
    ) -> None:
        self._db = db
        self._clock = clock
        self._terms = terms
        self._on_touched = on_touched
        self._mover = SidecarMover(db, clock=clock, chance=chance, by=METHOD, announce=announce)
        self._bell = Bell()
        self._tries: dict[int, int] = {}
        self._made: dict[int, list[tuple[Path, Path]]] = {}
        self._missing: set[int] = set()
        self._after = 0

    def wake(self) -> None:
        """Say that there may be new jobs, or that the program stops."""
        self._bell.ring()

    def run(self) -> None:
        """Apply jobs as they come, until the program stops."""
        work_on_rings(self._bell, self._clock, self.step)

    def step(self) -> float:
        """Apply what waits; give how many seconds the next look has time."""
        with self._db.read() as tx:
            jobs = rename_jobs.waiting(tx, BATCH, after=self._after)
            known = libraries.all_libraries(tx)
        cases = RenameCases(self._terms, known, jobs, now=self._clock.now())
        read = [cases.read(job) for job in jobs]
        self._tell_missing(read)
        can_be_applied = [case for case in read if case.waiting_for is None]
        has_more = len(jobs) == BATCH
        self._after = jobs[-1].id if has_more and not can_be_applied else 0
        postponed = {AWAY_S} if len(can_be_applied) < len(read) else set()
        for concerned, group in groupby(can_be_applied, key=lambda case: case.libraries):
            try:
                if self._apply_locked(concerned, list(group)):
                    postponed.add(RETRY_S)
            except LibraryBusy:
                postponed.add(BUSY_S)
        if self._after:
            return 0.0
        if postponed:
            return min(postponed)
        return 0.0 if has_more else IDLE_S

    def _tell_missing(self, cases: Iterable[RenameCase]) -> None:
        """Say once of a library that renames in it wait until it is back."""
        for case in cases:
            library = case.waiting_for
            if library is None:
                self._missing -= {each.id for each in case.libraries}
            elif library.id not in self._missing:
                self._missing.add(library.id)
                fields = {"library": library.name, "path": library.path}
                _LOG.warning("renames wait for a library that is missing or empty", extra=fields)

    def _apply_locked(
        self, concerned: Sequence[Library], cases: Sequence[RenameCase]
    ) -> list[RenameCase]:
        """Apply jobs of the same libraries; give those that have to wait for another try."""
        with ExitStack() as stack:
            for library in concerned:
                stack.enter_context(
                    library_lock(self._db, library, clock=self._clock, purpose="rename")
                )
            log = stack.enter_context(serve_backup(self._terms.backup, self._clock))
            return list(self._apply_all(cases, log))

    def _apply_all(self, cases: Sequence[RenameCase], log: MoveLog) -> Iterator[RenameCase]:
        """Apply jobs in their order; one whose place another job makes free comes after that.

        Where that never happens, files took each other's names: no sidecar of theirs is moved.
        """
        waiting = list(cases)
        may_block = True
        while waiting:
            blocked: list[RenameCase] = []
            leaving = Counter(place for case in waiting for place in case.leaves)
            for case in waiting:
                if self._clock.wait(0):
                    return
                if any(leaving[place] for place in case.enters):
                    turn = _Turn.BLOCKED if may_block else self._leave_to_scan(case)
                else:
                    turn = self._apply(case, log, may_block=may_block)
                if turn is _Turn.BLOCKED:
                    blocked.append(case)
                    continue
                if may_block:
                    leaving.subtract(case.leaves)
                if turn is _Turn.LATE:
                    yield case
            may_block = len(blocked) < len(waiting)
            waiting = blocked

    def _apply(self, case: RenameCase, log: MoveLog, *, may_block: bool) -> _Turn:
        job, renamed = case.job, case.renamed
        if renamed is None:
            self._settle(job, "ignored", case.refusal)
            return _Turn.DONE
        try:
            moves = move_sidecars(renamed, self._mover, log)
            moves.made[:0] = self._made.pop(job.id, ())
            self._made[job.id] = moves.made
            if moves.failures:
                return self._put_off(job, "; ".join(moves.failures))
            if moves.kept and may_block:
                return _Turn.BLOCKED
            if moves.kept and not moves.made and os.path.lexists(renamed.old):
                return self._leave_to_scan(case, moves.kept)
            self._write_down(job, renamed, moves)
        except (LyrsvcError, OSError) as error:
            return self._put_off(job, str(error))
        return self._ended(case)

    def _put_off(self, job: RenameJob, reason: str) -> _Turn:
        """Try a job again later, but not for ever."""
        tries = self._tries[job.id] = self._tries.get(job.id, 0) + 1
        fields = {"job": job.id, "path": job.new_path, "reason": reason, "tries": tries}
        _LOG.warning("sidecars could not follow a rename", extra=fields)
        if tries < TRIES:
            return _Turn.LATE
        del self._tries[job.id]
        self._made.pop(job.id, None)
        self._settle(job, "done", reason)
        return _Turn.DONE

    def _leave_to_scan(self, case: RenameCase, kept: Iterable[str] = ()) -> _Turn:
        """Let the rows stay with the sidecars of files that took each other's names.

        By its rows a scan sees what was exchanged, and has both follow. It is announced.
        """
        reason = "; ".join((*kept, LEFT_TO_SCAN))
        places = [(library, one) for library, inside in _places(case) for one in inside]
        self._settle(case.job, "done", reason, to_scan={one for _, one in places})
        for library, directory in places:
            self._terms.sub_scan(library, directory)
        return self._ended(case)

    def _ended(self, case: RenameCase) -> _Turn:
        self._tries.pop(case.job.id, None)
        self._made.pop(case.job.id, None)
        for library, directories in _places(case):
            self._on_touched(library, directories)
        return _Turn.DONE

    def _write_down(self, job: RenameJob, renamed: Renamed, moves: RenameMoves) -> None:
        """Let the rows follow and close the job, in one transaction."""
        stands = self._stands(renamed, moves)
        on_disk = seen_hashes(goal for _, goal in moves.followed)
        moment = self._mover.moment

        def write(tx: Tx) -> None:
            tally = Tally()
            follow_files(tx, moves.followed, moment, on_disk=on_disk)
            follow_audio(tx, renamed, stands, tally, moment)
            if moves.made:
                goal = moves.made[0][1]
                remember_move(tx, stands[-1], goal, by=METHOD, method=METHOD, moment=moment)
            error = "; ".join(moves.kept)
            rename_jobs.settle(tx, job.id, state="done", error=error, now=moment.now)
            tally.write(tx, now=moment.now)

        self._db.write(write)
        _log_moves(job, moves)

    def _stands(self, renamed: Renamed, moves: RenameMoves) -> tuple[StemStand, ...]:
        new = look_at_stem(
            self._db, renamed.new_library, renamed.new, [goal for _, goal in moves.followed]
        )
        library = renamed.old_library
        if library is None:
            return (new,)
        places = {(path.parent, stem_of(path)): path for path in (renamed.old, *renamed.also)}
        return *(look_at_stem(self._db, library, path) for path in places.values()), new

    def _settle(
        self,
        job: RenameJob,
        state: Literal["done", "ignored"],
        error: str,
        *,
        to_scan: Iterable[Path] = (),
    ) -> None:
        now = self._clock.now()

        def write(tx: Tx) -> None:
            rename_jobs.settle(tx, job.id, state=state, error=error, now=now)
            announced_dirs.insert(tx, map(os.fspath, to_scan), now=now)

        self._db.write(write)
        _LOG.info("rename closed", extra={"job": job.id, "state": state, "reason": error})


def _places(case: RenameCase) -> Iterator[tuple[Library, list[Path]]]:
    """Give the libraries of a rename, each with the directories in it that are concerned."""
    if (renamed := case.renamed) is None:
        return
    for library in filter(None, (renamed.old_library, renamed.new_library)):
        paths = (renamed.old, renamed.new)
        yield library, [path.parent for path in paths if library.path in path.parents]


def _log_moves(job: RenameJob, moves: RenameMoves) -> None:
    """Say what has followed; what was kept back is somebody's to look at."""
    fields = {"job": job.id, "path": job.new_path, "files": len(moves.made)}
    if moves.kept:
        reason = "; ".join(moves.kept)
        _LOG.warning("a rename kept sidecars back", extra=fields | {"reason": reason})
    elif moves.made:
        _LOG.info("sidecars followed a rename", extra=fields)
    else:
        _LOG.info("a rename was taken note of; no sidecar had to follow", extra=fields)
