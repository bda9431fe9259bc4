"""WAV in, waveform out: mono, 16 kHz, between -1 and 1."""

import struct
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lyrsvc_classifier.faults import BadAudio

RATE: Final = 16_000
MOST_CHANNELS: Final = 64
RATES: Final = range(1000, 768_001)

Waveform = NDArray[np.float32]

_EXTENSIBLE: Final = 0xFFFE


@dataclass(frozen=True, slots=True)
class _Form:
    kind: int
    channels: int
    rate: int
    bits: int


def read_wav(data: bytes) -> Waveform:
    """Decode a WAV file, fold it to mono and bring it to 16 kHz."""
    form, body = _chunks_of(data)
    samples = _samples(form, body)
    whole = samples[: len(samples) // form.channels * form.channels]
    mono = whole.reshape(-1, form.channels).mean(axis=1)
    if not len(mono):
        raise BadAudio("there are no samples")
    if not np.isfinite(mono).all():
        raise BadAudio("there are samples that are no number")
    return resample(np.clip(mono, -1.0, 1.0), form.rate).astype(np.float32)


def resample(wave: NDArray[np.float64], rate: int) -> NDArray[np.float64]:
    """Bring a waveform to 16 kHz; whatever lies above 8 kHz is left out, not folded back."""
    wanted = max(1, round(len(wave) * RATE / rate))
    if rate == RATE or len(wave) < 2:
        return wave
    spectrum = np.fft.rfft(wave)
    kept = np.zeros(wanted // 2 + 1, dtype=spectrum.dtype)
    common = min(len(spectrum), len(kept))
    kept[:common] = spectrum[:common]
    return np.clip(np.fft.irfft(kept, wanted) * (wanted / len(wave)), -1.0, 1.0)


def _chunks_of(data: bytes) -> tuple[_Form, bytes]:
    if len(data) < 12 or data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise BadAudio("this is no WAV file")
    form: _Form | None = None
    place = 12
    while place + 8 <= len(data):
        name, size = struct.unpack_from("<4sI", data, place)
        body = data[place + 8 : place + 8 + size]
        if name == b"fmt ":
            form = _form_of(body)
        elif name == b"data" and form is not None:
            return form, body
        place += 8 + size + size % 2
    raise BadAudio("the WAV file has no samples" if form else "the WAV file has no format")


def _form_of(body: bytes) -> _Form:
    if len(body) < 16:
        raise BadAudio("the format of the WAV file is cut off")
    kind, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", body)
    if kind == _EXTENSIBLE and len(body) >= 26:
        (kind,) = struct.unpack_from("<H", body, 24)
    if not 1 <= channels <= MOST_CHANNELS or rate not in RATES:
        raise BadAudio("the WAV file has an impossible format")
    return _Form(kind, channels, rate, bits)


def _samples(form: _Form, body: bytes) -> NDArray[np.float64]:
    width = form.bits // 8
    whole = body[: len(body) // width * width] if width else b""
    match form.kind, form.bits:
        case (1, 8):
            return (np.frombuffer(whole, "u1").astype(np.float64) - 128) / 128
        case (1, 16):
            return np.frombuffer(whole, "<i2").astype(np.float64) / 2**15
        case (1, 24):
            padded = np.frombuffer(whole, "u1").reshape(-1, 3)
            wide = np.zeros((len(padded), 4), "u1")
            wide[:, 1:] = padded
            return wide.view("<i4").reshape(-1).astype(np.float64) / 2**31
        case (1, 32):
            return np.frombuffer(whole, "<i4").astype(np.float64) / 2**31
        case (3, 32):
            return np.frombuffer(whole, "<f4").astype(np.float64)
        case (3, 64):
            return np.frombuffer(whole, "<f8").astype(np.float64)
        case _:
            raise BadAudio(f"WAV of kind {form.kind} with {form.bits} bits is not known")
