"""ASF (Windows Media): the objects of the header that hold names, attributes and length."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from lyrsvc.files.byte_source import ByteSource, Truncated, Unreasonable
from lyrsvc.files.tag_table import ASF, MOST_ENTRIES, RawTags, Wish


def _guid(text: str) -> bytes:
    """Give an id as the file holds it: the first three groups are little-endian numbers."""
    *numbers, fourth, fifth = map(bytes.fromhex, text.split("-"))
    return b"".join(number[::-1] for number in numbers) + fourth + fifth


HEADER: Final = _guid("75b22630-668e-11cf-a6d9-00aa0062ce6c")
_PROPERTIES: Final = _guid("8cabdca1-a947-11cf-8ee4-00c00c205365")
_DESCRIPTION: Final = _guid("75b22633-668e-11cf-a6d9-00aa0062ce6c")
_EXTENDED: Final = _guid("d2d0a440-e307-11d2-97f0-00a0c95ea850")
_EXTENSION: Final = _guid("5fbf03b5-a92e-11cf-8ee3-00c00c205365")
_METADATA: Final = _guid("c5f8cbea-5baf-4877-8467-aa8c44fa4cca")
_LIBRARY: Final = _guid("44231c94-9498-49d1-a141-1d134e457054")
_TEXT: Final = 0


@dataclass(slots=True)
class _Found:
    """What has been gathered so far."""

    source: ByteSource
    caps: dict[str, int]
    texts: list[tuple[int, str, str]]
    duration_s: float | None = None

    def keep(self, rank: int, name: str, at: int, size: int) -> None:
        key = name.rstrip("\0").lower()
        if 0 < size <= self.caps.get(key, -1):
            text = self.source.read(at, size).decode("utf-16-le", "replace").rstrip("\0")
            self.texts.append((rank, key, text))

    def values(self) -> dict[str, list[str]]:
        """Give the texts by rank of their object: further values may stand before the first."""
        values: dict[str, list[str]] = {}
        for _, key, text in sorted(self.texts, key=lambda each: each[0]):
            values.setdefault(key, []).append(text)
        return values


def read_asf(source: ByteSource, at: int, wish: Wish) -> RawTags:
    """Read the header object of a file."""
    head = source.read(at, 30)
    if head[:16] != HEADER:
        raise Truncated
    end = at + min(struct.unpack_from("<Q", head, 16)[0], source.size - at)
    found = _Found(source, ASF.caps(wish), [])
    _read_objects(found, at + 30, end)
    return RawTags(family=ASF, values=found.values(), duration_s=found.duration_s)


def _read_objects(found: _Found, at: int, end: int) -> None:
    for kind, start, stop in _objects(found.source, at, end):
        if kind == _EXTENSION:
            for inner, begin, finish in _objects(found.source, start + 22, stop):
                if inner in (_METADATA, _LIBRARY):
                    _read_library(found, begin, finish, 2 if inner == _METADATA else 3)
        elif kind in _OBJECTS:
            _OBJECTS[kind](found, start, stop)


def _objects(source: ByteSource, at: int, end: int) -> Iterator[tuple[bytes, int, int]]:
    for _ in range(MOST_ENTRIES):
        if at + 24 > end:
            return
        kind, size = struct.unpack("<16sQ", source.read(at, 24))
        if size < 24 or at + size > end:
            raise Truncated
        yield kind, at + 24, at + size
        at += size
    raise Unreasonable("too many objects")


def _read_properties(found: _Found, at: int, _end: int) -> None:
    played, _sent, preroll = struct.unpack("<QQQ", found.source.read(at + 40, 24))
    found.duration_s = max(0.0, played / 10_000_000 - preroll / 1000)


def _read_description(found: _Found, at: int, _end: int) -> None:
    sizes = struct.unpack("<5H", found.source.read(at, 10))
    at += 10
    for name, size in zip(("title", "author"), sizes[:2], strict=True):
        found.keep(0, name, at, size)
        at += size


def _read_extended(found: _Found, at: int, end: int) -> None:
    source = found.source
    count = struct.unpack("<H", source.read(at, 2))[0]
    at += 2
    for _ in range(count):
        name_size = struct.unpack("<H", source.read(at, 2))[0]
        name = source.read(at + 2, name_size).decode("utf-16-le", "replace")
        at += 2 + name_size
        kind, size = struct.unpack("<HH", source.read(at, 4))
        at += 4
        if at + size > end:
            raise Truncated
        if kind == _TEXT:
            found.keep(1, name, at, size)
        at += size


def _read_library(found: _Found, at: int, end: int, rank: int) -> None:
    source = found.source
    count = struct.unpack("<H", source.read(at, 2))[0]
    at += 2
    for _ in range(count):
        name_size, kind, size = struct.unpack("<HHI", source.read(at + 4, 8))
        at += 12
        name = source.read(at, name_size).decode("utf-16-le", "replace")
        at += name_size
        if at + size > end:
            raise Truncated
        if kind == _TEXT:
            found.keep(rank, name, at, size)
        at += size


_OBJECTS: Final = {
    _PROPERTIES: _read_properties,
    _DESCRIPTION: _read_description,
    _EXTENDED: _read_extended,
}
