"""WAV: the form in which samples are handed to a classifier."""

import struct
from typing import Final

SAMPLE_RATE: Final = 16_000
SAMPLE_BYTES: Final = 2
BYTES_PER_SECOND: Final = SAMPLE_RATE * SAMPLE_BYTES

_PCM: Final = 1
_MONO: Final = 1


def wrap_pcm(pcm: bytes) -> bytes:
    """Put signed 16-bit mono samples at 16 kHz into a WAV file."""
    whole = pcm[: len(pcm) - len(pcm) % SAMPLE_BYTES]
    head = struct.pack(
        "<4sI4s4sIHHIIHH4sI",
        b"RIFF",
        36 + len(whole),
        b"WAVE",
        b"fmt ",
        16,
        _PCM,
        _MONO,
        SAMPLE_RATE,
        BYTES_PER_SECOND,
        SAMPLE_BYTES,
        8 * SAMPLE_BYTES,
        b"data",
        len(whole),
    )
    return head + whole
