"""The length of an Ogg stream, read from its last page instead of from all of them."""

import struct
from typing import Final

from lyrsvc.files.byte_source import WINDOW, ByteSource

_TAILS: Final = (WINDOW, 64 * 1024, 1024 * 1024)
"""Most pages are short, none has more than 64 KiB; the longest look is for appended things."""
_NO_PACKET_ENDS: Final = -1


def last_granule(source: ByteSource, serial: int) -> int | None:
    """Give the last position of this stream, None when the tail holds no page of it."""
    for tail in _TAILS:
        length = min(tail, source.size)
        found = _search(source.read(source.size - length, length), serial)
        if found is not None or length == source.size:
            return found
    return None


def _search(tail: bytes, serial: int) -> int | None:
    at = len(tail)
    while (at := tail.rfind(b"OggS\0", 0, at)) >= 0:
        if at + 18 > len(tail):
            continue
        granule, owner = struct.unpack_from("<qI", tail, at + 6)
        if owner == serial and granule > _NO_PACKET_ENDS:
            return int(granule)
    return None
