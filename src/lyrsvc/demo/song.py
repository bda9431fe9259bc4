"""What the stand-in knows about one invented song, and what follows from it."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Final

FIRST_LINE_MS: Final = 1_400
GAPS_MS: Final = (3_100, 2_640, 3_480, 2_290, 2_970, 3_750)
"""Line lengths of a song without its own times; uneven, as a real song's are."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Song:
    """One invented song; ``times_ms`` are derived from its lines when not given."""

    title: str
    artist: str
    album: str = ""
    length_s: float = 40.0
    isrc: str = ""
    language: str = "en"
    lines: tuple[str, ...] = ()
    times_ms: tuple[int, ...] = ()
    translations: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    instrumental: bool = False
    mode: str = "normal"
    """How the stand-in treats the song unless told otherwise."""

    @property
    def number(self) -> int:
        """Give an id that stays the same from run to run."""
        name = f"{self.artist}\n{self.title}\n{self.album}".encode()
        return 10_000_000 + int.from_bytes(hashlib.sha256(name).digest()[:3])

    @property
    def timed_lines(self) -> tuple[tuple[int, str], ...]:
        """Give every line with the moment it starts."""
        return tuple(zip(self.times_ms or _times(len(self.lines)), self.lines, strict=True))


def song_from(values: Mapping[str, Any]) -> Song:
    """Read a song from JSON, as ``POST /_songs`` takes it; raise ValueError for a bad one."""
    known = {name: values[name] for name in Song.__dataclass_fields__ if name in values}
    if unknown := set(values) - set(known):
        raise ValueError(f"unknown field {min(unknown)}")
    for name in ("lines", "times_ms"):
        known[name] = tuple(known.get(name, ()))
    known["translations"] = {
        language: tuple(lines) for language, lines in known.get("translations", {}).items()
    }
    try:
        song = Song(**known)
    except TypeError:
        raise ValueError("a song needs title and artist") from None
    if song.times_ms and len(song.times_ms) != len(song.lines):
        raise ValueError("times_ms and lines differ in length")
    return song


def word_times(song: Song) -> list[dict[str, Any]]:
    """Spread the words of every line over its time, in the shape of a richsync body."""
    starts = [ms for ms, _ in song.timed_lines]
    ends = [*starts[1:], int(song.length_s * 1000)]
    return [
        _timed_words(start / 1000, min(end, start + 3_000) / 1000, line)
        for start, end, line in zip(starts, ends, song.lines, strict=True)
        if line
    ]


def _timed_words(start: float, end: float, line: str) -> dict[str, Any]:
    words = line.split(" ")
    step = (end - start) * 0.9 / len(words)
    chunks: list[dict[str, Any]] = []
    for place, word in enumerate(words):
        if place:
            chunks.append({"c": " ", "o": round(place * step - 0.02, 3)})
        chunks.append({"c": word, "o": round(place * step, 3)})
    return {"ts": start, "te": end, "l": chunks, "x": line}


def _times(count: int) -> Sequence[int]:
    gaps = (GAPS_MS[place % len(GAPS_MS)] for place in range(count - 1))
    return tuple(accumulate(gaps, initial=FIRST_LINE_MS))[:count]
