"""Text as a terminal shows it: its width, its cutting, and nothing it could obey."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

ELLIPSIS: Final = "…"

_EMOJI_STYLE: Final = "\ufe0f"
_JAMO_TAILS: Final = range(0x1160, 0x1200)
_MARKS_PER_COLUMN: Final = 8

# Line separators and direction overrides are no control characters by name,
# but they tear or turn around a line all the same.
_UNSAFE: Final = (
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_NAMED: Final = {"\n": r"\n", "\t": r"\t"}


def escape_controls(text: str) -> str:
    r"""Show control characters as ``\n \t \xNN``, undecodable bytes as ``\xNN``."""
    if text.isascii() and text.isprintable():
        return text
    return re.sub(_UNSAFE, _escaped, text)


def display_width(text: str) -> int:
    """Count the columns a terminal needs: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(columns for _, columns in _columns(text))


def fit(text: str, width: int, *, mark: str = ELLIPSIS) -> str:
    """Cut a text to at most ``width`` columns; a cut text ends with ``mark``."""
    if len(text) <= width and text.isascii():
        return text
    room = max(width - display_width(mark), 0)
    used = kept = 0
    for index, (_, columns) in enumerate(_columns(text)):
        used += columns
        if used > width or index >= width * _MARKS_PER_COLUMN:
            return (text[:kept] + mark) if width >= display_width(mark) else ""
        if used <= room:
            kept = index + 1
    return text


def fit_end(text: str, width: int, *, mark: str = ELLIPSIS) -> str:
    """Cut the beginning of a text, so that at most ``width`` columns of its end are left."""
    if len(text) <= width and text.isascii():
        return text
    if fit(text, width, mark=mark) == text:
        return text
    room = width - display_width(mark)
    if room < 0:
        return ""
    start = max(len(text) - room * _MARKS_PER_COLUMN, 0)
    while display_width(text[start:]) > room:
        start += 1
    return mark + text[start:]


def wrap(text: str, width: int) -> list[str]:
    """Divide a text into lines of at most ``width`` columns, between words where that can be."""
    if display_width(text) <= width:
        return [text]
    lines = [""]
    for word in text.split(" "):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if display_width(joined) <= width:
            lines[-1] = joined
            continue
        rest = word
        if lines[-1]:
            lines.append("")
        while display_width(rest) > width:
            part = fit(rest, width, mark="") or rest[0]
            lines[-1:] = [part, ""]
            rest = rest[len(part) :]
        lines[-1] = rest
    return lines


def _columns(text: str) -> Iterator[tuple[str, int]]:
    before = 0
    for character in text:
        # An emoji style selector makes a narrow sign wide on newer terminals.
        columns = 2 - before if character == _EMOJI_STYLE and before == 1 else _width_of(character)
        yield character, columns
        before = columns


@lru_cache(maxsize=4096)
def _width_of(character: str) -> int:
    if unicodedata.east_asian_width(character) in {"W", "F"}:
        return 0 if unicodedata.combining(character) else 2
    if character == "\xad":
        return 1
    if ord(character) in _JAMO_TAILS or unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 1


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    if name := _NAMED.get(character):
        return name
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
