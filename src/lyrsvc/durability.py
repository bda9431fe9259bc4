"""Durability: what a directory holds is on the disk only when the directory itself is."""

import errno
import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

_CANNOT: Final = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EPERM})
"""What network disks and directories that may only be written to answer."""


def sync_directory(directory: "Path", *, folder: int | None = None) -> None:
    """Bring a directory's entries to the disk, where the system can.

    ``folder`` is a descriptor of the directory, where one is held.
    """
    if not hasattr(os, "O_DIRECTORY"):
        return
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    try:
        handle = os.open(directory if folder is None else ".", flags, dir_fd=folder)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
