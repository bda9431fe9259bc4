"""Realign: sidecars that lost their audio are found, judged and, when wanted, moved to it.

Only directories that hold an orphan are looked at closely. What is planned under the
lock of the library is carried out under the same one.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Final, Literal

from lyrsvc.core.errors import Refused
from lyrsvc.core.library import Library
from lyrsvc.core.orphans import (
    Audio,
    Decision,
    FindAudio,
    Move,
    Planner,
    RealignPolicy,
    Skip,
    Tier,
    index_ids,
)
from lyrsvc.core.ports import Clock
from lyrsvc.files.atomic import Announce
from lyrsvc.files.move_log import MoveLog
from lyrsvc.files.moving import is_taken
from lyrsvc.files.orphan_search import OrphanSearch
from lyrsvc.files.tree import DEFAULT_DEPTH, walk
from lyrsvc.services.library_lock import Lease, library_lock
from lyrsvc.services.library_roots import device_of, roots_to_skip
from lyrsvc.services.orphan_facts import Found, OrphanFacts, Problem
from lyrsvc.services.scan_gate import below
from lyrsvc.services.sidecar_moves import SidecarMover, Unit, UnitEnd
from lyrsvc.store import libraries
from lyrsvc.store.database import Database

BY: Final = "realign"

Action = Literal["would-move", "moved", "gated", "skip"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """What is told of one file."""

    action: Action
    method: str
    old_path: str
    new_path: str = ""
    reason: str = ""


@dataclass(slots=True)
class RealignReport:
    """What a run came to so far; units are counted, files are listed by whoever is told."""

    dirs: int = 0
    orphans: int = 0
    planned: int = 0
    applied: int = 0
    gated: int = 0
    ambiguous: int = 0
    conflict: int = 0
    errors: int = 0
    is_cut_short: bool = False


Tell = Callable[[Line], None]
Watch = Callable[[RealignReport, str], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Scope:
    """Where to look: everything below some directories of a library, or all of it."""

    tops: tuple[Path, ...] = ()
    depth: int = DEFAULT_DEPTH


@dataclass(frozen=True, kw_only=True, slots=True)
class Ears:
    """Who is told: of each file, and now and then how far the run is."""

    tell: Tell = lambda _line: None
    watch: Watch = lambda _report, _path: None


EVERYWHERE: Final = Scope()
NOBODY: Final = Ears()


class _Over(Exception):
    """The run is to end before its time."""


class Realigner:
    """Looks for orphans in libraries and brings them to their audio."""

    def __init__(
        self,
        db: Database,
        *,
        clock: Clock,
        policy: RealignPolicy,
        chance: Random,
        announce: Announce | None = None,
    ) -> None:
        self._db = db
        self._clock = clock
        self._policy = policy
        self._mover = SidecarMover(db, clock=clock, chance=chance, by=BY, announce=announce)

    def preview(
        self, library: Library, *, scope: Scope = EVERYWHERE, ears: Ears = NOBODY
    ) -> RealignReport:
        """Say what would be moved; nothing is locked, nothing is changed."""
        run = _Run(self._db, library, self._policy, ears)
        for decision in run.decisions(scope):
            run.preview(decision)
        return run.report

    def realign(
        self,
        library: Library,
        log: MoveLog,
        *,
        scope: Scope = EVERYWHERE,
        ears: Ears = NOBODY,
        wait_s: float = 0.0,
    ) -> RealignReport:
        """Move what belongs to an audio file.

        Raises ``LibraryBusy`` when its lock is not free within ``wait_s``, ``Refused`` when
        the root is not there or the backup cannot be opened.
        """
        with library_lock(
            self._db, library, clock=self._clock, purpose="realign", wait_s=wait_s
        ) as lease:
            return self.realign_within(lease, library, log, scope=scope, ears=ears)

    def realign_within(
        self,
        lease: Lease,
        library: Library,
        log: MoveLog,
        *,
        scope: Scope = EVERYWHERE,
        ears: Ears = NOBODY,
    ) -> RealignReport:
        """Move what belongs to an audio file, for whoever holds the lock of the library."""
        with self._db.read() as tx:
            library = libraries.get(tx, library.id)
        run = _Run(self._db, library, self._policy, ears, is_over=partial(self._is_over, lease))
        try:
            for decision in run.decisions(scope):
                run.carry_out(decision, self._mover, log)
                run.check()
        except _Over:
            run.report.is_cut_short = True
        return run.report

    def _is_over(self, lease: Lease) -> bool:
        return lease.is_lost or self._clock.wait(0)


class _Run:
    """One run over one library."""

    def __init__(
        self,
        db: Database,
        library: Library,
        policy: RealignPolicy,
        ears: Ears,
        *,
        is_over: Callable[[], bool] = lambda: False,
    ) -> None:
        self._db = db
        self._library = library
        self._policy = policy
        self._ears = ears
        self._is_over = is_over
        self._facts = OrphanFacts(db, library, policy)
        self.report = RealignReport()

    def decisions(self, scope: Scope) -> Iterator[Decision]:
        """Judge the orphans of the library, a directory at a time."""
        if device_of(self._library.path) is None:
            raise Refused(
                f'library "{self._library.name}" cannot be reached: {self._library.path} is '
                "missing, empty or unreadable; mount it, or move the library with: "
                "lyrsvc library update"
            )
        found = self._search(scope)
        find: FindAudio | None = None
        if self._policy.cross_directory:
            everything = list(found)  # ids are compared with all audio, so all orphans come first
            find = self._everywhere(everything, scope)
            found = iter(everything)
        planner = Planner(self._policy, find=find)
        for each in found:
            for problem in each.problems:
                self._tell_problem(problem)
            for decision in planner.plan(each.folder):
                self.report.orphans += 1
                yield _checked(decision)

    def preview(self, decision: Decision) -> None:
        """Say what would become of a unit."""
        if isinstance(decision, Skip):
            self._skip(decision)
            return
        is_gated = not self._policy.applies(decision.tier)
        self.report.gated += is_gated
        self.report.planned += not is_gated
        self._tell_move(decision, "gated" if is_gated else "would-move")

    def carry_out(self, decision: Decision, mover: SidecarMover, log: MoveLog) -> None:
        """Move a unit, or say why not."""
        if isinstance(decision, Skip) or not self._policy.applies(decision.tier):
            self.preview(decision)
            return
        self.report.planned += 1
        moved = mover.move(_unit(decision, self._library), log)
        if moved.end is UnitEnd.MOVED:
            self.report.applied += 1
            self._tell_move(decision, "moved")
        elif moved.end is UnitEnd.CONFLICT:
            self._skip(_conflict(decision, moved.reason))
        else:
            self.report.errors += 1
            self._tell_move(decision, "skip", f"failed: {moved.reason}")

    def _search(self, scope: Scope) -> Iterator[Found]:
        for top in self._tops(scope):
            depth = scope.depth - len(Path(below(os.fspath(self._library.path), top)).parts)
            if depth < 0:
                continue
            search = OrphanSearch(
                top,
                depth=depth,
                skip=self._foreign(),
                on_fault=self._note_fault,
                on_step=self._step,
            )
            yield from map(self._facts.look, search)

    def check(self) -> None:
        """End the run when the program stops, or when the lock is somebody else's by now."""
        if self._is_over():
            raise _Over

    def _step(self, path: str, directories: int) -> None:
        self.report.dirs += directories
        self._ears.watch(self.report, path)
        self.check()

    def _tops(self, scope: Scope) -> Sequence[str]:
        root = self._library.path
        inside = [top for top in scope.tops if top == root or root in top.parents]
        if not scope.tops:
            inside = [root]
        outermost = [t for t in inside if not any(other in t.parents for other in inside)]
        return [
            os.fspath(top)
            for top in dict.fromkeys(outermost)
            if top.is_dir() and (top == root or not top.is_symlink())
        ]

    def _foreign(self) -> frozenset[str]:
        with self._db.read() as tx:
            return roots_to_skip(self._library, libraries.all_libraries(tx))

    def _everywhere(self, found: Iterable[Found], scope: Scope) -> FindAudio:
        """Give the audio of the whole library that has one of the orphans' ids."""
        wanted = {
            (key, value)
            for each in found
            for orphan in each.folder.orphans
            for key, value in orphan.ids.items()
            if key in self._policy.identity_keys
        }
        audio: list[Audio] = []
        if wanted:
            root = os.fspath(self._library.path)
            for listing in walk(root, depth=scope.depth, skip=self._foreign()):
                self._ears.watch(self.report, listing.path)
                audio += [a for a in self._facts.audio_of(listing) if _has_any(a, wanted)]
        return index_ids(audio)

    def _note_fault(self, path: str, error: OSError) -> None:
        reason = f"the directory cannot be listed: {(error.strerror or 'unknown').lower()}"
        self._tell_problem(Problem(path, reason, is_fault=True))

    def _tell_problem(self, problem: Problem) -> None:
        self.report.errors += problem.is_fault
        line = Line(action="skip", method="", old_path=problem.path, reason=problem.reason)
        self._ears.tell(line)

    def _skip(self, skip: Skip) -> None:
        is_conflict = skip.tier is Tier.CONFLICT
        self.report.conflict += is_conflict
        self.report.ambiguous += not is_conflict
        for name in skip.orphan.names:
            self._ears.tell(
                Line(
                    action="skip",
                    method=str(skip.tier),
                    old_path=os.fspath(Path(skip.orphan.directory, name)),
                    reason=skip.reason,
                )
            )

    def _tell_move(self, move: Move, action: Action, reason: str = "") -> None:
        if action == "gated":
            reason = "realign.require_provenance is on"
        for old, new in _unit(move, self._library).files:
            self._ears.tell(
                Line(
                    action=action,
                    method=str(move.tier),
                    old_path=os.fspath(old),
                    new_path=os.fspath(new),
                    reason=reason or move.reason,
                )
            )


def _unit(move: Move, library: Library) -> Unit:
    old, new = Path(move.orphan.directory), Path(move.audio.directory)
    files = tuple((old / name, new / move.new_name(name)) for name in move.orphan.names)
    return Unit(
        files=files, library=library, method=str(move.tier), is_exact=move.tier is Tier.EXACT
    )


def _checked(decision: Decision) -> Decision:
    """Turn a move into a conflict when something stands at one of its destinations."""
    if isinstance(decision, Move):
        for name in decision.orphan.names:
            old = Path(decision.orphan.directory, name)
            new = Path(decision.audio.directory, decision.new_name(name))
            if is_taken(old, new):
                return _conflict(decision, f"{new.name} is there already")
    return decision


def _conflict(move: Move, reason: str) -> Skip:
    return Skip(orphan=move.orphan, tier=Tier.CONFLICT, reason=reason, audio=move.audio)


def _has_any(audio: Audio, wanted: set[tuple[str, str]]) -> bool:
    return any((key, value) in wanted for key, values in audio.ids.items() for value in values)
