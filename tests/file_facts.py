"""What tells that nobody changed a file; to have been looked at is no change."""

import os
from pathlib import Path


def touched(path: Path) -> tuple[int, ...]:
    """Give everything the system knows of a file, or of a link itself, but for its last reading."""
    facts = os.lstat(path)
    return (*facts[:7], facts.st_mtime_ns, facts.st_ctime_ns)
