"""One-shot and directory mode: songs in, sidecars out, nothing kept.

Songs whose lane rests or stumbles are put aside and tried again later, while
the others go on. Breakers, pace and the answers of this run live for the run.
"""

import heapq
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count
from typing import Final

from lyrsvc import __version__
from lyrsvc.core.detection import DetectorDown
from lyrsvc.core.errors import FileFault
from lyrsvc.core.fetch_result import (
    STATE_OF_KIND,
    STATE_OF_QUALITY,
    FetchResult,
    FetchState,
    evidence_lines,
    preview_lines,
)
from lyrsvc.core.item import NOT_RUN, DetectorFinding
from lyrsvc.core.keys import match_key
from lyrsvc.core.lrc_output import HeaderFacts
from lyrsvc.core.outcome import Answer, Attempt, Broken, Missed, Outcome, Served, Unjudged
from lyrsvc.core.ports import Clock
from lyrsvc.core.recording import Recording
from lyrsvc.core.result import Accepted
from lyrsvc.core.sidecar import Fetch, FetchMode, OnDisk, render, should_fetch
from lyrsvc.files.sidecar_writing import (
    Place,
    SidecarWriter,
    WriteReport,
    WriteResult,
    refuse_unwritable,
)
from lyrsvc.files.sidecars import Beside
from lyrsvc.files.tags import TagRead, read_tags, to_recording
from lyrsvc.services.embedding import extracted
from lyrsvc.services.fetch_job import (
    FetchOptions,
    Job,
    cause_of,
    present,
    reason_of,
    result_of,
)
from lyrsvc.services.listening import LANE, Listening, heard_attempts, marker
from lyrsvc.services.lookup import Lookup, can_be_asked
from lyrsvc.services.query_names import QueryNames
from lyrsvc.services.run_memory import RunMemory

MOST_RESTS: Final = 3
"""How often a song waits for a resting lane."""
MOST_UNHEARD: Final = 1
"""How often a song waits for a classifier that is down; then it is a miss like any other."""
RETRY_AFTER_S: Final = (5.0, 30.0)
LONGEST_PAUSE: Final = timedelta(minutes=30)
"""Nobody waits longer for a spent allowance; a throttled lane says itself how long."""

_LOG = logging.getLogger("lyrsvc.fetch")


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
        listening: Listening | None = None,
    ) -> None:
        self._lookup = lookup
        self._writer = writer
        self._options = options
        self._clock = clock
        self._pause = pause
        self._listening = listening
        self._memory = RunMemory(lookup)
        self._names = QueryNames(self._beside)

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
            return self._finish(job, recording, self._ask(job, recording))
        except FileFault as fault:
            return result_of(job, FetchState.FAILED, reason=fault.reason, text=str(fault))

    def _look(self, job: Job) -> Beside | FetchResult:
        """See what stands there; the policy may already say that nothing is wanted."""
        if job.fault is not None:
            raise job.fault
        if job.sidecar is not None and self._options.mode is FetchMode.NORMAL:
            return present(job, job.sidecar)
        if job.recording is not None:
            job.place = self._names.settle(job.place, job.recording)
        beside = self._beside(job.place)
        if should_fetch(beside.state, self._options.mode) is not Fetch.FETCH:
            return present(job, beside.deciding.known_as if beside.deciding else None)
        return beside

    def _beside(self, place: Place) -> Beside:
        if self._options.dry_run and place.create and not place.directory.exists():
            return Beside()
        return self._writer.look(place) or Beside()

    def _read(self, job: Job, beside: Beside) -> Recording | FetchResult:
        """Find out what to ask; lyrics inside the file may make asking needless."""
        if job.audio is None:
            if job.recording is None:
                raise FileFault("no_metadata", f"{job.label}: nothing to ask for")
            return _named(job, job.recording)
        wants_embedded = self._options.embedded != "off"
        tags = read_tags(job.audio, enrich=self._options.enrich, embedded=wants_embedded)
        recording = to_recording(tags, job.audio, job.root)
        if tags.embedded is not None:
            result = self._from_tags(job, recording, tags, beside)
            if result is not None:
                return result
        return _named(job, recording)

    def _from_tags(
        self, job: Job, recording: Recording, tags: TagRead, beside: Beside
    ) -> FetchResult | None:
        """Use or respect lyrics inside the file; None when a fetch is still wanted."""
        if self._options.embedded == "respect":
            return result_of(job, FetchState.PRESENT, reason="embedded")
        if beside.state is OnDisk.NOTHING:
            accepted = extracted(tags, recording)
            if accepted is None:
                return None
            result = self._write(job, recording, accepted, ())
            beside = self._beside(job.place)
        else:
            result = result_of(job, FetchState.PRESENT, reason="embedded")
        wanted = should_fetch(beside.state, self._options.mode) is Fetch.FETCH
        return None if wanted and self._options.mode is not FetchMode.NORMAL else result

    def _ask(self, job: Job, recording: Recording) -> Outcome:
        """Look the recording up, unless an equal one was, or nothing could be written."""
        if not self._options.dry_run:
            refuse_unwritable(job.place)
        known = self._memory.find(recording)
        if known is not None:
            return known
        outcome = self._lookup.look_up(recording, answered=job.answered)
        self._memory.keep(recording, outcome)
        return outcome

    def _finish(self, job: Job, recording: Recording, outcome: Outcome) -> FetchResult | _Later:
        match outcome:
            case Served(accepted=accepted, attempts=attempts):
                return self._write(job, recording, accepted, attempts)
            case Missed():
                return self._miss(job, recording, outcome)
            case Unjudged():
                return self._rest(job, outcome)
            case Broken():
                return self._retry(job, outcome)

    def _miss(self, job: Job, recording: Recording, outcome: Missed) -> FetchResult | _Later:
        reason = outcome.detail or outcome.reason
        standing = self._beside(job.place).deciding
        if standing is not None:  # a miss never touches what is there
            return present(job, standing.known_as, reason=reason)
        try:
            finding = self._listen(job, recording)
        except DetectorDown as down:
            return _Later(down.until, LANE)
        if finding.verdict:
            now = self._clock.now()
            attempts = (*outcome.attempts, *heard_attempts(finding, NOT_RUN, now))
            return self._write(job, recording, marker(recording, now), attempts)
        return result_of(
            job,
            FetchState.MISS,
            reason=reason,
            text=outcome.text or job.hint,
            preview=self._evidence(recording, outcome.attempts),
        )

    def _listen(self, job: Job, recording: Recording) -> DetectorFinding:
        """Listen to an audio file; a classifier that is down is waited for once."""
        if self._listening is None or job.audio is None:
            return NOT_RUN
        try:
            return self._listening.listen_to_file(job.audio, duration_ms=recording.duration_ms or 0)
        except DetectorDown as down:
            job.unheard += not down.busy
            if job.unheard <= MOST_UNHEARD:
                raise
        return NOT_RUN

    def _evidence(self, recording: Recording, attempts: tuple[Attempt, ...]) -> tuple[str, ...]:
        return tuple(evidence_lines(recording, attempts)) if self._options.dry_run else ()

    def _rest(self, job: Job, outcome: Unjudged) -> FetchResult | _Later:
        """Wait for a lane that will open again; one that refused us will not in this run."""
        job.rests += 1
        job.answered = {a.lane: a for a in outcome.attempts if a.answer.definitive}
        hopeful = [a for a in outcome.attempts if a.waiting and self._will_open(a)]
        if hopeful and job.rests <= MOST_RESTS:
            first = min(hopeful, key=self._opening)
            return _Later(self._opening(first), f"{first.lane} ({cause_of(first)})")
        first = next(a for a in outcome.attempts if a.waiting)
        return result_of(
            job, FetchState.FAILED, lane=first.lane, reason=reason_of(first), text=first.text
        )

    def _will_open(self, attempt: Attempt) -> bool:
        soon = self._opening(attempt) <= self._clock.now() + LONGEST_PAUSE
        cause = cause_of(attempt)
        return cause != "refused" and (soon or cause == "throttled")

    def _opening(self, attempt: Attempt) -> datetime:
        return attempt.until or self._clock.now() + timedelta(minutes=1)

    def _retry(self, job: Job, outcome: Broken) -> FetchResult | _Later:
        transient = [a for a in outcome.attempts if a.answer is Answer.TRANSIENT]
        job.answered = {a.lane: a for a in outcome.attempts if a not in transient}
        if not transient or job.retries >= len(RETRY_AFTER_S):
            return result_of(
                job,
                FetchState.FAILED,
                lane=outcome.lane,
                reason=outcome.reason,
                text=outcome.text,
            )
        delay = RETRY_AFTER_S[job.retries]
        job.retries += 1
        due_at = self._clock.now() + timedelta(seconds=delay)
        return _Later(due_at, f"{transient[0].lane} ({transient[0].reason})")

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
            HeaderFacts.of(recording, version=__version__),
            translation_language=options.translation_language,
            word_timing=options.word_timing,
        )
        if not files:
            return result_of(job, FetchState.MISS, reason="no_lyrics")
        if options.dry_run:
            return result_of(
                job,
                STATE_OF_QUALITY[accepted.quality],
                lane=accepted.lane,
                reason=accepted.verdict.reason,
                preview=(*self._evidence(recording, attempts), *preview_lines(files[0].data)),
            )
        report = self._writer.write(job.place, files, quality=accepted.quality, mode=options.mode)
        return _of_report(job, accepted, report)


def _of_report(job: Job, accepted: Accepted, report: WriteReport) -> FetchResult:
    file = str(report.files[0].path) if report.files else ""
    match report.result:
        case WriteResult.WRITTEN if report.kind is not None:
            _LOG.debug("sidecar written", extra={"path": file})
            return result_of(job, STATE_OF_KIND[report.kind], lane=accepted.lane, file=file)
        case WriteResult.GONE:
            text = f"{job.place.directory} is gone"
            return result_of(job, FetchState.FAILED, reason="write_error", text=text)
        case _:
            reason = "same" if report.result is WriteResult.SAME else "not better"
            return result_of(job, FetchState.PRESENT, lane=accepted.lane, file=file, reason=reason)


def _named(job: Job, recording: Recording) -> Recording:
    """Refuse what no lane can be asked about, before any request."""
    if not match_key(recording.title):
        raise FileFault("no_title", f"{job.label}: the title is empty; name the song")
    if job.audio is not None and not can_be_asked(recording):
        raise FileFault("no_metadata", f"{job.label}: no title or artist in tags or name; tag it")
    return recording
