"""MP4: the atoms that hold tags and length; sample tables and pictures are stepped over."""

import struct
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from lyrsvc.files.byte_source import ByteSource, Truncated, Unreasonable
from lyrsvc.files.tag_table import MOST_ENTRIES, MP4, RawTags, Wish

_HEAD: Final = struct.Struct(">I4s").unpack_from
_LONG: Final = struct.Struct(">Q").unpack_from
_FREEFORM: Final = b"----"
_UTF16: Final = b"\0\0\0\2"


class _Atom(NamedTuple):
    name: bytes
    at: int
    end: int


def read_mp4(source: ByteSource, at: int, wish: Wish) -> RawTags:
    """Read the movie atom of a file."""
    movie = _child(source, _Atom(b"", at, source.size), b"moov")
    if movie is None:
        raise Truncated
    raw = RawTags(family=MP4, values={})
    values: dict[str, list[str]] = {}
    for atom in _children(source, movie.at, movie.end):
        if atom.name == b"trak" and wish.enrich and not raw.duration_s:
            raw.duration_s = _audio_length(source, atom)
        elif atom.name in (b"udta", b"meta"):
            _take_tags(source, atom, MP4.caps(wish), values)
    raw.values = values
    return raw


def _children(source: ByteSource, at: int, end: int) -> Iterator[_Atom]:
    base, window = at, b""
    for _ in range(MOST_ENTRIES):
        if at + 8 > end:
            return
        if at + 16 > base + len(window):
            base, window = at, source.ahead(at, 16)
        size, name = _HEAD(window, at - base)
        start = at + 8
        if size == 1:
            (size,), start = _LONG(window, start - base), start + 8
        elif size == 0:
            size = end - at
        if size < start - at:
            return
        yield _Atom(name, start, min(at + size, end))
        at += size
    raise Unreasonable("too many atoms")


def _child(source: ByteSource, parent: _Atom, name: bytes) -> _Atom | None:
    for atom in _children(source, parent.at, parent.end):
        if atom.name == name:
            return atom
    return None


def _audio_length(source: ByteSource, track: _Atom) -> float | None:
    media = _child(source, track, b"mdia")
    handler = _child(source, media, b"hdlr") if media else None
    header = _child(source, media, b"mdhd") if media else None
    if handler is None or header is None or source.peek(handler.at + 8, 4) != b"soun":
        return None
    if source.read(header.at, 1) == b"\1":
        scale, length = struct.unpack(">IQ", source.read(header.at + 20, 12))
    else:
        scale, length = struct.unpack(">II", source.read(header.at + 12, 8))
    return length / scale if scale else None


def _take_tags(
    source: ByteSource, atom: _Atom, caps: dict[str, int], values: dict[str, list[str]]
) -> None:
    meta = _child(source, atom, b"meta") if atom.name == b"udta" else atom
    if meta is None:
        return
    # A full atom has four bytes of version before its children; some writers leave them out.
    bare = source.peek(meta.at + 4, 4) == b"hdlr"
    items = _child(source, _Atom(b"", meta.at + (0 if bare else 4), meta.end), b"ilst")
    if items is None:
        return
    largest, names, freeforms = max(caps.values()), *_wanted(tuple(caps))
    for item in _children(source, items.at, items.end):
        kind, size = item.name.lower(), item.end - item.at
        if size > largest or kind not in names:
            continue
        body = source.read(item.at, size)
        if kind == _FREEFORM and _plain_name(body) not in freeforms:
            continue
        name, texts = _item_texts(body, kind.decode("latin-1"))
        if name in caps and size <= caps[name]:
            values.setdefault(name, []).extend(texts)


@lru_cache(maxsize=16)
def _wanted(caps: tuple[str, ...]) -> tuple[frozenset[bytes], frozenset[bytes | None]]:
    """Give the names of wanted atoms, and the last parts of wanted freeform names."""
    names = {key.encode("latin-1") for key in caps if not key.startswith("----")}
    lasts = {key.rpartition(":")[2].encode("latin-1") for key in caps if key.startswith("----")}
    return frozenset(names | {_FREEFORM}), frozenset((*lasts, None))


def _plain_name(body: bytes) -> bytes | None:
    """Give the name in a freeform atom of the common shape, None where it has another."""
    if body[4:8] != b"mean" or len(body) < 8:
        return None
    at = int.from_bytes(body[:4], "big")
    if body[at + 4 : at + 8] != b"name":
        return None
    return body[at + 12 : at + int.from_bytes(body[at : at + 4], "big")].lower()


def _item_texts(body: bytes, name: str) -> tuple[str, list[str]]:
    texts: list[str] = []
    at = 0
    for _ in range(MOST_ENTRIES):
        if at + 8 > len(body):
            return name, texts
        size, kind = _HEAD(body, at)
        end = at + max(size, 8)
        if kind == b"data":
            encoding = "utf-16-be" if body[at + 8 : at + 12] == _UTF16 else "utf-8"
            texts.append(body[at + 16 : end].decode(encoding, "replace"))
        elif kind in (b"mean", b"name"):
            name = f"{name}:{body[at + 12 : end].decode('latin-1').lower()}"
        at = end
    raise Unreasonable("too many atoms")
