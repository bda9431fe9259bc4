"""Keeps the watches in step with the directories and with the libraries.

Directories to look at are taken one by one, so that a long walk never keeps events
waiting. A directory is watched first and listed then: whatever is made in it later
gives an event, and what was there before is in the list.
"""

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from lyrsvc.core.errors import Refused
from lyrsvc.core.library import Library
from lyrsvc.files.tree import DEFAULT_DEPTH, is_skipped
from lyrsvc.services.inotify_link import is_gone, watch_limit
from lyrsvc.services.mounts import Mount, all_mounts
from lyrsvc.services.watch_tree import Added, WatchTree, list_subdirectories
from lyrsvc.services.watched_roots import Owner, WatchedRoots

_LOG = logging.getLogger("lyrsvc.watcher")


class _Order(NamedTuple):
    """How a directory is to be looked at."""

    deep: bool
    """Also look below directories that are watched already."""
    top: str | None
    """Where the walk began, to be scanned when something new is found; None for no scan."""


class Survey:
    """The directories still to be looked at, and what could not be watched."""

    def __init__(
        self,
        tree: WatchTree,
        *,
        cap: int,
        touch: Callable[[str], object],
        depth: int = DEFAULT_DEPTH,
    ) -> None:
        self.roots = WatchedRoots.of(())
        self._tree = tree
        self._cap = cap
        self._touch = touch
        self._depth = depth
        self._waiting: dict[str, _Order] = {}
        self._fresh: set[str] = set()
        self._found: dict[str, None] = {}
        self._refused: set[str] = set()
        self._denied: list[str] = []
        self._mounts: frozenset[Mount] = frozenset()
        self._is_capped = False
        self._is_starting = False
        self._is_full = False

    @property
    def is_busy(self) -> bool:
        """Tell whether directories are still to be looked at."""
        return bool(self._waiting)

    @property
    def is_degraded(self) -> bool:
        """Tell whether the kernel's limit or our own keeps directories from being watched."""
        return self._is_full or self._is_capped or bool(self._refused)

    def start(self, libraries: Iterable[Library]) -> None:
        """Watch everything there is; raise ``Refused`` when that is more than the cap."""
        self.roots = WatchedRoots.of(libraries)
        self._mounts = frozenset(all_mounts())
        self._waiting = {root: _Order(deep=False, top=None) for root in self.roots.libraries}
        self._is_starting = True
        while self.step():
            if self._is_capped:
                raise Refused(
                    f"the libraries hold more directories ({self._cap + 1} counted) than "
                    f"LYRSVCGO_WATCH_MAX_DIRS={self._cap} allows; raise it or set "
                    "LYRSVCGO_WATCH_ENABLED=false"
                )
        self._is_starting = False

    def follow(self, libraries: Iterable[Library]) -> None:
        """Take over the libraries as they are now."""
        before, self.roots = self.roots, WatchedRoots.of(libraries)
        gone = before.resolved.items() - self.roots.resolved.items()
        come = self.roots.resolved.items() - before.resolved.items()
        for path in {root for root, _ in gone} | (self.roots.foreign - before.foreign):
            self._tree.forget(path)
        fresh = {root for root, _ in come}
        if gone or come:
            fresh |= self._refused & self.roots.libraries.keys()
            self._refused.clear()
        self._fresh |= fresh
        for path in fresh | (before.foreign - self.roots.foreign):
            self.discover(path)

    def discover(self, path: str, *, deep: bool = False) -> None:
        """Look at a directory that is new, or anew at one that is known."""
        before = self._waiting.get(path)
        self._waiting[path] = _Order(deep=deep or (before is not None and before.deep), top=path)

    def lose(self, path: str) -> None:
        """Give up a directory that went away; the name may be there again already."""
        self._tree.forget(path)
        self._mounts = frozenset()  # the same disk may come back in the same place
        self.discover(path)

    def retry(self) -> None:
        """Look again at roots, at new mounts in them and at everything that was refused."""
        for path in (*self._tree.unwatched, *self._find_new_mounts(), *self.roots.libraries):
            self.discover(path)

    def step(self) -> bool:
        """Look at one directory; False when there is none left."""
        if not self._waiting:
            return False
        path, order = self._waiting.popitem()
        owner = self.roots.owner(path)
        if owner is not None and (path == owner.root or path not in self.roots.foreign):
            self._look(path, owner, order)
        if not self._waiting:
            self._finish()
        return True

    def _find_new_mounts(self) -> Iterator[str]:
        """Give the directories over which something was mounted; no event tells of it."""
        before, self._mounts = self._mounts, frozenset(all_mounts())
        for mount in self._mounts - before:
            for root, real in self.roots.resolved.items():
                names = mount.place.removeprefix(f"{real}/").split("/")
                is_below = mount.place.startswith(f"{real}/") and len(names) <= self._depth
                if is_below and not any(map(is_skipped, names)):
                    yield "/".join((root, *names))

    def _look(self, path: str, owner: Owner, order: _Order) -> None:
        if owner.root in self._refused:
            return
        is_root = path == owner.root
        before = self._tree.unwatched.get(path)
        found = self._tree.add(path, is_root=is_root)
        is_first = before is not found
        if found is Added.NEW or (found is Added.KNOWN and order.deep):
            self._tell_found(order.top)
            self._go_below(path, owner, order)
        elif found is Added.CAPPED:
            self._tell_cap(owner)
        elif found is Added.FULL and is_first:
            self._go_below(path, owner, order)  # only to count what would be needed
        elif found is Added.DENIED and is_first:
            self._denied.append(path)
        elif found is Added.GONE and is_root and is_first:
            _LOG.warning(
                "root of the library is missing; not watched until it is back",
                extra={"library": owner.library.name, "path": path},
            )

    def _tell_found(self, top: str | None) -> None:
        """Have the whole of a walk scanned: now, and once more when all of it is watched.

        A short walk ends within the quiet period, and both are one scan.
        """
        if top is not None and top not in self._found:
            self._found[top] = None
            self._touch(top)

    def _go_below(self, path: str, owner: Owner, order: _Order) -> None:
        try:
            names = [name for name in list_subdirectories(path) if not is_skipped(name)]
        except OSError as error:
            if not is_gone(error):
                self._denied.append(path)
            return
        for name in self._tree.names_in(path).difference(names):
            self._tree.forget(f"{path}/{name}")
        if path.count("/") - owner.root.count("/") < self._depth:
            for name in names:
                self._waiting[f"{path}/{name}"] = order

    def _tell_cap(self, owner: Owner) -> None:
        fields = {
            "library": owner.library.name,
            "cap": self._cap,
            "remedy": "raise LYRSVCGO_WATCH_MAX_DIRS and restart",
        }
        if owner.root in self._fresh:
            self._tree.forget(owner.root)
            self._refused.add(owner.root)
            _LOG.error("library is not watched: it has too many directories", extra=fields)
        elif not self._is_capped:
            self._is_capped = True
            if not self._is_starting:  # then the start itself fails
                _LOG.error("new directories are not watched: there are too many", extra=fields)

    def _finish(self) -> None:
        """Sum up a walk that came to its end."""
        self._fresh.clear()
        found, self._found = self._found, {}
        for top in found:
            self._touch(top)
        if self._denied:
            _LOG.warning(
                "directories cannot be watched; only the schedule finds what changes there",
                extra={"count": len(self._denied), "first": self._denied[0]},
            )
            self._denied.clear()
        is_full = Added.FULL in self._tree.unwatched.values()
        if is_full and not self._is_full:
            _LOG.error(
                "watcher needs %d watches, the system allows %s per user; raise "
                "fs.inotify.max_user_watches or set LYRSVCGO_WATCH_ENABLED=false",
                self._tree.wanted,
                watch_limit() or "fewer",
            )
        self._is_full = is_full
