"""Names read from where a file lies, for audio without tags.

Only components inside the library are handed in: what lies above its root says
nothing about the music.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_SEPARATORS: Final = " -–—_"
_DASH: Final = re.compile(r"\s+[-–—]+\s+")
_NUMBER: Final = re.compile(r"[0-9]{1,3}(?:[-.][0-9]{1,3})?\.?")
_NUMBERED: Final = re.compile(r"[0-9]{1,3}(?:[-.][0-9]{1,3})?(?:\s*[-._)]+\s*|\s+)(?=\S)(.+)")
_CERTAIN_NUMBER: Final = re.compile(
    r"(?:0[0-9]{1,2}\s+|[0-9]{1,3}\s*[._)]\s*|[0-9]{1,3}-)(?=\S)(.+)"
)
_BARE_YEAR: Final = r"(?:19|20)[0-9]{2}"
_YEAR: Final = rf"[(\[{{]?{_BARE_YEAR}[)\]}}]?"
_YEAR_FIRST: Final = re.compile(
    rf"(?!{_BARE_YEAR}[-–—]{_BARE_YEAR}\b){_YEAR}"
    r"(?:\s*[-–—_.]+\s*|\s+|(?<=[)\]}]))(?=\S)(.+)"
)
_YEAR_LAST: Final = re.compile(rf"(.*\S)(?:\s*[-–—_.]+\s*|\s+|(?=[(\[{{])){_YEAR}")
_SPAN_LAST: Final = re.compile(rf"\b{_BARE_YEAR}\s?[-–—]\s?{_BARE_YEAR}$")
_IN_BRACKETS: Final = re.compile(r"\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}")
_DISC: Final = re.compile(r"(?:cd|dis[ck]|disque)\s*[-_.#]*\s*[0-9]{1,2}\b.*", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class GuessedNames:
    """What a path suggests; blank where it is silent."""

    title: str = ""
    artist: str = ""
    album: str = ""


def guess_names(parts: Sequence[str]) -> GuessedNames:
    """Read the components of a path below the library root, the file name last.

    Known forms: ``NN - Artist - Title``, ``Artist - Title`` and ``NN Title`` with any
    of ``.-_`` or a blank between; the folders give ``Artist/Album``.
    """
    *folders, name = parts
    artist, title = _read_stem(_stem(name))
    title = title if title.strip(f"{_SEPARATORS}.") else ""
    if folders and _DISC.fullmatch(folders[-1].strip()):
        folders = folders[:-1]
    album = without_year(folders[-1]) if folders else ""
    if not artist and len(folders) >= 2:
        artist = folders[-2].strip()
    return GuessedNames(title=title, artist=artist, album=album)


def without_year(folder: str) -> str:
    """Give an album folder's name without the year of its release at either end.

    A year with nothing but brackets beside it is the name itself, and a span of years is part
    of one: ``1989 [2014]``, ``1987 (Deluxe)``, ``Hits 1975-1999``.
    """
    name = folder.strip()
    found = _YEAR_FIRST.fullmatch(name)
    if found and _IN_BRACKETS.sub("", found[1]).strip(_SEPARATORS):
        return found[1].strip(_SEPARATORS)
    found = _YEAR_LAST.fullmatch(name)
    if found and not _SPAN_LAST.search(name):
        return found[1].strip(_SEPARATORS)
    return name


def _stem(name: str) -> str:
    stem, dot, _ = name.rpartition(".")
    stem = stem if dot and stem else name
    if " " not in stem:  # names made for the web write blanks as underscores
        stem = stem.replace("_", " ")
    return stem.strip()


def _read_stem(stem: str) -> tuple[str, str]:
    """Give artist and title of a file's name, blank where no known form says them."""
    pieces = [piece.strip() for piece in _DASH.split(stem) if piece.strip()]
    numbers = [index for index, piece in enumerate(pieces[:-1]) if _NUMBER.fullmatch(piece)]
    if numbers[:1] == [0]:
        return _named(pieces[1:])
    if numbers and numbers[0] in (1, 2):  # Artist - Album - NN - Title
        return pieces[0], " - ".join(pieces[numbers[0] + 1 :])
    if len(pieces) >= 2:
        found = _CERTAIN_NUMBER.fullmatch(pieces[0])
        return found[1] if found else pieces[0], " - ".join(pieces[1:])
    found = _NUMBERED.fullmatch(stem)
    return "", found[1].strip() if found else ""


def _named(pieces: list[str]) -> tuple[str, str]:
    if len(pieces) == 1:
        return "", pieces[0]
    return pieces[0], " - ".join(pieces[1:])
