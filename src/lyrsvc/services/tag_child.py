"""The far end of the tag pool: a process that reads files until its input ends.

One line of JSON asks for some files, one line answers. Whatever happens to this
process, the scan that started it goes on.
"""

import json
import os
import sys
from contextlib import suppress
from typing import BinaryIO, Final

from lyrsvc.services.tag_reading import read_facts

NICENESS: Final = 10
"""Reading tags makes way for everything else."""


def main() -> None:
    """Serve standard input and output."""
    with suppress(OSError):  # some sandboxes forbid even being modest
        os.nice(NICENESS)
    try:
        serve(sys.stdin.buffer, sys.stdout.buffer)
    except (BrokenPipeError, KeyboardInterrupt):
        os._exit(0)  # nobody listens any more, so there is nothing left to flush


def serve(asked: BinaryIO, answers: BinaryIO) -> None:
    """Answer every line until the input ends."""
    for line in asked:
        root, enrich, paths = json.loads(line)
        found = [read_facts(path, root, enrich=enrich) for path in paths]
        answers.write(json.dumps(found).encode() + b"\n")
        answers.flush()
