"""WAV and AIFF: files made of chunks, with an ID3 tag or their own plain text chunks."""

import struct
from collections.abc import Callable, Iterator
from typing import Final

from lyrsvc.files.byte_source import ByteSource, Truncated, Unreasonable
from lyrsvc.files.id3_frames import read_id3
from lyrsvc.files.tag_table import (
    AIFF_TEXT,
    ID3,
    MOST_ENTRIES,
    RIFF_INFO,
    Family,
    RawTags,
    Wish,
)

_ADDED: Final = 16383 + 63
"""Bias of the exponent of an 80-bit number, with the bits of its fraction."""
Chunk = tuple[bytes, int, int]


def read_wav(source: ByteSource, at: int, wish: Wish) -> RawTags:
    """Read a RIFF, RF64 or BW64 wave file."""
    return _read_chunks(source, list(_chunks(source, at, "<")), wish, RIFF_INFO)


def read_aiff(source: ByteSource, at: int, wish: Wish) -> RawTags:
    """Read an AIFF or AIFC file."""
    return _read_chunks(source, list(_chunks(source, at, ">")), wish, AIFF_TEXT)


def read_text_chunks(source: ByteSource, at: int, wish: Wish) -> RawTags:
    """Read only the plain text chunks, for a file without any ID3 tag."""
    little = source.peek(at, 4) != b"FORM"
    family = RIFF_INFO if little else AIFF_TEXT
    return _read_texts(source, list(_chunks(source, at, "<" if little else ">")), wish, family)


def _chunks(source: ByteSource, at: int, order: str) -> Iterator[Chunk]:
    at += 12
    for _ in range(MOST_ENTRIES):
        if at + 8 > source.size:
            return
        name, size = struct.unpack(f"{order}4sI", source.read(at, 8))
        # A file cut short, or one written to a pipe, ends before its chunk does.
        yield name, at + 8, min(at + 8 + size, source.size)
        at += 8 + size + size % 2
    raise Unreasonable("too many chunks")


def _read_chunks(source: ByteSource, chunks: list[Chunk], wish: Wish, texts: Family) -> RawTags:
    raw = _read_tag(source, chunks, wish)
    if raw is None or not raw.named:
        plain = _read_texts(source, chunks, wish, texts)
        raw = plain if raw is None or plain.named else raw
    if wish.enrich:
        measure: Callable[[ByteSource, list[Chunk]], float | None] = (
            _wave_length if texts is RIFF_INFO else _aiff_length
        )
        raw.duration_s = measure(source, chunks)
    return raw


def _read_tag(source: ByteSource, chunks: list[Chunk], wish: Wish) -> RawTags | None:
    for name, at, end in chunks:
        if name.lower() == b"id3 " and source.peek(at, 3) == b"ID3" and end - at >= 10:
            tag = read_id3(source, at, ID3.caps(wish), timed=wish.embedded)
            return RawTags(family=ID3, values=tag.values, timed=tag.timed)
    return None


def _read_texts(source: ByteSource, chunks: list[Chunk], wish: Wish, family: Family) -> RawTags:
    caps = family.caps(wish)
    values: dict[str, list[str]] = {}
    for name, at, end in _text_chunks(source, chunks) if family is RIFF_INFO else chunks:
        key = name.decode("latin-1").lower().strip()
        if end - at <= caps.get(key, -1):
            values.setdefault(key, []).append(_plain(source.read(at, end - at)))
    return RawTags(family=family, values=values)


def _text_chunks(source: ByteSource, chunks: list[Chunk]) -> Iterator[Chunk]:
    for name, at, end in chunks:
        if name == b"LIST" and source.peek(at, 4) == b"INFO":
            yield from _inner_chunks(source, at + 4, end)


def _inner_chunks(source: ByteSource, at: int, end: int) -> Iterator[Chunk]:
    for _ in range(MOST_ENTRIES):
        if at + 8 > end:
            return
        name, size = struct.unpack("<4sI", source.read(at, 8))
        yield name, at + 8, min(at + 8 + size, end)
        at += 8 + size + size % 2
    raise Unreasonable("too many chunks")


def _plain(data: bytes) -> str:
    data = data.split(b"\0", 1)[0]
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:  # the encoding is not stated; old files use the Windows one
        return data.decode("cp1252", "replace")


def _wave_length(source: ByteSource, chunks: list[Chunk]) -> float | None:
    rate = align = samples = size = 0
    for name, at, end in chunks:
        if name == b"fmt ":
            kind, _, rate, _, align, _ = struct.unpack("<HHIIHH", source.read(at, 16))
            align = align if kind in _PLAIN_FORMATS else 0
        elif name == b"fact" and end - at >= 4:
            samples = struct.unpack("<I", source.read(at, 4))[0]
        elif name == b"data":
            size = end - at
    if not rate or not size:
        return None
    return size / (align * rate) if align else samples / rate


_PLAIN_FORMATS: Final = {0x0001, 0x0003, 0x0006, 0x0007, 0xFFFE}
"""PCM, float, the two laws, and the extensible form they come in."""


def _aiff_length(source: ByteSource, chunks: list[Chunk]) -> float | None:
    for name, at, _end in chunks:
        if name == b"COMM":
            _, frames, _, exponent, fraction = struct.unpack(">HIHHQ", source.read(at, 18))
            rate = fraction * 2.0 ** (exponent - _ADDED) if exponent < _ADDED + 64 else 0
            return frames / rate if rate else None
    raise Truncated
