"""Rows of the open catalogue, from its server or from its dump, as candidates."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from lyrsvc.core.cleaning import clean, is_instrumental_text
from lyrsvc.core.content import is_instrumental_claim
from lyrsvc.core.lrc import read_lrc, split_lines, starts_with_stamp, without_stamps
from lyrsvc.core.lyric_lines import is_tag, is_text_bearing
from lyrsvc.core.lyrics import Candidate, Cue, Matched
from lyrsvc.core.verdict import Verdict
from lyrsvc.providers.answers import as_flag, as_ms, as_text

MOST_CANDIDATES: Final = 50

_ODD_STAMP: Final = re.compile(r"\s*[\[［(]\s*-?\d+\s*[:：.]")
_OTHER_FORMATS: Final = ("{", "[{", "<")


def read_row(row: Mapping[str, Any]) -> Candidate | None:
    """Read one row; None when it holds neither words nor an instrumental flag."""
    matched = Matched(
        artist=as_text(row.get("artistName")),
        title=as_text(row.get("trackName")) or as_text(row.get("name")),
        album=as_text(row.get("albumName")),
        duration_ms=as_ms(row.get("duration")) or None,
        ids=(str(row["id"]),) if row.get("id") else (),
    )
    timed = as_text(row.get("syncedLyrics"))
    plain = as_text(row.get("plainLyrics"))
    cues = read_lrc(timed).cues
    if plain.strip() and not _is_mostly_timed(timed):
        cues = ()
    if not cues and not plain.strip():
        plain = _untimed_words(timed)
    candidate = clean(
        Candidate(
            matched=matched,
            cues=cues,
            plain=plain or None,
            instrumental=as_flag(row.get("instrumental")) or _says_instrumental(timed, cues),
        )
    )
    if is_instrumental_claim(candidate):
        return Candidate(matched=matched, instrumental=True)
    return candidate if candidate.cues or candidate.plain else None


def _says_instrumental(synced: str, cues: Sequence[Cue]) -> bool:
    """Tell whether a text without words, of which reading leaves no cue, is a mark."""
    sung = any(is_text_bearing(cue.text) for cue in cues)
    return not sung and is_instrumental_text(synced)


class Harvest:
    """The candidates of one lookup, each row once, and how good they are so far."""

    def __init__(self, judge: Callable[[Candidate], Verdict]) -> None:
        self._judge = judge
        self._seen: set[str] = set()
        self._usable: list[Candidate] = []
        self._rejected: list[Candidate] = []
        self.rows = 0
        self.done = False
        """A candidate was accepted together with its timing: no further question is needed."""

    @property
    def candidates(self) -> list[Candidate]:
        """Give as many as a lane may answer with; of too many the rejected ones go first."""
        return (self._usable + self._rejected)[:MOST_CANDIDATES]

    @property
    def with_words(self) -> list[Candidate]:
        """Give those that may be used and have words, timed or not."""
        usable = [candidate for candidate in self._usable if candidate.cues or candidate.plain]
        return usable[:MOST_CANDIDATES]

    def add(self, rows: Iterable[Mapping[str, Any]]) -> bool:
        """Take rows in; tell whether one of them may be used at all."""
        usable = False
        for row in rows:
            self.rows += 1
            candidate = read_row(row)
            if candidate is None:
                continue
            verdict = self._judge(candidate)
            usable = usable or not verdict.rejected
            self.done = self.done or (verdict.accepted and bool(candidate.cues))
            self._keep(candidate, self._rejected if verdict.rejected else self._usable)
        return usable

    def _keep(self, candidate: Candidate, kept: list[Candidate]) -> None:
        if self._seen.isdisjoint(candidate.matched.ids):
            self._seen.update(candidate.matched.ids)
            kept.append(candidate)


def _is_mostly_timed(text: str) -> bool:
    """Tell whether stamps go through a text to its end; the lines that lack one would be lost.

    Under each line its translation may stand, without a stamp.
    """
    sung = [starts_with_stamp(line) for line in split_lines(text) if is_text_bearing(line)]
    return sum(sung) * 2 >= len(sung)


def _untimed_words(text: str) -> str:
    """Give the words of a text that came without the stamps it should have.

    Nothing when it may have times after all, in a form that is not read.
    """
    lines = split_lines(text)
    is_other = text.lstrip().startswith(_OTHER_FORMATS)
    if is_other or any(_ODD_STAMP.match(line) or "-->" in line for line in lines):
        return ""
    return "\n".join(without_stamps(line) for line in lines if not is_tag(line))
