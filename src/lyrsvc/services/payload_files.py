"""The files a webhook speaks of, as this machine sees them.

Everything here touches the disk and may take its time: it is asked from threads that
nobody has to wait for, and never inside a transaction.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lyrsvc.core.errors import FileFault
from lyrsvc.core.item import Target, TargetOrigin
from lyrsvc.core.library import Library
from lyrsvc.core.payload_paths import PathMappings
from lyrsvc.core.scan_decision import Stamp, stamp_of
from lyrsvc.files.confinement import Confinement, FoundAudio
from lyrsvc.files.pairing import split_name
from lyrsvc.files.sidecars import without_directories
from lyrsvc.files.stem_index import DirectoryIndexes
from lyrsvc.files.tags import TagRead, read_tags
from lyrsvc.services.library_roots import device_of


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenFile:
    """An audio file of a webhook that lies inside a root; ``tags`` None could not be read."""

    audio: FoundAudio
    library: Library
    tags: TagRead | None
    enriched: bool
    has_sidecar: bool

    @property
    def path(self) -> str:
        """Give the whole path."""
        return self.audio.path

    @property
    def stem(self) -> str:
        """Give the stem of its sidecars."""
        return split_name(self.audio.name)[0]

    @property
    def rel_directory(self) -> str:
        """Give its directory below the root of its library, blank for the root itself."""
        root = os.fspath(self.library.path).rstrip("/")
        return self.audio.directory[len(root) :].lstrip("/")

    @property
    def stamp(self) -> Stamp:
        """Give what tells a changed file."""
        facts = self.audio.facts
        return stamp_of(facts.st_mtime_ns, facts.st_size, facts.st_ino)


@dataclass(frozen=True, slots=True)
class Sight:
    """How a file of the inventory was found: there, reachable, with a sidecar (None: unknown)."""

    exists: bool
    reachable: bool
    has_sidecar: bool | None = None


UNKNOWN = Sight(exists=False, reachable=False)
"""A disk that does not answer is one that cannot be reached."""


@dataclass(frozen=True, slots=True)
class PlacedPath:
    """A path inside a root that is there, whether there is anything at it or not."""

    library: Library
    path: str
    exists: bool


class Grounds:
    """The roots that count and whose they are; many requests share them."""

    def __init__(
        self, roots: Sequence[Path], libraries: Sequence[Library], *, mappings: PathMappings
    ) -> None:
        self.libraries = list(libraries)
        self.confinement = Confinement(roots, mappings)
        self._innermost_first = sorted(libraries, key=lambda one: len(str(one.path)), reverse=True)

    def owner(self, path: str) -> Library | None:
        """Give the library a path belongs to: the one with the innermost root."""
        place = Path(path)
        for library in self._innermost_first:
            if library.path == place or library.path in place.parents:
                return library
        return None


class PayloadFiles:
    """Looks at files for one request, inside the roots that count for it."""

    def __init__(self, grounds: Grounds, *, enrich: bool) -> None:
        self._grounds = grounds
        self._confinement = grounds.confinement.renewed()
        self._enrich = enrich
        self._indexes = DirectoryIndexes()

    def may_see(self, path: str) -> bool:
        """Tell without a look at the disk whether a path of the payload may be of use."""
        return self._confinement.covers(path)

    def see(self, path: str) -> SeenFile | None:
        """Look at a path of the payload; None when it is not to be used."""
        audio = self._confinement.find(path)
        library = self._grounds.owner(audio.path) if audio else None
        if audio is None or library is None:
            return None
        enrich = self._enrich if library.enrich is None else library.enrich
        stem = split_name(audio.name)[0]
        return SeenFile(
            audio=audio,
            library=library,
            tags=_tags(audio.path, enrich=enrich),
            enriched=enrich,
            has_sidecar=self._has_sidecar(audio.directory, stem) or False,
        )

    def look(self, root: str, directory: str, name: str, stem: str) -> Sight:
        """Look at a file that the inventory knows."""
        try:
            Path(directory, name).stat()
        except (FileNotFoundError, NotADirectoryError):
            return Sight(exists=False, reachable=device_of(Path(root)) is not None)
        except (OSError, ValueError):
            return UNKNOWN
        return Sight(exists=True, reachable=True, has_sidecar=self._has_sidecar(directory, stem))

    def lacks_sidecar(self, target: Target) -> bool:
        """Tell whether the place of a target can be seen and has no lyrics."""
        if target.origin is TargetOrigin.METADATA and is_gone(target.out_dir):
            return True
        return self._has_sidecar(target.out_dir, target.out_stem) is False

    def place(self, path: str) -> PlacedPath | None:
        """Find where a path lies that may be gone; None while its root is not there itself."""
        expected = self._confinement.expect(path)
        if expected is None or device_of(Path(expected.root)) is None:
            return None
        library = self._grounds.owner(expected.path)
        return PlacedPath(library, expected.path, expected.exists) if library else None

    def _has_sidecar(self, directory: str, stem: str) -> bool | None:
        """Tell whether lyrics stand at a stem; None when its directory cannot be listed."""
        try:
            names = self._indexes.find(Path(directory), stem)
        except (OSError, ValueError):
            return None
        found = without_directories(Path(directory), names)
        return bool(found.lrc or found.txt)


def is_gone(path: str) -> bool:
    """Tell whether there is certainly nothing at a path."""
    try:
        Path(path).lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False


def _tags(path: str, *, enrich: bool) -> TagRead | None:
    try:
        return read_tags(path, enrich=enrich, embedded=True)
    except FileFault:
        return None
    except Exception:  # noqa: BLE001 - one odd file must not cost a webhook its other tracks
        return None
