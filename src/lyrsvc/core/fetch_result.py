"""What became of one song in one-shot and directory mode."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from lyrsvc.core.errors import LyrsvcError
from lyrsvc.core.lyrics import Matched, Quality
from lyrsvc.core.outcome import Attempt
from lyrsvc.core.recording import Recording
from lyrsvc.core.sidecar import Kind
from lyrsvc.core.verdict import Verdict

EXIT_MISS: Final = 3
PREVIEW_LINES: Final = 5


class FetchState(StrEnum):
    """How a song ended."""

    SYNCED = "synced"
    UNSYNCED = "unsynced"
    INSTRUMENTAL = "instrumental"
    PRESENT = "present"
    MISS = "miss"
    FAILED = "failed"


STATE_OF_KIND: Final = {
    Kind.LRC: FetchState.SYNCED,
    Kind.ELRC: FetchState.SYNCED,
    Kind.TXT: FetchState.UNSYNCED,
    Kind.MARKER: FetchState.INSTRUMENTAL,
}
STATE_OF_QUALITY: Final = {
    Quality.WORD_SYNCED: FetchState.SYNCED,
    Quality.SYNCED: FetchState.SYNCED,
    Quality.UNSYNCED: FetchState.UNSYNCED,
    Quality.INSTRUMENTAL: FetchState.INSTRUMENTAL,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class FetchResult:
    """One line of the result; ``file`` was written or stands there, ``reason`` says why not."""

    state: FetchState
    label: str
    is_path: bool = False
    lane: str = ""
    file: str = ""
    reason: str = ""
    text: str = ""
    preview: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, str, str, str]:
        """Give what is printed: state, query or path, lane, file or reason."""
        return self.state, self.label, self.lane, self.file or self.reason

    def as_json(self) -> dict[str, Any]:
        """Give the shape of ``--json``."""
        fields = {
            "state": str(self.state),
            "path" if self.is_path else "query": self.label,
            "lane": self.lane or None,
            "file": self.file or None,
            "reason": self.reason or None,
            "detail": self.text or None,
        }
        return {**fields, "preview": list(self.preview)} if self.preview else fields


class Tally:
    """Counts results by state, and knows the exit code they come to."""

    def __init__(self) -> None:
        self.counts: Counter[FetchState] = Counter()

    def add(self, result: FetchResult) -> None:
        """Count a result."""
        self.counts[result.state] += 1

    @property
    def exit_code(self) -> int:
        """Give 1 when anything failed, 3 when something is merely missing, else 0."""
        if self.counts[FetchState.FAILED]:
            return LyrsvcError.exit_code
        return EXIT_MISS if self.counts[FetchState.MISS] else 0

    def as_json(self) -> dict[str, int]:
        """Give every count, also those that are zero."""
        return {str(state): self.counts[state] for state in FetchState}

    def text(self) -> str:
        """Write the summary line."""
        return ", ".join(f"{self.counts[state]} {state}" for state in FetchState)


def evidence_lines(recording: Recording, attempts: Iterable[Attempt]) -> list[str]:
    """Explain for ``--dry-run`` what was asked and how each lane's answer was judged."""
    lines = [f"asked {_song(recording)}"]
    for attempt in attempts:
        parts = [f"lane {attempt.lane}: {attempt.answer}"]
        if attempt.matched is not None:
            parts.append(f"answered {_song(attempt.matched)}")
        if attempt.verdict is not None:
            parts += _judged(attempt.verdict)
        elif attempt.reason:
            parts.append(attempt.reason)
        lines.append("; ".join(parts))
    return lines


def preview_lines(data: bytes) -> list[str]:
    """Give the first lines of a file, its header left out."""
    lines = data.decode("utf-8", "replace").splitlines()
    return [line for line in lines if not _is_header(line)][:PREVIEW_LINES]


def _song(named: Recording | Matched) -> str:
    length = f"{named.duration_ms / 1000:.1f} s" if named.duration_ms else ""
    return " / ".join(filter(None, (named.artist, named.title, named.album, length)))


def _judged(verdict: Verdict) -> list[str]:
    delta = "unknown" if verdict.delta_s is None else f"{verdict.delta_s:.1f} s"
    return [
        f"verdict {verdict.decision} ({verdict.reason})",
        f"evidence {verdict.evidence}",
        f"title {verdict.title or '-'}, artist {verdict.artist or '-'}",
        f"version {verdict.version or '-'}, length apart {delta}",
    ]


def _is_header(line: str) -> bool:
    return line.startswith("[") and not line[1:2].isdigit()
