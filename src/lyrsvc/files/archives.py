"""Backup archives: one gzipped tar whose first member names every other with its checksum.

Nothing in an archive decides where a file goes: names and kinds are checked against
the list, and whoever reads it says where each kind belongs.
"""

import gzip
import hashlib
import io
import json
import os
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

from lyrsvc.brand import PROGRAM
from lyrsvc.core.display import escape_controls
from lyrsvc.core.errors import AlreadyThere, NotFound, Refused
from lyrsvc.files.atomic import EXCLUSIVE, write_fault
from lyrsvc.files.moving import MoveResult, move_file

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
LARGEST_MANIFEST: Final = 1024 * 1024
LARGEST_SMALL_FILE: Final = 16 * 1024 * 1024
ARCHIVE_MODE: Final = 0o600
_COMPRESSION: Final = 5
_CHUNK: Final = 1024 * 1024
_DAMAGE: Final = (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, UnicodeDecodeError)

Tell = Callable[[int], None]
"""Told how many bytes have gone through."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One file for an archive: its bytes, or where a large one lies."""

    name: str
    role: str
    data: bytes = field(default=b"", repr=False)
    path: Path | None = None
    changed_s: float = 0.0

    @property
    def size(self) -> int:
        """Count the bytes."""
        return len(self.data) if self.path is None else self.path.stat().st_size

    def open(self) -> IO[bytes]:
        """Open it for reading."""
        return io.BytesIO(self.data) if self.path is None else self.path.open("rb")


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One file as the list of an archive names it."""

    name: str
    role: str
    size: int
    sha256: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Manifest:
    """The list of an archive: what is in it, and what made it."""

    version: str
    created_at: str
    schema: int
    entries: tuple[Entry, ...]

    def of_role(self, role: str) -> Entry | None:
        """Give the file of a kind, or None."""
        return next((entry for entry in self.entries if entry.role == role), None)


def write_archive(
    target: Path, parts: Sequence[Part], about: Mapping[str, Any], *, temp: Path, tell: Tell
) -> None:
    """Write an archive whole or not at all, 0600; raise ``AlreadyThere`` when the name is taken.

    ``about`` is what the list says beside the files; ``temp`` is a free name in the same
    directory.
    """
    listed = json.dumps({**about, "files": [_listed(part) for part in parts]}, indent=2)
    try:
        with os.fdopen(os.open(temp, EXCLUSIVE, ARCHIVE_MODE), "wb") as file:
            with tarfile.open(fileobj=file, mode="w:gz", compresslevel=_COMPRESSION) as archive:
                _add(archive, Part(name=MANIFEST, role="", data=listed.encode()), _nobody)
                for part in parts:
                    _add(archive, part, tell)
            file.flush()
            os.fsync(file.fileno())
        if move_file(temp, target) is not MoveResult.MOVED:
            raise AlreadyThere(f"{_shown(target)} is there already; it is not replaced")
    except OSError as error:
        raise write_fault(error, target) from error
    finally:
        with suppress(OSError):
            temp.unlink(missing_ok=True)


class ArchiveReader:
    """Reads an archive once, from its beginning to its end; ``manifest`` is there at once."""

    def __init__(self, path: Path, archive: tarfile.TarFile) -> None:
        self._path = path
        self._archive = archive
        self.manifest = self._read_manifest()

    def files(self) -> Iterator[tuple[Entry, IO[bytes]]]:
        """Give every listed file, to be read before the next; what is not listed is refused."""
        waiting = {entry.name: entry for entry in self.manifest.entries}
        while (member := self._archive.next()) is not None:
            entry = waiting.pop(member.name, None)
            if entry is None or not member.isreg() or member.size != entry.size:
                raise self._damaged(f"{escape_controls(member.name)} does not belong in it")
            stream = self._archive.extractfile(member)
            if stream is not None:
                yield entry, stream
        if waiting:
            raise self._damaged(f"{escape_controls(min(waiting))} is missing")

    def take(self, entry: Entry, stream: IO[bytes], into: Callable[[bytes], object]) -> None:
        """Hand a file on piece by piece; raise ``Refused`` at the end unless its checksum fits."""
        digest = hashlib.sha256()
        while piece := stream.read(_CHUNK):
            digest.update(piece)
            into(piece)
        if digest.hexdigest() != entry.sha256:
            raise self._damaged(f"{escape_controls(entry.name)} does not fit its checksum")

    def _read_manifest(self) -> Manifest:
        member = self._archive.next()
        if member is None or member.name != MANIFEST or not member.isreg():
            raise Refused(f"{_shown(self._path)} is no backup of {PROGRAM}")
        if member.size > LARGEST_MANIFEST:
            raise self._damaged("its list is too long")
        stream = self._archive.extractfile(member)
        try:
            return _understood(json.loads(stream.read() if stream else b""))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            if isinstance(error, _TooNew):
                raise Refused(f"{_shown(self._path)}: {error}") from None
            raise self._damaged("its list is not understood") from error

    def _damaged(self, why: str) -> Refused:
        return Refused(f"the backup {_shown(self._path)} is damaged: {why}; use another one")


@contextmanager
def open_archive(path: Path) -> Iterator[ArchiveReader]:
    """Open an archive; whatever is wrong with it comes out as ``Refused``."""
    with _open(path) as file:
        try:
            with tarfile.open(fileobj=file, mode="r|gz") as archive:
                yield ArchiveReader(path, archive)
        except _DAMAGE as error:
            raise Refused(
                f"the backup {_shown(path)} is damaged or no backup of {PROGRAM}; use another one"
            ) from error


def _open(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except FileNotFoundError as error:
        raise NotFound(f"no backup at {_shown(path)}") from error
    except OSError as error:
        cause = (error.strerror or "unknown error").lower()
        raise Refused(f"cannot read the backup {_shown(path)}: {cause}") from error


def _nobody(_size: int) -> None:
    pass


class _TooNew(ValueError):
    pass


def _listed(part: Part) -> dict[str, Any]:
    digest = hashlib.sha256()
    with part.open() as stream:
        while piece := stream.read(_CHUNK):
            digest.update(piece)
    return {
        "name": part.name,
        "role": part.role,
        "bytes": part.size,
        "sha256": digest.hexdigest(),
    }


def _add(archive: tarfile.TarFile, part: Part, tell: Tell) -> None:
    member = tarfile.TarInfo(part.name)
    member.size, member.mode, member.mtime = part.size, ARCHIVE_MODE, part.changed_s
    with part.open() as stream:
        archive.addfile(member, _Told(stream, tell))


class _Told(io.RawIOBase):
    """A stream that tells how much was read of it."""

    def __init__(self, stream: IO[bytes], tell: Tell) -> None:
        super().__init__()
        self._stream = stream
        self._tell = tell

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self._tell(len(data))
        return data


def _understood(members: Mapping[str, Any]) -> Manifest:
    if members["program"] != PROGRAM:
        raise ValueError("another program's")
    if members["format"] != FORMAT:
        raise _TooNew("it was made by a newer program; upgrade first")
    return Manifest(
        version=str(members["version"]),
        created_at=str(members["created_at"]),
        schema=int(members["schema"]),
        entries=tuple(_entries(members["files"])),
    )


def _entries(rows: Iterable[Mapping[str, Any]]) -> Iterator[Entry]:
    seen: set[str] = set()
    for row in rows:
        entry = Entry(
            name=str(row["name"]),
            role=str(row["role"]),
            size=int(row["bytes"]),
            sha256=str(row["sha256"]),
        )
        if entry.name in seen or entry.role in seen or entry.size < 0:
            raise ValueError("a file is named twice")
        seen |= {entry.name, entry.role}
        yield entry


def _shown(path: Path) -> str:
    return escape_controls(str(path))
