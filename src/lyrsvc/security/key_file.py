"""The file that holds the master key: 32 raw bytes, complete or absent, one for everybody."""

import os
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from lyrsvc import brand
from lyrsvc.core.errors import ConfigError
from lyrsvc.durability import sync_directory

KEY_BYTES: Final = 32
FILE_MODE: Final = 0o600
DIRECTORY_MODE: Final = 0o700
OTHERS: Final = 0o077

_CLOSED_ON_EXEC: Final = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
_AT_ONCE: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)
"""A pipe under the key's name must not make the program wait."""


class KeyFile(NamedTuple):
    """A key as it was read, and the mode of its file."""

    key: bytes
    mode: int

    @property
    def open_to_others(self) -> bool:
        """Tell whether somebody else may read or replace the key."""
        return os.name == "posix" and bool(self.mode & OTHERS)


def read_key(path: Path) -> KeyFile | None:
    """Read the key; None when there is no file, ``ConfigError`` when it is not a key."""
    try:
        return _read(path)
    except FileNotFoundError as error:
        if path.is_symlink():
            raise _unreadable(path, "it is a link to nothing") from error
        return None
    except NotADirectoryError as error:
        where = f"{path.parent} is not a directory; name another place"
        raise ConfigError([f"cannot use the key file {path}: {where}"]) from error
    except PermissionError as error:
        remedy = "make it and its directory readable for the user of the service"
        raise ConfigError(
            [f"cannot use the key file {path}: permission denied; {remedy}"]
        ) from error
    except OSError as error:
        raise _unreadable(path, (error.strerror or "unknown error").lower()) from error


def make_key(path: Path) -> KeyFile:
    """Make the key file, or read the one that somebody else has made first."""
    temp = path.with_name(f".{brand.PROGRAM}-{secrets.token_hex(4)}.tmp")
    try:
        path.parent.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
        try:
            _write(temp, secrets.token_bytes(KEY_BYTES))
            _place(temp, path)
        finally:
            temp.unlink(missing_ok=True)
        sync_directory(path.parent)
    except OSError as error:
        raise ConfigError(
            [
                f"cannot make the key file {path}: {(error.strerror or 'unknown error').lower()}; "
                "make its directory writable, or set LYRSVC_SECRETS_KEY_FILE or LYRSVC_MASTER_KEY"
            ]
        ) from error
    made = read_key(path)
    if made is None:
        raise _unreadable(path, "it was removed at once")
    return made


def _read(path: Path) -> KeyFile:
    descriptor = os.open(path, _AT_ONCE | _CLOSED_ON_EXEC)
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise _unreadable(path, "it is no regular file")
        key = os.read(descriptor, KEY_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(key) != KEY_BYTES or facts.st_size != KEY_BYTES:
        raise _unreadable(path, f"it has {facts.st_size} bytes, a key has {KEY_BYTES}")
    return KeyFile(key, stat.S_IMODE(facts.st_mode))


def _unreadable(path: Path, why: str) -> ConfigError:
    return ConfigError(
        [
            f"cannot use the key file {path}: {why}; put the right file back, "
            "or move it away and store the secrets again with: lyrsvc secrets set"
        ]
    )


def _write(temp: Path, data: bytes) -> None:
    with os.fdopen(os.open(temp, _NEW | _CLOSED_ON_EXEC, FILE_MODE), "wb") as file:
        if hasattr(os, "fchmod"):
            os.fchmod(file.fileno(), FILE_MODE)  # whatever the umask took away
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _place(temp: Path, path: Path) -> None:
    """Give the finished file its name, unless the name is taken."""
    try:
        os.link(temp, path)
    except FileExistsError:
        return
    except OSError:  # a file system without hard links
        with _locked(path.with_name(f"{path.name}.lock")):
            if not os.path.lexists(path):
                temp.replace(path)


@contextmanager
def _locked(lock: Path) -> Iterator[None]:
    """Hold a lock file; it stays behind, because removing it would let two hold two."""
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | _CLOSED_ON_EXEC, FILE_MODE)
    try:
        with suppress(OSError):  # where nothing can be locked, the rename alone has to do
            _lock(descriptor)
        yield
    finally:
        os.close(descriptor)


if sys.platform == "win32":

    def _lock(descriptor: int) -> None:
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)

else:

    def _lock(descriptor: int) -> None:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX)
