"""Saving everything the service keeps in one archive, while it goes on working."""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from lyrsvc import __version__
from lyrsvc.brand import PROGRAM
from lyrsvc.core.errors import FileFault, NotFound, Refused
from lyrsvc.core.ports import Clock
from lyrsvc.files.archives import FORMAT, LARGEST_SMALL_FILE, Part, write_archive
from lyrsvc.files.atomic import remove_stale_temp, temp_beside, write_fault
from lyrsvc.store.database import exists, to_db
from lyrsvc.store.integrity import Soundness, save_copy

DATABASE: Final = "database"
CONFIG: Final = "config"
KEY: Final = "key"
CERTIFICATE: Final = "tls-certificate"
CERTIFICATE_KEY: Final = "tls-key"
OWN_CERTIFICATE: Final = "self-signed-certificate"
OWN_CERTIFICATE_KEY: Final = "self-signed-key"
NAMES: Final = {
    DATABASE: "database.db",
    CONFIG: "config.toml",
    CERTIFICATE: "tls/cert.pem",
    CERTIFICATE_KEY: "tls/key.pem",
    OWN_CERTIFICATE: "self-signed/cert.pem",
    OWN_CERTIFICATE_KEY: "self-signed/key.pem",
    KEY: "master.key",
}
"""What each kind of file is called inside an archive."""
_NAMED: Final = re.compile(rf"{PROGRAM}-[0-9]{{8}}T[0-9]{{6}}Z(?:-[0-9]+)?\.tar\.gz")


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """A small file that belongs in a backup when it is there."""

    role: str
    path: Path


@dataclass(frozen=True, kw_only=True, slots=True)
class Backup:
    """What was made: the archive, and what is in it."""

    path: Path
    size: int
    roles: tuple[str, ...]
    schema: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Watch:
    """Who is told how far it is: a phase, bytes done, and bytes in all when they are known."""

    tell: Callable[[str, int, int | None], None] = lambda _phase, _done, _total: None


def usual_name(now: datetime) -> str:
    """Give the name of a backup made now."""
    return f"{PROGRAM}-{now.astimezone(UTC):%Y%m%dT%H%M%SZ}.tar.gz"


def free_name(directory: Path, now: datetime) -> Path:
    """Give the usual name, or with ``-2``, ``-3``, … the first one that is free."""
    usual, number = directory / usual_name(now), 1
    path = usual
    while os.path.lexists(path):
        number += 1
        path = usual.with_name(f"{usual.name.removesuffix('.tar.gz')}-{number}.tar.gz")
    return path


def make_backup(
    database: Path, target: Path, files: Iterable[Kept], *, clock: Clock, watch: Watch | None = None
) -> Backup:
    """Copy the database as it stands at one moment, prove the copy whole, and pack it.

    Whatever goes wrong, no archive is left behind and none is replaced.
    """
    require_database(database)
    if os.path.lexists(target):
        raise Refused(f"{target} is there already; it is not replaced, name another file with -o")
    watch = watch or Watch()
    _tidy(target.parent, clock.now())
    copy = temp_beside(target)
    watch.tell("copying", 0, None)
    try:
        found = _copy(database, copy)
        now_s = clock.now().timestamp()
        whole = Part(name=NAMES[DATABASE], role=DATABASE, path=copy, changed_s=now_s)
        parts = [whole, *_small_parts(files)]
        _pack(target, parts, found, clock=clock, watch=watch)
    finally:
        for leftover in (copy, copy.with_name(f"{copy.name}-journal")):
            with suppress(OSError):
                leftover.unlink(missing_ok=True)
    return Backup(
        path=target,
        size=target.stat().st_size,
        roles=tuple(part.role for part in parts),
        schema=found.schema,
    )


def require_database(database: Path) -> None:
    """Raise ``NotFound`` where there is nothing to save."""
    if not exists(database):
        raise NotFound(f"no database at {database}; there is nothing to save")


def prune(directory: Path, *, keep: int) -> list[Path]:
    """Remove all but the newest backups with usual names; give those that went."""
    named = [entry for entry in directory.iterdir() if _NAMED.fullmatch(entry.name)]
    old = sorted(named, key=_age)[:-keep] if keep else named
    for path in old:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise write_fault(error, path) from error
    return old


def _copy(database: Path, copy: Path) -> Soundness:
    try:
        return save_copy(database, copy)
    except OSError as error:
        raise write_fault(error, copy) from error


def _pack(target: Path, parts: list[Part], found: Soundness, *, clock: Clock, watch: Watch) -> None:
    about = {
        "format": FORMAT,
        "program": PROGRAM,
        "version": __version__,
        "created_at": to_db(clock.now()),
        "schema": found.schema,
    }
    total, done = sum(part.size for part in parts), 0

    def tell(size: int) -> None:
        nonlocal done
        done += size
        watch.tell("packing", done, total)

    write_archive(target, parts, about, temp=temp_beside(target), tell=tell)


def _small_parts(files: Iterable[Kept]) -> Iterator[Part]:
    for kept in files:
        try:
            with kept.path.open("rb") as file:
                data = file.read(LARGEST_SMALL_FILE + 1)
                changed_s = os.fstat(file.fileno()).st_mtime
        except FileNotFoundError:
            continue
        except OSError as error:
            cause = (error.strerror or "unknown error").lower()
            raise FileFault(
                "open_denied", f"cannot read {kept.path}: {cause}; run as a user who can"
            ) from error
        if len(data) > LARGEST_SMALL_FILE:
            raise Refused(f"{kept.path} is too large for a backup; is it the right file?")
        yield Part(name=NAMES[kept.role], role=kept.role, data=data, changed_s=changed_s)


def _tidy(directory: Path, now: datetime) -> None:
    """Remove what a backup that was killed left behind."""
    with suppress(OSError):
        for entry in list(directory.iterdir()):
            remove_stale_temp(entry, now=now)


def _age(path: Path) -> tuple[str, int]:
    """Order names by their moment, then by their number."""
    moment, _, number = path.name.removesuffix(".tar.gz").removeprefix(f"{PROGRAM}-").partition("-")
    return moment, int(number or 1)
