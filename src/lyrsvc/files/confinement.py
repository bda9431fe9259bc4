"""Confinement: a path from outside becomes a file of ours, or nothing.

A path counts only if it lies inside a root by its text, and still does after every
link in it was followed. Names are looked up as given first; a name in another Unicode
form or case is taken when exactly one entry of the directory is meant. What comes out
is spelled as a walk of the root would spell it.
"""

import os
import stat
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lyrsvc.core.payload_paths import PathMappings, local_path, spellings
from lyrsvc.files.pairing import composed, folded, split_name
from lyrsvc.files.tree import AUDIO_SUFFIXES

KEPT_LISTINGS: Final = 16


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundAudio:
    """An audio file inside a root, with what its directory entry says."""

    root: str
    path: str
    facts: os.stat_result

    @property
    def directory(self) -> str:
        """Give the directory it lies in."""
        return self.path.rpartition("/")[0]

    @property
    def name(self) -> str:
        """Give its name in that directory."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, kw_only=True, slots=True)
class ExpectedPath:
    """A path inside a root, whether there is anything at it or not."""

    root: str
    path: str
    exists: bool


class _Root:
    """A root by the names it is made of, as they are and in one Unicode form."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.parts = text.split("/")
        self.composed = composed(text).split("/")
        self.depth = len(self.parts)


class Confinement:
    """Some roots, and what may be reached inside them; may be shared by threads."""

    def __init__(self, roots: Iterable[Path | str], mappings: PathMappings = ()) -> None:
        texts = {os.fspath(root).rstrip("/") for root in roots}
        innermost_first = sorted(filter(None, texts), key=len, reverse=True)
        self._roots = [_Root(text) for text in innermost_first]
        self._mappings = mappings
        self._listings = _Listings()

    def renewed(self) -> "Confinement":
        """Give the same roots with nothing remembered of their directories."""
        other = Confinement((), self._mappings)
        other._roots = self._roots
        return other

    def find(self, path: str) -> FoundAudio | None:
        """Give the regular audio file that a path means, or None."""
        expected = self.expect(path)
        if expected is None or not expected.exists:
            return None
        try:
            real = os.path.realpath(expected.path, strict=True)
            facts = os.stat(real)  # noqa: PTH116 - paths are texts here
            inside = _is_inside(real, os.path.realpath(expected.root, strict=True))
        except (OSError, ValueError):
            return None
        suffix = split_name(expected.path.rpartition("/")[2])[1].lower()
        if not inside or not stat.S_ISREG(facts.st_mode) or suffix not in AUDIO_SUFFIXES:
            return None
        return FoundAudio(root=expected.root, path=expected.path, facts=facts)

    def covers(self, path: str) -> bool:
        """Tell whether a path lies inside a root by its text; the disk is not asked."""
        return self.root_of(path) is not None

    def root_of(self, path: str) -> str | None:
        """Give the innermost root that a path lies in by its text; the disk is not asked."""
        text = local_path(path, self._mappings) if self._roots else None
        place = self._divide(text) if text else None
        return place[0] if place else None

    def expect(self, path: str) -> ExpectedPath | None:
        """Give where a path lies, be it gone; None when that is not inside a root.

        The directories of it that exist are followed to where they really are; the last
        name is not followed if it is a link.
        """
        text = local_path(path, self._mappings)
        place = self._divide(text) if text else None
        if place is None:
            return None
        try:
            return self._settle(*place)
        except (OSError, ValueError):
            return None

    def spellings(self, path: str) -> list[str]:
        """Give how a path may have been spelled while there was something at it.

        As given first, then in both Unicode forms; the root is spelled as it is here.
        """
        text = local_path(path, self._mappings)
        place = self._divide(text) if text else None
        if place is None:
            return []
        root, parts = place
        return [f"{root}/{below}" for below in spellings("/".join(parts))]

    def _divide(self, path: str) -> tuple[str, list[str]] | None:
        """Give the innermost root that holds a path, and the names below it."""
        parts = path.split("/")
        for root in self._roots:
            if parts[: root.depth] == root.parts:
                return root.text, parts[root.depth :]
        one_form = composed(path).split("/")
        for root in self._roots:
            if one_form[: root.depth] == root.composed:
                return root.text, parts[root.depth :]
        return None

    def _settle(self, root: str, parts: list[str]) -> ExpectedPath | None:
        """Look the names up one by one, then resolve the directory they lead to."""
        if not parts:
            return ExpectedPath(root=root, path=root, exists=os.path.isdir(root))  # noqa: PTH112
        real_root = os.path.realpath(root, strict=True)
        found, missing = self._look_up(root, parts)
        folders, tail = (found, missing) if missing else (found[:-1], found[-1:])
        real = os.path.realpath("/".join([real_root, *folders]), strict=True)
        if not _is_inside(real, real_root):
            return None
        below = real[len(real_root) :].strip("/")
        path = "/".join(filter(None, [root, below, *tail]))
        return ExpectedPath(root=root, path=path, exists=not missing)

    def _look_up(self, root: str, parts: list[str]) -> tuple[list[str], list[str]]:
        """Divide names into those that exist, as they are spelled there, and the rest."""
        if os.path.lexists("/".join([root, *parts])):
            return parts, []
        found: list[str] = []
        for index, part in enumerate(parts):
            place = "/".join([root, *found])
            name = part if os.path.lexists(f"{place}/{part}") else self._listings.find(place, part)
            if name is None:
                return found, parts[index:]
            found.append(name)
        return found, []


class _Listings:
    """The names of directories by their folded form, kept while a directory's time holds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[str, tuple[tuple[int, int], dict[str, list[str]]]] = OrderedDict()

    def find(self, directory: str, name: str) -> str | None:
        """Give the one name that is meant, or None."""
        try:
            facts = os.stat(directory)  # noqa: PTH116 - paths are texts here
            if not stat.S_ISDIR(facts.st_mode):
                return None
            names = self._names(directory, (facts.st_ino, facts.st_mtime_ns))
        except OSError:
            return None
        meant = names.get(folded(name), [])
        return meant[0] if len(meant) == 1 else None

    def _names(self, directory: str, times: tuple[int, int]) -> dict[str, list[str]]:
        with self._lock:
            known = self._known.get(directory)
        if known is not None and known[0] == times:
            return known[1]
        names: defaultdict[str, list[str]] = defaultdict(list)
        for name in os.listdir(directory):  # noqa: PTH208 - names are all that is wanted
            names[folded(name)].append(name)
        with self._lock:
            self._known[directory] = times, names
            self._known.move_to_end(directory)
            while len(self._known) > KEPT_LISTINGS:
                self._known.popitem(last=False)
        return names


def _is_inside(path: str, root: str) -> bool:
    """Tell whether a path is a root or below it, by components."""
    return path == root or path.startswith(root if root.endswith("/") else f"{root}/")
