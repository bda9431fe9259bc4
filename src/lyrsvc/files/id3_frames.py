"""ID3v2 tags, versions 2.2 to 2.4: only the wanted frames are read, all others stepped over."""

import struct
import zlib
from dataclasses import dataclass, field
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


@dataclass(slots=True)
class Id3Tag:
    """The wanted frames of one tag."""

    values: dict[str, list[str]] = field(default_factory=dict)
    timed: list[TimedFrame] = field(default_factory=list)


class _Frame(NamedTuple):
    name: bytes
    at: int
    size: int
    flags: int


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
    reader = _FrameReader(view, version, caps, timed=timed)
    if flags & 0x80:
        reader.unsynchronised = version == 4
    return reader.read(start, end)


class _FrameReader:
    """Walks the frames of one tag."""

    def __init__(self, view: View, version: int, caps: dict[str, int], *, timed: bool) -> None:
        self.unsynchronised = False
        self._view = view
        self._version = version
        self._caps = caps
        self._timed = timed
        self._names = {key[:4].upper().encode() for key in caps}
        self._found = Id3Tag()

    def read(self, at: int, end: int) -> Id3Tag:
        for _ in range(MOST_ENTRIES):
            frame = self._frame(at, end)
            if frame is None:
                return self._found
            self._take(frame)
            at = frame.at + frame.size
        raise Unreasonable("an ID3 tag with too many frames")

    def _frame(self, at: int, end: int) -> _Frame | None:
        width = 6 if self._version == 2 else 10
        if at + width > end:
            return None
        head = self._view.read(at, width)
        if not _is_name(head[: 3 if width == 6 else 4]):
            return None  # padding, or damage behind which nothing can be found
        if width == 6:
            name, size, flags = head[:3], int.from_bytes(head[3:6], "big"), 0
        else:
            name, flags = head[:4], int.from_bytes(head[8:10], "big")
            size = self._size(head[4:8], at + width, end)
        if at + width + size > end:
            return None
        return _Frame(_MODERN.get(name, name), at + width, size, flags)

    def _size(self, raw: bytes, at: int, end: int) -> int:
        plain = int.from_bytes(raw, "big")
        if self._version == 3 or plain < 0x80:
            return plain
        size = _synchsafe(raw)
        # Some writers of 2.4 forgot that sizes are synchsafe: believe what leads to a frame.
        if not self._leads_on(at + size, end) and self._leads_on(at + plain, end):
            return plain
        return size

    def _leads_on(self, at: int, end: int) -> bool:
        if at + HEADER > end:
            return at <= end
        name = self._view.read(at, 4)
        return _is_name(name) or name == b"\0\0\0\0"

    def _take(self, frame: _Frame) -> None:
        is_timed = frame.name == b"SYLT" and self._timed
        if not (is_timed or frame.name in self._names) or frame.size > LYRICS_CAP:
            return
        body = self._body(frame)
        if not body:
            return
        if is_timed:
            self._take_timed(body)
            return
        key, values, size = _READERS.get(frame.name, _text_frame)(frame.name, body)
        if key in self._caps and size <= self._caps[key]:
            self._found.values.setdefault(key, []).extend(values)

    def _take_timed(self, body: bytes) -> None:
        frame = _timed_frame(body)
        if frame is not None:
            self._found.timed.append(frame)

    def _body(self, frame: _Frame) -> bytes:
        body = self._view.read(frame.at, frame.size)
        if self._version == 4:
            return _unpacked_v4(body, frame.flags, unsynchronised=self.unsynchronised)
        return _unpacked_v3(body, frame.flags)


def _text_frame(name: bytes, body: bytes) -> tuple[str, list[str], int]:
    return name.decode("ascii").lower(), _split(_decode(body[0], body[1:])), len(body)


def _user_text_frame(_name: bytes, body: bytes) -> tuple[str, list[str], int]:
    description, *values = _decode(body[0], body[1:]).split("\0")
    return f"txxx:{_bare(description).lower()}", [_bare(each) for each in values], len(body)


def _file_id_frame(_name: bytes, body: bytes) -> tuple[str, list[str], int]:
    owner, _, identifier = body.partition(b"\0")
    key = f"ufid:{owner.decode('latin-1').lower()}"
    return key, [identifier.decode("latin-1")], len(body)


def _lyrics_frame(_name: bytes, body: bytes) -> tuple[str, list[str], int]:
    _description, text = _cut(body[0], body[4:])
    return "uslt", [_bare(_decode(body[0], text)).rstrip("\0")], len(body)


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
    return text.removeprefix("\ufeff")


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
