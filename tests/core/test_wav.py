import io
import wave

from lyrsvc.core.wav import wrap_pcm


def test_samples_become_a_wav_that_any_reader_takes():
    pcm = bytes(range(256)) * 10
    with wave.open(io.BytesIO(wrap_pcm(pcm))) as read:
        assert (read.getnchannels(), read.getsampwidth(), read.getframerate()) == (1, 2, 16_000)
        assert read.readframes(read.getnframes()) == pcm


def test_half_a_sample_at_the_end_is_left_out():
    assert wrap_pcm(b"abc") == wrap_pcm(b"ab")
