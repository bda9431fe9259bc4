"""Matroska audio: tags and length of a ``.mka``, which the tag library cannot read.

Clusters of audio are stepped over, by the file's own index where it has one.
"""

import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from lyrsvc.files.byte_source import ByteSource, Truncated, Unreasonable
from lyrsvc.files.tag_table import MATROSKA, MOST_ENTRIES, RawTags, Wish

READ_CAP: Final = 8 * 1024 * 1024

EBML: Final = 0x1A45DFA3
_SEGMENT: Final = 0x18538067
_SEEK_HEAD: Final = 0x114D9B74
_SEEK: Final = 0x4DBB
_SEEK_ID: Final = 0x53AB
_SEEK_POSITION: Final = 0x53AC
_INFO: Final = 0x1549A966
_SCALE: Final = 0x2AD7B1
_DURATION: Final = 0x4489
_TITLE: Final = 0x7BA9
_TAGS: Final = 0x1254C367
_TAG: Final = 0x7373
_TARGETS: Final = 0x63C0
_TARGET_VALUE: Final = 0x68CA
_TARGET_CHAPTER: Final = 0x63C4
_SIMPLE_TAG: Final = 0x67C8
_TAG_NAME: Final = 0x45A3
_TAG_STRING: Final = 0x4487
_CLUSTER: Final = 0x1F43B675

_ALBUM: Final = 50
_DEFAULT_SCALE: Final = 1_000_000


class _Element(NamedTuple):
    kind: int
    at: int
    end: int


@dataclass(slots=True)
class _Found:
    caps: dict[str, int]
    values: dict[str, list[str]] = field(default_factory=dict)
    duration_s: float | None = None
    tags_at: list[int] = field(default_factory=list)
    has_tags: bool = False

    def keep(self, key: str, value: str) -> None:
        if key in self.caps:
            self.values.setdefault(key, []).append(value)


def read_matroska(source: ByteSource, at: int, wish: Wish) -> RawTags:
    """Read the tags and the length of a file; at most ``READ_CAP`` bytes of it are read."""
    source = source.again(READ_CAP)
    segment = _segment(source, at)
    found = _Found(MATROSKA.caps(wish))
    with suppress(Unreasonable, Truncated):  # what was found before the end or the cap counts
        _read_segment(source, segment, found)
    raw = RawTags(family=MATROSKA, values=found.values, length_settled=True)
    raw.duration_s = found.duration_s
    return raw


def _segment(source: ByteSource, at: int) -> _Element:
    for element in _children(source, at, source.size):
        if element.kind == _SEGMENT:
            return element
        if element.kind != EBML and element.at > at + 4096:
            break
    raise Truncated


def _read_segment(source: ByteSource, segment: _Element, found: _Found) -> None:
    for element in _children(source, segment.at, segment.end):
        if element.kind == _CLUSTER and found.tags_at and not found.has_tags:
            _follow_index(source, segment, found)
            return
        if element.kind == _CLUSTER and found.has_tags:
            return
        if element.kind == _SEEK_HEAD:
            _read_index(source, element, segment, found)
        elif element.kind == _INFO:
            _read_info(source, element, found)
        elif element.kind == _TAGS:
            _read_tags(source, element, found)


def _children(source: ByteSource, at: int, end: int) -> Iterator[_Element]:
    for _ in range(MOST_ENTRIES):
        if at >= end:
            return
        kind, width = _number(source, at, keep_marker=True)
        size, more = _number(source, at + width)
        start = at + width + more
        open_ended = size == (1 << 7 * more) - 1
        stop = end if open_ended else min(start + size, end)
        yield _Element(kind, start, stop)
        # A cluster of unknown size is entered: its blocks are stepped over one by one.
        at = start if open_ended and kind == _CLUSTER else start + size if not open_ended else end
    raise Unreasonable("too many elements")


def _number(source: ByteSource, at: int, *, keep_marker: bool = False) -> tuple[int, int]:
    first = source.read(at, 1)[0]
    width = 9 - first.bit_length()
    if first == 0 or (keep_marker and width > 4):
        raise Truncated
    value = int.from_bytes(source.read(at, width), "big")
    return (value if keep_marker else value & ((1 << 7 * width) - 1)), width


def _read_index(source: ByteSource, head: _Element, segment: _Element, found: _Found) -> None:
    for seek in _children(source, head.at, head.end):
        if seek.kind != _SEEK:
            continue
        fields = {
            each.kind: int.from_bytes(source.read(each.at, min(each.end - each.at, 8)), "big")
            for each in _children(source, seek.at, seek.end)
        }
        if fields.get(_SEEK_ID) == _TAGS and _SEEK_POSITION in fields:
            found.tags_at.append(segment.at + fields[_SEEK_POSITION])


def _follow_index(source: ByteSource, segment: _Element, found: _Found) -> None:
    for at in found.tags_at[:8]:
        element = next(_children(source, at, segment.end), None)
        if element is not None and element.kind == _TAGS:
            _read_tags(source, element, found)


def _read_info(source: ByteSource, info: _Element, found: _Found) -> None:
    scale, ticks = _DEFAULT_SCALE, 0.0
    for element in _children(source, info.at, info.end):
        size = element.end - element.at
        if element.kind == _SCALE and size <= 8:
            scale = int.from_bytes(source.read(element.at, size), "big")
        elif element.kind == _DURATION and size in (4, 8):
            ticks = struct.unpack(">f" if size == 4 else ">d", source.read(element.at, size))[0]
        elif element.kind == _TITLE:
            found.keep("segment:title", _text(source, element, found, "segment:title"))
    found.duration_s = ticks * scale / 1e9


def _read_tags(source: ByteSource, tags: _Element, found: _Found) -> None:
    found.has_tags = True
    for tag in _children(source, tags.at, tags.end):
        if tag.kind != _TAG:
            continue
        parts = list(_children(source, tag.at, tag.end))
        target = _target(source, parts)
        for part in parts:
            if part.kind == _SIMPLE_TAG and target:
                _read_simple_tag(source, part, target, found)


def _target(source: ByteSource, parts: list[_Element]) -> int:
    """Give the level a tag speaks about, 0 for a chapter: it is not the file."""
    level = _ALBUM
    for part in parts:
        if part.kind != _TARGETS:
            continue
        for element in _children(source, part.at, part.end):
            number = int.from_bytes(
                source.read(element.at, min(element.end - element.at, 8)), "big"
            )
            if element.kind == _TARGET_VALUE:
                level = number
            elif element.kind == _TARGET_CHAPTER and number:
                return 0
    return level


def _read_simple_tag(source: ByteSource, tag: _Element, target: int, found: _Found) -> None:
    name, value = "", None
    for element in _children(source, tag.at, tag.end):
        if element.kind == _TAG_NAME and element.end - element.at < 256:
            name = _decode(source, element).lower()
        elif element.kind == _TAG_STRING:
            value = element
    key = f"{target}:{name}"
    if value is not None:
        found.keep(key, _text(source, value, found, key))


def _text(source: ByteSource, element: _Element, found: _Found, key: str) -> str:
    return _decode(source, element) if element.end - element.at <= found.caps.get(key, 0) else ""


def _decode(source: ByteSource, element: _Element) -> str:
    data = source.read(element.at, element.end - element.at)
    return data.decode("utf-8", "replace").rstrip("\0")
