"""The far end of the tag pool: a process that reads files until its input ends.

One message asks for some files, one answers. Whatever happens to this process, the
scan that started it goes on.
"""

import gc
import os
import sys
from typing import BinaryIO, Final

from lyrsvc.modesty import make_way
from lyrsvc.services.tag_messages import LENGTH_SIZE, length_of, packed, unpacked
from lyrsvc.services.tag_reading import read_facts

NICENESS: Final = 10
"""Reading tags makes way for everything else."""


def main() -> None:
    """Serve standard input and output."""
    make_way(NICENESS)
    gc.freeze()  # what is loaded by now stays, and need not be looked at again
    try:
        serve(sys.stdin.buffer, sys.stdout.buffer)
    except (BrokenPipeError, KeyboardInterrupt):
        os._exit(0)  # nobody listens any more, so there is nothing left to flush


def serve(asked: BinaryIO, answers: BinaryIO) -> None:
    """Answer every message until the input ends."""
    while len(head := asked.read(LENGTH_SIZE)) == LENGTH_SIZE:
        root, enrich, paths = unpacked(asked.read(length_of(head)))
        waits = _waits()
        found = [tuple(read_facts(path, root, enrich=enrich)) for path in paths]
        answers.write(packed((found, _waits() - waits)))
        answers.flush()


def _waits() -> int:
    """Give how often this process gave its core away to wait for something; 0 if nobody counts."""
    try:
        from resource import RUSAGE_SELF, getrusage
    except ImportError:  # Windows
        return 0
    return getrusage(RUSAGE_SELF).ru_nvcsw
