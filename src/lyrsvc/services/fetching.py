"""One-shot and directory mode: songs in, sidecars out, nothing kept.

Songs whose lane rests or stumbles are put aside and tried again later, while
the others go on. Breakers, pace and the answers of this run live for the run.
"""

import heapq
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Final

from lyrsvc import __version__
from lyrsvc.core.credits import identity_artist
from lyrsvc.core.errors import FileFault
from lyrsvc.core.fetch_result import (
    STATE_OF_KIND,
    STATE_OF_QUALITY,
    FetchResult,
    FetchState,
    evidence_lines,
)
from lyrsvc.core.keys import duration_bucket, match_key
from lyrsvc.core.lrc_output import HeaderFacts
from lyrsvc.core.outcome import Attempt, Broken, Missed, Outcome, Served, Unjudged
from lyrsvc.core.ports import Clock
from lyrsvc.core.recording import Recording
from lyrsvc.core.result import Accepted
from lyrsvc.core.sidecar import Fetch, FetchMode, OnDisk, WordTiming, render, should_fetch
from lyrsvc.files.sidecar_writing import Place, SidecarWriter, WriteReport, WriteResult
from lyrsvc.files.sidecars import Beside
from lyrsvc.files.tags import TagRead, read_tags, to_recording
from lyrsvc.services.embedding import extracted
from lyrsvc.services.lookup import Lookup, can_be_asked

MOST_RESTS: Final = 3
"""How often a song waits for a resting lane."""
RETRY_AFTER_S: Final = (5.0, 30.0)
REMEMBERED: Final = 20_000
PREVIEW_LINES: Final = 5

_LOG = logging.getLogger("lyrsvc.fetch")

Identity = tuple[str, str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class FetchOptions:
    """How songs are fetched and written."""

    mode: FetchMode = FetchMode.NORMAL
    bilingual: bool = False
    word_timing: WordTiming = WordTiming.OFF
    embedded: str = "off"
    enrich: bool = True
    dry_run: bool = False


@dataclass(kw_only=True, slots=True)
class Job:
    """One song: a query, or an audio file whose tags say what to ask."""

    label: str
    place: Place
    recording: Recording | None = None
    audio: Path | None = None
    root: Path | None = None
    has_sidecar: bool = False
    """Seen in the listing already; without flags nothing more needs to be looked at."""
    rests: int = 0
    retries: int = 0
    answered: dict[str, Attempt] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Later:
    """A song that was put aside until a moment, and why."""

    due_at: datetime
    why: str


class Fetcher:
    """Works through songs, one after another."""

    def __init__(
        self,
        lookup: Lookup,
        writer: SidecarWriter,
        *,
        options: FetchOptions,
        clock: Clock,
        pause: Callable[[float, str], bool],
    ) -> None:
        self._lookup = lookup
        self._writer = writer
        self._options = options
        self._clock = clock
        self._pause = pause
        self._known: dict[Identity, Outcome] = {}

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, FetchResult]]:
        """Give the result of every song as soon as it is known."""
        aside: list[tuple[datetime, int, str, Job]] = []
        order = count()
        for job in jobs:
            yield from self._step(job, aside, order)
            while aside and aside[0][0] <= self._clock.now():
                yield from self._step(heapq.heappop(aside)[3], aside, order)
        while aside:
            due_at, _, why, job = heapq.heappop(aside)
            seconds = (due_at - self._clock.now()).total_seconds()
            if seconds > 0 and self._pause(seconds, why):
                raise KeyboardInterrupt
            yield from self._step(job, aside, order)

    def _step(
        self, job: Job, aside: list[tuple[datetime, int, str, Job]], order: Iterator[int]
    ) -> Iterator[tuple[Job, FetchResult]]:
        result = self._work(job)
        if isinstance(result, _Later):
            heapq.heappush(aside, (result.due_at, next(order), result.why, job))
        else:
            yield job, result

    def _work(self, job: Job) -> FetchResult | _Later:
        try:
            beside = self._look(job)
            if isinstance(beside, FetchResult):
                return beside
            recording = self._read(job, beside)
            if isinstance(recording, FetchResult):
                return recording
            return self._finish(job, recording, beside, self._ask(job, recording))
        except FileFault as fault:
            return _result(job, FetchState.FAILED, reason=fault.reason, text=str(fault))

    def _look(self, job: Job) -> Beside | FetchResult:
        """See what stands there; the policy may already say that nothing is wanted."""
        mode = self._options.mode
        if job.has_sidecar and mode is FetchMode.NORMAL:
            return _result(job, FetchState.PRESENT, reason="sidecar")
        beside = self._writer.look(job.place) or Beside()
        if should_fetch(beside.state, mode) is not Fetch.FETCH:
            file = str(beside.deciding.path) if beside.deciding else ""
            return _result(job, FetchState.PRESENT, file=file, reason="sidecar")
        return beside

    def _read(self, job: Job, beside: Beside) -> Recording | FetchResult:
        """Find out what to ask; lyrics inside the file may make asking needless."""
        if job.audio is None:
            if job.recording is None:
                raise FileFault("no_metadata", f"{job.label}: nothing to ask for")
            return job.recording
        wants_embedded = self._options.embedded != "off"
        tags = read_tags(job.audio, enrich=self._options.enrich, embedded=wants_embedded)
        recording = to_recording(tags, job.audio, job.root)
        if tags.embedded is not None:
            result = self._from_tags(job, recording, tags, beside)
            if result is not None:
                return result
        if not can_be_asked(recording):
            raise FileFault("no_metadata", f"{job.label}: no title or artist in tags or name")
        return recording

    def _from_tags(
        self, job: Job, recording: Recording, tags: TagRead, beside: Beside
    ) -> FetchResult | None:
        """Use or respect lyrics inside the file; None when a fetch is still wanted."""
        normal = self._options.mode is FetchMode.NORMAL
        nothing_there = beside.state is OnDisk.NOTHING
        if self._options.embedded == "extract" and nothing_there:
            accepted = extracted(tags, recording)
            if accepted is not None and normal:
                return self._write(job, recording, accepted, ())
            if accepted is not None and not self._options.dry_run:
                self._write(job, recording, accepted, ())
        return _result(job, FetchState.PRESENT, reason="embedded") if normal else None

    def _ask(self, job: Job, recording: Recording) -> Outcome:
        """Look the recording up, unless an equal one was looked up in this run."""
        identity = _identity(recording)
        known = self._known.get(identity)
        if isinstance(known, Missed):
            return known
        if isinstance(known, Served):
            again = self._lookup.serve_again(recording, known.accepted)
            if again is not None:
                return again
        outcome = self._lookup.look_up(
            recording, answered=job.answered, fresh=self._options.mode is not FetchMode.NORMAL
        )
        if isinstance(outcome, Served | Missed):
            if len(self._known) >= REMEMBERED:
                self._known.pop(next(iter(self._known)))
            self._known[identity] = outcome
        return outcome

    def _finish(
        self, job: Job, recording: Recording, beside: Beside, outcome: Outcome
    ) -> FetchResult | _Later:
        match outcome:
            case Served(accepted=accepted, attempts=attempts):
                return self._write(job, recording, accepted, attempts)
            case Missed(attempts=attempts):
                reason = outcome.detail or outcome.reason
                if beside.deciding is not None:  # a miss never touches what is there
                    file = str(beside.deciding.path)
                    return _result(job, FetchState.PRESENT, file=file, reason=reason)
                return _result(job, FetchState.MISS, reason=reason, attempts=attempts)
            case Unjudged():
                return self._rest(job, outcome)
            case Broken():
                return self._retry(job, outcome)

    def _rest(self, job: Job, outcome: Unjudged) -> FetchResult | _Later:
        job.rests += 1
        job.answered = {a.lane: a for a in outcome.attempts if a.answer.definitive}
        if job.rests > MOST_RESTS:
            return _result(
                job,
                FetchState.FAILED,
                lane=outcome.lane,
                reason="throttled",
                text=outcome.text,
                attempts=outcome.attempts,
            )
        due_at = outcome.until or self._clock.now() + timedelta(minutes=1)
        return _Later(due_at, f"{outcome.lane} rests")

    def _retry(self, job: Job, outcome: Broken) -> FetchResult | _Later:
        job.answered = {a.lane: a for a in outcome.attempts if a.answer.definitive}
        if outcome.reason == "bad_response" or job.retries >= len(RETRY_AFTER_S):
            return _result(
                job,
                FetchState.FAILED,
                lane=outcome.lane,
                reason=outcome.reason,
                text=outcome.text,
                attempts=outcome.attempts,
            )
        delay = RETRY_AFTER_S[job.retries]
        job.retries += 1
        return _Later(self._clock.now() + timedelta(seconds=delay), f"{outcome.lane} again")

    def _write(
        self,
        job: Job,
        recording: Recording,
        accepted: Accepted,
        attempts: tuple[Attempt, ...],
    ) -> FetchResult:
        options = self._options
        files = render(
            accepted,
            _header(recording),
            bilingual=options.bilingual,
            word_timing=options.word_timing,
        )
        if not files:
            return _result(job, FetchState.MISS, reason="no_lyrics", attempts=attempts)
        if options.dry_run:
            lines = files[0].data.decode("utf-8", "replace").splitlines()
            words = [line for line in lines if not _is_header(line)]
            return FetchResult(
                state=STATE_OF_QUALITY[accepted.quality],
                label=job.label,
                lane=accepted.lane,
                reason=accepted.verdict.reason,
                attempts=attempts,
                preview=(*evidence_lines(attempts), *words[:PREVIEW_LINES]),
            )
        report = self._writer.write(job.place, files, quality=accepted.quality, mode=options.mode)
        return _of_report(job, accepted, report, attempts)


def _of_report(
    job: Job, accepted: Accepted, report: WriteReport, attempts: tuple[Attempt, ...]
) -> FetchResult:
    file = str(report.files[0].path) if report.files else ""
    match report.result:
        case WriteResult.WRITTEN | WriteResult.SAME if report.kind is not None:
            _LOG.debug("sidecar in place", extra={"path": file, "result": str(report.result)})
            state = STATE_OF_KIND[report.kind]
            return _result(job, state, lane=accepted.lane, file=file, attempts=attempts)
        case WriteResult.GONE:
            text = f"{job.place.directory} is gone"
            return _result(job, FetchState.FAILED, reason="write_error", text=text)
        case _:
            return _result(job, FetchState.PRESENT, file=file, reason="not better")


def _result(  # noqa: PLR0913 - one keyword for each column
    job: Job,
    state: FetchState,
    *,
    lane: str = "",
    file: str = "",
    reason: str = "",
    text: str = "",
    attempts: tuple[Attempt, ...] = (),
) -> FetchResult:
    preview = tuple(evidence_lines(attempts)) if state is FetchState.MISS else ()
    return FetchResult(
        state=state,
        label=job.label,
        lane=lane,
        file=file,
        reason=reason,
        text=text,
        attempts=attempts,
        preview=preview,
    )


def _identity(recording: Recording) -> Identity:
    return (
        match_key(identity_artist(recording)),
        match_key(recording.title),
        duration_bucket(recording.duration_ms),
    )


def _header(recording: Recording) -> HeaderFacts:
    return HeaderFacts(
        artist=recording.artist or recording.album_artist,
        title=recording.title,
        version=__version__,
        album=recording.album,
        length_ms=recording.duration_ms,
        isrc=recording.isrcs[0] if recording.isrcs else "",
        mbid=recording.mbid or "",
    )


def _is_header(line: str) -> bool:
    return line.startswith("[") and not line[1:2].isdigit()
