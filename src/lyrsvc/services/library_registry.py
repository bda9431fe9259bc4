"""Registering libraries: adding, changing and removing roots, and clearing their inventory.

A file belongs to the library with the innermost root that contains it. Files on disk
are never touched.
"""

import os
import shlex
import stat
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lyrsvc.core.display import escape_controls
from lyrsvc.core.errors import AlreadyThere, Refused
from lyrsvc.core.library import Library, name_key
from lyrsvc.core.ports import Clock
from lyrsvc.services.library_lock import Lease, library_lock
from lyrsvc.services.library_roots import absolute, contains, is_same, place_below
from lyrsvc.services.target_leaving import drop_target
from lyrsvc.store import libraries, library_rows, scan_results
from lyrsvc.store.counts import Tally
from lyrsvc.store.database import Database
from lyrsvc.store.library_rows import Holdings

if TYPE_CHECKING:
    from lyrsvc.store.database import Tx

CHUNK: Final = 500
WAIT_S: Final = 10.0
"""How long a scan that is in the way is waited for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """What a library is to be like; None leaves a field as it is, or to its default."""

    path: str | None = None
    name: str | None = None
    enrich: "Override | None" = None
    detect_instrumental: "Override | None" = None


@dataclass(frozen=True, slots=True)
class Override:
    """A choice for one library; None inherits the global default."""

    value: bool | None


@dataclass(frozen=True, slots=True)
class Registered:
    """A library as it is now, and what is worth knowing about its place."""

    library: Library
    notes: tuple[str, ...] = ()


class LibraryRegistry:
    """Looks after the table of libraries and everything that hangs on it."""

    def __init__(
        self, db: Database, *, clock: Clock, working_directory: Path, wait_s: float = WAIT_S
    ) -> None:
        self._db = db
        self._clock = clock
        self._working_directory = working_directory
        self._wait_s = wait_s

    def add(self, wanted: Wanted, *, allow_missing: bool = False) -> Registered:
        """Register a root; files below it that another library had go over to it."""
        path = self._usable_root(wanted.path or "", allow_missing=allow_missing)
        others = self._all()
        _refuse_equal(path, others)
        outer = _innermost(path, others)
        with ExitStack() as held:
            if outer is not None:
                held.enter_context(self._lock(outer))
            added = self._db.write(self._insertion(path, wanted, outer))
        return Registered(added, _nesting_notes(path, others))

    def update(self, library: Library, wanted: Wanted) -> Registered:
        """Change a library; with another path its rows keep their places below the root."""
        if wanted.path is not None:
            return self._move(library, wanted, wanted.path)
        now = self._clock.now()

        def change(tx: "Tx") -> Library:
            """Change what is stored by now: another command may have changed the rest."""
            stored = libraries.get(tx, library.id)
            return libraries.change(tx, _changed(stored, wanted), now=now)

        changed = self._db.write(change)
        return Registered(changed, _detection_notes(library, changed))

    def remove(self, library: Library) -> Holdings:
        """Forget a library, its inventory and the work that only it wanted."""
        with self._lock(library):
            held = self._empty(library, inventory_only=False)
            self._db.write(lambda tx: library_rows.delete_library(tx, library.id))
        return held

    def clear(self, library: Library) -> Holdings:
        """Forget the inventory of a library and the work that only it wanted."""
        with self._lock(library):
            return self._empty(library, inventory_only=True)

    def count(self, library: Library, *, inventory_only: bool) -> Holdings:
        """Tell what :meth:`clear` or :meth:`remove` would take away."""
        with self._db.read(deadline_s=None) as tx:
            return library_rows.count_holdings(tx, library.id, inventory_only=inventory_only)

    def _move(self, library: Library, wanted: Wanted, path: str) -> Registered:
        root = self._usable_root(path)
        others = [other for other in self._all() if other.id != library.id]
        _refuse_equal(root, others)
        outer = _innermost(root, others)
        with ExitStack() as held:
            held.enter_context(self._lock(library, wait_s=0.0))
            if outer is not None:
                held.enter_context(self._lock(outer))
            moved = self._db.write(self._moving(library, wanted, root, outer))
        notes = (*_nesting_notes(root, others), *_detection_notes(library, moved))
        return Registered(moved, notes)

    def _usable_root(self, typed: str, *, allow_missing: bool | None = None) -> Path:
        """Give a root as it is stored; without ``allow_missing`` nobody can allow a missing one."""
        if not typed or "\0" in typed:
            raise Refused("a library needs a path; name a directory")
        path = absolute(typed, self._working_directory)
        shown = escape_controls(str(path))
        if path == Path("/"):
            raise Refused("/ cannot be a library; name the directory that holds the music")
        try:
            is_directory = stat.S_ISDIR(path.stat().st_mode)
        except OSError as error:
            if allow_missing:
                return path
            other = "" if allow_missing is None else ", or use --allow-missing"
            raise Refused(
                f"{shown} cannot be used ({(error.strerror or 'error').lower()}); "
                f"name an existing directory{other}"
            ) from error
        if not is_directory:
            raise Refused(f"{shown} is no directory; name the directory that holds the music")
        return path

    def _all(self) -> list[Library]:
        with self._db.read() as tx:
            return libraries.all_libraries(tx)

    def _lock(
        self, library: Library, *, wait_s: float | None = None
    ) -> AbstractContextManager[Lease]:
        return library_lock(
            self._db,
            library,
            clock=self._clock,
            purpose="library-change",
            wait_s=self._wait_s if wait_s is None else wait_s,
        )

    def _insertion(
        self, path: Path, wanted: Wanted, outer: Library | None
    ) -> "Callable[[Tx], Library]":
        now = self._clock.now()

        def insert(tx: "Tx") -> Library:
            name = wanted.name
            if name is None:
                name = libraries.free_name(tx, _usual_name(path))
            added = libraries.add(
                tx,
                name=_checked_name(name),
                path=path,
                now=now,
                enrich=wanted.enrich.value if wanted.enrich else None,
                detect_instrumental=(
                    wanted.detect_instrumental.value if wanted.detect_instrumental else None
                ),
            )
            if outer is not None:
                _take_over(tx, outer, added, now=now)
            return added

        return insert

    def _moving(
        self, library: Library, wanted: Wanted, root: Path, outer: Library | None
    ) -> "Callable[[Tx], Library]":
        now = self._clock.now()

        def move(tx: "Tx") -> Library:
            """Move what is stored by now: another command may have changed the rest."""
            before = libraries.get(tx, library.id)
            after = replace(_changed(before, wanted), path=root)
            tally = Tally()
            place = place_below(outer.path, after.path) if outer else None
            if outer is not None and place is not None:
                rel_path = os.fspath(place.relative_to(outer.path))
                for row in library_rows.row_ids_below(tx, outer.id, rel_path):
                    if row["target_id"] is not None:
                        drop_target(tx, row["target_id"], tally, now=now)
                    scan_results.delete(tx, row, tally)
            for target_id in library_rows.move_targets(
                tx, before.id, before.path, after.path, now=now
            ):
                drop_target(tx, target_id, tally, now=now)
            library_rows.move_written(tx, before.path, after.path, now=now)
            tally.write(tx, now=now)
            return libraries.change(tx, after, now=now)

        return move

    def _empty(self, library: Library, *, inventory_only: bool) -> Holdings:
        """Remove rows and waiting targets, a little at a time so that others get their turn."""
        held = self.count(library, inventory_only=inventory_only)
        after = 0
        while some := self._targets(library, after, inventory_only=inventory_only):
            after = some[-1]
            self._db.write(self._dropping(some), bulk=True)
        now = self._clock.now()
        while self._db.write(
            lambda tx: library_rows.delete_rows(tx, library.id, limit=CHUNK, now=now), bulk=True
        ):
            pass
        self._db.write(lambda tx: library_rows.delete_dirs(tx, library.id), bulk=True)
        return held

    def _targets(self, library: Library, after: int, *, inventory_only: bool) -> list[int]:
        with self._db.read(deadline_s=None) as tx:
            return library_rows.waiting_targets(
                tx, library.id, inventory_only=inventory_only, after=after, limit=CHUNK
            )

    def _dropping(self, target_ids: Sequence[int]) -> "Callable[[Tx], None]":
        now = self._clock.now()

        def drop(tx: "Tx") -> None:
            tally = Tally()
            for target_id in target_ids:
                drop_target(tx, target_id, tally, now=now)
            tally.write(tx, now=now)

        return drop


def _take_over(tx: "Tx", outer: Library, inner: Library, *, now: datetime) -> None:
    place = place_below(outer.path, inner.path)
    if place is None:
        return
    rel_path = os.fspath(place.relative_to(outer.path))
    library_rows.hand_over(tx, outer.id, inner.id, rel_path=rel_path, now=now)
    if place != inner.path:
        tally = Tally()
        for target_id in library_rows.move_targets(tx, inner.id, place, inner.path, now=now):
            drop_target(tx, target_id, tally, now=now)
        library_rows.move_written(tx, place, inner.path, now=now)
        tally.write(tx, now=now)


def _usual_name(path: Path) -> str:
    return escape_controls(path.name).strip() or "library"


def _changed(library: Library, wanted: Wanted) -> Library:
    if wanted.name is not None:
        library = replace(library, name=_checked_name(wanted.name))
    if wanted.enrich is not None:
        library = replace(library, enrich=wanted.enrich.value)
    if wanted.detect_instrumental is not None:
        library = replace(library, detect_instrumental=wanted.detect_instrumental.value)
    return library


def _checked_name(name: str) -> str:
    if not name_key(name).strip():
        raise Refused("a library needs a name; choose another --name")
    return name


def _refuse_equal(path: Path, others: Sequence[Library]) -> None:
    for other in others:
        if is_same(path, other.path):
            raise AlreadyThere(
                f'{escape_controls(str(path))} is already library "{other.name}"; '
                f"use library update {shlex.quote(other.name)}"
            )


def _innermost(path: Path, others: Sequence[Library]) -> Library | None:
    """Give the library whose files below a path are to change hands."""
    around = [other for other in others if contains(other.path, path)]
    return max(around, key=lambda other: len(other.path.resolve().parts), default=None)


def _detection_notes(before: Library, after: Library) -> tuple[str, ...]:
    """Say how what was queued before follows a new choice: it keeps its own until then."""
    choice = after.detect_instrumental
    if after.last_ok_scan_at is None or choice in (None, before.detect_instrumental):
        return ()
    flag = "--detect-instrumental" if choice else "--no-detect-instrumental"
    return (
        "it holds for tracks that are queued from now on; for those that wait already: "
        f"lyrsvc scan --library {shlex.quote(after.name)} {flag}",
    )


def _nesting_notes(path: Path, others: Sequence[Library]) -> tuple[str, ...]:
    shown = escape_controls(str(path))
    rest = "the inner library owns the files below it"
    notes = []
    for other in others:
        root = escape_controls(str(other.path))
        if contains(other.path, path):
            notes.append(f'{shown} lies inside library "{other.name}" ({root}); {rest}')
        elif contains(path, other.path):
            notes.append(f'{shown} contains library "{other.name}" ({root}); {rest}')
    return tuple(notes)
