"""Directories that changed and wait for their quiet period.

Every event of a directory restarts its timer. However many events come, a directory
is held once; one that waits stands for everything below it inside the same root, so
memory grows with directories, never with events. Time is handed in as seconds.
"""

from collections.abc import Collection, Iterator
from typing import Final

LONGEST_S: Final = 300.0
"""Under steady events a directory is due after this time all the same."""
MOST_WAITING: Final = 65_536
"""Above this the waiting directories of a root are taken together as the root itself."""


class _Waiting:
    """One directory: its root, and its first and last event."""

    __slots__ = ("first", "last", "root")

    def __init__(self, root: str, now: float) -> None:
        self.root = root
        self.first = now
        self.last = now


class Debounce:
    """The waiting directories and when each is due."""

    def __init__(
        self, *, quiet_s: float, longest_s: float = LONGEST_S, most: int = MOST_WAITING
    ) -> None:
        self._quiet_s = quiet_s
        self._longest_s = longest_s
        self._most = most
        self._waiting: dict[str, _Waiting] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def touch(self, directory: str, root: str, now: float) -> bool:
        """Note an event; False when so many wait that whole roots took their place."""
        held = self._waiting.get(directory) or self._above(directory, root)
        if held is not None:
            held.last = now
            return True
        if len(self._waiting) < self._most:
            self._waiting[directory] = _Waiting(root, now)
            return True
        self._join_roots(now)
        if root not in self._waiting:
            self._waiting[root] = _Waiting(root, now)
        return False

    def take_due(self, now: float) -> list[str]:
        """Give and forget the directories whose quiet period is over, the longest due first."""
        if not any(self._due_at(held) <= now for held in self._waiting.values()):
            return []
        self._absorb()
        due = {
            path: at for path, held in self._waiting.items() if (at := self._due_at(held)) <= now
        }
        for path in due:
            del self._waiting[path]
        return sorted(due, key=due.__getitem__)

    def next_due_at(self) -> float | None:
        """Give the moment at which the first directory may be due; None when none waits."""
        return min(map(self._due_at, self._waiting.values()), default=None)

    def _due_at(self, held: _Waiting) -> float:
        return min(held.last + self._quiet_s, held.first + self._longest_s)

    def _above(self, directory: str, root: str) -> _Waiting | None:
        waiting = self._waiting
        return next((waiting[path] for path in above(directory, root) if path in waiting), None)

    def _absorb(self) -> None:
        """Let those go that lie below another one, which is then as old as its oldest."""
        for path, held in list(self._waiting.items()):
            over = self._above(path, held.root)
            if over is not None:
                over.first = min(over.first, held.first)
                del self._waiting[path]

    def _join_roots(self, now: float) -> None:
        joined: dict[str, _Waiting] = {}
        for held in self._waiting.values():
            root = joined.setdefault(held.root, _Waiting(held.root, now))
            root.first = min(root.first, held.first)
        self._waiting = joined


def above(directory: str, root: str) -> Iterator[str]:
    """Give the directories above one, up to and with its root, the nearest first."""
    while directory != root and len(directory) > len(root):
        directory = directory.rpartition("/")[0]
        yield directory


def topmost(directories: Collection[tuple[str, str]]) -> list[str]:
    """Leave out the directories that lie below another one of the same root, keep the order."""
    known = set(directories)
    return [
        path
        for path, root in dict.fromkeys(directories)
        if not any((over, root) in known for over in above(path, root))
    ]
