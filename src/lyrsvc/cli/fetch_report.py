"""Telling what became of each song, and keeping what has to be tried again."""

import json
from collections.abc import Iterable, Iterator
from typing import TextIO

from lyrsvc.cli.progress import ProgressLine
from lyrsvc.cli.queries import BadLine
from lyrsvc.core.display import escape_controls
from lyrsvc.core.fetch_result import FetchResult, FetchState, Tally
from lyrsvc.services.fetching import Job


class Report:
    """Prints a line for each song, or one JSON document."""

    def __init__(
        self,
        out: TextIO,
        line: ProgressLine,
        *,
        as_json: bool,
        total: int | None,
        shown: bool,
    ) -> None:
        self.tally = Tally()
        self._out = out
        self._line = line
        self._as_json = as_json
        self._total = total
        self._shown = shown
        self._opening = '{"results": ['

    def add(self, result: FetchResult) -> None:
        """Print a result as soon as it is known."""
        self.tally.add(result)
        with self._line.log_through():
            self._print(result)
        self._line.update(
            done=self.tally.counts.total(),
            total=self._total,
            counters={str(state): n for state, n in self.tally.counts.items() if n},
            current=result.label,
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
            self._out.write(f"{self._opening}\n  {_json(result)}")
            self._opening = ","
            return
        self._out.write("\t".join(escape_controls(text) for text in result.columns) + "\n")
        if self._shown:
            for text in result.preview:
                self._out.write(f"    {escape_controls(text)}\n")
        self._out.flush()


class FailedList:
    """What failed or was never worked on, in a form that can be fed in again."""

    def __init__(self, bad_lines: Iterable[BadLine]) -> None:
        self._open: dict[int, Job] = {}
        self.lines = [f"# line {bad.number}: {bad.text}" for bad in bad_lines]

    def watched(self, jobs: Iterable[Job]) -> Iterator[Job]:
        """Pass jobs on, keeping in mind those without a result."""
        for job in jobs:
            self._open[id(job)] = job
            yield job

    def settle(self, job: Job, result: FetchResult) -> None:
        """Take note of a result."""
        self._open.pop(id(job), None)
        if result.state is FetchState.FAILED:
            self.lines.append(job.label)

    def add_unworked(self, rest: Iterable[Job]) -> None:
        """Add what was begun or never begun."""
        self.lines += [job.label for job in self._open.values()]
        self.lines += [job.label for job in rest]


def _json(result: FetchResult) -> str:
    text = json.dumps(result.as_json(), ensure_ascii=False)
    return text.encode("utf-8", "replace").decode()
