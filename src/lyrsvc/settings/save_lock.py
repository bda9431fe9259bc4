"""The right to save the settings file, for one at a time."""

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from lyrsvc.core.ports import Clock
from lyrsvc.settings.save_errors import SaveBusy, SettingsReadOnly
from lyrsvc.settings.save_target import Target, exists, is_plain

_WAIT_S = 5.0
_STEP_S = 0.05
_NEW_DIRECTORY = 0o750


@contextmanager
def save_lock(target: Target, *, clock: Clock) -> Iterator[None]:
    """Hold the right to save; a second writer waits, then says who holds it.

    The file itself is locked as well: whoever cannot use the lock file beside it
    uses another one, but everybody who may save can open the file.
    """
    give_up_at = clock.monotonic() + _WAIT_S
    with ExitStack() as held:
        lock = _open_lock(target)
        if lock is not None:
            held.callback(os.close, lock)
            _wait(lock, target, clock, give_up_at)
            _sign(lock)
        held.callback(os.close, _lock_file(target, clock, give_up_at))
        yield


def _open_lock(target: Target) -> int | None:
    """Open the first lock file that can be; without any, the file's own lock has to do."""
    try:
        target.path.parent.mkdir(mode=_NEW_DIRECTORY, parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsReadOnly(
            f"cannot make {target.path.parent}: {error.strerror}; name another file with --config"
        ) from error
    for name in target.lock_names():
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        with suppress(OSError):
            descriptor = os.open(name, flags, 0o600)
            if is_plain(os.fstat(descriptor)):
                _share(descriptor, target.path)
                return descriptor
            os.close(descriptor)
    return None


def _share(descriptor: int, path: Path) -> None:
    """Let everybody lock who may write the file, also when root came first."""
    if os.name != "posix" or os.fstat(descriptor).st_uid != os.geteuid():
        return
    with suppress(OSError):
        there = path.stat() if exists(path) else path.parent.stat()
        os.fchmod(descriptor, 0o600 | (there.st_mode & 0o060 if exists(path) else 0))
        if os.geteuid() == 0:
            os.fchown(descriptor, there.st_uid, there.st_gid)


def _lock_file(target: Target, clock: Clock, give_up_at: float) -> int:
    """Lock the file of that name, also when it is replaced while we wait."""
    while True:
        try:
            descriptor = os.open(target.path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        except OSError:  # there is none yet, or it cannot be read: reading will tell
            return os.open(os.devnull, os.O_RDONLY)
        try:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                _wait(descriptor, target, clock, give_up_at)
            if _is_at(descriptor, target.path):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return True


def _wait(descriptor: int, target: Target, clock: Clock, give_up_at: float) -> None:
    while not _take(descriptor):
        if clock.monotonic() >= give_up_at or clock.wait(_STEP_S):
            raise SaveBusy(f"{target.path} is being saved by {_holder(target)}; try again")


def _sign(descriptor: int) -> None:
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, f"{os.getpid()}\n".encode())


def _holder(target: Target) -> str:
    for name in target.lock_names():
        with suppress(OSError):
            text = name.read_bytes()[:32].decode(errors="replace").strip()
            if text.isdigit():
                return f"process {text}"
    return "another process"


if sys.platform == "win32":

    def _take(descriptor: int) -> bool:
        import msvcrt

        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        except OSError:  # nothing can be locked there
            return True
        return True

else:

    def _take(descriptor: int) -> bool:
        import fcntl

        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a filesystem without locks
            return True
        return True
