"""Putting back what a backup holds: everything or nothing, and what was there stays beside it.

Each new file is first written whole beside the place it goes to. Only then are the old ones
moved aside and the new ones given their names; a fault on the way puts everything back.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from lyrsvc.core.errors import FileFault, Refused
from lyrsvc.durability import sync_directory
from lyrsvc.files.archives import LARGEST_SMALL_FILE, ArchiveReader, Entry, Manifest, open_archive
from lyrsvc.files.atomic import EXCLUSIVE, temp_beside, write_fault
from lyrsvc.files.moving import MoveResult, move_file
from lyrsvc.services.backing_up import (
    CERTIFICATE,
    DATABASE,
    KEY,
    OWN_CERTIFICATE,
    OWN_CERTIFICATE_KEY,
)
from lyrsvc.services.root_probes import existing_above, free_bytes_at
from lyrsvc.store.integrity import Soundness, check_whole

SUFFIX: Final = ".before-restore"
COMPANIONS: Final = ("-wal", "-shm", "-journal")
"""What the engine keeps beside a database; it goes wherever the database goes."""
_MODES: Final = {DATABASE: 0o640, CERTIFICATE: 0o644, OWN_CERTIFICATE: 0o600}
_PRIVATE: Final = 0o600
_ALWAYS_PRIVATE: Final = (KEY, OWN_CERTIFICATE_KEY)
"""Whoever opened these to others was mistaken."""
_DIRECTORY_MODE: Final = 0o750


@dataclass(frozen=True, kw_only=True, slots=True)
class Content:
    """What an archive holds, every checksum compared; large files are only looked at."""

    manifest: Manifest
    small: Mapping[str, bytes] = field(repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One file that comes back, and what becomes of the one at its place."""

    role: str
    target: Path
    replaces: bool
    kept_as: Path | None = None


def read_backup(file: Path) -> Content:
    """Read an archive from end to end, and refuse it unless every file fits its checksum."""
    small: dict[str, bytes] = {}
    with open_archive(file) as reader:
        if reader.manifest.of_role(DATABASE) is None:
            raise Refused(f"there is no database in the backup {file}")
        for entry, stream in reader.files():
            if entry.role == DATABASE:
                reader.take(entry, stream, lambda _piece: None)
            else:
                small[entry.role] = _taken(reader, entry, stream)
        return Content(manifest=reader.manifest, small=small)


def plan_restore(content: Content, places: Mapping[str, Path]) -> list[Step]:
    """Say what each file of a backup would do; what has no place or is there already is left out.

    ``places`` tells where each kind belongs here.
    """
    steps = []
    for entry in content.manifest.entries:
        target = places.get(entry.role)
        if target is None or _is_same(target, content.small.get(entry.role)):
            continue
        there = os.path.lexists(target)
        kept = _aside(target) if there else None
        steps.append(Step(role=entry.role, target=target, replaces=there, kept_as=kept))
    return steps


def restore(file: Path, content: Content, steps: Sequence[Step]) -> Soundness:
    """Carry the steps out; the caller holds the lock that keeps a server away."""
    with ExitStack() as stack:
        staged = {
            step.role: stack.enter_context(_staged(step, content.small.get(step.role)))
            for step in steps
        }
        found = _unpack_database(file, staged[DATABASE])
        done: list[tuple[Path, Path]] = []
        try:
            for step in steps:
                _exchange(step, staged[step.role], done)
        except BaseException:
            _undo(done)
            raise
    return found


def check_room(content: Content, database: Path) -> None:
    """Refuse before anything is touched when the disk has no room for a second database."""
    entry = content.manifest.of_role(DATABASE)
    free = free_bytes_at(str(existing_above(database.parent)))
    if entry is not None and free is not None and entry.size > free:
        raise Refused(
            f"no room in {database.parent}: {entry.size} bytes are needed, {free} are free"
        )


def _taken(reader: ArchiveReader, entry: Entry, stream: IO[bytes]) -> bytes:
    if entry.size > LARGEST_SMALL_FILE:
        raise Refused(f"{entry.name} in the backup is too large")
    pieces: list[bytes] = []
    reader.take(entry, stream, pieces.append)
    return b"".join(pieces)


def _unpack_database(file: Path, staged: Path) -> Soundness:
    try:
        with open_archive(file) as reader, staged.open("r+b") as out:
            for entry, stream in reader.files():
                if entry.role == DATABASE:
                    reader.take(entry, stream, out.write)
            out.flush()
            os.fsync(out.fileno())
    except OSError as error:
        raise write_fault(error, staged) from error
    return check_whole(staged)


@contextmanager
def _staged(step: Step, data: bytes | None) -> Iterator[Path]:
    """Give a new file beside the target with its content, owner and mode; it is gone at the end."""
    temp = temp_beside(step.target)
    try:
        _make_directory(step.target.parent)
        with os.fdopen(os.open(temp, EXCLUSIVE, _PRIVATE), "wb") as out:
            out.write(data or b"")
            _dress(out.fileno(), step)
            out.flush()
            os.fsync(out.fileno())
    except OSError as error:
        with suppress(OSError):
            temp.unlink(missing_ok=True)
        raise write_fault(error, step.target) from error
    try:
        yield temp
    finally:
        with suppress(OSError):
            temp.unlink(missing_ok=True)


def _make_directory(directory: Path) -> None:
    """Make a directory that belongs to whoever the one above it belongs to."""
    if directory.is_dir():
        return
    _make_directory(directory.parent)
    directory.mkdir(mode=_DIRECTORY_MODE)
    above = directory.parent.stat()
    if hasattr(os, "chown") and os.geteuid() == 0:
        os.chown(directory, above.st_uid, above.st_gid, follow_symlinks=False)


def _dress(handle: int, step: Step) -> None:
    """Give a new file the owner and mode of the old one, else those of its directory and kind."""
    if not hasattr(os, "fchown"):
        return
    old = step.target.stat() if step.replaces else None
    owner = old or step.target.parent.stat()
    if os.geteuid() == 0:
        os.fchown(handle, owner.st_uid, owner.st_gid)
    kept = old is not None and step.role not in _ALWAYS_PRIVATE
    mode = owner.st_mode & 0o777 if kept else _MODES.get(step.role, _PRIVATE)
    os.fchmod(handle, mode)


def _exchange(step: Step, staged: Path, done: list[tuple[Path, Path]]) -> None:
    """Move the old file aside and the new one to its place; ``done`` learns of every move."""
    if step.kept_as is not None:
        companions = COMPANIONS if step.role == DATABASE else ()
        # The log first: a database must never be found beside the log of another one.
        for suffix in (*companions, ""):
            old, kept = _beside(step.target, suffix), _beside(step.kept_as, suffix)
            if os.path.lexists(old):
                _move(old, kept, done)
    _move(staged, step.target, done)
    sync_directory(step.target.parent)


def _move(old: Path, new: Path, done: list[tuple[Path, Path]]) -> None:
    if move_file(old, new) is not MoveResult.MOVED:
        raise FileFault("write_error", f"cannot write {new}: it came to be meanwhile; try again")
    done.append((old, new))


def _undo(done: list[tuple[Path, Path]]) -> None:
    for old, new in reversed(done):
        with suppress(FileFault):
            move_file(new, old)


def _is_same(target: Path, data: bytes | None) -> bool:
    if data is None:
        return False
    try:
        return target.read_bytes() == data
    except OSError:
        return False


def _aside(target: Path) -> Path:
    """Give a name for the old file that nothing has."""
    kept, number = target.with_name(f"{target.name}{SUFFIX}"), 1
    while any(os.path.lexists(_beside(kept, suffix)) for suffix in (*COMPANIONS, "")):
        number += 1
        kept = target.with_name(f"{target.name}.{number}{SUFFIX}")
    return kept


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(f"{path.name}{suffix}")
