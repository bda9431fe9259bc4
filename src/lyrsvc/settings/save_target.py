"""The file a save is about, and the names of what a save may leave beside it."""

import os
import re
import secrets
import stat
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

_DRAFT = re.compile(r"\.(?P<name>.+)\.(?P<mark>[0-9a-f]{16})\.lyrsvc-tmp")
_COPY = re.compile(r"(?P<name>.+)\.lyrsvc-save\.(?P<mark>[0-9a-f]{16})")


class Target(NamedTuple):
    """The settings file, links followed, and where else copies may be kept."""

    path: Path
    spares: tuple[Path, ...] = ()
    """Directories for what cannot stand beside the file: that of the database."""

    @property
    def directories(self) -> tuple[Path, ...]:
        """List where a save may leave something, the file's own directory first."""
        return tuple(dict.fromkeys((self.path.parent, *self.spares)))

    def lock_names(self) -> list[Path]:
        """List the lock files, the best first."""
        return [directory / f".{self.path.name}.lock" for directory in self.directories]

    def draft_in(self, directory: Path) -> Path:
        """Make up a name for a file that is being written."""
        return directory / f".{self.path.name}.{self._mark()}{secrets.token_hex(4)}.lyrsvc-tmp"

    def copy_of(self, draft: Path) -> Path:
        """Give the name that a complete draft of the old bytes gets."""
        mark = draft.name.rsplit(".", 2)[1]
        return draft.with_name(f"{self.path.name}.lyrsvc-save.{mark}")

    def drafts(self) -> list[Path]:
        """Find files that a killed save never finished."""
        return self._found(_DRAFT)

    def copies(self) -> list[Path]:
        """Find the old bytes that a killed save was rewriting."""
        return self._found(_COPY)

    def _found(self, pattern: re.Pattern[str]) -> list[Path]:
        return [
            directory / name
            for directory in self.directories
            for name in _names_in(directory)
            if self._is_ours(pattern.fullmatch(name), directory)
        ]

    def _is_ours(self, match: re.Match[str] | None, directory: Path) -> bool:
        """Tell ours from those of another settings file of that name, beside the same database."""
        if match is None or match["name"] != self.path.name:
            return False
        return directory == self.path.parent or match["mark"].startswith(self._mark())

    def _mark(self) -> str:
        return blake2b(os.fsencode(self.path), digest_size=4).hexdigest()


def is_plain(there: os.stat_result) -> bool:
    """Tell a regular file of one name; anything else may be somebody's trap for root."""
    return stat.S_ISREG(there.st_mode) and there.st_nlink == 1


def exists(path: Path) -> bool:
    """Tell whether there is such a file that we can look at."""
    try:
        path.stat()
    except OSError:
        return False
    return True


def _names_in(directory: Path) -> list[str]:
    with suppress(OSError):  # an unreadable directory has no left-overs
        return sorted(os.listdir(directory))  # noqa: PTH208 - names are all that is wanted
    return []
