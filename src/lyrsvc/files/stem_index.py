"""The sidecars of each stem of a directory, from one listing that is kept while it holds.

A directory's own time changes whenever a name appears or goes, so an index with
that time needs no second listing; our own changes are entered by hand. Without
it, writing beside each of many files in one directory would list it every time.
"""

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from lyrsvc.files.pairing import NAMED, Sidecars, composed, folded, split_name
from lyrsvc.files.tree import AUDIO_SUFFIXES

KEPT_DIRECTORIES: Final = 16
KEPT_S: Final = 3600.0
"""Then a directory is listed again, and what crashes left in it is cleared."""

Times = tuple[int, int, int]


class StemIndex:
    """One directory: which sidecars belong to a stem, exactly or nearly."""

    def __init__(self, names: list[str]) -> None:
        kinds = [(name, *split_name(name)) for name in names]
        self._audio = {stem for _, stem, suffix in kinds if suffix.lower() in AUDIO_SUFFIXES}
        self._names: dict[str, tuple[str, ...]] = {}
        """By the loosest form of a name; a directory may hold very many."""
        for name, _, suffix in kinds:
            if suffix.lower() in NAMED:
                self.add(name)

    def find(self, stem: str) -> Sidecars:
        """Give the sidecars of a stem: by its bytes, else by its Unicode form, else by case."""
        return Sidecars(*(self._find(stem, kind) for kind in NAMED))

    def add(self, name: str) -> None:
        """Enter a sidecar."""
        key = _key(*split_name(name))
        known = self._names.get(key, ())
        if name not in known:
            self._names[key] = (*known, name)

    def change(self, *, added: str = "", removed: str = "") -> None:
        """Enter one sidecar and strike another out."""
        if added:
            self.add(added)
        if removed:
            key = _key(*split_name(removed))
            left = tuple(name for name in self._names.pop(key, ()) if name != removed)
            if left:
                self._names[key] = left

    def _find(self, stem: str, kind: str) -> str | None:
        names = self._names.get(_key(stem, kind), ())
        found = [name for name in names if split_name(name)[0] == stem]
        if not found:
            # What belongs exactly to one audio file never serves another.
            free = [name for name in names if split_name(name)[0] not in self._audio]
            alike = [name for name in free if composed(split_name(name)[0]) == composed(stem)]
            found = alike or free
        common = (name for name in found if name.endswith(f".{kind}"))
        return next(common, found[0] if found else None)


def _key(stem: str, suffix: str) -> str:
    return f"{folded(stem)}.{suffix.lower()}"


class _Known(NamedTuple):
    """An index, the times of its directory, and when that was listed."""

    times: Times
    stems: StemIndex
    listed_s: float


class DirectoryIndexes:
    """The indexes of the directories last used; may be shared by threads."""

    def __init__(self, tidy: Callable[[Path], object] = lambda _: None) -> None:
        self._tidy = tidy
        self._lock = threading.Lock()
        self._known: OrderedDict[Path, _Known] = OrderedDict()

    def find(self, directory: Path, stem: str) -> Sidecars:
        """Give the sidecars of a stem as they are now; raises ``OSError``."""
        with self._lock:
            times = _times(directory)
            known = self._known.get(directory)
            if (
                known is None
                or known.times != times
                or time.monotonic() - known.listed_s >= KEPT_S
                or self._is_missed(directory, stem, known.stems)
            ):
                known = _Known(times, self._list(directory), time.monotonic())
                self._keep(directory, known)
            return known.stems.find(stem)

    @contextmanager
    def own_change(self, directory: Path) -> Iterator[None]:
        """Keep the index through a change of our own, unless others made one too."""
        with self._lock:
            known = self._known.pop(directory, None)
            is_current = known is not None and known.times == _times(directory)
            yield
            if known is not None and is_current:
                self._keep(directory, known._replace(times=_times(directory)))

    def enter(self, directory: Path, *, added: str = "", removed: str = "") -> None:
        """Enter the name that a change of our own has brought, or strike out what it took."""
        with self._lock:
            if known := self._known.get(directory):
                known.stems.change(added=added, removed=removed)

    def _is_missed(self, directory: Path, stem: str, index: StemIndex) -> bool:
        """Tell whether the plain names are otherwise than the index says: it is stale then."""
        found = index.find(stem)
        return any(
            os.path.lexists(directory / f"{stem}.{kind}") is not (name is not None)
            for kind, name in zip(NAMED, found, strict=True)
            if name in (None, f"{stem}.{kind}")
        )

    def _list(self, directory: Path) -> StemIndex:
        names = os.listdir(directory)  # noqa: PTH208 - names are all that is wanted, of thousands
        for name in names:
            if name.startswith("."):
                self._tidy(directory / name)
        return StemIndex(names)

    def _keep(self, directory: Path, known: _Known) -> None:
        self._known[directory] = known
        self._known.move_to_end(directory)
        while len(self._known) > KEPT_DIRECTORIES:
            self._known.popitem(last=False)


def _times(directory: Path) -> Times:
    facts = directory.stat()
    return facts.st_ino, facts.st_mtime_ns, facts.st_ctime_ns
