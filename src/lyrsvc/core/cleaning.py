"""Clean an answer once, before it is judged: the same way for every lane.

Entities are decoded exactly once, so what was cleaned before is given back as it is.
"""

import html
import re
from collections.abc import Sequence
from dataclasses import replace
from html.entities import html5
from typing import Final

from lyrsvc.core.content import exceeds_limits
from lyrsvc.core.lrc import starts_with_stamp, without_stamps
from lyrsvc.core.lyric_lines import is_instrumental_mark, is_pause, is_tag, is_text_bearing
from lyrsvc.core.lyrics import Candidate, Cue, Word
from lyrsvc.core.normal_forms import normal_form
from lyrsvc.core.scripts import is_credit
from lyrsvc.core.timing import words_of_cues

FRAME: Final = "***"
LONGEST_NOTICE: Final = 12
"""A notice that takes more lines than this is no notice."""

_LINE_END: Final = re.compile("\r\n|[\r\u2028\u2029]")
_UNWANTED: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2060\ufeff]")
_HALVES: Final = re.compile("[\ud800-\udfff]")
_ENTITY: Final = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_NUMBER_LINE: Final = re.compile(r"[(\[{][0-9]+[)\]}]")
_NOTICE_WORDS: Final = re.compile("lyrics|commercial", re.IGNORECASE)
_ELLIPSES: Final = frozenset({"...", "…"})


def clean(candidate: Candidate) -> Candidate:
    """Give the candidate with clean words; no text at all when nothing is left to sing."""
    if candidate.cleaned:
        return candidate
    cues = _clean_cues(candidate.cues)
    lines = clean_lines(candidate.plain or "")
    if any(map(starts_with_stamp, lines)):
        lines = _unstamped(lines, cues)
    texts = [cue.text for cue in cues]
    instrumental = candidate.instrumental or _is_mark(lines) or _is_mark(texts)
    return replace(
        candidate,
        cues=cues if _has_words(texts) else (),
        plain="\n".join(lines) if _has_words(lines) else None,
        instrumental=instrumental,
        translation=_clean_translation(candidate.translation),
        cleaned=True,
    )


def clean_lines(text: str) -> list[str]:
    """Clean a text and divide it into lines; a notice of the provider at the end is dropped."""
    lines = [line.rstrip() for line in _decoded(text).split("\n")]
    return _trimmed(lines[: count_without_notice(lines)])


def is_instrumental_text(text: str) -> bool:
    """Tell whether a text as it came, stamps and header included, is but an instrumental mark."""
    return _is_mark([without_stamps(line) for line in clean_lines(text)])


def clean_line(text: str) -> str:
    """Clean the text of one cue and bring it into one line without stamps."""
    return without_stamps(" ".join(_decoded(text).split("\n"))).strip()


def count_without_notice(lines: Sequence[str]) -> int:
    """Count the lines before a closing notice: a block framed by asterisks on both ends.

    Censored words begin and end lines with asterisks too, so something more must
    speak for a notice: a number after it, dots before it, its words, or a
    single framed line that stands by itself.
    """
    end = _skip_blank(lines, len(lines))
    body = end - 1 if end and _NUMBER_LINE.fullmatch(lines[end - 1].strip()) else end
    start = _frame_start(lines, body)
    while (earlier := _frame_start(lines, start)) < start:
        start = earlier
    before = _skip_blank(lines, start)
    dotted = bool(before) and lines[before - 1].strip() in _ELLIPSES
    alone = body - start == 1 and before != start
    named = any(_NOTICE_WORDS.search(line) for line in lines[start:body])
    if start == body or not (body < end or dotted or alone or named):
        return len(lines)
    return before - 1 if dotted else start


def _frame_start(lines: Sequence[str], end: int) -> int:
    """Find where the framed block that ends before a line begins; that line when there is none."""
    if not end or not lines[end - 1].strip().endswith(FRAME):
        return end
    for start in range(end - 1, max(end - 1 - LONGEST_NOTICE, -1), -1):
        line = lines[start].strip()
        if not line:
            break
        if line.startswith(FRAME) and any(lines[at].strip(" *\t") for at in range(start, end)):
            return start
    return end


def _skip_blank(lines: Sequence[str], end: int) -> int:
    while end and not lines[end - 1].strip():
        end -= 1
    return end


def _decoded(text: str) -> str:
    if text.isascii() and text.isprintable() and "&" not in text:
        return text
    decoded = _ENTITY.sub(_character, _plain_characters(text))
    # An entity may have hidden a control character or a line end.
    return normal_form("NFC", _plain_characters(decoded))


def _plain_characters(text: str) -> str:
    if _HALVES.search(text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return _UNWANTED.sub("", _LINE_END.sub("\n", text))


def _character(found: re.Match[str]) -> str:
    entity = found[0]
    return html.unescape(entity) if entity[1] == "#" else html5.get(entity[1:], entity)


def _clean_cues(cues: Sequence[Cue]) -> tuple[Cue, ...]:
    seen: dict[str, str] = {}
    cleaned = [_clean_cue(cue, seen) for cue in sorted(cues, key=lambda cue: cue.ms)]
    return tuple(cleaned[: count_without_notice([cue.text for cue in cleaned])])


def _clean_cue(cue: Cue, seen: dict[str, str]) -> Cue:
    """Clean a cue; a line that was met before is not cleaned again."""
    if cue.text not in seen:
        seen[cue.text] = clean_line(cue.text)
    return Cue(cue.ms, seen[cue.text], tuple(map(_clean_word, cue.words)), cue.end_ms)


def _clean_word(word: Word) -> Word:
    return Word(word.ms, _decoded(word.text).replace("\n", " "))


def _clean_translation(translation: Sequence[Cue] | None) -> tuple[Cue, ...] | None:
    if translation is None:
        return None
    cues = [Cue(cue.ms, clean_line(cue.text)) for cue in translation]
    return tuple(cue for cue in sorted(cues, key=lambda cue: cue.ms) if cue.text)


def _unstamped(lines: Sequence[str], cues: Sequence[Cue]) -> list[str]:
    """Take stamps out of plain words: from the cues when there are any, else line by line."""
    texts = [cue.text for cue in cues]
    if _has_words(texts) and not exceeds_limits(texts):
        return (words_of_cues(cues) or "").split("\n")
    return _trimmed([without_stamps(line) for line in lines if not _is_header(line)])


def _is_header(line: str) -> bool:
    return is_tag(line) and not starts_with_stamp(line)


def _trimmed(lines: Sequence[str]) -> list[str]:
    end = _skip_blank(lines, len(lines))
    start = 0
    while start < end and not lines[start].strip():
        start += 1
    return list(lines[start:end])


def _is_mark(lines: Sequence[str]) -> bool:
    """Tell whether the only text, tags and credits aside, is an instrumental mark."""
    found = False
    for line in lines:
        if not is_pause(line):
            if is_instrumental_mark(line):
                found = True
            elif not (is_tag(line) or is_credit(line)):
                return False
    return found


def _has_words(lines: Sequence[str]) -> bool:
    return any(map(is_text_bearing, lines)) and not _is_mark(lines)
