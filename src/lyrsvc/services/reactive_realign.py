"""Realign by itself while the service runs: what scans and renames have touched is looked at.

A failure is told and forgotten; it never is a scan's. A library that is busy is waited for.
"""

import logging
import threading
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Final

from lyrsvc.core.errors import LyrsvcError, NotFound
from lyrsvc.core.library import Library
from lyrsvc.core.orphans import RealignPolicy
from lyrsvc.core.ports import Clock
from lyrsvc.files.atomic import Announce
from lyrsvc.files.tree import DEFAULT_DEPTH
from lyrsvc.services.bell import Bell, work_on_rings
from lyrsvc.services.library_lock import Lease, LibraryBusy
from lyrsvc.services.realigning import Ears, Line, Realigner, Scope
from lyrsvc.services.serve_backup import serve_backup
from lyrsvc.store import libraries
from lyrsvc.store.database import Database

BUSY_S: Final = 5.0
MOST_PLACES: Final = 1000
"""Above so many directories of a library it is looked at as a whole."""
_IDLE_S: Final = 30.0
_LOG: Final = logging.getLogger("lyrsvc.realign")


@dataclass(frozen=True, kw_only=True, slots=True)
class Reaction:
    """How realign behaves when nobody asked: by default only what ids prove is moved."""

    policy: RealignPolicy
    backup: Path
    auto_apply_heuristic: bool = False
    on_scan: bool = False
    depth: int = DEFAULT_DEPTH

    def follows(self, below: Path | None) -> bool:
        """Tell whether a scan of a whole library, or below a directory, is to be followed."""
        return below is not None or self.on_scan

    @property
    def applied(self) -> RealignPolicy:
        """Give the policy with which moves are made."""
        exact_only = self.policy.require_provenance or not self.auto_apply_heuristic
        return replace(self.policy, require_provenance=exact_only)


class ReactiveRealign:
    """Waits for touched directories and realigns them; ``run`` is made for a thread."""

    def __init__(
        self,
        db: Database,
        *,
        clock: Clock,
        chance: Random,
        reaction: Reaction,
        announce: Announce | None = None,
    ) -> None:
        self._db = db
        self._clock = clock
        self._reaction = reaction
        self._realigner = Realigner(
            db, clock=clock, policy=reaction.applied, chance=chance, announce=announce
        )
        self._lock = threading.Lock()
        self._touched: dict[int, set[Path]] = {}
        self._bell = Bell()

    def touch(self, library: Library, directories: Iterable[Path]) -> None:
        """Have directories, with all below them, looked at; any thread may say so."""
        with self._lock:
            places = self._touched.setdefault(library.id, set())
            places.update(directories)
            if len(places) > MOST_PLACES:
                places.clear()
                places.add(library.path)
        self._bell.ring()

    def scanned(self, library: Library) -> None:
        """Have a whole library looked at after its scan, if that is wanted."""
        if self._reaction.follows(None):
            self.touch(library, [library.path])

    def follow(
        self, library: Library, below: Path | None, directories: Iterable[Path], lease: Lease
    ) -> None:
        """Realign directories at once, for a scan that met renamed audio in them.

        What belongs to the audio is there before anybody fetches words in its place.
        """
        if not self._reaction.follows(below):
            return
        scope = Scope(tops=tuple(sorted(directories)), depth=self._reaction.depth)
        try:
            with serve_backup(self._reaction.backup, self._clock) as log:
                ears = Ears(tell=_tell)
                self._realigner.realign_within(lease, library, log, scope=scope, ears=ears)
        except (LyrsvcError, OSError) as error:
            _LOG.warning("realign failed", extra={"library": library.id, "reason": str(error)})

    def wake(self) -> None:
        """Let the loop notice that the program stops."""
        self._bell.ring()

    def run(self) -> None:
        """Realign what is touched, until the program stops."""
        work_on_rings(self._bell, self._clock, self.step)

    def step(self) -> float:
        """Realign what was touched; give how many seconds the next look has time."""
        with self._lock:
            touched, self._touched = self._touched, {}
        wait_s = _IDLE_S
        for library_id, places in touched.items():
            try:
                self._realign(library_id, places)
            except LibraryBusy:
                wait_s = BUSY_S
                with self._lock:
                    self._touched.setdefault(library_id, set()).update(places)
            except NotFound:
                continue  # it was removed meanwhile
            except (LyrsvcError, OSError) as error:
                _LOG.warning("realign failed", extra={"library": library_id, "reason": str(error)})
        return wait_s

    def _realign(self, library_id: int, places: set[Path]) -> None:
        with self._db.read() as tx:
            library = libraries.get(tx, library_id)
        scope = Scope(tops=tuple(sorted(places)), depth=self._reaction.depth)
        with serve_backup(self._reaction.backup, self._clock) as log:
            report = self._realigner.realign(library, log, scope=scope, ears=Ears(tell=_tell))
        if report.orphans:
            _LOG.info(
                "realigned",
                extra={
                    "library": library.name,
                    "orphans": report.orphans,
                    "applied": report.applied,
                    "gated": report.gated,
                    "ambiguous": report.ambiguous,
                    "conflict": report.conflict,
                    "errors": report.errors,
                },
            )


def _tell(line: Line) -> None:
    fields = {"old_path": line.old_path, "new_path": line.new_path, "reason": line.reason}
    if line.action == "moved":
        _LOG.info("sidecar moved", extra={**fields, "method": line.method})
    else:
        _LOG.debug("orphan left alone", extra={**fields, "method": line.method})
