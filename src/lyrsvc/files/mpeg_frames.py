"""MPEG audio (MP3): finding frames, and the length of a stream without decoding it."""

import struct
from typing import Final, NamedTuple

from lyrsvc.files.byte_source import ByteSource

_SEARCHED: Final = 256 * 1024
_STEP: Final = 16 * 1024
_PROBED: Final = 8 * 1024
_MOST_SYNCS: Final = 4000
_RATES: Final = {3: (44100, 48000, 32000), 2: (22050, 24000, 16000), 0: (11025, 12000, 8000)}
_KBITS: Final = {
    (True, 3): (32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448),
    (True, 2): (32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384),
    (True, 1): (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    (False, 3): (32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256),
    (False, 2): (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
    (False, 1): (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
"""By (MPEG 1?, layer bits); layer bits count down: 3 is layer I."""
_GAPLESS: Final = (b"LAME", b"L3.9", b"Lavf", b"Lavc")


class MpegFrame(NamedTuple):
    """What the four bytes of a frame header say."""

    at: int
    kind: tuple[int, int, int]
    bit_rate: int
    sample_rate: int
    samples: int
    size: int
    mono: bool


class MpegStream(NamedTuple):
    """A stream's length; ``variable`` streams without a header have none that is known."""

    frame_ms: float
    duration_s: float | None
    variable: bool = False


def measure_mpeg(source: ByteSource, at: int) -> MpegStream | None:
    """Measure the stream that starts at or after this position, None when there is none."""
    first = _first_frame(source, at)
    if first is None:
        return None
    frame_ms = first.samples * 1000 / first.sample_rate
    samples = _promised_samples(source, first)
    if samples:
        return MpegStream(frame_ms, samples / first.sample_rate)
    end = _audio_end(source)
    rates = [frame.bit_rate for frame in _probes(source, first, end)]
    if len(set(rates)) > 1:
        return MpegStream(frame_ms, None, variable=True)
    length = (end - first.at) * 8 / (rates[0] if rates else first.bit_rate)
    return MpegStream(frame_ms, length)


def parse_frame(head: bytes, at: int = 0) -> MpegFrame | None:
    """Read a frame header, None when these bytes are none."""
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE0 != 0xE0:
        return None
    version, layer = head[1] >> 3 & 3, head[1] >> 1 & 3
    rate_index, frequency = head[2] >> 4, head[2] >> 2 & 3
    if version == 1 or layer == 0 or rate_index in (0, 15) or frequency == 3:
        return None
    bit_rate = _KBITS[version == 3, layer][rate_index - 1] * 1000
    sample_rate = _RATES[version][frequency]
    samples = 384 if layer == 3 else 576 if layer == 1 and version != 3 else 1152
    slot = 4 if layer == 3 else 1
    size = (samples // 8 // slot * bit_rate // sample_rate + (head[2] >> 1 & 1)) * slot
    mono = head[3] >> 6 == 3
    return MpegFrame(at, (version, layer, frequency), bit_rate, sample_rate, samples, size, mono)


def _first_frame(source: ByteSource, at: int) -> MpegFrame | None:
    frame = parse_frame(source.peek(at, 4), at)  # where nearly every stream begins
    if frame is not None and _continues(source, frame):
        return frame
    end = min(source.size, at + _SEARCHED)
    while at < end:
        frame = _find(source, at, min(_STEP, end - at))
        if frame is not None:
            return frame
        at += _STEP
    return None


def _find(
    source: ByteSource, at: int, length: int, like: MpegFrame | None = None
) -> MpegFrame | None:
    data = source.peek(at, length + 3)
    index = -1
    for _ in range(_MOST_SYNCS):
        index = data.find(b"\xff", index + 1, length)
        if index < 0:
            return None
        frame = parse_frame(data[index : index + 4], at + index)
        if frame and (not like or like.kind == frame.kind) and _continues(source, frame):
            return frame
    return None


def _continues(source: ByteSource, frame: MpegFrame) -> bool:
    after = frame.at + frame.size
    if after >= source.size:  # the last frame, whole or cut, or the only one
        return frame.at == 0 or after == source.size
    following = parse_frame(source.peek(after, 4))
    return following is not None and following.kind == frame.kind


def _promised_samples(source: ByteSource, first: MpegFrame) -> int:
    head = source.peek(first.at, 200)
    is_mpeg1 = first.kind[0] == 3
    at = (21 if first.mono else 36) if is_mpeg1 else (13 if first.mono else 21)
    if head[at : at + 4] in (b"Xing", b"Info"):
        return _xing_samples(head[at:], first)
    if head[36:40] == b"VBRI" and len(head) >= 54:
        frames: int = struct.unpack_from(">I", head, 50)[0]
        return frames * first.samples
    return 0


def _xing_samples(header: bytes, first: MpegFrame) -> int:
    if len(header) < 12 or not header[7] & 1:
        return 0
    samples: int = struct.unpack_from(">I", header, 8)[0] * first.samples
    if header[7] & 0x0F == 0x0F and header[120:124] in _GAPLESS and len(header) >= 144:
        delay = int.from_bytes(header[141:144], "big")
        samples -= (delay >> 12) + (delay & 0xFFF)
    return max(0, samples)


def _probes(source: ByteSource, first: MpegFrame, end: int) -> list[MpegFrame]:
    """Give one frame near each quarter of the stream."""
    length = end - first.at
    points = [first.at + length * quarter // 4 for quarter in (1, 2, 3)]
    found = [_find(source, point, min(_PROBED, end - point), first) for point in points]
    return [frame for frame in found if frame is not None]


def _audio_end(source: ByteSource) -> int:
    end = source.size
    if source.peek(end - 128, 3) == b"TAG" and end >= 128:
        end -= 128
    footer = source.peek(end - 32, 32) if end >= 32 else b""
    if footer[:8] == b"APETAGEX":
        size, flags = struct.unpack_from("<I4xI", footer, 12)
        end -= size + (32 if flags & 0x8000_0000 else 0)
    return max(0, end) or source.size
