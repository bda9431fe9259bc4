"""What the words of a fetch mean: a directory, an audio file, or ``artist,title``."""

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lyrsvc.core.errors import UsageError
from lyrsvc.files.tree import AUDIO_SUFFIXES


@dataclass(frozen=True, slots=True)
class Query:
    """A song named by artist and title."""

    artist: str
    title: str

    @property
    def record(self) -> str:
        """Write it as one CSV record, as ``--from`` reads it back."""
        return ",".join(_quoted(part) for part in (self.artist, self.title))


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line of a list that is no query."""

    number: int
    text: str
    why: str


def read_word(word: str, working_directory: Path) -> Path | Query:
    """Tell what a word means; a directory is never a query."""
    path = working_directory / word
    if word and path.is_dir():
        return path
    if word and path.is_file() and path.suffix.lower().lstrip(".") in AUDIO_SUFFIXES:
        return path
    try:
        return read_query(word)
    except ValueError as why:
        hint = f"; to read songs from it: --from {word}" if word and path.is_file() else ""
        raise UsageError(
            f'"{word}" is no directory, no audio file and no song: {why}{hint}'
        ) from why


def read_query(text: str) -> Query:
    """Read ``artist,title`` as one CSV record; the first comma divides, quotes protect."""
    try:
        fields = next(csv.reader([text], strict=True), [])
    except csv.Error:
        fields = text.split(",")
    if len(fields) < 2:
        raise ValueError("artist,title needs a comma")
    artist, title = fields[0].strip(), ",".join(fields[1:]).strip()
    if not artist or not title:
        raise ValueError("artist and title must both be there")
    return Query(artist, title)


def read_list(lines: Iterable[str]) -> Iterator[Query | BadLine]:
    """Read one song a line; blank lines and those that start with ``#`` are passed over."""
    for number, raw in enumerate(lines, 1):
        line = raw.removeprefix("\ufeff").rstrip("\r\n").strip()
        if not line or line.startswith("#"):
            continue
        try:
            yield read_query(line)
        except ValueError as why:
            yield BadLine(number, line, str(why))


def _quoted(part: str) -> str:
    if any(sign in part for sign in ',"\r\n') or part.startswith("#"):
        return '"' + part.replace('"', '""') + '"'
    return part
