"""Telling whether the process that left a mark is still alive.

A number alone would not do: processes come back under old numbers, and containers
have numbers of their own. Where the system cannot say, nobody is called dead.
"""

import os
from pathlib import Path

_PROC = Path("/proc")


def own_mark() -> str:
    """Give the mark of this process; blank where the system keeps no such books."""
    return _mark(os.getpid())


def is_dead(mark: str) -> bool:
    """Tell whether a mark was surely left by a process that has ended."""
    space, _, rest = mark.partition("/")
    number, _, _ = rest.partition("@")
    here = own_mark().partition("/")[0]
    if not here or space != here or not number.isdigit():
        return False
    return _mark(int(number)) != mark


def _mark(pid: int) -> str:
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        space = os.readlink(_PROC / "self/ns/pid")  # noqa: PTH115 - it points to no path
        _, _, fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")
    except (OSError, ValueError):
        return ""
    state, *rest = fields.split()
    if state in ("Z", "X"):  # ended, only not yet buried
        return ""
    started = rest[18]
    return f"{boot}:{space.strip('pid:[]')}/{pid}@{started}"
