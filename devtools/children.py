"""Start other programs: in our place, or beside us with signals passed on."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

Words = Sequence[str | Path]


def hand_over(command: Words, environ: Mapping[str, str]) -> int:
    """Become the command; where a process cannot, wait for it and give its exit code."""
    words = [str(word) for word in command]
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name != "nt":
        os.execve(words[0], words, dict(environ))  # noqa: S606 - no shell is wanted
    return run(words, environ)


def run(
    command: Words, environ: Mapping[str, str] | None = None, *, cwd: Path | None = None
) -> int:
    """Run the command to its end, however impatient the keyboard, and give its exit code."""
    sys.stdout.flush()
    child = subprocess.Popen([str(word) for word in command], env=environ, cwd=cwd)
    with _passing_on(child):
        while True:
            try:
                code = child.wait()
                break
            except KeyboardInterrupt:  # the terminal has told the child as well
                continue
    return code if code >= 0 else 128 - code


@contextmanager
def _passing_on(child: subprocess.Popen[bytes]) -> Iterator[None]:
    def terminate(_signal: int, _frame: FrameType | None) -> None:
        child.terminate()

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
