"""What a rename job means here: two confined paths and their libraries, or a refusal."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from lyrsvc.core.library import Library
from lyrsvc.core.payload_paths import PathMappings, local_path, spellings
from lyrsvc.files.confinement import Confinement
from lyrsvc.files.pairing import composed, split_name
from lyrsvc.files.tree import AUDIO_SUFFIXES
from lyrsvc.services.library_roots import device_of
from lyrsvc.services.move_rows import stem_of
from lyrsvc.services.rename_rows import Renamed
from lyrsvc.store.moments import to_db
from lyrsvc.store.rename_jobs import RenameJob

PATIENCE: Final = timedelta(days=7)
"""So long a job waits for a root that is not there, or that stays empty."""

_Place = tuple[str, Path, str]
"""A stem in its directory, as one event speaks of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RenameTerms:
    """What holds for every job: the roots that count, how paths are spelled there, the backup.

    ``sub_scan`` has a directory scanned that is stored as announced.
    """

    roots: Callable[[], Iterable[Path]]
    backup: Path
    mappings: PathMappings = ()
    sub_scan: Callable[[Library, Path], None] = lambda _library, _directory: None


@dataclass(frozen=True, slots=True)
class RenameCase:
    """A job with what it is about; without ``renamed`` it is none of ours, for a reason.

    One that is ``waiting_for`` a library whose root is not there says nothing yet.
    """

    job: RenameJob
    renamed: Renamed | None
    refusal: str = ""
    waiting_for: Library | None = None

    @property
    def libraries(self) -> tuple[Library, ...]:
        """Give the libraries that are changed, by id."""
        if self.renamed is None:
            return ()
        both = (self.renamed.old_library, self.renamed.new_library)
        found = {library.id: library for library in both if library is not None}
        return tuple(found[library_id] for library_id in sorted(found))

    @property
    def leaves(self) -> tuple["_Place", ...]:
        """Give the stem that its event has given up, unless it is kept."""
        return () if self._stays else self._places[:1]

    @property
    def enters(self) -> tuple["_Place", ...]:
        """Give the stem that its event has taken, unless it had that before."""
        return () if self._stays else self._places[1:]

    @property
    def _stays(self) -> bool:
        return len(set(self._places)) == 1

    @property
    def _places(self) -> tuple["_Place", ...]:
        if self.renamed is None:
            return ()
        paths = (self.renamed.old, self.renamed.new)
        return tuple((self.job.created_at, path.parent, composed(stem_of(path))) for path in paths)


class RenameCases:
    """Reads jobs that wait together."""

    def __init__(
        self,
        terms: RenameTerms,
        known: Iterable[Library],
        jobs: Sequence[RenameJob],
        *,
        now: datetime,
    ) -> None:
        self._mappings = terms.mappings
        self._confinement = Confinement(terms.roots())
        self._by_root = {os.fspath(library.path).rstrip("/"): library for library in known}
        self._places = {job.id: place for place, job in enumerate(jobs)}
        self._jobs = jobs
        self._too_old = to_db(now - PATIENCE)
        self._there: dict[str, bool] = {}

    def read(self, job: RenameJob) -> RenameCase:
        """Find both ends of a rename; the old one is gone already, its name counts as given."""
        final = self._final(job)
        old = local_path(job.old_path, self._mappings)
        if job.created_at > self._too_old and (missing := self._missing(final, old)):
            return RenameCase(job, None, waiting_for=missing)
        new = self._confinement.find(final) if final else None
        if new is None:
            return RenameCase(job, None, "the new path is not a file of a library here")
        expected = self._confinement.expect(old) if old else None
        name = (old or "").rpartition("/")[2]
        if expected is None:
            return RenameCase(job, None, "the old path is not inside a library here")
        library = self._by_root.get(new.root)
        if library is None or split_name(name)[1].lower() not in AUDIO_SUFFIXES:
            return RenameCase(job, None, "the old path is no audio file of a library here")
        renamed = Renamed(
            old=Path(expected.path).with_name(name),
            new=Path(new.path),
            old_library=self._by_root.get(expected.root),
            new_library=library,
            also=self._also(old or "", Path(expected.path).with_name(name)),
        )
        return RenameCase(job, renamed)

    def _missing(self, *paths: str | None) -> Library | None:
        """Give the library of a path whose root is not there now, or empty like a mount point."""
        for root in filter(None, (self._confinement.root_of(path) for path in paths if path)):
            library = self._by_root.get(root)
            if library is not None and not self._is_mounted(root):
                return library
        return None

    def _is_mounted(self, root: str) -> bool:
        if root not in self._there:
            self._there[root] = device_of(Path(root)) is not None
        return self._there[root]

    def _also(self, sent: str, old: Path) -> tuple[Path, ...]:
        """Give other spellings of an old path; one that something stands at is another file's."""
        beside = (old.with_name(name) for name in spellings(old.name))
        every = dict.fromkeys((*map(Path, self._confinement.spellings(sent)), *beside))
        return tuple(path for path in every if path != old and not os.path.lexists(path))

    def _final(self, job: RenameJob) -> str | None:
        """Give where a file is by now: later jobs may have renamed it again."""
        path = job.new_path
        for later in self._jobs[self._places[job.id] + 1 :]:
            if later.old_path == path and not self._is_there(path):
                path = later.new_path
        return local_path(path, self._mappings)

    def _is_there(self, path: str) -> bool:
        text = local_path(path, self._mappings)
        return text is not None and self._confinement.find(text) is not None
