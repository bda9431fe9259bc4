"""The bodies inside the default provider's answers: subtitles, word times, translations."""

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeGuard

from lyrsvc.core.errors import Malformed
from lyrsvc.core.keys import match_key
from lyrsvc.core.lrc import read_lrc
from lyrsvc.core.lyrics import Cue, Word
from lyrsvc.providers.answers import as_list, as_ms, as_object, as_text, is_number

REACH_MS: Final = 300
"""How far a line of word times may lie from its cue."""
UNIT_ERROR: Final = 100
"""Words this many times past the last cue were given in another unit."""


def read_subtitle(body: str) -> tuple[Cue, ...]:
    """Decode a subtitle body, a JSON cue array or LRC text, or raise ``Malformed``."""
    try:
        entries = json.loads(body)
    except (ValueError, RecursionError):
        cues = read_lrc(body).cues
    else:
        cues = tuple(sorted(_array_cues(as_list(entries)), key=lambda cue: cue.ms))
    if not cues:
        raise Malformed(f"unknown subtitle encoding, {len(body.encode())} bytes")
    return cues


def bind_words(cues: Sequence[Cue], body: str) -> tuple[Cue, ...]:
    """Give the cues with the word times of a richsync body, as far as its lines fit."""
    lines = _word_lines(body)
    if not cues or not lines or _is_unit_error(cues, lines):
        return tuple(cues)
    bound = list(cues)
    starts = [cue.ms for cue in cues]
    for line in lines:
        place = _place(bound, starts, line)
        if place is not None and not bound[place].words:
            bound[place] = replace(bound[place], words=line.words, end_ms=line.end_ms)
    return tuple(bound)


def bind_translation(
    cues: Sequence[Cue], rows: Sequence[object], language: str
) -> tuple[Cue, ...] | None:
    """Give the translated lines at the times of their originals; None when no row fits.

    A row binds to every cue with its words, because refrains repeat.
    """
    texts: dict[str, str] = {}
    for row in rows:
        found = as_object(as_object(row).get("translation"))
        original = as_text(found.get("subtitle_matched_line")).strip()
        original = original or as_text(found.get("matched_line"))
        translated = as_text(found.get("description"))
        if translated.strip() and _is_language(found, language):
            texts.setdefault(match_key(original), translated)
    texts.pop("", None)
    keyed = ((cue.ms, match_key(cue.text)) for cue in cues)
    return tuple(Cue(ms, texts[key]) for ms, key in keyed if key in texts) or None


def _array_cues(entries: Sequence[object]) -> Iterator[Cue]:
    for entry in map(as_object, entries):
        ms = _cue_ms(as_object(entry.get("time")))
        if ms is not None:
            yield Cue(ms, as_text(entry.get("text")))


def _cue_ms(time: Mapping[str, Any]) -> int | None:
    """Read minutes, seconds and hundredths as given; the total counts when they are absent."""
    units = {"minutes": 60_000, "seconds": 1000, "hundredths": 10}
    parts = [value * ms for unit, ms in units.items() if _is_part(value := time.get(unit))]
    if len(parts) < len(units):
        return as_ms(time.get("total"))
    return int(sum(parts))


def _is_part(value: object) -> TypeGuard[int | float]:
    return is_number(value) and 0 <= value < 1e5


def _word_lines(body: str) -> list[Cue]:
    try:
        entries = json.loads(body)
    except (ValueError, RecursionError):
        return []
    lines = (_word_line(as_object(entry)) for entry in as_list(entries))
    return [line for line in lines if line is not None and line.words]


def _word_line(entry: Mapping[str, Any]) -> Cue | None:
    start_ms = as_ms(entry.get("ts"))
    if start_ms is None:
        return None
    words: list[Word] = []
    for chunk in map(as_object, as_list(entry.get("l"))):
        text, offset_ms = as_text(chunk.get("c")), as_ms(chunk.get("o"))
        if not text.strip():
            if words:  # a blank is a chunk of its own and belongs to the word before it
                words[-1] = Word(words[-1].ms, words[-1].text + text)
        elif offset_ms is not None:
            words.append(Word(start_ms + offset_ms, text))
    return Cue(start_ms, as_text(entry.get("x")), tuple(words), as_ms(entry.get("te")))


def _is_unit_error(cues: Sequence[Cue], lines: Sequence[Cue]) -> bool:
    last_word_ms = max(line.words[-1].ms for line in lines)
    return last_word_ms > UNIT_ERROR * max(cues[-1].ms, 1000)


def _place(cues: Sequence[Cue], starts: Sequence[int], line: Cue) -> int | None:
    """Find the one cue a line belongs to; of several in reach the one with the same words."""
    near = range(bisect_left(starts, line.ms - REACH_MS), bisect_right(starts, line.ms + REACH_MS))
    if len(near) > 1:
        words = _unspaced(line.text or "".join(word.text for word in line.words))
        near_enough = [place for place in near if _unspaced(cues[place].text) == words]
    else:
        near_enough = list(near)
    return min(near_enough, key=lambda place: abs(starts[place] - line.ms), default=None)


def _unspaced(text: str) -> str:
    return "".join(text.split())


def _is_language(row: Mapping[str, Any], language: str) -> bool:
    given = as_text(row.get("selected_language")).casefold()
    return not given or given == language.casefold()
