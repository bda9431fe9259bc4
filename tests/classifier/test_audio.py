import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lyrsvc_classifier.audio import RATE, read_wav
from lyrsvc_classifier.faults import BadAudio


def wav(body: bytes, *, kind=1, channels=1, rate=RATE, bits=16, extra=b"", more=b"") -> bytes:
    width = channels * bits // 8
    form = struct.pack("<HHIIHH", kind, channels, rate, rate * width, width, bits) + extra
    chunks = b"fmt " + struct.pack("<I", len(form)) + form
    chunks += more + b"data" + struct.pack("<I", len(body)) + body
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks


WAVE = np.sin(np.arange(RATE) * 2 * np.pi * 440 / RATE) * 0.5


@pytest.mark.parametrize(
    ("kind", "bits", "data"),
    [
        (1, 8, ((WAVE * 127) + 128).astype("u1").tobytes()),
        (1, 16, (WAVE * 32767).astype("<i2").tobytes()),
        (1, 24, (WAVE * 8388607).astype("<i4").view("u1").reshape(-1, 4)[:, :3].tobytes()),
        (1, 32, (WAVE * 2147483647).astype("<i4").tobytes()),
        (3, 32, WAVE.astype("<f4").tobytes()),
        (3, 64, WAVE.astype("<f8").tobytes()),
    ],
)
def test_every_usual_form_of_wav_is_read(kind, bits, data):
    heard = read_wav(wav(data, kind=kind, bits=bits))
    assert heard.dtype == np.float32
    np.testing.assert_allclose(heard, WAVE, atol=0.02)


def test_channels_are_folded_and_other_chunks_passed_over():
    both = np.stack([WAVE, -WAVE, WAVE], axis=1)
    data = (both * 32767).astype("<i2").tobytes()
    heard = read_wav(wav(data, channels=3, more=b"LIST" + struct.pack("<I", 3) + b"abc\0"))
    np.testing.assert_allclose(heard, WAVE / 3, atol=0.01)


def test_the_extensible_form_is_the_form_it_names():
    extra = struct.pack("<HHIH", 22, 16, 0, 1) + bytes(14)
    heard = read_wav(wav((WAVE * 32767).astype("<i2").tobytes(), kind=0xFFFE, extra=extra))
    np.testing.assert_allclose(heard, WAVE, atol=0.01)


@pytest.mark.parametrize("rate", [8_000, 11_025, 22_050, 44_100, 48_000, 96_000])
def test_every_rate_becomes_16_khz_at_the_same_pitch(rate):
    wave = np.sin(np.arange(rate) * 2 * np.pi * 440 / rate) * 0.5
    heard = read_wav(wav((wave * 32767).astype("<i2").tobytes(), rate=rate))
    assert len(heard) == RATE
    spectrum = np.abs(np.fft.rfft(heard))
    assert np.argmax(spectrum) == 440


def test_what_lies_above_the_reach_is_not_folded_back():
    rate = 48_000
    wave = np.sin(np.arange(rate) * 2 * np.pi * 15_000 / rate) * 0.5
    heard = read_wav(wav((wave * 32767).astype("<i2").tobytes(), rate=rate))
    assert np.abs(heard).max() < 0.02


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"RIFF",
        b"RIFF\0\0\0\0WAVE",
        b"OggS" + bytes(100),
        wav(b""),
        wav(b"\0"),
        wav(bytes(100), bits=12),
        wav(bytes(100), kind=85),
        wav(bytes(100), channels=0),
        wav(bytes(100), rate=1),
        wav(struct.pack("<2f", float("nan"), 1), kind=3, bits=32),
        wav(bytes(100), kind=1, bits=0),
    ],
)
def test_what_is_no_audio_is_refused(data):
    with pytest.raises(BadAudio):
        read_wav(data)


@given(st.binary(max_size=200), st.integers(0, 120), st.binary(max_size=8))
def test_no_bytes_break_the_reader(tail, place, patch):
    data = bytearray(wav(tail))
    data[place : place + len(patch)] = patch
    try:
        heard = read_wav(bytes(data))
    except BadAudio:
        return
    assert np.isfinite(heard).all()
