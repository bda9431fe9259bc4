"""What the words of a fetch mean: a directory, an audio file, or ``artist,title``."""

import csv
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lyrsvc import brand
from lyrsvc.core.errors import UsageError
from lyrsvc.core.ptext import clean_text
from lyrsvc.files.tree import AUDIO_SUFFIXES


@dataclass(frozen=True, slots=True)
class Query:
    """A song named by artist and title."""

    artist: str
    title: str
    ambiguous: bool = False
    """More than one comma stood there without quotes; only the first divided."""

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
    if word and (os.path.isdir(path) or is_audio(path)):  # noqa: PTH112 - too long is no name
        return path
    try:
        return read_query(word)
    except ValueError as why:
        is_list = word and os.path.isfile(path)  # noqa: PTH113 - as above
        hint = f"to read songs from it: --from {word}" if is_list else _meant(word)
        raise UsageError(
            f'"{word}" is no directory, no audio file and no song: {why}; {hint}'
        ) from why


def _meant(word: str) -> str:
    """Guess at a command, for those who came for one."""
    from lyrsvc.cli.commands import TOP_LEVEL
    from lyrsvc.settings.registry import nearest

    near = nearest(word, TOP_LEVEL)
    return f'did you mean the command "{near}"?' if near else f"see: {brand.PROGRAM} --help"


def read_query(text: str) -> Query:
    """Read ``artist,title`` as one CSV record; the first comma divides, quotes protect.

    A path is no song, although names in it may have commas: whatever was there is gone.
    """
    if _is_path(text):
        raise ValueError('this is a path; an artist written so needs quotes: "/artist",title')
    quoted = text.startswith('"')
    try:
        fields = next(csv.reader([text], strict=True), [])
    except csv.Error:
        fields, quoted = text.split(","), False
    if len(fields) < 2:
        raise ValueError("artist,title needs a comma")
    artist, title = _one_line(fields[0]), _one_line(",".join(fields[1:]))
    if not artist or not title:
        raise ValueError("artist and title must both be there")
    return Query(artist, title, ambiguous=len(fields) > 2 and not quoted)


def read_list(lines: Iterable[str]) -> Iterator[Path | Query | BadLine]:
    """Read one song a line; blank lines and those that start with ``#`` are passed over.

    A line that is the whole path of an audio file means that file: so does a
    failed list of directory mode name what is left.
    """
    for number, raw in enumerate(lines, 1):
        line = raw.removeprefix("\ufeff").rstrip("\r\n").strip()
        if not line or line.startswith("#"):
            continue
        path = Path(line)
        if path.is_absolute() and is_audio(path):
            yield path
            continue
        try:
            yield read_query(line)
        except ValueError as why:
            yield BadLine(number, line, str(why))


def is_audio(path: Path) -> bool:
    """Tell whether a path is that of an existing file with an audio extension."""
    return path.suffix.lower().lstrip(".") in AUDIO_SUFFIXES and os.path.isfile(path)  # noqa: PTH113 - a name too long is no file


def _is_path(text: str) -> bool:
    return text.startswith(("./", "../", "~/")) or Path(text).is_absolute()


def _one_line(text: str) -> str:
    return " ".join(clean_text(text).split())


def _quoted(part: str) -> str:
    if any(sign in part for sign in ',"\r\n') or part.startswith("#") or _is_path(part):
        return '"' + part.replace('"', '""') + '"'
    return part
