"""The directories that are watched, and those that should be but cannot."""

import os
from enum import Enum
from pathlib import Path
from typing import Protocol

from lyrsvc.services.inotify_link import Event, is_gone, is_quota


class Watches(Protocol):
    """What the kernel is asked for; ``InotifyLink`` is the real one."""

    def watch(self, path: str, *, is_root: bool) -> int:
        """Watch a directory and give the watch."""
        ...

    def unwatch(self, watch: int) -> None:
        """Give a watch up."""
        ...

    def read(self, timeout_s: float) -> list[Event]:
        """Wait for events."""
        ...

    def wake(self) -> None:
        """End a read that waits."""
        ...

    def close(self) -> None:
        """Give up every watch."""
        ...


class Added(Enum):
    """What became of the wish to watch a directory."""

    NEW = "new"
    KNOWN = "known"
    ALIAS = "alias"
    """The same directory is watched already by another way that leads to it."""
    GONE = "gone"
    DENIED = "denied"
    FULL = "full"
    """The kernel allows no more watches."""
    CAPPED = "capped"
    """We allow ourselves no more."""


class _Node:
    """One watched directory and the names of the watched ones in it."""

    __slots__ = ("names", "path", "watch")

    def __init__(self, path: str, watch: int) -> None:
        self.path = path
        self.watch = watch
        self.names: set[str] | None = None


class WatchTree:
    """Directories by path and by watch; a root hangs from nothing.

    ``unwatched`` keeps the directories that were refused, with the reason, so that
    they can be tried again; they count like the others, save roots that are not there.
    """

    def __init__(self, link: Watches, *, most: int) -> None:
        self._link = link
        self._most = most
        self._by_path: dict[str, _Node] = {}
        self._by_watch: dict[int, _Node] = {}
        self.unwatched: dict[str, Added] = {}
        self._missing: set[str] = set()

    def __len__(self) -> int:
        return len(self._by_path)

    @property
    def wanted(self) -> int:
        """Count the directories that are watched or should be."""
        return len(self._by_path) + len(self.unwatched) - len(self._missing)

    def path_of(self, watch: int) -> str | None:
        """Give the directory of a watch; None when it is not ours any more."""
        node = self._by_watch.get(watch)
        return None if node is None else node.path

    def add(self, path: str, *, is_root: bool) -> Added:
        """Watch a directory, or make sure that the right one of this name is watched."""
        counted = path in self._by_path or (path in self.unwatched and path not in self._missing)
        if not counted and self.wanted >= self._most and not (is_root and _is_missing(path)):
            return Added.CAPPED
        try:
            found = self._watch(path, is_root=is_root)
        except OSError as error:
            return self._refused(path, error, is_root=is_root)
        self.unwatched.pop(path, None)
        self._missing.discard(path)
        if not is_root and found is not Added.ALIAS:
            self._hang(path)
        return found

    def forget(self, path: str) -> None:
        """Give up a directory and everything below it, as far as it hangs together."""
        self._cut(path)
        waiting = [path]
        while waiting:
            node = self._by_path.pop(waiting.pop(), None)
            if node is not None:
                del self._by_watch[node.watch]
                self._link.unwatch(node.watch)
                waiting.extend(f"{node.path}/{name}" for name in node.names or ())
        if self.unwatched:
            self._forget_unwatched(path)

    def names_in(self, path: str) -> set[str]:
        """Give the names of the watched directories in one."""
        node = self._by_path.get(path)
        return set(node.names or ()) if node else set()

    def _watch(self, path: str, *, is_root: bool) -> Added:
        watch = self._link.watch(path, is_root=is_root)
        known = self._by_path.get(path)
        if known is not None and known.watch == watch:
            return Added.KNOWN
        if known is not None:
            # Another directory took the name; it may be one that was below the old one.
            self.forget(path)
            watch = self._link.watch(path, is_root=is_root)
        other = self._by_watch.get(watch)
        if other is not None:
            if _is_same(other.path, path):
                return Added.ALIAS
            # It was moved here and the event is still on its way.
            self.forget(other.path)
            watch = self._link.watch(path, is_root=is_root)
        self._by_path[path] = self._by_watch[watch] = _Node(path, watch)
        return Added.NEW

    def _hang(self, path: str) -> None:
        """Hang a directory from the one above it, which may have come later."""
        directory, _, name = path.rpartition("/")
        parent = self._by_path.get(directory)
        if parent is not None:
            if parent.names is None:
                parent.names = set()
            parent.names.add(name)

    def _cut(self, path: str) -> None:
        directory, _, name = path.rpartition("/")
        parent = self._by_path.get(directory)
        if parent is not None and parent.names:
            parent.names.discard(name)

    def _refused(self, path: str, error: OSError, *, is_root: bool) -> Added:
        if path in self._by_path or is_gone(error):
            self.forget(path)
        if is_gone(error):
            if is_root:  # a root is waited for
                self.unwatched[path] = Added.GONE
                self._missing.add(path)
            return Added.GONE
        self._missing.discard(path)
        self.unwatched[path] = Added.FULL if is_quota(error) else Added.DENIED
        return self.unwatched[path]

    def _forget_unwatched(self, path: str) -> None:
        below = f"{path}/"
        for each in list(self.unwatched):
            if each == path or each.startswith(below):
                del self.unwatched[each]
                self._missing.discard(each)


def _is_same(one: str, other: str) -> bool:
    try:
        return Path(one).samefile(other)
    except OSError:
        return False


def _is_missing(path: str) -> bool:
    try:
        Path(path).stat()
    except OSError as error:
        return is_gone(error)
    return False


def list_subdirectories(path: str) -> list[str]:
    """Give the names of the directories in one, links left out."""
    with os.scandir(path) as entries:
        return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
