"""Roots of libraries on disk: is one there, which contains which, what is the same."""

import os
from collections.abc import Iterable
from pathlib import Path

from lyrsvc.core.library import Library


def device_of(root: Path) -> int | None:
    """Give the device of a root that can be listed and has any entry, else None.

    An empty directory is taken for a mount point whose disk is not there.
    """
    try:
        with os.scandir(root) as entries:
            if next(entries, None) is None:
                return None
        return os.stat(root).st_dev  # noqa: PTH116 - beside scandir
    except OSError:
        return None


def absolute(path: str | os.PathLike[str], working_directory: Path) -> Path:
    """Give a path without dots and doubled slashes; links in it stay as they were typed."""
    joined = os.path.join(working_directory, path)  # noqa: PTH118 - normpath wants a text
    return Path("/" + os.path.normpath(joined).lstrip("/"))


def is_same(one: Path, other: Path) -> bool:
    """Tell whether two roots are one: as typed, resolved, or by device and inode."""
    if one == other or one.resolve() == other.resolve():
        return True
    try:
        return one.samefile(other)
    except OSError:
        return False


def contains(outer: Path, inner: Path) -> bool:
    """Tell whether one root lies below another, as typed or resolved."""
    return outer in inner.parents or outer.resolve() in inner.resolve().parents


def place_below(outer: Path, inner: Path) -> Path | None:
    """Give the path below the outer root at which a walk meets the inner one."""
    if outer in inner.parents:
        return inner
    real_outer, real_inner = outer.resolve(), inner.resolve()
    if real_outer in real_inner.parents:
        return outer / real_inner.relative_to(real_outer)
    return None


def roots_to_skip(library: Library, others: Iterable[Library]) -> frozenset[str]:
    """Give the directories below a library's root that belong to other libraries."""
    places = (place_below(library.path, other.path) for other in others if other.id != library.id)
    return frozenset(os.fspath(place) for place in places if place is not None)
