"""Sampling with the real ffmpeg, and with programs that misbehave in its place."""

import array
import io
import logging
import os
import subprocess
import sys
import time
import wave
from itertools import pairwise
from pathlib import Path

import pytest

import sounds
from lyrsvc.core.detection import ListeningStopped
from lyrsvc.core.errors import FileFault
from lyrsvc.detector.sampler import SamplePlan, Sampler

pytestmark = pytest.mark.needs_tool("ffmpeg")

HOUR = 3600


def samples(wav: bytes) -> array.array:
    with wave.open(io.BytesIO(wav)) as read:
        assert (read.getnchannels(), read.getsampwidth(), read.getframerate()) == (1, 2, 16_000)
        return array.array("h", read.readframes(read.getnframes()))


def seconds(wav: bytes) -> float:
    return len(samples(wav)) / 16_000


def pitch(part: array.array) -> float:
    """Hear how high a tone is by counting how often it rises through zero."""
    rises = sum(a < 0 <= b for a, b in pairwise(part))
    return rises / (len(part) / 16_000)


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_each_window_is_of_its_own_place_in_the_track(tmp_path):
    parts = [
        sounds.tone(tmp_path / f"{hz}.wav", 60, hz=hz) for hz in (300, 500, 700, 900, 1100, 1300)
    ]
    listing = tmp_path / "parts.txt"
    listing.write_text("".join(f"file '{part}'\n" for part in parts))
    track = tmp_path / "track.flac"
    subprocess.run(
        ["ffmpeg", "-v", "error", "-f", "concat", "-safe", "0", "-i", listing, track], check=True
    )
    heard = samples(Sampler().sample(track, duration_s=360))
    assert len(heard) == 30 * 16_000
    found = [pitch(heard[i * 80_000 + 800 : (i + 1) * 80_000 - 800]) for i in range(6)]
    assert found == pytest.approx([300, 500, 700, 900, 1100, 1300], rel=0.02)


@pytest.mark.parametrize(
    "kind", ["wav", "flac", "mp3", "m4a", "ogg", "opus", "wma", "aac", "wv", "mka"]
)
def test_every_container_is_sampled_from_end_to_end(tmp_path, kind):
    track = sounds.tone(tmp_path / f"track.{kind}", 90, options=("-ac", "2"))
    heard = samples(Sampler().sample(track, duration_s=90))
    assert len(heard) / 16_000 == pytest.approx(30, abs=0.5)
    assert pitch(heard) == pytest.approx(sounds.TONE_HZ, rel=0.03)


def test_a_short_track_is_heard_whole_and_several_channels_are_folded(tmp_path):
    track = sounds.tone(tmp_path / "short.wav", 3.5, options=("-ac", "6", "-ar", "48000"))
    assert seconds(Sampler().sample(track, duration_s=3.5)) == pytest.approx(3.5, abs=0.01)


def test_one_window_is_taken_when_no_spread_is_wanted(tmp_path):
    track = sounds.tone(tmp_path / "track.wav", 120)
    wav = Sampler(plan=SamplePlan(seconds=40, parts=1)).sample(track, duration_s=120)
    assert seconds(wav) == pytest.approx(40, abs=0.01)


def test_an_unknown_length_is_measured_and_without_ffprobe_the_start_is_heard(tmp_path, caplog):
    quiet, loud = sounds.silence(tmp_path / "q.wav", 60), sounds.tone(tmp_path / "l.wav", 60)
    listing = tmp_path / "parts.txt"
    listing.write_text(f"file '{quiet}'\nfile '{loud}'\n")
    track = tmp_path / "track.flac"
    subprocess.run(
        ["ffmpeg", "-v", "error", "-f", "concat", "-safe", "0", "-i", listing, "-ac", "1", track],
        check=True,
    )
    heard = samples(Sampler().sample(track))
    assert any(heard[20 * 16_000 :])
    blind = Sampler(ffprobe=str(tmp_path / "nowhere"))
    with caplog.at_level(logging.WARNING, "lyrsvc.detector"):
        assert not any(samples(blind.sample(track)))
        blind.sample(track)
    assert len(caplog.messages) == 1


def test_a_track_shorter_than_it_claims_is_heard_at_its_start(tmp_path):
    track = sounds.tone(tmp_path / "track.wav", 5)
    assert seconds(Sampler().sample(track, duration_s=4000)) == pytest.approx(5, abs=0.01)


@pytest.mark.parametrize(
    "name",
    [
        b"-rf.wav",
        b"file:pipe:0.wav",
        b"new\nline\ttab.wav",
        b"caf\xe9.wav",
        b"50% %d [x], ,,:.wav",
        b"'quote\".wav",
    ],
)
def test_any_name_is_a_name(tmp_path, name):
    track = tmp_path / os.fsdecode(name)
    sounds.tone(tmp_path / "plain.wav", 2).rename(track)
    assert seconds(Sampler().sample(track, duration_s=2)) == pytest.approx(2, abs=0.01)


def test_any_name_is_a_name_also_where_bytes_are_entered_in_the_middle(tmp_path):
    track = tmp_path / "50% ,,start,9,, [x] ,,:.aac"
    sounds.tone(tmp_path / "plain.aac", 90).rename(track)
    assert seconds(Sampler().sample(track, duration_s=90)) == pytest.approx(30, abs=0.5)


@pytest.mark.spec("E-65")
@pytest.mark.parametrize("content", [b"", b"no audio at all", b"fLaC" + bytes(900), bytes(70_000)])
def test_what_cannot_be_decoded_is_the_files_fault(tmp_path, content):
    track = tmp_path / "track.mp3"
    track.write_bytes(content)
    with pytest.raises(FileFault, match="cannot be decoded") as caught:
        Sampler().sample(track, duration_s=None)
    assert len(str(caught.value).encode()) < 2200


def test_a_picture_alone_is_no_audio(tmp_path):
    track = tmp_path / "track.mp4"
    subprocess.run(
        ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "color=size=64x64:duration=1", track],
        check=True,
    )
    with pytest.raises(FileFault):
        Sampler().sample(track, duration_s=1)


def test_a_playlist_in_disguise_reaches_nothing_on_the_network(tmp_path):
    """No request leaves: the port belongs to a listener that is never visited."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.3)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/a.ts"
        track = tmp_path / "track.m3u8"
        track.write_text(
            f"#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\n{address}\n#EXT-X-ENDLIST\n"
        )
        with pytest.raises(FileFault):
            Sampler().sample(track, duration_s=5)
        with pytest.raises(TimeoutError):
            listener.accept()


def test_a_tool_that_hangs_is_ended_with_everything_it_started(tmp_path):
    pids = tmp_path / "pids"
    tool = script(tmp_path / "tool", f"sleep 300 & echo $! $$ >> {pids}; wait")
    began = time.monotonic()
    with pytest.raises(FileFault, match="within"):
        Sampler(ffmpeg=tool, limit_s=0.5).sample(tmp_path / "any.wav", duration_s=200)
    assert time.monotonic() - began < 10
    started = pids.read_text().split()
    assert len(started) == 2  # one window hung, no other was tried
    end = time.monotonic() + 5
    while any(_is_running(pid) for pid in started):
        assert time.monotonic() < end, "something was left running"


def _is_running(pid: str) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def test_a_tool_that_floods_its_pipes_is_cut_off(tmp_path):
    tool = script(tmp_path / "tool", "yes >&2 & exec yes")
    wav = Sampler(ffmpeg=tool, plan=SamplePlan(seconds=30, parts=6)).sample(
        tmp_path / "any.wav", duration_s=200
    )
    assert seconds(wav) <= 6 * 6


def test_only_the_end_of_what_a_tool_says_is_kept(tmp_path):
    tool = script(tmp_path / "tool", "seq 100000 >&2; echo the end >&2; exit 1")
    with pytest.raises(FileFault, match="the end") as caught:
        Sampler(ffmpeg=tool).sample(tmp_path / "any.wav", duration_s=2)
    assert len(str(caught.value)) < 2200


def test_a_tool_that_leaves_its_pipes_to_a_child_does_not_hold_us(tmp_path):
    tool = script(tmp_path / "tool", "sleep 300 & exit 0")
    with pytest.raises(FileFault, match="within"):
        Sampler(ffmpeg=tool, limit_s=0.5).sample(tmp_path / "any.wav", duration_s=2)


def test_sampling_goes_last_on_the_machine(tmp_path):
    tool = script(tmp_path / "tool", "sleep 0.3; nice >&2; exit 1")
    with pytest.raises(FileFault, match="19"):
        Sampler(ffmpeg=tool).sample(tmp_path / "any.wav", duration_s=2)


def test_the_end_of_the_program_ends_the_tool_at_once(tmp_path):
    stopping = iter([False, True])
    tool = script(tmp_path / "tool", "exec sleep 300")
    began = time.monotonic()
    with pytest.raises(ListeningStopped):
        Sampler(ffmpeg=tool, is_stopping=lambda: next(stopping)).sample(
            tmp_path / "any.wav", duration_s=2
        )
    assert time.monotonic() - began < 5


def test_a_missing_tool_is_told_once(tmp_path, caplog):
    sampler = Sampler(ffmpeg=str(tmp_path / "nowhere"))
    with caplog.at_level(logging.ERROR, "lyrsvc.detector"):
        assert [sampler.find_tool(), sampler.find_tool()] == [False, False]
    assert len(caplog.messages) == 1
    assert "ffmpeg_path" in caplog.messages[0]
    script(tmp_path / "nowhere", "exit 0")
    assert sampler.find_tool()  # installed meanwhile


def an_hour_of_noise(place: Path, kind: str) -> Path:
    """Encode a minute and let it come sixty times, where that gives a sound file."""
    small = ("-ar", "16000", "-ac", "1")  # or an hour without loss is half a gigabyte
    if kind == "flac":  # its frames are numbered
        return sounds.noise(place / "hour.flac", HOUR, ("-compression_level", "0", *small))
    quality = ("-q:a", "4") if kind in ("vbr.mp3", "ogg") else ()
    usual = ("-ar", "48000" if kind == "opus" else "44100", "-ac", "2")
    form = small if kind in ("wv", "wav") else usual
    minute = sounds.noise(place / f"minute.{kind}", 60, (*form, *quality))
    hour = place / f"hour.{kind}"
    loop = ["-stream_loop", "59", "-i", minute, "-c", "copy", hour]
    subprocess.run(["ffmpeg", "-v", "error", *loop], check=True)
    return hour


COUNTING = """#!{python}
import os, subprocess, sys, time
tool = subprocess.Popen(["ffmpeg", *sys.argv[1:]])
counted = os.path.join({place!r}, str(tool.pid))
over = None
while True:
    if over is None:
        over = os.waitid(os.P_PID, tool.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
    with open(f"/proc/{{tool.pid}}/io") as counters:
        read = counters.readline().split()[1]
    with open(counted + ".new", "w") as log:
        log.write(read)
    os.replace(counted + ".new", counted)
    if over is not None:
        sys.exit(tool.wait())
    time.sleep(0.002)
"""


@pytest.mark.spec("E-66")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads are counted by Linux")
@pytest.mark.parametrize("kind", ["flac", "mp3", "vbr.mp3", "ogg", "opus", "aac", "wv", "wav"])
def test_of_an_hour_less_than_a_tenth_is_read(tmp_path, kind):
    track = an_hour_of_noise(tmp_path, kind)
    counts = tmp_path / "counts"
    counts.mkdir()
    tool = tmp_path / "counting"
    tool.write_text(COUNTING.format(python=sys.executable, place=str(counts)))
    tool.chmod(0o755)
    wav = Sampler(ffmpeg=str(tool)).sample(track, duration_s=HOUR)
    read = [int(count.read_text()) for count in counts.iterdir() if not count.suffix]
    assert len(read) == 6
    assert seconds(wav) == pytest.approx(30, abs=0.5)
    share = sum(read) / track.stat().st_size
    assert 0.001 < share < 0.10
