"""Ctrl-C and a polite request to end: both stop a command in one way, with one exit code."""

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

EXIT_INTERRUPTED = 130


class Interrupted(KeyboardInterrupt):
    """The user, or the system, wants the command to end.

    A plain ``KeyboardInterrupt`` that passes through ``exec`` of a text, as a data class does
    while its module is imported, makes the interpreter end by the signal although somebody has
    caught it. A class of our own does not.
    """


def listen_for_interrupts() -> None:
    """Let Ctrl-C raise our own exception from now on."""
    signal.signal(signal.SIGINT, _interrupt)


@contextlib.contextmanager
def ending_politely() -> Iterator[None]:
    """Let a request to end come as an interrupt, so that everything is tidied up."""
    try:
        before = signal.signal(signal.SIGTERM, _interrupt)
    except ValueError:  # not in the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise Interrupted
