"""Sidecars as decisions: what is written, whose a file is, and what may replace it.

Pure: the bytes on disk are handed in, and what comes out is bytes or a verdict.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import sha256
from typing import Final

from lyrsvc.brand import PROGRAM
from lyrsvc.core.keys import match_key
from lyrsvc.core.lrc import decode, read_header, read_lrc, split_lines
from lyrsvc.core.lrc_output import (
    OWN_LINE,
    HeaderFacts,
    bilingual_lines,
    cue_lines,
    enhanced_lines,
    header_lines,
    header_value,
    is_enhanceable,
)
from lyrsvc.core.lyric_lines import INSTRUMENTAL
from lyrsvc.core.lyrics import Candidate, Cue, Quality
from lyrsvc.core.normal_forms import normal_form
from lyrsvc.core.result import Accepted
from lyrsvc.core.timing import words_of_cues, words_only

MARKER_BYTES: Final = f"{INSTRUMENTAL}\n".encode()
MARKER_REACH: Final = 4096
"""A marker says so within this many bytes."""

SongKeys = tuple[str, str]
"""The match keys of artist and title, as a header names them."""

_WORD_PARTS: Final = frozenset("LMN")
"""Letters, marks and numbers, by the first letter of their category."""
_VOLATILE: Final = re.compile(rb"\[(?:fetched|ve):[^\n]*\n")


class Kind(StrEnum):
    """What a sidecar is."""

    LRC = "lrc"
    TXT = "txt"
    MARKER = "marker"
    ELRC = "elrc"

    @property
    def extension(self) -> str:
        """Give the extension that files of this kind carry."""
        return ".txt" if self is Kind.MARKER else f".{self}"


class WordTiming(StrEnum):
    """Where word timing goes."""

    OFF = "off"
    SIBLING = "sibling"
    INLINE = "inline"


class FetchMode(StrEnum):
    """How far a fetch may go: plain, ``--upgrade``, ``--update``, ``--update --force``."""

    NORMAL = "normal"
    UPGRADE = "upgrade"
    UPDATE = "update"
    FORCE = "force"


class OnDisk(StrEnum):
    """What stands beside an audio file; an LRC file decides when there are both."""

    NOTHING = "nothing"
    LRC_OURS = "lrc_ours"
    LRC_FOREIGN = "lrc_foreign"
    TXT_OURS = "txt_ours"
    TXT_FOREIGN = "txt_foreign"
    MARKER_OURS = "marker_ours"
    MARKER_FOREIGN = "marker_foreign"


class Fetch(StrEnum):
    """Whether a track is fetched; ``FOREIGN`` is a skip that is counted as such."""

    FETCH = "fetch"
    SKIP = "skip"
    FOREIGN = "foreign"


@dataclass(frozen=True, slots=True)
class Rendered:
    """One file to write."""

    kind: Kind
    data: bytes

    @property
    def extension(self) -> str:
        """Give the extension of the file."""
        return self.kind.extension

    @property
    def sha256(self) -> str:
        """Give the hash by which the file is known as ours later."""
        return content_hash(self.data)


_KEEP: Final = None
_ANY: Final = Quality.INSTRUMENTAL

_LEAST_QUALITY: Final[Mapping[OnDisk, Mapping[FetchMode, Quality | None]]] = {
    on_disk: dict(zip(FetchMode, row, strict=True))
    for on_disk, row in {
        OnDisk.NOTHING: (_ANY, _ANY, _ANY, _ANY),
        OnDisk.LRC_OURS: (_KEEP, _KEEP, Quality.SYNCED, _ANY),
        OnDisk.LRC_FOREIGN: (_KEEP, _KEEP, _KEEP, _ANY),
        OnDisk.TXT_OURS: (_KEEP, Quality.SYNCED, Quality.UNSYNCED, _ANY),
        OnDisk.TXT_FOREIGN: (_KEEP, Quality.SYNCED, Quality.SYNCED, _ANY),
        OnDisk.MARKER_OURS: (_KEEP, _KEEP, _ANY, _ANY),
        OnDisk.MARKER_FOREIGN: (_KEEP, _KEEP, Quality.SYNCED, _ANY),
    }.items()
}
"""The least quality that may be written over or beside what is there; None keeps it."""


_STATES: Final = {
    Kind.LRC: (OnDisk.LRC_OURS, OnDisk.LRC_FOREIGN),
    Kind.TXT: (OnDisk.TXT_OURS, OnDisk.TXT_FOREIGN),
    Kind.MARKER: (OnDisk.MARKER_OURS, OnDisk.MARKER_FOREIGN),
}


def may_write(on_disk: OnDisk, mode: FetchMode, quality: Quality) -> bool:
    """Tell whether a result of this quality may be written."""
    least = _LEAST_QUALITY[on_disk][mode]
    return least is not None and quality >= least


def should_fetch(on_disk: OnDisk, mode: FetchMode) -> Fetch:
    """Tell whether any result could be written, and so whether to ask at all."""
    if _LEAST_QUALITY[on_disk][mode] is not None:
        return Fetch.FETCH
    if on_disk is OnDisk.LRC_FOREIGN and mode is FetchMode.UPDATE:
        return Fetch.FOREIGN
    return Fetch.SKIP


def state_of(kind: Kind | None, *, ours: bool) -> OnDisk:
    """Name the state of a stem by its deciding sidecar."""
    return OnDisk.NOTHING if kind is None else _STATES[kind][0 if ours else 1]


def render(
    accepted: Accepted,
    facts: HeaderFacts,
    *,
    translation_language: str | None = None,
    word_timing: WordTiming = WordTiming.OFF,
) -> tuple[Rendered, ...]:
    """Give the files of a result, the main one first; none when there is nothing to write.

    A translation is written only when it is in the wanted language.
    """
    if accepted.quality is Quality.NONE:
        return ()
    if accepted.quality is Quality.INSTRUMENTAL:
        return (Rendered(Kind.MARKER, MARKER_BYTES),)
    if accepted.quality >= Quality.SYNCED and words_of_cues(accepted.candidate.cues):
        pairs = _translation_in(translation_language, accepted.candidate)
        return _render_synced(accepted, facts, translation=pairs, word_timing=word_timing)
    words = words_only(accepted.candidate)
    return (Rendered(Kind.TXT, words.encode("utf-8", "replace")),) if words else ()


def content_hash(data: bytes) -> str:
    """Give the SHA-256 by which ownership is decided."""
    return sha256(data).hexdigest()


def is_marker(data: bytes) -> bool:
    """Tell whether the beginning of a ``.txt`` says instrumental."""
    head = data[:MARKER_REACH]
    text = decode(head, cut=len(head) == MARKER_REACH) or ""
    return INSTRUMENTAL.encode() in head or INSTRUMENTAL in text


def is_bare_marker(data: bytes) -> bool:
    """Tell whether a ``.txt`` says instrumental and nothing else."""
    if len(data) > MARKER_REACH:
        return False
    text = decode(data)
    return text is not None and text.strip() == INSTRUMENTAL


def is_ours_by_text(kind: Kind, data: bytes) -> bool:
    """Tell whether a file says that it is ours; for the modes that remember nothing."""
    if kind in {Kind.LRC, Kind.ELRC}:
        return _header_of(data).get("by") == PROGRAM
    return is_bare_marker(data)


def song_keys(facts: HeaderFacts) -> SongKeys:
    """Give the keys by which a file with these facts in its header is known again."""
    return match_key(header_value(facts.artist)), match_key(header_value(facts.title))


def is_of_another(lrc: bytes, song: SongKeys) -> bool:
    """Tell whether the header of an LRC file names another song; one that is silent does not."""
    header = _header_of(lrc)
    told = header.get("ar"), header.get("ti")
    return any(name and match_key(name) != key for name, key in zip(told, song, strict=True))


def is_covered(words: bytes, lrc: bytes) -> bool:
    """Tell whether the words of every line of a ``.txt`` occur in a new LRC file, in their order.

    The plain and the timed text of a song differ in case, punctuation and line
    breaks; where only these differ, no word is lost.
    """
    old, new = decode(words), decode(lrc)
    if old is None or new is None:
        return False
    known = _spelled(" ".join(cue.text for cue in read_lrc(new).cues))
    lines = [spelled for line in split_lines(old) if (spelled := _spelled(line)).strip()]
    return bool(lines) and all(line in known for line in lines)


def same_content(old: bytes, new: bytes) -> bool:
    """Tell whether two files differ at most in when and by which version they were fetched."""
    if old == new:
        return True
    own = f"{OWN_LINE}\n".encode()
    if not (old.startswith(own) and new.startswith(own)):
        return False
    return _without_volatile(old) == _without_volatile(new)


def _render_synced(
    accepted: Accepted,
    facts: HeaderFacts,
    *,
    translation: tuple[Cue, ...],
    word_timing: WordTiming,
) -> tuple[Rendered, ...]:
    candidate = accepted.candidate
    header = header_lines(_with_answer(facts, accepted))
    enhance = word_timing is not WordTiming.OFF and any(map(is_enhanceable, candidate.cues))
    if translation:
        lines = bilingual_lines(candidate.cues, translation)
    elif enhance and word_timing is WordTiming.INLINE:
        lines = enhanced_lines(candidate.cues)
    else:
        lines = cue_lines(candidate.cues)
    files = [Rendered(Kind.LRC, _bytes(header, lines))]
    if enhance and word_timing is WordTiming.SIBLING:
        files.append(Rendered(Kind.ELRC, _bytes(header, enhanced_lines(candidate.cues))))
    return tuple(files)


def _translation_in(wanted: str | None, candidate: Candidate) -> tuple[Cue, ...]:
    """Give the translation when it is wanted; a lane that names no language gave the wanted one."""
    if wanted is None or candidate.translation_language not in (None, wanted):
        return ()
    return candidate.translation or ()


def _with_answer(facts: HeaderFacts, accepted: Accepted) -> HeaderFacts:
    """Fill in what only the result knows: who answered, when, and the length as a last resort."""
    return replace(
        facts,
        length_ms=facts.length_ms or accepted.candidate.matched.duration_ms,
        lane=facts.lane or accepted.lane,
        fetched_at=facts.fetched_at or accepted.fetched_at,
    )


def _bytes(header: list[str], lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in (*header, *lines)).encode("utf-8", "replace")


def _header_of(data: bytes) -> dict[str, str]:
    text = decode(data[:MARKER_REACH], cut=len(data) > MARKER_REACH)
    return {} if text is None else read_header(text)


def _spelled(text: str) -> str:
    """Give the words of a text alone, with a blank around each."""
    folded = normal_form("NFKC", normal_form("NFKC", text).casefold())
    kept = (char if unicodedata.category(char)[0] in _WORD_PARTS else " " for char in folded)
    return f" {' '.join(''.join(kept).split())} "


def _without_volatile(data: bytes) -> bytes:
    """Drop the changing lines of a header; the first stamp ends it."""
    kept: list[bytes] = []
    lines = data.splitlines(keepends=True)
    for at, line in enumerate(lines):
        if line[1:2].isdigit() or not line.startswith(b"["):
            return b"".join((*kept, *lines[at:]))
        if not _VOLATILE.fullmatch(line):
            kept.append(line)
    return b"".join(kept)
