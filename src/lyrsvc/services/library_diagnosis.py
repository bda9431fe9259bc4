"""``doctor`` looks at the libraries: there, filled, writable, open to the unit, watchable."""

import os
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lyrsvc import brand
from lyrsvc.core.library import Library
from lyrsvc.files.atomic import EXCLUSIVE, temp_beside, write_fault
from lyrsvc.files.tree import is_skipped
from lyrsvc.services.diagnosis import Finding, broken, odd, well
from lyrsvc.services.inotify_link import watch_limit
from lyrsvc.services.root_probes import RootProbes, RootState
from lyrsvc.services.watch_tree import list_subdirectories
from lyrsvc.services.write_refusals import (
    UNIT,
    UNIT_PLACES,
    has_unit,
    opening_in_unit,
    write_remedy,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Watching:
    """What the watcher may do; ``limit`` is the system's, None when it does not say."""

    enabled: bool
    max_dirs: int
    depth: int
    limit: int | None


def system_watching(*, enabled: bool, max_dirs: int, depth: int) -> Watching:
    """Give what holds on this machine."""
    return Watching(enabled=enabled, max_dirs=max_dirs, depth=depth, limit=watch_limit())


def examine_libraries(libraries: Sequence[Library], *, in_container: bool) -> Iterator[Finding]:
    """Look at every root, and prove by a file that comes and goes that it can be written."""
    if not libraries:
        yield odd("library", "there is none", "register one with: lyrsvc library add PATH")
    states = RootProbes().look(library.path for library in libraries)
    for library in libraries:
        yield from _examine(library, states[library.path], in_container=in_container)


def examine_unit(
    libraries: Iterable[Library], database: Path, *, places: Sequence[Path] = UNIT_PLACES
) -> Iterator[Finding]:
    """Look whether the packaged unit lets the service write in every library."""
    if database.parent != Path(brand.PACKAGE_STATE) or not has_unit(places):
        return
    writable = list(_writable_paths(places))
    for library in libraries:
        if not any(library.path.is_relative_to(path) for path in writable):
            yield odd(
                "hardening",
                f'the unit {UNIT} keeps library "{library.name}" ({library.path}) read-only',
                opening_in_unit(library.path),
            )
            return
    yield well("hardening", f"the unit {UNIT} may write in every library")


def examine_watcher(libraries: Iterable[Library], watching: Watching) -> Iterator[Finding]:
    """Compare the directories there are with what may be watched."""
    if not watching.enabled:
        yield well("watcher", "it is off")
        return
    needed = sum(_count(library.path, watching.depth) for library in libraries)
    if needed > watching.max_dirs:
        yield broken(
            "watcher",
            f"the libraries hold {needed} directories, LYRSVCGO_WATCH_MAX_DIRS allows "
            f"{watching.max_dirs}",
            "raise LYRSVCGO_WATCH_MAX_DIRS or set LYRSVCGO_WATCH_ENABLED=false",
        )
    elif watching.limit is not None and needed > watching.limit:
        yield odd(
            "watcher",
            f"watcher needs {needed} watches, the system allows {watching.limit} per user",
            "raise fs.inotify.max_user_watches or set LYRSVCGO_WATCH_ENABLED=false",
        )
    else:
        allowed = watching.limit or "no known number of"
        yield well("watcher", f"{needed} directories, {allowed} watches are allowed")


def _examine(library: Library, state: RootState, *, in_container: bool) -> Iterator[Finding]:
    shown = f'"{library.name}" ({library.path})'
    if not state.answers:
        yield broken("library", f"{shown} does not answer", "check the mount")
    elif not state.reachable:
        remedy = f"mount it, or: lyrsvc library update {library.id} --path PATH"
        yield broken("library", f"{shown} cannot be read", remedy)
    elif fault := _try_writing(library.path):
        cause = (fault.strerror or "unknown error").lower()
        reason = write_fault(fault, library.path).reason
        remedy = write_remedy(reason, library.path, in_container=in_container)
        yield broken("library", f"cannot write in {library.path}: {cause}", remedy)
    elif state.empty:
        yield odd("library", f"{shown} is empty", "check that its disk is mounted")
    else:
        yield well("library", f"{shown} can be written")


def _try_writing(root: Path) -> OSError | None:
    probe = temp_beside(root / "probe")
    try:
        os.close(os.open(probe, EXCLUSIVE, 0o600))
    except OSError as error:
        return error
    with suppress(OSError):
        probe.unlink()
    return None


def _writable_paths(places: Sequence[Path]) -> Iterator[Path]:
    """Read which paths the unit and its drop-ins open."""
    for place in places:
        for file in (place / UNIT, *sorted((place / f"{UNIT}.d").glob("*.conf"))):
            with suppress(OSError, ValueError):
                for line in file.read_text("utf-8").splitlines():
                    name, _, value = line.strip().partition("=")
                    if name.strip() in ("ReadWritePaths", "BindPaths"):
                        yield from (Path(word.lstrip("-+")) for word in shlex.split(value))


def _count(root: Path, depth: int) -> int:
    """Count the directories of a library as the watcher would."""
    waiting, found = [(str(root), 0)], 0
    while waiting:
        path, level = waiting.pop()
        try:
            names = list_subdirectories(path)
        except OSError:
            continue
        found += 1
        if level < depth:
            waiting += [(f"{path}/{name}", level + 1) for name in names if not is_skipped(name)]
    return found
