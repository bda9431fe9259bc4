"""The one set-up of logging, called once by every command when settings are known.

Everything hangs on the root logger, so that libraries are heard as well, but
only from warnings up. ``lyrsvc.audit`` and ``lyrsvc.notes`` are written whatever
the level; ``quiet`` alone keeps their lesser lines from the console.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TextIO

from lyrsvc import brand
from lyrsvc.logs.console import Console, Through, encoding_of
from lyrsvc.logs.formats import LEVELS, ConsoleTextFormat, JsonFormat, LineFormat, TextFormat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from lyrsvc.core.ports import Clock
    from lyrsvc.core.redaction import Redactor
    from lyrsvc.logs.rotation import RotatingFile

ALWAYS_WRITTEN: Final = (f"{brand.PROGRAM}.audit", f"{brand.PROGRAM}.notes")
"""Loggers that no level silences."""

_OURS: Final = f"{brand.PROGRAM}:"
_FOREIGN: Final = f"{_OURS}also"
_OWN_HANDLERS: Final = ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi")
_MEGABYTE: Final = 1024 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class LogConfig:
    """The ``[logging]`` section as plain values; an empty ``file`` means none.

    A ``guest`` leaves a file that another process writes to it without a word.
    """

    level: str = "info"
    format: str = "text"
    file: str | Path = ""
    max_size_mb: int = 10
    max_files: int = 5
    max_age_days: int = 30
    compress: bool = True
    guest: bool = False


class Logs:
    """What was set up: the console, perhaps a file, and how to end them."""

    def __init__(self, console: Console, file: RotatingFile | None, form: LineFormat) -> None:
        self.console = console
        self.file = file
        self._form = form

    def let_overhear(self, handler: logging.Handler) -> None:
        """Have a further handler hear every line from now on; it stays the caller's own."""
        _attach(handler, "also", self._form)

    def draw_through(self, through: Through | None) -> None:
        """Let log lines pass through a progress line; None ends it."""
        self.console.draw_through(through)

    def reopen(self) -> None:
        """Open the log file anew, as SIGHUP asks; safe in a signal handler."""
        if self.file is not None:
            self.file.reopen()

    def close(self) -> None:
        """Take every handler away again and leave the levels as Python has them."""
        _take_away()
        logging.getLogger().setLevel(logging.WARNING)
        for name in (brand.PROGRAM, *ALWAYS_WRITTEN):
            logging.getLogger(name).setLevel(logging.NOTSET)


def set_up(
    config: LogConfig,
    *,
    redactor: Redactor,
    stream: TextIO | None,
    clock: Clock,
    quiet: bool = False,
    also: Iterable[logging.Handler] = (),
) -> Logs:
    """Put the handlers in place, replacing those of an earlier call.

    ``also`` are further handlers, such as the memory behind the log page; they
    stay the caller's own, but write in the configured format.
    """
    _take_away()
    _leave_out_what_nobody_shows()
    _set_levels(LEVELS[config.level.lower()])
    console = Console(stream)
    console.setLevel(logging.WARNING if quiet else logging.NOTSET)
    console.setFormatter(_console_format(config, redactor, stream))
    file = _open_file(config, redactor, clock, console)
    logging.captureWarnings(True)  # noqa: FBT003 the signature is logging's
    form = _format(config, redactor)
    for name, handler in (("console", console), ("file", file), *(("also", one) for one in also)):
        if handler is not None:
            _attach(handler, name, form)
    return Logs(console, file, form)


def _leave_out_what_nobody_shows() -> None:
    """Spare every record the look for its caller, its thread and its process."""
    logging._srcfile = None  # as logging's own guide says
    logging.logThreads = False
    logging.logProcesses = False
    logging.logMultiprocessing = False


def _attach(handler: logging.Handler, name: str, form: LineFormat) -> None:
    handler.set_name(f"{_OURS}{name}")
    if handler.formatter is None:
        handler.setFormatter(form)
    logging.getLogger().addHandler(handler)


def _set_levels(level: int) -> None:
    logging.getLogger().setLevel(max(level, logging.WARNING))
    logging.getLogger(brand.PROGRAM).setLevel(level)
    for name in ALWAYS_WRITTEN:
        logging.getLogger(name).setLevel(logging.DEBUG)
    for name in _OWN_HANDLERS:
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
        logger.setLevel(logging.NOTSET)


def _console_format(config: LogConfig, redactor: Redactor, stream: TextIO | None) -> LineFormat:
    if config.format != "json":
        return ConsoleTextFormat(redactor)
    knows_unicode = encoding_of(stream).lower().startswith("utf")
    return JsonFormat(redactor, ascii_only=not knows_unicode)


def _format(config: LogConfig, redactor: Redactor) -> LineFormat:
    return JsonFormat(redactor) if config.format == "json" else TextFormat(redactor)


def _open_file(
    config: LogConfig, redactor: Redactor, clock: Clock, console: Console
) -> RotatingFile | None:
    if not str(config.file):
        return None

    def warn(what: str, why: str) -> None:
        _warn_on(console, what, file=str(config.file), reason=why)

    try:
        file = _rotating_file(config, clock, warn)
        file.open()
    except (OSError, ValueError) as fault:  # ValueError: a zero byte in the path
        warn("log file cannot be created; logging to stderr only", str(fault))
        return None
    file.setFormatter(_format(config, redactor))
    return file


def _rotating_file(
    config: LogConfig, clock: Clock, warn: Callable[[str, str], None]
) -> RotatingFile:
    # Short commands seldom have a log file and should not pay for one.
    from pathlib import Path

    from lyrsvc.logs.old_logs import FilePlan
    from lyrsvc.logs.rotation import RotatingFile

    plan = FilePlan(
        path=Path(config.file),
        max_bytes=config.max_size_mb * _MEGABYTE,
        max_files=config.max_files,
        max_age_days=config.max_age_days,
        compress=config.compress,
    )
    return RotatingFile(plan, clock=clock, warn=warn, guest=config.guest)


def _warn_on(console: Console, what: str, **fields: str) -> None:
    logger = logging.getLogger(f"{brand.PROGRAM}.logs")
    if logger.isEnabledFor(logging.WARNING):
        record = logger.makeRecord(
            logger.name, logging.WARNING, __file__, 0, what, (), None, extra={"fields": fields}
        )
        console.handle(record)


def _take_away() -> None:
    root = logging.getLogger()
    for handler in [one for one in root.handlers if (one.name or "").startswith(_OURS)]:
        root.removeHandler(handler)
        if handler.name != _FOREIGN:
            handler.close()
    logging.captureWarnings(False)  # noqa: FBT003 the signature is logging's
