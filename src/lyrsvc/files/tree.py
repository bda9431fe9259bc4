"""Walking a library: one listing per directory answers everything about it.

Names are text in Python's own form: an undecodable byte is a lone surrogate, and
``os.fsencode`` gives the exact bytes back. Nothing is raised for what lies on the
disk; every fault is part of the listing it was met in.
"""

import os
import stat
from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar

from lyrsvc.files.atomic import is_temp_name
from lyrsvc.files.audio_opening import fault_of
from lyrsvc.files.pairing import NAMED

AUDIO_SUFFIXES: Final = frozenset(
    {"mp3", "m4a", "m4b", "m4p", "mp4", "alac", "flac", "ogg", "oga", "opus", "aac", "wav"}
    | {"aif", "aiff", "wma", "asf", "ape", "wv", "mpc", "mka", "dsf", "dff", "tta"}
)
SIDECAR_SUFFIXES: Final = frozenset(NAMED)
AUDIO: Final = 1
SIDECAR: Final = 2
KINDS: Final = {f".{suffix}": AUDIO for suffix in AUDIO_SUFFIXES} | {
    f".{suffix}": SIDECAR for suffix in SIDECAR_SUFFIXES
}
"""What a file is by its suffix, with the dot and in lower case."""
DEFAULT_DEPTH: Final = 100

_SKIPPED: Final = frozenset(
    {"@eadir", "#recycle", "#snapshot", "@recycle", "@recently-snapshot"}
    | {"$recycle.bin", "system volume information"}
)
"""Bins, snapshots and thumbnails of systems, in lower case."""
_LOST: Final = "lost+found"
"""What a check of a disk has found; in capitals it is an album."""
_TYPE_BITS: Final = 0o170000


class AudioFile(NamedTuple):
    """One audio file as the listing saw it; enough to tell whether it changed."""

    name: str
    mtime_ns: int
    size: int
    inode: int


class EntryFault(NamedTuple):
    """An entry that cannot be used, and why: a reason code of the scan."""

    name: str
    reason: str


_Entry = TypeVar("_Entry", str, AudioFile, EntryFault)


@dataclass(slots=True)
class Listing:
    """One directory: what matters in it, each in byte order of the names.

    ``fault`` is the reason code of a directory that could not be listed to its end;
    nothing may then be concluded from what the listing lacks. ``subdirectories`` are
    all that exist, whether the walk goes on into them or not.
    """

    path: str
    depth: int
    audio: list[AudioFile]
    sidecars: list[str]
    subdirectories: list[str]
    temp_names: list[str]
    faults: list[EntryFault]
    fault: str | None = None


def walk(
    root: str | os.PathLike[str], *, depth: int = DEFAULT_DEPTH, skip: Set[str] = frozenset()
) -> Iterator[Listing]:
    """List a directory and those below it, files before sub-directories.

    ``skip`` holds the paths of directories that belong to somebody else, in the form
    the walk itself makes: the root as given, joined with the names below it.
    """
    waiting: list[tuple[str, int]] = [(os.fspath(root), 0)]
    while waiting:
        path, level = waiting.pop()
        listing = list_directory(path, level)
        yield listing
        if level < depth:
            below = [_join(path, name) for name in reversed(listing.subdirectories)]
            waiting.extend((each, level + 1) for each in below if each not in skip)


def list_directory(path: str, depth: int = 0) -> Listing:
    """List one directory without going below it."""
    listing = Listing(path, depth, [], [], [], [], [])
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                _sort_entry(entry, listing)
    except OSError as failure:
        listing.fault = fault_of(failure).reason
    _order(listing)
    return listing


def is_skipped(name: str) -> bool:
    """Tell whether a directory of this name is passed by, below a root.

    One dot hides a name; two or three begin one, as of "...And Justice for All".
    """
    is_hidden = name[0] == "." and name[:2] != ".."
    return is_hidden or name == _LOST or name.lower() in _SKIPPED


def _sort_entry(entry: os.DirEntry[str], listing: Listing) -> None:
    name = entry.name
    if name[0] == "." and is_skipped(name):
        if is_temp_name(name):
            listing.temp_names.append(name)
    elif entry.is_dir(follow_symlinks=False):
        if not is_skipped(name):
            listing.subdirectories.append(name)
    else:
        kind = KINDS.get(name[name.rfind(".") :].lower())
        if kind == AUDIO:
            _add_audio(entry, name, listing)
        elif kind == SIDECAR:
            listing.sidecars.append(name)


def _add_audio(entry: os.DirEntry[str], name: str, listing: Listing) -> None:
    try:
        found = entry.stat()
    except OSError as failure:
        listing.faults.append(EntryFault(name, fault_of(failure).reason))
        return
    kind = found.st_mode & _TYPE_BITS
    if kind == stat.S_IFREG:
        listing.audio.append(AudioFile(name, found.st_mtime_ns, found.st_size, found.st_ino))
    elif kind != stat.S_IFDIR:  # a linked directory is not followed, and no fault
        listing.faults.append(EntryFault(name, "not_regular"))


def _order(listing: Listing) -> None:
    _sort_by_bytes(listing.audio, [file.name for file in listing.audio])
    _sort_by_bytes(listing.faults, [fault.name for fault in listing.faults])
    for names in (listing.sidecars, listing.subdirectories, listing.temp_names):
        _sort_by_bytes(names, names)


def _sort_by_bytes(entries: list[_Entry], names: list[str]) -> None:
    """Sort by the bytes of the names; only lone surrogates sort otherwise than their bytes."""
    if len(names) > 1:
        entries.sort(key=_name_bytes if _has_escapes(names) else None)


def _name_bytes(entry: str | AudioFile | EntryFault) -> bytes:
    return os.fsencode(entry if isinstance(entry, str) else entry.name)


def _has_escapes(names: list[str]) -> bool:
    try:
        "".join(names).encode()
    except UnicodeEncodeError:
        return True
    return False


def _join(path: str, name: str) -> str:
    return f"{path}{name}" if path.endswith("/") else f"{path}/{name}"
