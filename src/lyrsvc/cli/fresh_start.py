"""Beginning once more with memory that threads do not hoard.

Each thread keeps small pieces of memory that it has freed for itself, and the C library never
takes them back while the thread lives. A service has dozens of threads, so it would grow for
hours. glibc can be told otherwise, but only by a variable that is there before a program begins.
"""

import os
import sys
from collections.abc import MutableMapping, Sequence
from contextlib import suppress
from typing import Final

TUNABLES: Final = "GLIBC_TUNABLES"
NO_HOARDS: Final = "glibc.malloc.tcache_count=0"
BEGUN: Final = "_LYRSVC_BEGUN_ANEW"
"""Set by the first beginning for the second one: what the tunables were before."""


def begin_anew(environ: MutableMapping[str, str], command: Sequence[str]) -> None:
    """Replace this process by the same program with other tunables, once.

    Returns when it has been, and where that is of no use or not possible. Whoever has set
    the hoards themselves is left alone. Children get the variables as they were.
    """
    before = environ.pop(BEGUN, None)
    if before is not None:
        if before:
            environ[TUNABLES] = before
        else:
            environ.pop(TUNABLES, None)
        return
    tunables = environ.get(TUNABLES, "")
    if not _can_be_told() or "tcache_count" in tunables:
        return
    wanted = f"{tunables}:{NO_HOARDS}" if tunables else NO_HOARDS
    with suppress(OSError):  # it works either way
        os.execve(  # noqa: S606 - the program that runs already
            sys.executable,
            [sys.executable, *command[1:]],
            {**environ, TUNABLES: wanted, BEGUN: tunables},
        )


def _can_be_told() -> bool:
    """Tell whether the C library knows the variable, and the program can be begun as it was."""
    if not sys.executable or getattr(sys, "frozen", False):
        return False
    try:
        return bool(os.confstr("CS_GNU_LIBC_VERSION"))
    except (AttributeError, ValueError, OSError):  # another system, another C library
        return False
