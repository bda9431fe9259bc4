"""Telling what became of each song, and keeping what has to be tried again."""

import json
import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Self, TextIO

from lyrsvc.cli.listing import to_json
from lyrsvc.cli.progress import ProgressLine
from lyrsvc.cli.queries import BadLine
from lyrsvc.core.display import escape_controls
from lyrsvc.core.fetch_result import FetchResult, FetchState, Tally
from lyrsvc.services.fetch_job import Job

_SAD = (FetchState.FAILED, FetchState.MISS)
_LOG = logging.getLogger("lyrsvc.fetch")


class Total:
    """Counts the songs beside the work; until it has, nobody knows how many there are."""

    def __init__(self, count: Callable[[], Iterator[int]], *, enabled: bool) -> None:
        self.known: int | None = None
        self._count = count
        self._enabled = enabled
        self._stop = threading.Event()

    def __enter__(self) -> Self:
        if self._enabled:
            threading.Thread(target=self._run, name="count", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()

    def _run(self) -> None:
        total = 0
        for number in self._count():
            total += number
            if self._stop.is_set():
                return
        self.known = total


class Report:
    """Prints a line for each song, or one JSON document."""

    def __init__(
        self,
        out: TextIO,
        line: ProgressLine,
        *,
        as_json: bool,
        total: Total,
        shown: bool,
    ) -> None:
        self.tally = Tally()
        self._out = out
        self._line = line
        self._as_json = as_json
        self._total = total
        self._shown = shown
        self._opening = '{"results": ['
        self._told: set[str] = set()

    def add(self, result: FetchResult, *, pace_s: float | None = None) -> None:
        """Print a result as soon as it is known."""
        self.tally.add(result)
        with self._line.log_through():
            self._print(result)
        self._warn(result)
        self._line.update(
            done=self.tally.counts.total(),
            total=self._total.known,
            counters={str(state): n for state, n in self.tally.counts.items() if n},
            current=result.label,
            pace_s=pace_s,
        )

    def add_bad_line(self, bad: BadLine) -> None:
        """Count a line that named no song."""
        text = f"line {bad.number}"
        self.add(FetchResult(state=FetchState.FAILED, label=text, reason=bad.why))

    def close(self) -> None:
        """End the document."""
        if self._as_json:
            begun = "" if self._opening.startswith(",") else self._opening
            summary = json.dumps(self.tally.as_json())
            self._out.write(f'{begun}\n], "summary": {summary}}}\n')
        self._out.flush()

    def _print(self, result: FetchResult) -> None:
        if self._as_json:
            self._out.write(f"{self._opening}\n  {to_json(result.as_json())}")
            self._opening = ","
            return
        self._out.write("\t".join(escape_controls(text) for text in result.columns) + "\n")
        if self._shown:
            for text in result.preview:
                self._out.write(f"    {escape_controls(text)}\n")
        self._out.flush()

    def _warn(self, result: FetchResult) -> None:
        """Say in a sentence why nothing was found; the same sentence is said once."""
        told = f"{result.reason} {result.text}"
        if result.state in _SAD and result.text and told not in self._told:
            self._told.add(told)
            _LOG.warning("%s: %s", result.label, result.text)


class FailedList:
    """What failed or was never worked on, in a form that can be fed in again."""

    def __init__(self, bad_lines: Iterable[BadLine]) -> None:
        self._open: dict[int, Job] = {}
        self._begun = 0
        self.lines = [f"# line {bad.number}: {escape_controls(bad.text)}" for bad in bad_lines]

    def watched(self, jobs: Iterable[Job]) -> Iterator[Job]:
        """Pass jobs on, keeping in mind those without a result."""
        for job in jobs:
            self._open[id(job)] = job
            self._begun += 1
            yield job

    def settle(self, job: Job, result: FetchResult) -> None:
        """Take note of a result."""
        self._open.pop(id(job), None)
        if result.state is FetchState.FAILED:
            self.lines.append(_line(job))

    def add_unworked(self, every: Iterable[Job]) -> None:
        """Add what was begun, and of all jobs, told anew, those that never were."""
        self.lines += [_line(job) for job in self._open.values()]
        self.lines += [_line(job) for job in islice(every, self._begun, None)]


def _line(job: Job) -> str:
    """Give a line to be read again; a name with a line break can only be told to people."""
    broken = "\n" in job.label or "\r" in job.label
    return f"# {escape_controls(job.label)}" if broken else job.label
