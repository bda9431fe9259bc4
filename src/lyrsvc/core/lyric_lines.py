"""What a single line of lyrics is: words, a pause, a tag, or the mark of an instrumental."""

import unicodedata
from typing import Final

from lyrsvc.core.normal_forms import normal_form

INSTRUMENTAL: Final = "♪ Instrumental ♪"
PAUSE: Final = "♪"
"""What is written for a line without words."""

NOTES: Final = frozenset("♩♪♫♬🎵🎶")
_JOINERS: Final = frozenset("\ufe0e\ufe0f")
"""Variation selectors that may follow a note."""
_ANGLES: Final = frozenset("<>")

_MARKS: Final = frozenset({"instrumental", "au:instrumental", "纯音乐,请欣赏"})


def is_text_bearing(line: str) -> bool:
    """Tell whether a line holds words to sing."""
    if line[:1].isalpha():  # as nearly every line: no tag, no frame
        return True
    if is_pause(line) or is_tag(line):
        return False
    return not (_bare(line) == "instrumental" and _is_framed(line.strip()))


def is_pause(line: str) -> bool:
    """Tell whether a line is blank or holds nothing but notes and brackets."""
    return not line[:1].isalpha() and all(map(_is_ornament, line))


def is_tag(line: str) -> bool:
    """Tell whether a line is one ``[key:value]`` tag and nothing else."""
    tag = line.strip()
    if not (tag.startswith("[") and tag.endswith("]")):
        return False
    key, colon, _ = tag[1:-1].partition(":")
    return bool(colon and key.strip()) and "]" not in tag[:-1]


def is_instrumental_mark(line: str) -> bool:
    """Tell whether a line says that there are no words, in one of the known spellings."""
    return _bare(line).replace(" ", "") in _MARKS


def _bare(line: str) -> str:
    """Give the words of a short line without the ornaments around them, in lower case."""
    if len(line) > 200:
        return line
    folded = normal_form("NFKC", line).casefold()
    start, end = 0, len(folded)
    while start < end and _is_ornament(folded[start]):
        start += 1
    while end > start and _is_ornament(folded[end - 1]):
        end -= 1
    return folded[start:end]


def _is_framed(line: str) -> bool:
    return _is_ornament(line[0]) and _is_ornament(line[-1])


def _is_ornament(character: str) -> bool:
    return (
        character.isspace()
        or character in NOTES
        or character in _JOINERS
        or character in _ANGLES
        or unicodedata.category(character) in {"Ps", "Pe"}
    )
