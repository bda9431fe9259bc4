"""How far a long command is: one line that redraws itself, or a log line now and then.

On a terminal the line never wraps, is drawn at most ten times a second, makes
way for log lines and is gone at the end. Elsewhere an INFO line tells the same
every minute, and once more at the end.
"""

import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final, Self, TextIO

from lyrsvc.core.display import ELLIPSIS, display_width, escape_controls, fit
from lyrsvc.core.ports import Clock
from lyrsvc.logs.console import encodable

DRAWS_PER_SECOND: Final = 10
UPDATE_EVERY_S: Final = 0.125
REPORT_EVERY_S: Final = 60.0
WAIT_FORM: Final = "waiting {time}: {reason}"

_USUAL_WIDTH: Final = 80
_SHORTEST_NAME: Final = 8
_GAP: Final = "  "
_LOG: Final = logging.getLogger("lyrsvc.progress")


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """What is known about a running command; rates and times are worked out from it."""

    done: int = 0
    total: int | None = None
    noun: str = "files"
    counters: Mapping[str, int] = field(default_factory=dict)
    current: str = ""
    rate: float = 0.0
    left_s: float | None = None
    wait_s: float = 0.0
    reason: str = ""
    wait_form: str = WAIT_FORM


class ProgressLine:
    """Shows progress on a stream; every method may be called from any thread.

    ``enabled`` says that the stream is a terminal the user wants a line on.
    ``summary`` logs a closing line where there is no terminal; commands that print
    their own do without. ``update`` may name the pace, in seconds per step, of the
    lane that is waited for.
    """

    def __init__(
        self,
        stream: TextIO,
        clock: Clock,
        enabled: bool,  # noqa: FBT001 the one switch there is
        *,
        width: Callable[[], int] | None = None,
        noun: str = "files",
        summary: bool = True,
    ) -> None:
        self._stream = stream
        self._clock = clock
        self.enabled = enabled
        self._width = width or (lambda: terminal_width(stream))
        self._mark = ELLIPSIS if encodable(ELLIPSIS, stream) == ELLIPSIS else "~"
        self._lock = threading.RLock()
        self._progress = Progress(noun=noun)
        self._first: tuple[float, int] | None = None
        self._draws: deque[float] = deque(maxlen=DRAWS_PER_SECOND)
        self._shown = ""
        self._reported_at = clock.monotonic()
        self._closed = False
        self._has_summary = summary

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def update(
        self,
        *,
        done: int,
        total: int | None = None,
        counters: Mapping[str, int] | None = None,
        current: str = "",
        pace_s: float | None = None,
    ) -> None:
        """Take note of a step and show it when it is time."""
        with self._lock:
            now = self._clock.monotonic()
            self._first = self._first or (now, done)
            rate = _rate(done - self._first[1], now - self._first[0])
            self._progress = Progress(
                done=done,
                total=total,
                noun=self._progress.noun,
                counters=dict(counters or {}),
                current=current,
                rate=rate,
                left_s=_left(done, total, rate, pace_s),
            )
        self._show(every_s=UPDATE_EVERY_S)

    def countdown(self, seconds: float, reason: str, *, form: str = WAIT_FORM) -> None:
        """Show how long the command waits and why; the next update ends it.

        ``form`` is the sentence, with ``{time}`` and ``{reason}`` in it.
        """
        with self._lock:
            known = self._progress
            self._progress = replace(
                known, current="", wait_s=max(seconds, 0.0), reason=reason, wait_form=form
            )
            begins = known.wait_s == 0
        self._show(every_s=0.0 if begins else UPDATE_EVERY_S)

    @contextmanager
    def log_through(self) -> Iterator[None]:
        """Take the line away while something else is written to the stream.

        Never log inside: the log's console calls this itself.
        """
        if not self.enabled:
            yield
            return
        with self._lock:
            line = self._shown
            self._erase()
            try:
                yield
            finally:
                if line and self._may_draw(every_s=0.0):
                    self._draw()

    def close(self) -> None:
        """Erase the line, or log the summary; may be called twice."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._erase()
        if self._has_summary and not self.enabled and self._first is not None:
            summary = replace(self._progress, current="", left_s=None, wait_s=0.0)
            _LOG.info("finished", extra={"fields": _fields(summary)})

    def _show(self, *, every_s: float) -> None:
        if self.enabled:
            with self._lock:
                if not self._closed and self._may_draw(every_s=every_s):
                    self._draw()
        elif self._is_time_to_report():
            _LOG.info("progress", extra={"fields": _fields(self._progress)})

    def _is_time_to_report(self) -> bool:
        with self._lock:
            now = self._clock.monotonic()
            if self._closed or now - self._reported_at < REPORT_EVERY_S:
                return False
            self._reported_at = now
            return True

    def _may_draw(self, *, every_s: float) -> bool:
        now = self._clock.monotonic()
        if self._draws and now - self._draws[-1] < every_s:
            return False
        return len(self._draws) < DRAWS_PER_SECOND or now - self._draws[0] >= 1.0

    def _draw(self) -> None:
        columns = self._columns()
        line = compose(self._progress, columns, mark=self._mark, known=self._known)
        if self._put(f"\r{' ' * columns}\r{line}"):
            self._shown = line
            self._draws.append(self._clock.monotonic())

    def _erase(self) -> None:
        if self._shown:
            self._shown = ""
            self._put(f"\r{' ' * self._columns()}\r")

    def _columns(self) -> int:
        # The last column stays free: writing there makes some terminals wrap.
        width = self._width()
        return max((width if width > 0 else _USUAL_WIDTH) - 1, 1)

    def _known(self, text: str) -> str:
        return encodable(text, self._stream)

    def _put(self, text: str) -> bool:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self.enabled = False  # the terminal is gone
            return False
        return True


def compose(
    progress: Progress,
    columns: int,
    *,
    mark: str = ELLIPSIS,
    known: Callable[[str], str] = str,
) -> str:
    """Write the line so that it fits, leaving out what matters least."""
    parts = {name: known(escape_controls(text)) for name, text in _parts(progress).items() if text}
    name = parts.pop("current", "")
    for least in ("rate", "counters", "left", "wait"):
        if _joined_width(parts) > columns:
            if least == "wait" and least in parts:
                parts[least] = f"wait {_clock_face(progress.wait_s)}"
            else:
                parts.pop(least, None)
    line = fit(_GAP.join(parts.values()), columns, mark=mark)
    room = columns - display_width(line) - len(_GAP)
    if name and room >= _SHORTEST_NAME:
        line += _GAP + fit(name, room, mark=mark)
    return line


def is_wanted(stream: TextIO | None, *, term: str, quiet: bool, as_json: bool) -> bool:
    """Tell whether a progress line belongs on this stream."""
    if stream is None or quiet or as_json or term == "dumb":
        return False
    try:
        return stream.isatty()
    except ValueError:  # closed
        return False


def terminal_width(stream: TextIO) -> int:
    """Ask the terminal behind the stream for its width."""
    try:
        return os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError, AttributeError):
        return _USUAL_WIDTH


def _parts(progress: Progress) -> dict[str, str]:
    total = progress.total
    steps = f"{progress.done} {progress.noun}" if total is None else f"{progress.done}/{total}"
    face = _clock_face(progress.wait_s)
    wait = progress.wait_form.replace("{time}", face).replace("{reason}", progress.reason)
    left = "" if progress.left_s is None else f"{_clock_face(progress.left_s)} left"
    return {
        "steps": steps,
        "wait": wait if progress.wait_s else "",
        "counters": " ".join(f"{count} {name}" for name, count in progress.counters.items()),
        "rate": _rate_text(progress.rate),
        "left": left,
        "current": progress.current.strip(),
    }


def _joined_width(parts: Mapping[str, str]) -> int:
    return sum(display_width(text) for text in parts.values()) + len(_GAP) * (len(parts) - 1)


def _rate(steps: int, seconds: float) -> float:
    return steps / seconds if steps > 0 and seconds > 0 else 0.0


def _left(done: int, total: int | None, rate: float, pace_s: float | None) -> float | None:
    if total is None or total <= done:
        return None
    if pace_s is not None:
        return (total - done) * pace_s
    return (total - done) / rate if rate else None


def _rate_text(rate: float) -> str:
    if not rate:
        return ""
    if rate >= 10:
        return f"{rate:.0f}/s"
    return f"{rate:.1f}/s" if rate >= 1 else f"{rate * 60:.1f}/min"


def _clock_face(seconds: float) -> str:
    whole = int(min(seconds, 359_999_999.0) + 0.999)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _fields(progress: Progress) -> dict[str, object]:
    fields: dict[str, object] = {"done": progress.done}
    if progress.total is not None:
        fields["total"] = progress.total
    if progress.counters:
        fields["counters"] = dict(progress.counters)
    if progress.rate:
        fields["per_minute"] = round(progress.rate * 60, 1)
    if progress.left_s is not None:
        fields["left_s"] = round(progress.left_s)
    if progress.wait_s:
        fields |= {"wait_s": round(progress.wait_s), "reason": progress.reason}
    if progress.current:
        fields["current"] = progress.current
    return fields
