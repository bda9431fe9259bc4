"""A directory held open: what is written goes there, whatever its path comes to mean.

Below a root each name is opened from the one before it and no link is followed, so
that nobody can lead us out between the check of a path and its use.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_CAN_HOLD: Final = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
# A path handle needs no more than the right to pass, and no read of the directory.
_FLAGS: Final = (
    getattr(os, "O_PATH", os.O_RDONLY)
    | getattr(os, "O_DIRECTORY", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
)


@contextmanager
def open_folder(directory: Path, *, root: Path | None = None) -> Iterator[int | None]:
    """Hold a resolved directory inside a resolved root; None where the system cannot.

    Raises ``OSError`` when it is no longer there, or no longer without links.
    """
    if not _CAN_HOLD:
        yield None
        return
    handle = _open(directory, root)
    try:
        yield handle
    finally:
        os.close(handle)


def _open(directory: Path, root: Path | None) -> int:
    if root is None:
        return os.open(directory, _FLAGS)
    handle = os.open(root, _FLAGS)
    for name in directory.relative_to(root).parts:
        try:
            inner = os.open(name, _FLAGS, dir_fd=handle)
        finally:
            os.close(handle)
        handle = inner
    return handle
