"""ID3v2 tags, versions 2.2 to 2.4: only the wanted frames are read, all others stepped over."""

import struct
import zlib
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

from lyrsvc.files.byte_source import MemoryView, Truncated, Unreasonable, View
from lyrsvc.files.tag_table import LYRICS_CAP, MOST_ENTRIES, TimedFrame

HEADER: Final = 10
_UNSYNC_CAP: Final = 16 * 1024 * 1024
_LYRICS_TYPE: Final = 1
_IN_FRAMES: Final = 1

_MODERN: Final = {
    b"TT2": b"TIT2",
    b"TP1": b"TPE1",
    b"TP2": b"TPE2",
    b"TAL": b"TALB",
    b"TRC": b"TSRC",
    b"TXX": b"TXXX",
    b"UFI": b"UFID",
    b"ULT": b"USLT",
    b"SLT": b"SYLT",
}
_ENCODINGS: Final = ("latin-1", "utf-16", "utf-16-be", "utf-8")
_UTF8: Final = 3
_MARK: Final = "\ufeff"
_MARK_8: Final = _MARK.encode()
_MARKS_16: Final = (b"\xff\xfe", b"\xfe\xff")
"""The byte order mark as text and as bytes; some writers put it where none belongs."""
_LONGEST_DESCRIPTION: Final = 96
"""Bytes that tell every wanted description, in any encoding and behind any mark."""
_HEAD: Final = struct.Struct(">4sIH").unpack_from


@dataclass(slots=True)
class Id3Tag:
    """The wanted frames of one tag."""

    values: dict[str, list[str]] = field(default_factory=dict)
    timed: list[TimedFrame] = field(default_factory=list)


def tag_size(head: bytes) -> int:
    """Give the bytes an ID3v2 tag takes from its header on, 0 when there is none."""
    if len(head) < HEADER or head[:3] != b"ID3" or head[3] in (0, 0xFF):
        return 0
    footer = HEADER if head[3] == 4 and head[5] & 0x10 else 0
    return HEADER + _synchsafe(head[6:10]) + footer


def read_id3(view: View, at: int, caps: dict[str, int], *, timed: bool = False) -> Id3Tag:
    """Read the tag that starts here; ``caps`` names the wanted frames."""
    head = view.read(at, HEADER)
    version, flags = head[3], head[5]
    if tag_size(head) == 0 or version not in (2, 3, 4):
        raise Truncated
    end = at + HEADER + _synchsafe(head[6:10])
    start = at + HEADER
    if flags & 0x80 and version < 4:
        view, start, end = _resynchronised(view, start, end)
    if flags & 0x40 and version > 2:
        start += _extended_size(view, start, version)
    reader = _FrameReader(view, version, caps, _wanted(tuple(caps), timed=timed))
    if flags & 0x80:
        reader.unsynchronised = version == 4
    return reader.read(start, end)


class _Wanted(NamedTuple):
    """The frames that are wanted, by name; of those with a description also by that.

    A description is compared as bytes, for most frames of a well-kept file have one
    that nobody asks for: each form it may have, in lower case and with its end.
    """

    keys: dict[bytes, str]
    descriptions: dict[int, tuple[bytes, ...]]


@lru_cache(maxsize=16)
def _wanted(caps: tuple[str, ...], *, timed: bool) -> _Wanted:
    keys = {key[:4].upper().encode(): key for key in caps}
    if timed:
        keys[b"SYLT"] = "sylt"
    described = [key.removeprefix("txxx:") + "\0" for key in caps if key.startswith("txxx:")]
    narrow = tuple(each.encode() for each in described)
    little = tuple(each.encode("utf-16-le") for each in described)
    big = tuple(each.encode("utf-16-be") for each in described)
    return _Wanted(keys, {0: narrow, 1: little + big, 2: big, 3: narrow})


class _FrameReader:
    """Walks the frames of one tag."""

    __slots__ = ("_caps", "_found", "_version", "_view", "_wanted", "unsynchronised")

    def __init__(self, view: View, version: int, caps: dict[str, int], wanted: _Wanted) -> None:
        self.unsynchronised = False
        self._view = view
        self._version = version
        self._caps = caps
        self._wanted = wanted
        self._found = Id3Tag()

    def read(self, at: int, end: int) -> Id3Tag:
        """Walk over what one look ahead brings, and look again where it ends."""
        version, view, keys = self._version, self._view, self._wanted.keys
        width, unpack = (6, _old_head) if version == 2 else (HEADER, _HEAD)
        base, window = at, b""
        for _ in range(MOST_ENTRIES):
            if at + width > end:
                return self._found
            if at + width > base + len(window):
                base, window = at, view.ahead(at, width)
            name, size, flags = unpack(window, at - base)
            if name not in keys and not _is_name(name):
                return self._found  # padding, or damage behind which nothing can be found
            if version == 4 and size > 0x7F:
                size = self._size(size, at + width, end)
            at += width
            if at + size > end:
                return self._found
            if 0 < size <= LYRICS_CAP and name in keys:
                inside = at - base
                body = window[inside : inside + size]
                self._take(name, body if len(body) == size else view.read(at, size), flags)
            at += size
        raise Unreasonable("an ID3 tag with too many frames")

    def _size(self, plain: int, at: int, end: int) -> int:
        """Give the size a frame of 2.4 means: some writers forgot that sizes are synchsafe."""
        size = _synchsafe(plain.to_bytes(4, "big"))
        # Believe what leads to a frame.
        if not self._leads_on(at + size, end) and self._leads_on(at + plain, end):
            return plain
        return size

    def _leads_on(self, at: int, end: int) -> bool:
        if at + HEADER > end:
            return at <= end
        name = self._view.read(at, 4)
        return _is_name(name) or name == b"\0\0\0\0"

    def _take(self, name: bytes, body: bytes, flags: int) -> None:
        if flags or self.unsynchronised:
            body = self._unpacked(body, flags)
        if not body:
            return
        if name == b"SYLT":
            self._take_timed(body)
            return
        if name == b"TXXX" and not self._is_described_so(body):
            return
        reader = _READERS.get(name)
        key, values = reader(body) if reader else (self._wanted.keys[name], _texts(body))
        if len(body) <= self._caps.get(key, -1):
            self._found.values.setdefault(key, []).extend(values)

    def _take_timed(self, body: bytes) -> None:
        frame = _timed_frame(body)
        if frame is not None:
            self._found.timed.append(frame)

    def _is_described_so(self, body: bytes) -> bool:
        """Tell whether the description is a wanted one; no text is made of any other."""
        head = body[1:_LONGEST_DESCRIPTION].lower()
        while head[:2] in _MARKS_16 or head[:3] == _MARK_8:
            head = head[2 if head[:2] in _MARKS_16 else 3 :]
        return head.startswith(self._wanted.descriptions.get(body[0], ()))

    def _unpacked(self, body: bytes, flags: int) -> bytes:
        if self._version == 4:
            return _unpacked_v4(body, flags, unsynchronised=self.unsynchronised)
        return _unpacked_v3(body, flags)


def _old_head(window: bytes, at: int) -> tuple[bytes, int, int]:
    """Read the head of a frame of 2.2, its name put into what it is today."""
    name, size = window[at : at + 3], window[at + 3 : at + 6]
    if len(size) < 3:
        raise Truncated
    return _MODERN.get(name, name), int.from_bytes(size, "big"), 0


def _texts(body: bytes) -> list[str]:
    text = _decode(body[0], body[1:])
    return [text.removeprefix(_MARK)] if "\0" not in text else _split(text)


def _user_text_frame(body: bytes) -> tuple[str, list[str]]:
    description, *values = _decode(body[0], body[1:]).split("\0")
    return f"txxx:{_bare(description).lower()}", [_bare(each) for each in values]


def _file_id_frame(body: bytes) -> tuple[str, list[str]]:
    owner, _, identifier = body.partition(b"\0")
    key = f"ufid:{owner.decode('latin-1').lower()}"
    return key, [identifier.decode("latin-1")]


def _lyrics_frame(body: bytes) -> tuple[str, list[str]]:
    _description, text = _cut(body[0], body[4:])
    return "uslt", [_bare(_decode(body[0], text)).rstrip("\0")]


_READERS: Final = {b"TXXX": _user_text_frame, b"UFID": _file_id_frame, b"USLT": _lyrics_frame}


def _timed_frame(body: bytes) -> TimedFrame | None:
    if len(body) < 6 or body[5] != _LYRICS_TYPE or body[4] not in (_IN_FRAMES, 2):
        return None
    _description, rest = _cut(body[0], body[6:])
    entries: list[tuple[str, int]] = []
    while rest:
        text, rest = _cut(body[0], rest)
        if len(rest) < 4:
            break
        entries.append((_bare(_decode(body[0], text)), int.from_bytes(rest[:4], "big")))
        rest = rest[4:]
    return TimedFrame(body[4] == _IN_FRAMES, tuple(entries))


def _cut(encoding: int, data: bytes) -> tuple[bytes, bytes]:
    if encoding not in (1, 2):
        head, _, rest = data.partition(b"\0")
        return head, rest
    at = data.find(b"\0\0")
    while at >= 0 and at % 2:
        at = data.find(b"\0\0", at + 1)
    return (data, b"") if at < 0 else (data[:at], data[at + 2 :])


def _decode(encoding: int, data: bytes) -> str:
    if encoding == _UTF8:
        return data.decode("utf-8", "replace")
    if encoding >= len(_ENCODINGS):
        return ""
    if encoding == 1 and data[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16-le", "replace")
    if encoding in (1, 2) and len(data) % 2:
        data = data[:-1]
    return data.decode(_ENCODINGS[encoding], "replace")


def _split(text: str) -> list[str]:
    return [_bare(value) for value in text.split("\0")]


def _bare(text: str) -> str:
    return text.removeprefix(_MARK)


def _is_name(name: bytes) -> bool:
    return name.isalnum() and name.isupper()


def _synchsafe(raw: bytes) -> int:
    return (raw[0] & 0x7F) << 21 | (raw[1] & 0x7F) << 14 | (raw[2] & 0x7F) << 7 | (raw[3] & 0x7F)


def _resynchronised(view: View, start: int, end: int) -> tuple[View, int, int]:
    if end - start > _UNSYNC_CAP:
        raise Truncated
    data = view.read(start, end - start).replace(b"\xff\x00", b"\xff")
    return MemoryView(data), 0, len(data)


def _extended_size(view: View, at: int, version: int) -> int:
    raw = view.read(at, 4)
    size: int = struct.unpack(">I", raw)[0]
    return size + 4 if version == 3 else _synchsafe(raw)


def _unpacked_v3(body: bytes, flags: int) -> bytes:
    if flags & 0x0040:  # encrypted
        return b""
    compressed = flags & 0x0080
    start = (4 if compressed else 0) + (1 if flags & 0x0020 else 0)
    return _inflated(body[start:]) if compressed else body[start:]


def _unpacked_v4(body: bytes, flags: int, *, unsynchronised: bool) -> bytes:
    if flags & 0x0004:  # encrypted
        return b""
    start = (1 if flags & 0x0040 else 0) + (4 if flags & 0x0001 else 0)
    body = body[start:]
    if flags & 0x0002 or unsynchronised:
        body = body.replace(b"\xff\x00", b"\xff")
    return _inflated(body) if flags & 0x0008 else body


def _inflated(body: bytes) -> bytes:
    return zlib.decompressobj().decompress(body, LYRICS_CAP)
