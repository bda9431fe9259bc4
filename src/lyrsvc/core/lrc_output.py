"""Write LRC text: header, stamps, bilingual and word-timed lines.

What is written can be read again by ``core.lrc`` with the same meaning.
"""

import re
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from lyrsvc.brand import PROGRAM
from lyrsvc.core.keys import match_key
from lyrsvc.core.lyric_lines import PAUSE, is_pause
from lyrsvc.core.lyrics import Cue
from lyrsvc.core.recording import Recording

LONGEST_VALUE: Final = 500
OWN_LINE: Final = f"[by:{PROGRAM}]"
"""The first line of every LRC file of ours."""

_INVISIBLE: Final = re.compile("[\u200b\u2060\ufeff]")
_BREAK: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_LONE_HALF: Final = re.compile("[\ud800-\udfff]")
_BRACKETS: Final = str.maketrans("[]", "()")


@dataclass(frozen=True, kw_only=True, slots=True)
class HeaderFacts:
    """What a header says; names and ids are those of the file or query, never the provider's."""

    artist: str
    title: str
    version: str
    album: str = ""
    length_ms: int | None = None
    lane: str = ""
    fetched_at: datetime | None = None
    isrc: str = ""
    mbid: str = ""

    @classmethod
    def of(cls, recording: Recording, *, version: str) -> "HeaderFacts":
        """Give what a recording says about itself."""
        return cls(
            artist=recording.artist or recording.album_artist,
            title=recording.title,
            version=version,
            album=recording.album,
            length_ms=recording.duration_ms,
            isrc=recording.isrcs[0] if recording.isrcs else "",
            mbid=recording.mbid or "",
        )


def header_lines(facts: HeaderFacts) -> list[str]:
    """Give the header in its fixed order; a line without a value is left out."""
    fetched = facts.fetched_at and facts.fetched_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    values = {
        "ar": facts.artist,
        "ti": facts.title,
        "al": facts.album,
        "length": length(facts.length_ms) if facts.length_ms else "",
        "source": facts.lane,
        "fetched": fetched or "",
        "ve": f"v{facts.version}",
        "isrc": facts.isrc,
        "mbid": facts.mbid,
    }
    cleaned = {key: header_value(value) for key, value in values.items()}
    return [OWN_LINE, *(f"[{key}:{value}]" for key, value in cleaned.items() if value)]


def header_value(text: str) -> str:
    """Bring a value into one line without square brackets."""
    visible = _INVISIBLE.sub("", text).translate(_BRACKETS)
    return one_line(visible)[:LONGEST_VALUE].rstrip()


def one_line(text: str) -> str:
    """Turn control characters and line breaks into blanks and collapse the blanks."""
    return " ".join(_LONE_HALF.sub("\ufffd", _BREAK.sub(" ", text)).split())


def length(ms: int) -> str:
    """Give a length as minutes and whole seconds; minutes are not wrapped at an hour."""
    return f"{ms // 60_000:02d}:{ms // 1000 % 60:02d}"


def stamp(ms: int) -> str:
    """Give a moment as ``MM:SS.cc``; hundredths are cut off, never rounded up."""
    at = max(ms, 0)
    return f"{length(at)}.{at // 10 % 100:02d}"


def cue_lines(cues: Sequence[Cue]) -> list[str]:
    """Give one stamped line per cue, in order of time."""
    return [_plain_line(cue) for cue in _ordered(cues)]


def bilingual_lines(cues: Sequence[Cue], translation: Sequence[Cue]) -> list[str]:
    """Give each cue followed by its translation under the same stamp, paired by time alone."""
    waiting: defaultdict[int, deque[str]] = defaultdict(deque)
    for cue in translation:
        if cue.text.strip():
            waiting[cue.ms].append(cue.text)
    lines: list[str] = []
    for cue in _ordered(cues):
        lines.append(_plain_line(cue))
        if is_pause(cue.text) or not waiting[cue.ms]:
            continue
        text = waiting[cue.ms].popleft()
        if match_key(text) != match_key(cue.text):
            lines.append(_plain_line(Cue(cue.ms, text)))
    return lines


def enhanced_lines(cues: Sequence[Cue]) -> list[str]:
    """Give one stamped line per cue, with word tags where the words can be trusted."""
    return [
        _enhanced_line(cue) if is_enhanceable(cue) else _plain_line(cue) for cue in _ordered(cues)
    ]


def is_enhanceable(cue: Cue) -> bool:
    """Tell whether the words are those of the line and their times rise."""
    starts = [max(word.ms, 0) // 10 for word in cue.words if _unspaced(word.text)]
    if not starts or starts != sorted(starts) or starts[0] == starts[-1]:
        return False
    words = _unspaced("".join(word.text for word in cue.words))
    return bool(words) and words == _unspaced(cue.text)


def _enhanced_line(cue: Cue) -> str:
    line = f"[{stamp(cue.ms)}]" + "".join(
        f"<{stamp(ms)}>{piece}" for ms, piece in _pieces(cue) if piece
    )
    last_ms = max(word.ms for word in cue.words)
    if cue.end_ms is not None and cue.end_ms >= last_ms:
        line = f"{line}<{stamp(cue.end_ms)}>"
    return line


def _pieces(cue: Cue) -> Iterator[tuple[int, str]]:
    """Cut the line where its words begin; blanks stay with the word before them."""
    text = one_line(cue.text)
    at = 0
    for word in cue.words:
        start, wanted = at, len(_unspaced(word.text))
        while wanted:
            wanted -= not text[at].isspace()
            at += 1
        while start < at < len(text) and text[at].isspace():
            at += 1
        yield word.ms, text[start:at]


def _plain_line(cue: Cue) -> str:
    return f"[{stamp(cue.ms)}]{one_line(cue.text) or PAUSE}"


def _ordered(cues: Sequence[Cue]) -> list[Cue]:
    return sorted(cues, key=lambda cue: cue.ms)


def _unspaced(text: str) -> str:
    return "".join(one_line(text).split())
