"""Sidecars on disk: what stands beside an audio file, read with care.

Names, sizes and kinds of files are not trusted: links are not followed, pipes
are not opened, and nothing that could not be ours is read whole.
"""

import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lyrsvc.core.sidecar import (
    Kind,
    OnDisk,
    is_marker,
    is_ours_by_text,
    state_of,
)
from lyrsvc.files.pairing import NAMED, Sidecars, pair_sidecars, split_name
from lyrsvc.files.tree import AUDIO_SUFFIXES

LARGEST_OWN_BYTES: Final = 16 * 1024 * 1024
"""We never write as much; a larger file is somebody else's."""
HEADER_REACH: Final = 64 * 1024

_READ_FLAGS: Final = (
    os.O_RDONLY
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)

Signature = tuple[int, int, int, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Ownership:
    """How a mode knows its own files.

    ``owns`` is asked with path, kind and bytes; the path is below the directory
    as it was named. With ``covers`` a ``.txt`` whose words all occur in the new
    LRC file may go, whoever wrote it.
    """

    owns: Callable[[Path, Kind, bytes], bool]
    covers: bool = False


STATELESS: Final = Ownership(
    owns=lambda _path, kind, data: is_ours_by_text(kind, data), covers=True
)
"""Ownership by what the files themselves say."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sidecar:
    """One sidecar as it was when looked at; ``data`` is None when it cannot be one of ours.

    ``path`` is the real one; ``known_as`` is below the directory as it was named,
    which is how the rest of the program knows the file.
    """

    path: Path
    known_as: Path
    kind: Kind
    data: bytes | None
    ours: bool
    signature: Signature


@dataclass(frozen=True, kw_only=True, slots=True)
class Beside:
    """The sidecars of one stem."""

    lrc: Sidecar | None = None
    txt: Sidecar | None = None
    elrc: Sidecar | None = None

    @property
    def deciding(self) -> Sidecar | None:
        """Give the sidecar that counts: the LRC file when there are both."""
        return self.lrc or self.txt

    @property
    def state(self) -> OnDisk:
        """Name what stands there, for the policy."""
        found = self.deciding
        return state_of(found.kind, ours=found.ours) if found else OnDisk.NOTHING

    def with_extension(self, extension: str) -> Sidecar | None:
        """Give the sidecar with an extension."""
        return {".lrc": self.lrc, ".txt": self.txt, ".elrc": self.elrc}[extension]


def look_beside(
    directory: Path, found: Sidecars, ownership: Ownership, *, known_as: Path
) -> Beside:
    """Read the sidecars of a stem, found in its real directory."""
    lrc, txt, elrc = (
        _read(directory / name, known_as / name, ownership) if name else None for name in found
    )
    return Beside(lrc=lrc, txt=txt, elrc=elrc)


def find_sidecars(stem: str, names: Iterable[str]) -> Sidecars:
    """Find the sidecars of a stem in a listing, whether or not its audio file is there."""
    own = f"{stem}.flac"
    audio, sidecars = [own], []
    for name in names:
        suffix = split_name(name)[1].lower()
        if suffix in NAMED:
            sidecars.append(name)
        elif suffix in AUDIO_SUFFIXES:
            audio.append(name)
    return pair_sidecars(audio, sidecars).get(own, Sidecars())


def without_directories(directory: Path, found: Sidecars) -> Sidecars:
    """Leave out directories with the name of a sidecar; a listing does not count them either."""
    if not any(found):
        return found
    return Sidecars(*(None if name and _is_directory(directory / name) else name for name in found))


def read_regular(path: Path, *, most: int) -> bytes | None:
    """Read the beginning of a regular file; None for anything else and what cannot be read."""
    try:
        handle = os.open(path, _READ_FLAGS)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(most)
    except OSError:
        return None
    finally:
        os.close(handle)


def signature_of(path: Path) -> Signature | None:
    """Give what changes when a file is replaced or edited; None when there is none."""
    try:
        facts = path.lstat()
    except OSError:
        return None
    return facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_mode


def _is_directory(path: Path) -> bool:
    signature = signature_of(path)
    return signature is not None and stat.S_ISDIR(signature[3])


def _read(path: Path, known_as: Path, ownership: Ownership) -> Sidecar | None:
    # Before the bytes: a change while reading is then seen as one later.
    signature = signature_of(path)
    if signature is None:
        return None
    data = read_regular(path, most=LARGEST_OWN_BYTES + 1)
    kind = _kind(path.name, lambda: data)
    if data is not None and len(data) > LARGEST_OWN_BYTES:
        data = None
    return Sidecar(
        path=path,
        known_as=known_as,
        kind=kind,
        data=data,
        ours=data is not None and ownership.owns(known_as, kind, data),
        signature=signature,
    )


def _kind(name: str, read: Callable[[], bytes | None]) -> Kind:
    match split_name(name)[1].lower():
        case "lrc":
            return Kind.LRC
        case "elrc":
            return Kind.ELRC
        case _:
            return Kind.MARKER if is_marker(read() or b"") else Kind.TXT
