"""Ogg: packets gathered from pages without copying them, and the length of a stream."""

import struct
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final, NamedTuple

from lyrsvc.files.byte_source import WINDOW, ByteSource, Truncated, Unreasonable
from lyrsvc.files.ogg_length import last_granule
from lyrsvc.files.tag_table import MOST_ENTRIES, VORBIS, RawTags, Wish
from lyrsvc.files.vorbis_comments import read_comments, stream_length

_PAGE_HEADER: Final = 27
_BEGINS: Final = 0x02
_OPUS_RATE: Final = 48_000


class _Page(NamedTuple):
    body: int
    flags: int
    serial: int
    segments: bytes


class _Codec(NamedTuple):
    """How a codec's first packet starts, and where its comments begin in the second."""

    magic: bytes
    comments_at: int


_CODECS: Final = (
    _Codec(b"\x01vorbis", 7),
    _Codec(b"OpusHead", 8),
    _Codec(b"\x7fFLAC", 4),
    _Codec(b"Speex   ", 0),
)


def read_ogg(source: ByteSource, at: int, wish: Wish) -> RawTags:
    """Read the first audio stream of an Ogg file."""
    pages = _pages(source, at)
    first, codec = _audio_stream(source, pages)
    packet = PacketView(source, (page for page in pages if page.serial == first.serial))
    raw = RawTags(family=VORBIS, values={})
    raw.values = read_comments(packet, codec.comments_at, source.size, VORBIS.caps(wish))
    if wish.enrich:
        raw.duration_s = _length(source, first, codec)
    return raw


class PacketView:
    """One packet, spread over the pages of a file, which are followed only as far as needed."""

    __slots__ = ("_pages", "_size", "_source", "_spans", "_starts")

    def __init__(self, source: ByteSource, pages: Iterator[_Page]) -> None:
        self._source = source
        self._pages = pages
        self._size = 0
        self._spans: list[tuple[int, int]] = []
        self._starts: list[int] = []

    def read(self, at: int, length: int) -> bytes:
        """Give exactly these bytes, or raise ``Truncated``."""
        found = self.peek(at, length)
        if len(found) < length:
            raise Truncated
        return found

    def peek(self, at: int, length: int) -> bytes:
        """Give these bytes, fewer where the packet ends."""
        while at + length > self._size and self._follow():
            pass
        parts: list[bytes] = []
        index = max(0, bisect_right(self._starts, at) - 1)
        for start, (begin, span) in zip(self._starts[index:], self._spans[index:], strict=True):
            taken = min(length, start + span - at)
            if taken <= 0:
                break
            parts.append(self._source.read(begin + at - start, taken))
            at, length = at + taken, length - taken
        return b"".join(parts)

    def ahead(self, at: int, least: int) -> bytes:
        """Give these bytes and a window full behind them, fewer where the packet ends."""
        return self.peek(at, max(least, WINDOW))

    def _follow(self) -> bool:
        """Add the next page; a segment below 255 bytes ends the packet."""
        page = next(self._pages, None)
        if page is None:
            return False
        length = 0
        for segment in page.segments:
            length += segment
            if segment < 255:
                self._pages = iter(())
                break
        self._starts.append(self._size)
        self._spans.append((page.body, length))
        self._size += length
        return True


def _pages(source: ByteSource, at: int) -> Iterator[_Page]:
    for _ in range(MOST_ENTRIES):
        head = source.read(at, _PAGE_HEADER)
        if head[:5] != b"OggS\0":
            raise Truncated
        serial = struct.unpack_from("<I", head, 14)[0]
        segments = source.read(at + _PAGE_HEADER, head[26])
        body = at + _PAGE_HEADER + len(segments)
        yield _Page(body, head[5], serial, segments)
        at = body + sum(segments)
    raise Unreasonable("no comments in any reasonable number of pages")


def _audio_stream(source: ByteSource, pages: Iterator[_Page]) -> tuple[_Page, _Codec]:
    for page in pages:
        if not page.flags & _BEGINS:
            break
        start = source.peek(page.body, 8)
        for codec in _CODECS:
            if start.startswith(codec.magic):
                return page, codec
    raise Truncated


def _length(source: ByteSource, first: _Page, codec: _Codec) -> float | None:
    head = source.peek(first.body, 64)
    skipped = 0
    if codec.magic == b"\x7fFLAC":
        if length := stream_length(head[17:51]):
            return length
        rate = int.from_bytes(head[27:30], "big") >> 4
    elif codec.magic == b"OpusHead":
        rate, skipped = _OPUS_RATE, struct.unpack_from("<H", head, 10)[0]
    else:
        rate = struct.unpack_from("<I", head, 36 if codec.magic == b"Speex   " else 12)[0]
    granule = last_granule(source, first.serial)
    if granule is None or rate == 0:
        return None
    return max(0, granule - skipped) / rate
