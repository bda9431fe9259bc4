"""One song to be fetched, and what is told about it afterwards."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from lyrsvc.core.errors import FileFault
from lyrsvc.core.fetch_result import FetchResult, FetchState
from lyrsvc.core.outcome import Answer, Attempt
from lyrsvc.core.recording import Recording
from lyrsvc.core.sidecar import FetchMode, WordTiming
from lyrsvc.files.sidecar_writing import Place

_REASON_OF_CAUSE: Final = {
    "refused": "identity_refused",
    "malformed": "bad_response",
    "unreachable": "upstream_error",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class FetchOptions:
    """How songs are fetched and written."""

    mode: FetchMode = FetchMode.NORMAL
    translation_language: str | None = None
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
    sidecar: Path | None = None
    """Seen in the listing already; without flags nothing more needs to be looked at."""
    fault: FileFault | None = None
    """What the walk already found wrong with it."""
    hint: str = ""
    """What to try when nothing is found."""
    rests: int = 0
    retries: int = 0
    unheard: int = 0
    answered: dict[str, Attempt] = field(default_factory=dict)


def present(job: Job, file: Path | None, *, reason: str = "sidecar") -> FetchResult:
    """Give the result of a song that has what it needs."""
    return result_of(job, FetchState.PRESENT, file=str(file or ""), reason=reason)


def result_of(  # noqa: PLR0913 - one keyword for each column
    job: Job,
    state: FetchState,
    *,
    lane: str = "",
    file: str = "",
    reason: str = "",
    text: str = "",
    preview: tuple[str, ...] = (),
) -> FetchResult:
    """Give the result of a song."""
    return FetchResult(
        state=state,
        label=job.label,
        is_path=job.recording is None,
        lane=lane,
        file=file,
        reason=reason,
        text=text,
        preview=preview,
    )


def cause_of(attempt: Attempt) -> str:
    """Give why a lane rests: the cause of its closing, or the class of its last answer."""
    if attempt.answer is Answer.SKIPPED:
        return attempt.reason
    refused = attempt.answer in (Answer.IDENTITY_REFUSED, Answer.TOKEN_FINISHED)
    return "refused" if refused else str(attempt.answer)


def reason_of(attempt: Attempt) -> str:
    """Give the code that is shown for a song whose lane does not open again in time."""
    cause = cause_of(attempt)
    if cause == "refused" and attempt.answer is not Answer.SKIPPED:
        return attempt.reason
    return _REASON_OF_CAUSE.get(cause, cause)
