"""Ctrl-C, a request to end, a terminal that goes away: all stop a command with one exit code."""

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
    """Let a request to end come as an interrupt, so that everything is tidied up.

    So does the end of the terminal, unless somebody ignores it.
    """
    ending = [signal.SIGTERM]
    hang_up = getattr(signal, "SIGHUP", None)  # Windows has none
    if hang_up and signal.getsignal(hang_up) is not signal.SIG_IGN:
        ending.append(hang_up)
    try:
        before = {number: signal.signal(number, _interrupt) for number in ending}
    except ValueError:  # not in the main thread
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise Interrupted
