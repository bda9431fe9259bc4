"""The roots of the libraries, and which of them a path belongs to."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Self

from lyrsvc.core.library import Library


class Owner(NamedTuple):
    """A library and its root as text."""

    root: str
    library: Library


@dataclass(frozen=True, slots=True)
class WatchedRoots:
    """All roots at one time.

    ``foreign`` holds the places inside a root that belong to another library, in the
    form a walk of the outer root gives them. The inner root may have been registered
    by another way that leads to the same directory.
    """

    libraries: Mapping[str, Library]
    resolved: Mapping[str, str]
    foreign: frozenset[str]

    @classmethod
    def of(cls, libraries: Iterable[Library]) -> Self:
        """Take the libraries as they are now, links resolved."""
        by_root = {os.fspath(library.path): library for library in libraries}
        resolved = {root: os.path.realpath(root) for root in by_root}
        return cls(by_root, resolved, frozenset(_foreign(resolved)))

    def owner(self, path: str) -> Owner | None:
        """Give the library with the innermost root that holds a path."""
        while path not in self.libraries:
            parent = os.path.dirname(path)  # noqa: PTH120 - exact text, for every event
            if parent == path:
                return None
            path = parent
        return Owner(path, self.libraries[path])

    def real(self, path: str, root: str) -> str:
        """Give a path below a root with its links resolved; below it there are none."""
        return self.resolved[root] + path[len(root) :]


def _foreign(resolved: Mapping[str, str]) -> Iterable[str]:
    for outer, outer_real in resolved.items():
        for inner_real in resolved.values():
            if inner_real.startswith(f"{outer_real}/"):
                yield outer + inner_real[len(outer_real) :]
