"""``doctor`` looks at files and directories: there, ours, private; and puts them right."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lyrsvc.services.diagnosis import Finding, broken, from_health, odd, well
from lyrsvc.services.health_rules import check_database_place
from lyrsvc.services.mounts import network_kind
from lyrsvc.services.root_probes import RootProbes, existing_above, free_bytes_at
from lyrsvc.store.hindrances import is_read_only

DIRECTORY_MODE: Final = 0o750
FIX: Final = "run: lyrsvc doctor --fix"
_CODES: Final = {"disk_low": "free space", "db_network_fs": "file system"}


@dataclass(frozen=True, kw_only=True, slots=True)
class PrivateFile:
    """A file that others have no business with; ``mode`` is the widest that is fine."""

    check: str
    path: Path
    mode: int = 0o600


class PlaceDiagnosis:
    """Looks at places on the disk; with ``fix`` makes and mends what it may."""

    def __init__(self, *, fix: bool) -> None:
        self._fix = fix

    def examine_directory(self, check: str, path: Path) -> Iterator[Finding]:
        """Look whether a directory is there and can be written."""
        if not _is_there(path):
            if not self._fix:
                yield odd(check, f"{path} is not there yet", f"{FIX}, or start the service")
                return
            path.mkdir(mode=DIRECTORY_MODE, parents=True)
            yield well(check, f"{path} was made")
            return
        if not path.is_dir():
            yield broken(check, f"{path} is no directory", "move it away, or name another place")
            return
        facts = path.stat()
        if not os.access(path, os.W_OK | os.X_OK):
            detail = f"{path} cannot be written ({_described(facts)})"
            remedy = "mount its file system writable" if is_read_only(path) else _owning(path)
            yield broken(check, detail, remedy)
        elif facts.st_mode & stat.S_IWOTH and not facts.st_mode & stat.S_ISVTX:
            yield from self._too_open(check, path, facts.st_mode & 0o775)
        else:
            yield well(check, f"{path} ({_described(facts)})")

    def examine_file(self, wanted: PrivateFile) -> Iterator[Finding]:
        """Look whether a file is ours and closed to others; one that is not there is fine."""
        path = wanted.path
        try:
            facts = path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return
        if not os.access(path, os.R_OK):
            detail = f"{path} cannot be read ({_described(facts)})"
            yield broken(wanted.check, detail, _owning(path))
        elif os.name == "posix" and stat.S_IMODE(facts.st_mode) & ~wanted.mode & 0o077:
            yield from self._too_open(wanted.check, path, wanted.mode)
        else:
            yield well(wanted.check, f"{path} ({_described(facts)})")

    def _too_open(self, check: str, path: Path, mode: int) -> Iterator[Finding]:
        described = _described(path.stat())
        if self._fix:
            path.chmod(mode)
            yield well(check, f"{path} was open to others ({described}) and is closed now")
            return
        detail = f"{path} is open to others ({described})"
        yield odd(check, detail, f"run: chmod {mode:o} {path}, or lyrsvc doctor --fix")


def examine_disk(database: Path) -> Iterator[Finding]:
    """Look at the disk of the database: room, and whether it is a local one."""
    directory = existing_above(database.parent)
    found = list(from_health(check_database_place(directory / database.name, RootProbes()), _CODES))
    yield from found
    named = {finding.check for finding in found}
    free = free_bytes_at(str(directory))
    if "free space" not in named and free is not None:
        yield well("free space", f"{free // (1024 * 1024)} MiB free in {directory}")
    if "file system" not in named and not network_kind(directory):
        yield well("file system", "the database lies on a local disk")


def _is_there(path: Path) -> bool:
    """Tell whether something is there; ``PermissionError`` where nobody lets us look."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _described(facts: os.stat_result) -> str:
    return f"mode {stat.S_IMODE(facts.st_mode):04o}, owner {_user(facts.st_uid)}"


def _owning(path: Path) -> str:
    return f"run as its owner, or: chown {_me()} {path}"


def _me() -> str:
    return _user(os.geteuid()) if hasattr(os, "geteuid") else "the service's user"


def _user(number: int) -> str:
    try:
        import pwd

        return pwd.getpwuid(number).pw_name
    except (ImportError, KeyError):
        return str(number)
