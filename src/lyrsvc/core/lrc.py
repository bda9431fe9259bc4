"""Read LRC text: stamps, word tags, the offset and the header.

Every pattern is anchored and bounded, and expansion has a ceiling, so that
hostile text costs time and memory in proportion to its length.
"""

import codecs
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from lyrsvc.core.lyrics import Cue, Word

LONGEST_LINE: Final = 1024 * 1024
"""Longer lines are no lyrics and are passed over."""
MOST_CUES: Final = 20_000
MOST_CHARACTERS: Final = 2 * 1024 * 1024
"""Reading stops here: stacked stamps could repeat one long line without end."""

_TIME: Final = r"([0-9]{1,3}):([0-5]?[0-9])(?:[.,:]([0-9]{1,9}))?"
_STAMP: Final = re.compile(rf"\[{_TIME}\]")
_NEXT_STAMP: Final = re.compile(rf"[ \t]*\[{_TIME}\]")
_WORD_TAG: Final = re.compile(rf"<{_TIME}>")
_OFFSET: Final = re.compile(r"\s*([+-]?)\s*([0-9]{1,9})(?:\.[0-9]*)?\s*")
_LINE_END: Final = re.compile("\r\n|[\r\n\u2028\u2029]")
_BYTE_ORDER_MARK: Final = "\ufeff"


@dataclass(frozen=True, slots=True)
class LrcText:
    """What an LRC text says; header keys are in lower case and the last one wins."""

    cues: tuple[Cue, ...]
    header: Mapping[str, str]


def decode(data: bytes, *, cut: bool = False) -> str | None:
    """Decode UTF-8, or UTF-16 by its mark; None for anything else.

    With ``cut`` the bytes are the beginning of a file: a broken last character is passed over.
    """
    marked = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    encoding = "utf-16" if marked else "utf-8"
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(data, final=not cut)
    except UnicodeDecodeError:
        return None
    return text.removeprefix(_BYTE_ORDER_MARK)


def split_lines(text: str) -> list[str]:
    """Split at every kind of line end that lyrics come with."""
    return _LINE_END.split(text)


def read_lrc(text: str) -> LrcText:
    """Read cues in order of time, with the offset applied, and the header."""
    lines = _filled_lines(text)
    offset_ms = _offset(lines)
    cues = [_shifted(cue, offset_ms) for cue in _bounded(lines)]
    return LrcText(tuple(sorted(cues, key=lambda cue: cue.ms)), _header(lines))


def read_header(text: str) -> dict[str, str]:
    """Read the leading ``[key:value]`` lines; the first other line that is not blank ends them."""
    return _header(_filled_lines(text))


def starts_with_stamp(line: str) -> bool:
    """Tell whether a line begins with a stamp."""
    return _STAMP.match(_trimmed(line)) is not None


def without_stamps(line: str) -> str:
    """Give a line without its stamps and word tags."""
    # Taking a tag out may bring two halves of another one together: the second
    # round leaves a blank, which cannot.
    bare = _WORD_TAG.sub(" ", _WORD_TAG.sub("", line))
    bare = _STAMP.sub(" ", bare)
    return line if bare == line else " ".join(bare.split())


def _filled_lines(text: str) -> list[str]:
    """Give the lines with anything in them, without blanks around it."""
    return [line for line in map(_trimmed, split_lines(text)) if line]


def _header(lines: list[str]) -> dict[str, str]:
    header: dict[str, str] = {}
    for line in lines:
        tag = _tag(line)
        if not tag:
            break
        header[tag[0]] = tag[1]
    return header


def _bounded(lines: list[str]) -> Iterator[Cue]:
    cues = characters = 0
    for line in lines:
        if len(line) > LONGEST_LINE:
            continue
        for cue in _cues(line):
            cues += 1
            characters += len(cue.text)
            if cues > MOST_CUES or characters > MOST_CHARACTERS:
                return
            yield cue


def _cues(line: str) -> Iterator[Cue]:
    """Give the cues of one line; stamps further inside it begin new ones."""
    at = 0
    while at < len(line):
        times: list[int] = []
        while found := _NEXT_STAMP.match(line, at):
            times.append(_milliseconds(found))
            at = found.end()
        if not times:
            return
        inner = _STAMP.search(line, at)
        end = inner.start() if inner else len(line)
        yield from _timed(times, line[at:end].removeprefix(" ").rstrip())
        at = end


def _timed(times: list[int], text: str) -> Iterator[Cue]:
    plain, words, end_ms = _read_words(text, times[0])
    for ms in times:
        # Word tags are absolute times: they fit only a line that is sung once.
        yield Cue(ms, plain, words, end_ms) if len(times) == 1 else Cue(ms, plain)


def _read_words(text: str, start_ms: int) -> tuple[str, tuple[Word, ...], int | None]:
    """Divide a line at its word tags; a tag with nothing after it is the end."""
    tags = list(_WORD_TAG.finditer(text))
    if not tags:
        return text, (), None
    ends = [*(tag.start() for tag in tags[1:]), len(text)]
    pieces = [(start_ms, text[: tags[0].start()])]
    for tag, end in zip(tags, ends, strict=True):
        pieces.append((_milliseconds(tag), text[tag.end() : end]))
    end_ms = pieces.pop()[0] if not pieces[-1][1].strip() else None
    words: list[Word] = []
    for ms, piece in pieces:
        if words and piece[:1].isspace():
            words[-1] = _spaced(words[-1])
        if piece.strip():
            tail = " " if piece[-1].isspace() else ""
            words.append(Word(ms, " ".join(piece.split()) + tail))
    return "".join(word.text for word in words).strip(), tuple(words), end_ms


def _spaced(word: Word) -> Word:
    return word if word.text.endswith(" ") else Word(word.ms, word.text + " ")


def _shifted(cue: Cue, offset_ms: int) -> Cue:
    if not offset_ms:
        return cue
    return replace(
        cue,
        ms=cue.ms - offset_ms,
        words=tuple(Word(word.ms - offset_ms, word.text) for word in cue.words),
        end_ms=None if cue.end_ms is None else cue.end_ms - offset_ms,
    )


def _offset(lines: list[str]) -> int:
    """Give the last offset that can be read; positive means earlier."""
    for line in reversed(lines):
        tag = _tag(line)
        if tag and tag[0] == "offset" and (found := _OFFSET.fullmatch(tag[1])):
            return -int(found[2]) if found[1] == "-" else int(found[2])
    return 0


def _tag(line: str) -> tuple[str, str] | None:
    """Read a ``[key:value]`` line; a key that begins with a digit is a stamp."""
    if len(line) > LONGEST_LINE or not (line.startswith("[") and line.endswith("]")):
        return None
    key, colon, value = line[1:-1].partition(":")
    key = key.strip().lower()
    if not colon or not key or key[0].isdigit() or len(key) > 40:
        return None
    return key, value.strip()


def _trimmed(line: str) -> str:
    return line.strip().lstrip(_BYTE_ORDER_MARK).lstrip()


def _milliseconds(found: re.Match[str]) -> int:
    minutes, seconds, fraction = found.groups()
    thousandths = (fraction or "")[:3].ljust(3, "0")
    return int(minutes) * 60_000 + int(seconds) * 1000 + int(thousandths)
