"""Vorbis comments, and the FLAC blocks they stand in."""

import struct
from functools import lru_cache
from typing import Final

from lyrsvc.files.byte_source import Truncated, Unreasonable, View
from lyrsvc.files.tag_table import MOST_ENTRIES, VORBIS, RawTags, Wish

_LONGEST_KEY: Final = 64
_UINT: Final = struct.Struct("<I").unpack_from
_STREAMINFO: Final = 0
_COMMENTS: Final = 4
_INVALID: Final = 127


def read_flac(view: View, at: int, wish: Wish) -> RawTags:
    """Read a FLAC stream that starts here."""
    if view.read(at, 4) != b"fLaC":
        raise Truncated
    raw = RawTags(family=VORBIS, values={})
    at += 4
    for _ in range(MOST_ENTRIES):
        head = view.read(at, 4)
        kind, size = head[0] & 0x7F, int.from_bytes(head[1:], "big")
        if kind == _STREAMINFO:
            raw.duration_s = stream_length(view.read(at + 4, 34))
        elif kind == _COMMENTS:
            raw.values = read_comments(view, at + 4, at + 4 + size, VORBIS.caps(wish))
            return raw
        if head[0] & 0x80 or kind == _INVALID:
            return raw
        at += 4 + size
    raise Unreasonable("a FLAC file with too many blocks")


def stream_length(info: bytes) -> float | None:
    """Give the seconds a STREAMINFO block promises."""
    packed = int.from_bytes(info[10:18], "big")
    rate, samples = packed >> 44, packed & 0xF_FFFF_FFFF
    return samples / rate if rate and samples else None


def read_comments(view: View, at: int, end: int, caps: dict[str, int]) -> dict[str, list[str]]:
    """Read the wanted comments between two positions."""
    values: dict[str, list[str]] = {}
    wanted = _wanted(tuple(caps))
    at += 4 + _number(view, at)
    count = _number(view, at)
    if count > MOST_ENTRIES:
        raise Unreasonable("too many comments")
    at += 4
    base, window = at, b""
    for _ in range(count):
        inside = at - base
        if inside + 4 + _LONGEST_KEY > len(window):
            base, window, inside = at, view.ahead(at, 4 + _LONGEST_KEY), 0
        (size,) = _UINT(window, inside)
        at += 4 + size
        if at > end:
            raise Truncated
        inside += 4
        sign = window.find(b"=", inside, inside + min(size, _LONGEST_KEY))
        key = wanted.get(window[inside:sign].lower()) if sign >= 0 else None
        if key is not None and size <= caps[key]:
            value = window[sign + 1 : inside + size]
            if inside + size > len(window):
                value = view.read(base + sign + 1, inside + size - sign - 1)
            values.setdefault(key, []).append(value.decode("utf-8", "replace"))
    return values


@lru_cache(maxsize=16)
def _wanted(keys: tuple[str, ...]) -> dict[bytes, str]:
    return {key.encode(): key for key in keys}


def _number(view: View, at: int) -> int:
    number: int = _UINT(view.read(at, 4), 0)[0]
    return number
