"""Exceptions nobody caught: a line of the log, not a raw traceback on stderr."""

import logging
import sys
import threading
from collections.abc import Callable
from typing import Final

from lyrsvc import brand

_LOG: Final = logging.getLogger(f"{brand.PROGRAM}.crash")


def log_crashes() -> Callable[[], None]:
    """Log what kills a thread or escapes a destructor; give back the way to undo this."""
    thread_hook, unraisable_hook = threading.excepthook, sys.unraisablehook

    def undo() -> None:
        threading.excepthook, sys.unraisablehook = thread_hook, unraisable_hook

    threading.excepthook = _log_thread
    sys.unraisablehook = _log_unraisable
    return undo


def _log_thread(crash: threading.ExceptHookArgs) -> None:
    if crash.exc_value is not None and not isinstance(crash.exc_value, SystemExit):
        name = crash.thread.name if crash.thread else "unknown"
        _LOG.error("thread died", exc_info=crash.exc_value, extra={"fields": {"thread": name}})


def _log_unraisable(crash: "sys.UnraisableHookArgs") -> None:
    where = getattr(crash.object, "__qualname__", type(crash.object).__name__)
    _LOG.error("exception ignored", exc_info=crash.exc_value, extra={"fields": {"where": where}})
