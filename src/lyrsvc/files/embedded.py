"""Lyrics inside the tags of an audio file."""

from dataclasses import dataclass, replace
from typing import Final

from lyrsvc.core.lrc import read_lrc, split_lines, starts_with_stamp
from lyrsvc.core.lyric_lines import is_tag
from lyrsvc.core.lyrics import Cue, Word
from lyrsvc.core.ptext import clean_text
from lyrsvc.files.tag_table import RawTags, TimedFrame

_LEAST_CUES: Final = 2
_LONGEST_MS: Final = 24 * 3600 * 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class EmbeddedLyrics:
    """Words found in tags: timed cues, or else the text as it stands there."""

    cues: tuple[Cue, ...] = ()
    text: str | None = None


def find_embedded(raw: RawTags) -> EmbeddedLyrics | None:
    """Choose the best lyrics among the tags: timed frames, then timed text, then plain text."""
    if not raw.timed and not any(map(raw.values.get, raw.family.words)):
        return None
    for frame in raw.timed:
        cues = _frame_cues(frame, raw.frame_ms)
        if cues:
            return EmbeddedLyrics(cues=cues)
    family = raw.family
    timed_texts, plain_texts = _texts(raw, family.synced_lyrics), _texts(raw, family.lyrics)
    for text in timed_texts + plain_texts:
        cues = _text_cues(text)
        if cues:
            return EmbeddedLyrics(cues=cues)
    for text in plain_texts + timed_texts:
        return EmbeddedLyrics(text=text)
    return None


def _texts(raw: RawTags, keys: tuple[str, ...]) -> list[str]:
    """Give the first non-blank text of each tag, in the order of the table."""
    found = (next(filter(str.strip, raw.values.get(key, ())), "") for key in keys)
    return [clean_text(text) for text in found if text]


def _text_cues(text: str) -> tuple[Cue, ...]:
    """Read a text as LRC, nothing when it is none: most of its lines must carry a stamp."""
    lines = [line for line in split_lines(text) if line.strip() and not is_tag(line)]
    stamped = sum(map(starts_with_stamp, lines))
    if stamped * 2 <= len(lines):
        return ()
    cues = read_lrc(text).cues
    return cues if len(cues) >= _LEAST_CUES else ()


def _frame_cues(frame: TimedFrame, frame_ms: float | None) -> tuple[Cue, ...]:
    if frame.counts_frames and frame_ms is None:
        return ()
    unit = frame_ms if frame.counts_frames and frame_ms else 1.0
    entries = [(_line_ends(text), int(time * unit)) for text, time in frame.entries]
    entries = [(text, ms) for text, ms in entries if ms <= _LONGEST_MS]
    entries.sort(key=lambda entry: entry[1])
    if any("\n" in text.strip("\n") or text.startswith("\n") for text, _ in entries[1:]):
        cues = _cues_of_syllables(entries)
    else:
        cues = [Cue(ms, text.strip()) for text, ms in entries]
    return tuple(cues) if any(cue.text for cue in cues) else ()


def _cues_of_syllables(entries: list[tuple[str, int]]) -> list[Cue]:
    """Join syllables to lines; a line break before a syllable begins a line."""
    cues: list[Cue] = []
    for text, ms in entries:
        *closed, last = text.split("\n")
        if cues and closed and closed[0].strip():
            cues[-1] = _with_word(cues[-1], ms, closed[0])
        if not cues or closed:
            cues.append(Cue(ms, ""))
        if last.strip():
            cues[-1] = _with_word(cues[-1], ms, last)
    return [_trimmed(cue) for cue in cues]


def _with_word(cue: Cue, ms: int, text: str) -> Cue:
    words = (*cue.words, Word(ms, text))
    return replace(cue, ms=cue.ms if cue.words else ms, text=cue.text + text, words=words)


def _trimmed(cue: Cue) -> Cue:
    words = cue.words if len(cue.words) > 1 else ()
    return replace(cue, text=cue.text.strip(), words=words)


def _line_ends(text: str) -> str:
    return clean_text(text).replace("\r\n", "\n").replace("\r", "\n")
