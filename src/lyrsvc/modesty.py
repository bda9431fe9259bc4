"""Making way: work that can wait leaves the processor to what somebody waits for."""

import os
import sys
from contextlib import suppress


def make_way(niceness: int) -> None:
    """Let other processes come first; to be called before this one starts its threads."""
    with suppress(OSError, AttributeError):  # some sandboxes forbid even being modest
        os.nice(niceness)


def make_way_for_other_threads(niceness: int) -> None:
    """Let the rest of this process come first, where a thread can be modest for itself."""
    if sys.platform == "linux":
        make_way(niceness)
