"""Small audio files that every player takes, made without an encoder.

FLAC and WAV hold a quiet tune, sampled as on a telephone; MP3 holds silence, whose
frames need no encoder. Lengths are real: whoever measures a file finds what was asked for.
"""

import hashlib
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from lyrsvc.brand import PROGRAM

RATE: Final = 8_000
NOTES_HZ: Final = (196.0, 220.0, 246.9, 293.7, 329.6, 392.0)
NOTE_SAMPLES: Final = RATE // 2
LOUDNESS: Final = 24
"""Of 127: nobody is startled by a demo."""

Tags = Mapping[str, str]
"""Any of ``title artist album album_artist isrc``."""

_BLOCK: Final = 4_096
_VORBIS: Final = {
    "title": "TITLE",
    "artist": "ARTIST",
    "album": "ALBUM",
    "album_artist": "ALBUMARTIST",
    "isrc": "ISRC",
}
_ID3: Final = {
    "title": "TIT2",
    "artist": "TPE1",
    "album": "TALB",
    "album_artist": "TPE2",
    "isrc": "TSRC",
}
_MP3_RATE: Final = 44_100
_MP3_SAMPLES: Final = 1_152
_MP3_HEAD: Final = bytes((0xFF, 0xFB, 0x10, 0xC4))
"""MPEG 1 layer III, 32 kbit/s, 44.1 kHz, one channel."""
_MP3_FRAME_BYTES: Final = 144 * 32_000 // _MP3_RATE


def audio_bytes(container: str, *, seconds: float, tags: Tags) -> bytes:
    """Give a whole file of a container (``flac``, ``mp3`` or ``wav``); no tags gives none."""
    return _MAKERS[container](seconds, tags)


def _flac(seconds: float, tags: Tags) -> bytes:
    samples = _tune(seconds)
    info = struct.pack(">HH6x", _BLOCK, _BLOCK)
    info += (RATE << 44 | 7 << 36 | len(samples)).to_bytes(8, "big")
    info += hashlib.md5(samples, usedforsecurity=False).digest()
    head = b"fLaC" + _flac_block(0, info) + _flac_block(0x84, _comments(tags))
    return head + _flac_frames(samples)


@lru_cache(maxsize=16)
def _flac_frames(samples: bytes) -> bytes:
    return b"".join(
        _flac_frame(number, samples[start : start + _BLOCK])
        for number, start in enumerate(range(0, len(samples), _BLOCK))
    )


def _flac_block(kind: int, data: bytes) -> bytes:
    return bytes((kind,)) + len(data).to_bytes(3, "big") + data


def _flac_frame(number: int, samples: bytes) -> bytes:
    """Give one frame of samples as they are: 8 kHz, 8 bits, one channel."""
    head = b"\xff\xf8\x74\x02" + _counted(number) + struct.pack(">H", len(samples) - 1)
    head += bytes((_crc(head, _CRC8, 8),))
    body = head + b"\x02" + samples
    return body + _crc(body, _CRC16, 16).to_bytes(2, "big")


def _counted(number: int) -> bytes:
    """Write a frame's number as the format does, which is how UTF-8 writes a character."""
    return chr(number).encode("utf-8", "surrogatepass")


def _comments(tags: Tags) -> bytes:
    entries = [f"{_VORBIS[name]}={value}".encode() for name, value in tags.items()]
    vendor = PROGRAM.encode()
    listed = b"".join(struct.pack("<I", len(entry)) + entry for entry in entries)
    return struct.pack("<I", len(vendor)) + vendor + struct.pack("<I", len(entries)) + listed


def _mp3(seconds: float, tags: Tags) -> bytes:
    count = max(1, round(seconds * _MP3_RATE / _MP3_SAMPLES))
    frame = _MP3_HEAD.ljust(_MP3_FRAME_BYTES, b"\0")
    return (_id3(tags) if tags else b"") + _mp3_index(frame, count) + frame * count


def _mp3_index(frame: bytes, count: int) -> bytes:
    """Give the frame before the first that says how many there are."""
    index = b"Info" + struct.pack(">III", 3, count, (count + 1) * len(frame))
    at = len(_MP3_HEAD) + 17
    return frame[:at] + index + frame[at + len(index) :]


def _wav(seconds: float, tags: Tags) -> bytes:
    samples = _tune(seconds).translate(_UNSIGNED)
    parts = _chunk(b"fmt ", struct.pack("<HHIIHH", 1, 1, RATE, RATE, 1, 8))
    parts += _chunk(b"data", samples)
    if tags:
        parts += _chunk(b"id3 ", _id3(tags))
    return b"RIFF" + struct.pack("<I", 4 + len(parts)) + b"WAVE" + parts


def _chunk(name: bytes, data: bytes) -> bytes:
    return name + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)


def _id3(tags: Tags) -> bytes:
    frames = b""
    for name, value in tags.items():
        text = b"\x03" + value.encode()
        frames += _ID3[name].encode() + _synchsafe(len(text)) + b"\0\0" + text
    return b"ID3\x04\0\0" + _synchsafe(len(frames)) + frames


def _synchsafe(number: int) -> bytes:
    return bytes(number >> shift & 0x7F for shift in (21, 14, 7, 0))


def _tune(seconds: float) -> bytes:
    """Give the samples of a tune, signed, a byte each."""
    wanted = round(seconds * RATE)
    melody = b"".join(_note(hertz) for hertz in NOTES_HZ)
    return (melody * (wanted // len(melody) + 1))[:wanted]


@lru_cache(maxsize=len(NOTES_HZ))
def _note(hertz: float) -> bytes:
    def sample(at: int) -> int:
        fade = min(at, NOTE_SAMPLES - at, NOTE_SAMPLES // 8) / (NOTE_SAMPLES // 8)
        return round(LOUDNESS * fade * math.sin(2 * math.pi * hertz * at / RATE)) & 0xFF

    return bytes(sample(at) for at in range(NOTE_SAMPLES))


def _crc_table(polynomial: int, bits: int) -> Sequence[int]:
    top, mask = 1 << (bits - 1), (1 << bits) - 1
    table = []
    for byte in range(256):
        value = byte << (bits - 8)
        for _ in range(8):
            value = (value << 1 ^ polynomial if value & top else value << 1) & mask
        table.append(value)
    return tuple(table)


def _crc(data: bytes, table: Sequence[int], bits: int) -> int:
    value, mask, shift = 0, (1 << bits) - 1, bits - 8
    for byte in data:
        value = (value << 8 ^ table[value >> shift ^ byte]) & mask
    return value


_UNSIGNED: Final = bytes(value ^ 0x80 for value in range(256))
"""Eight bits are signed in FLAC and unsigned in WAV."""
_CRC8: Final = _crc_table(0x07, 8)
_CRC16: Final = _crc_table(0x8005, 16)
_MAKERS: Final[Mapping[str, Callable[[float, Tags], bytes]]] = {
    "flac": _flac,
    "mp3": _mp3,
    "wav": _wav,
}
