"""Lyrics as a lane answers them, and how good they are."""

from dataclasses import dataclass, field
from enum import IntEnum


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a line, with the moment it starts."""

    ms: int
    text: str


@dataclass(frozen=True, slots=True)
class Cue:
    """One line with the moment it starts; ``words`` and ``end_ms`` when word timing is known."""

    ms: int
    text: str
    words: tuple[Word, ...] = ()
    end_ms: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Matched:
    """The identity a provider gives for its answer."""

    artist: str = ""
    title: str = ""
    album: str = ""
    duration_ms: int | None = None
    isrcs: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """One answer of a lane, not yet judged.

    ``translation_language`` tells a stored translation from one that is wanted now;
    ``cleaned`` says that its words must not be cleaned again.
    """

    matched: Matched
    cues: tuple[Cue, ...] = ()
    plain: str | None = None
    instrumental: bool = False
    language: str | None = None
    translation: tuple[Cue, ...] | None = None
    translation_language: str | None = None
    cleaned: bool = field(default=False, compare=False)


class Quality(IntEnum):
    """How good a result is; better never yields to worse."""

    NONE = 0
    INSTRUMENTAL = 1
    UNSYNCED = 2
    SYNCED = 3
    WORD_SYNCED = 4
