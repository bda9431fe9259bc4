"""Raw AAC: the length of a stream of ADTS frames, counted rather than guessed.

A raw stream has no header that promises a length, and its frames vary in size.
"""

from typing import Final

from lyrsvc.files.byte_source import ByteSource

_RATES: Final = (
    96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350,
)  # fmt: skip
_BLOCK: Final = 256 * 1024
_COUNTED: Final = 16 * 1024 * 1024
_SEARCHED: Final = 4096
_HEADER: Final = 7
_BLOCK_SAMPLES: Final = 1024


def is_adts(head: bytes) -> bool:
    """Tell whether an ADTS frame may start here: MPEG audio never has these layer bits."""
    return len(head) > 2 and head[0] == 0xFF and head[1] & 0xF6 == 0xF0 and _rate(head) > 0


def measure_adts(source: ByteSource, at: int) -> float | None:
    """Count the frames of the stream that starts near here, None when there are not two."""
    at = _first_frame(source, at)
    if at < 0:
        return None
    rate = _rate(source.read(at, _HEADER))
    blocks, end = _count(source, at, min(source.size, at + _COUNTED))
    if blocks < 2:
        return None
    scale = (source.size - at) / (end - at) if end - at >= _COUNTED - 8192 else 1.0
    return blocks * _BLOCK_SAMPLES * scale / rate


def _first_frame(source: ByteSource, at: int) -> int:
    data = source.peek(at, _SEARCHED)
    index = data.find(b"\xff")
    while index >= 0:
        head = source.peek(at + index, _HEADER)
        if is_adts(head) and _size(head) >= _HEADER:
            following = source.peek(at + index + _size(head), _HEADER)
            if is_adts(following):
                return at + index
        index = data.find(b"\xff", index + 1)
    return -1


def _count(source: ByteSource, at: int, end: int) -> tuple[int, int]:
    blocks, start, data = 0, at, b""
    while at + _HEADER <= end:
        if at + _HEADER > start + len(data):
            start, data = at, source.peek(at, _BLOCK)
        head = data[at - start : at - start + _HEADER]
        size = _size(head)
        if not is_adts(head) or size < _HEADER:
            break
        blocks += 1 + (head[6] & 3)
        at += size
    return blocks, at


def _size(head: bytes) -> int:
    return (head[3] & 3) << 11 | head[4] << 3 | head[5] >> 5 if len(head) >= _HEADER else 0


def _rate(head: bytes) -> int:
    index = head[2] >> 2 & 15
    return _RATES[index] if index < len(_RATES) else 0
