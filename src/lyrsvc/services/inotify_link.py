"""The kernel's watches on directories; the only place that speaks to inotify."""

import errno
import select
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from lyrsvc.core.errors import LyrsvcError

LIMIT_FILE: Final = Path("/proc/sys/fs/inotify/max_user_watches")


class Bit:
    """The bits of an event's mask, as the kernel fixed them."""

    CLOSE_WRITE: Final = 0x0008
    MOVED_FROM: Final = 0x0040
    MOVED_TO: Final = 0x0080
    CREATE: Final = 0x0100
    DELETE: Final = 0x0200
    DELETE_SELF: Final = 0x0400
    MOVE_SELF: Final = 0x0800
    UNMOUNT: Final = 0x2000
    OVERFLOW: Final = 0x4000
    IGNORED: Final = 0x8000
    ONLYDIR: Final = 0x01000000
    DONT_FOLLOW: Final = 0x02000000
    ISDIR: Final = 0x40000000


_ENTRIES: Final = (
    Bit.CLOSE_WRITE | Bit.MOVED_FROM | Bit.MOVED_TO | Bit.CREATE | Bit.DELETE | Bit.ONLYDIR
)
_INSIDE: Final = _ENTRIES | Bit.DONT_FOLLOW
_ROOT: Final = _ENTRIES | Bit.DELETE_SELF | Bit.MOVE_SELF
"""A root may be a link, and nobody above it tells that it went."""

_NAMES: Final = {
    Bit.CLOSE_WRITE: "close_write",
    Bit.MOVED_FROM: "moved_from",
    Bit.MOVED_TO: "moved_to",
    Bit.CREATE: "create",
    Bit.DELETE: "delete",
}


class Unsupported(LyrsvcError):
    """This system cannot tell about changes of directories."""

    code = "unsupported"


class Event(NamedTuple):
    """What the kernel said: which watch, what happened, to which name in it."""

    watch: int
    mask: int
    name: str

    def describe(self) -> str:
        """Name what happened, as in ``create`` or ``moved_to,isdir``."""
        what = next((name for bit, name in _NAMES.items() if self.mask & bit), "other")
        return f"{what},isdir" if self.mask & Bit.ISDIR else what


class InotifyLink:
    """One inotify instance; a read can be woken from another thread."""

    def __init__(self) -> None:
        if sys.platform != "linux":
            raise Unsupported(f"no file events on {sys.platform}")
        from inotify_simple import INotify  # type: ignore[import-untyped] # it exists on Linux only

        self._inotify = INotify()
        self._ear, self._mouth = socket.socketpair()
        self._mouth.setblocking(False)  # noqa: FBT003 - the library's own way
        self._poll = select.poll()
        self._poll.register(self._inotify.fileno(), select.POLLIN)
        self._poll.register(self._ear, select.POLLIN)

    def watch(self, path: str, *, is_root: bool) -> int:
        """Watch a directory and give the watch; the same one when it is watched already."""
        watch: int = self._inotify.add_watch(path, _ROOT if is_root else _INSIDE)
        return watch

    def unwatch(self, watch: int) -> None:
        """Give a watch up; one that is gone already is fine."""
        try:
            self._inotify.rm_watch(watch)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise

    def read(self, timeout_s: float) -> list[Event]:
        """Wait for events and give all there are; none after the time, or when woken."""
        ready = dict(self._poll.poll(max(0, round(timeout_s * 1000))))
        if self._ear.fileno() in ready:
            self._ear.recv(4096)
        if self._inotify.fileno() not in ready:
            return []
        return [Event(one.wd, one.mask, one.name) for one in self._inotify.read(timeout=0)]

    def wake(self) -> None:
        """End a read that waits; may be called from any thread, also after the end."""
        with suppress(OSError):
            self._mouth.send(b"!")

    def close(self) -> None:
        """Give up every watch; may be called twice."""
        self._inotify.close()
        self._ear.close()
        self._mouth.close()


def watch_limit() -> int | None:
    """Give how many watches the system allows a user; None when it does not say."""
    try:
        return int(LIMIT_FILE.read_text("ascii"))
    except (OSError, ValueError):
        return None


def is_quota(error: OSError) -> bool:
    """Tell whether the kernel refused because the user has too many watches."""
    return error.errno == errno.ENOSPC


def is_gone(error: OSError) -> bool:
    """Tell whether there is no such directory, or something else in its place."""
    return error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
