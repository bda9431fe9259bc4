"""The sidecars of each stem of a directory, from one listing that is kept while it holds.

A directory's own time changes whenever a name appears or goes, so an index with
that time needs no second listing; our own changes are entered by hand. Without
it, writing beside each of many files in one directory would list it every time.
"""

import os
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from lyrsvc.files.pairing import NAMED, Sidecars, composed, folded, split_name
from lyrsvc.files.tree import AUDIO_SUFFIXES

KEPT_DIRECTORIES: Final = 16

Times = tuple[int, int, int]


class StemIndex:
    """One directory: which sidecars belong to a stem, exactly or nearly."""

    def __init__(self, names: list[str]) -> None:
        kinds = [(name, *split_name(name)) for name in names]
        self._audio = {stem for _, stem, suffix in kinds if suffix.lower() in AUDIO_SUFFIXES}
        self._names: defaultdict[tuple[str, str, str], list[str]] = defaultdict(list)
        for name, _, suffix in kinds:
            if suffix.lower() in NAMED:
                self.add(name)

    def find(self, stem: str) -> Sidecars:
        """Give the sidecars of a stem: by its bytes, else by its Unicode form, else by case."""
        return Sidecars(*(self._find(stem, kind) for kind in NAMED))

    def add(self, name: str) -> None:
        """Enter a sidecar; what belongs exactly to one audio file never serves another."""
        for key in self._keys(name):
            if name not in self._names[key]:
                self._names[key].append(name)

    def change(self, *, added: str = "", removed: str = "") -> None:
        """Enter one sidecar and strike another out."""
        if added:
            self.add(added)
        for key in self._keys(removed) if removed else ():
            if removed in self._names[key]:
                self._names[key].remove(removed)

    def _keys(self, name: str) -> list[tuple[str, str, str]]:
        stem, suffix = split_name(name)
        kind = suffix.lower()
        if stem in self._audio:
            return [("exact", stem, kind)]
        return [
            ("exact", stem, kind),
            ("composed", composed(stem), kind),
            ("folded", folded(stem), kind),
        ]

    def _find(self, stem: str, kind: str) -> str | None:
        forms = (("exact", stem), ("composed", composed(stem)), ("folded", folded(stem)))
        for form, text in forms:
            if names := self._names.get((form, text, kind)):
                common = (name for name in names if name.endswith(f".{kind}"))
                return next(common, names[0])
        return None


class DirectoryIndexes:
    """The indexes of the directories last used; may be shared by threads."""

    def __init__(self, tidy: Callable[[Path], object] = lambda _: None) -> None:
        self._tidy = tidy
        self._lock = threading.Lock()
        self._known: OrderedDict[Path, tuple[Times, StemIndex]] = OrderedDict()

    def find(self, directory: Path, stem: str) -> Sidecars:
        """Give the sidecars of a stem as they are now; raises ``OSError``."""
        with self._lock:
            times = _times(directory)
            known = self._known.get(directory)
            if known is None or known[0] != times or self._is_missed(directory, stem, known[1]):
                index = self._list(directory)
                self._keep(directory, times, index)
            else:
                index = known[1]
            return index.find(stem)

    @contextmanager
    def own_change(self, directory: Path) -> Iterator[None]:
        """Keep the index through a change of our own, unless others made one too."""
        with self._lock:
            known = self._known.pop(directory, None)
            is_current = known is not None and known[0] == _times(directory)
            yield
            if known is not None and is_current:
                self._keep(directory, _times(directory), known[1])

    def enter(self, directory: Path, *, added: str = "", removed: str = "") -> None:
        """Enter the name that a change of our own has brought, or strike out what it took."""
        with self._lock:
            if known := self._known.get(directory):
                known[1].change(added=added, removed=removed)

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

    def _keep(self, directory: Path, times: Times, index: StemIndex) -> None:
        self._known[directory] = times, index
        self._known.move_to_end(directory)
        while len(self._known) > KEPT_DIRECTORIES:
            self._known.popitem(last=False)


def _times(directory: Path) -> Times:
    facts = directory.stat()
    return facts.st_ino, facts.st_mtime_ns, facts.st_ctime_ns
