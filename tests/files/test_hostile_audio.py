"""Files that are broken, or want to break the reader."""

import os
import resource
import socket
import struct
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders import (
    CONTAINERS,
    flac_bytes,
    id3_bytes,
    make_audio,
    minimal_mp3,
    mp3_frame,
    synchsafe,
)
from lyrsvc.core.errors import FileFault
from lyrsvc.files.audio_opening import fault_of
from lyrsvc.files.tags import read_tags

SPARSE = 200 * 1024 * 1024


def reason(path: Path | str | bytes) -> str:
    with pytest.raises(FileFault) as caught:
        read_tags(path, enrich=True, embedded=True)
    return caught.value.reason


def outcome(path: Path) -> str:
    try:
        tags = read_tags(path, enrich=True, embedded=True)
    except FileFault as fault:
        return fault.reason
    for text in (tags.title, tags.artist, tags.album):
        text.encode()
    assert tags.duration_ms is None or tags.duration_ms > 0
    return "read"


class TestWhatIsNoFile:
    def test_a_fifo_is_not_opened(self, tmp_path):
        os.mkfifo(tmp_path / "x.flac")
        assert reason(tmp_path / "x.flac") == "not_regular"

    def test_a_directory_a_socket_and_a_device_are_not_regular(self, tmp_path, monkeypatch):
        (tmp_path / "x.mp3").mkdir()
        (tmp_path / "y.mp3").symlink_to("/dev/zero")
        monkeypatch.chdir(tmp_path)  # the address of a socket must be short
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("z.mp3")
        assert [reason(tmp_path / f"{name}.mp3") for name in "xyz"] == ["not_regular"] * 3

    def test_an_empty_file_is_named_so(self, tmp_path):
        (tmp_path / "x.flac").touch()
        assert reason(tmp_path / "x.flac") == "empty_file"

    def test_a_missing_file_and_a_dangling_link_are_io_errors(self, tmp_path):
        (tmp_path / "x.mp3").symlink_to("nowhere")
        assert reason(tmp_path / "x.mp3") == reason(tmp_path / "y.mp3") == "io_error"

    def test_a_name_with_nul_is_an_io_error(self):
        assert reason("x\0.mp3") == "io_error"

    @pytest.mark.skipif(os.geteuid() == 0, reason="the administrator may read everything")
    def test_a_file_without_permission_is_denied(self, tmp_path):
        path = minimal_mp3(tmp_path / "x.mp3", title="T", artist="A")
        path.chmod(0)
        assert reason(path) == "open_denied"

    def test_a_refusal_of_the_system_is_a_denial(self):
        assert fault_of(PermissionError(13, "no")).reason == "open_denied"
        assert fault_of(OSError(5, "broken disk")).reason == "io_error"

    def test_a_link_to_a_file_is_read(self, tmp_path):
        minimal_mp3(tmp_path / "real.mp3", title="T", artist="A")
        (tmp_path / "x.mp3").symlink_to("real.mp3")
        assert read_tags(tmp_path / "x.mp3", enrich=True).title == "T"

    def test_an_undecodable_name_is_read(self, tmp_path):
        name = os.fsencode(tmp_path) + b"/\xff\xfe song.mp3"
        minimal_mp3(tmp_path / "a.mp3", title="T", artist="A").rename(os.fsdecode(name))
        assert read_tags(name, enrich=True).title == "T"
        assert read_tags(Path(os.fsdecode(name)), enrich=True).title == "T"


@pytest.mark.parametrize("container", CONTAINERS)
def test_random_bytes_are_a_bad_container_under_every_name(tmp_path, container):
    path = tmp_path / f"x.{container}"
    path.write_bytes(bytes(range(7, 200)) * 50)
    assert reason(path) == "bad_container"


@pytest.mark.parametrize("container", CONTAINERS)
def test_text_is_a_bad_container_under_every_name(tmp_path, container):
    path = tmp_path / f"x.{container}"
    path.write_text("these are just words\n" * 1000)
    assert reason(path) == "bad_container"


@pytest.mark.parametrize("container", CONTAINERS)
def test_only_the_magic_of_a_container_is_not_enough(tmp_path, container):
    path = make_audio(tmp_path / f"x.{container}", title="T", artist="A")
    path.write_bytes(path.read_bytes()[:12])
    assert reason(path) == "bad_container"


def test_tags_are_used_even_when_the_audio_behind_them_is_lost(tmp_path):
    path = tmp_path / "x.mp3"
    path.write_bytes(id3_bytes([("TIT2", b"\3T"), ("TPE1", b"\3A")]) + bytes(999))
    tags = read_tags(path, enrich=True)
    assert (tags.title, tags.artist, tags.duration_ms) == ("T", "A", None)


def sparse_picture_mp3(path: Path) -> None:
    names = b"".join(
        name + synchsafe(len(data)) + b"\0\0" + data
        for name, data in ((b"TIT2", b"\3T"), (b"TPE1", b"\3A"))
    )
    head = b"APIC" + synchsafe(SPARSE) + b"\0\0"
    size = len(names) * 2 + len(head) + SPARSE
    with path.open("wb") as file:
        file.write(b"ID3\4\0\0" + synchsafe(size) + names + head)
        file.seek(SPARSE, os.SEEK_CUR)
        file.write(names + mp3_frame() * 99)


def sparse_picture_m4a(path: Path) -> None:
    def atom(name: bytes, *parts: bytes, extra: int = 0) -> bytes:
        body = b"".join(parts)
        return struct.pack(">I", 8 + len(body) + extra) + name + body

    def text(name: bytes, value: bytes) -> bytes:
        return atom(name, atom(b"data", struct.pack(">II", 1, 0), value))

    cover = atom(b"covr", extra=SPARSE)
    names = text(b"\xa9nam", b"T") + text(b"\xa9ART", b"A")
    ilst = atom(b"ilst", cover, extra=SPARSE + len(names))
    meta = atom(b"meta", bytes(4), ilst, extra=SPARSE + len(names))
    udta = atom(b"udta", meta, extra=SPARSE + len(names))
    media = atom(b"mdhd", struct.pack(">IIIIII", 0, 0, 0, 1000, 5000, 0))
    media += atom(b"hdlr", bytes(8), b"soun", bytes(13))
    trak = atom(b"trak", atom(b"mdia", media))
    moov = atom(b"moov", trak, udta, extra=SPARSE + len(names))
    with path.open("wb") as file:
        file.write(atom(b"ftyp", b"M4A \0\0\0\0") + moov)
        file.seek(SPARSE, os.SEEK_CUR)
        file.write(names)


def sparse_picture_ogg(path: Path) -> None:
    whole = make_audio(path, "ogg", title="T", artist="A").read_bytes()
    first = whole[: whole.index(b"OggS", 4)]
    serial = first[14:18]
    entries = [b"TITLE=T", b"METADATA_BLOCK_PICTURE=", b"ARTIST=A"]
    size = 255 * 255 * 3000

    def page(segments: bytes, body: bytes = b"") -> bytes:
        head = b"OggS\0\1" + bytes(8) + serial + bytes(8) + bytes((len(segments),)) + segments
        return head + body

    start = b"\3vorbis" + struct.pack("<I", 0) + struct.pack("<I", 3)
    start += struct.pack("<I", 7) + entries[0]
    filled = 255 * 255 - len(start) - 4 - len(entries[1])
    start += struct.pack("<I", len(entries[1]) + filled + size) + entries[1]
    with path.open("wb") as file:
        file.write(first + page(b"\xff" * 255, start.ljust(255 * 255, b"A")))
        for _ in range(3000):
            file.write(page(b"\xff" * 255))
            file.seek(255 * 255, os.SEEK_CUR)
        end = struct.pack("<I", 8) + entries[2] + b"\1"
        file.write(page(bytes((len(end),)), end))
        last = bytearray(page(b"\0"))
        last[6:14] = struct.pack("<q", 22050 * 7)
        file.write(last)


@pytest.mark.parametrize(
    ("name", "make"),
    [("x.mp3", sparse_picture_mp3), ("x.m4a", sparse_picture_m4a), ("x.ogg", sparse_picture_ogg)],
)
def test_a_picture_of_200_megabytes_is_stepped_over(tmp_path, name, make):
    make(tmp_path / name)
    assert (tmp_path / name).stat().st_size > SPARSE * 0.9
    read_tags(make_audio(tmp_path / "warm.mp3", title="T", artist="A"), enrich=True)
    tracemalloc.start()
    try:
        tags = read_tags(tmp_path / name, enrich=True, embedded=True)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (tags.title, tags.artist, tags.reader) == ("T", "A", "fast")
    assert tags.duration_ms
    assert peak < 4 * 1024 * 1024


@pytest.mark.parametrize(
    "data",
    [
        flac_bytes([])[:42] + b"\x84\xff\xff\xff\0\0\0\0" + b"\xff\xff\xff\x7f" + bytes(2**22),
        b"fLaC" + b"\1\0\0\0" * 2**20,
        id3_bytes([("TXXX", b"")] * 100_000),
        id3_bytes([("TPE1", b"\3A")] * 100_000),
        mp3_frame()[:4] * 2**20,
        b"\xff\xfb" * 2**20,
        b"ID3\4\0\0\x7f\x7f\x7f\x7f" + bytes(2**20),
        b"\0\0\0\x08free" * 2**18,
        struct.pack(">I4s", 2**22, b"moov") + struct.pack(">I4s", 8, b"trak") * 2**19,
        b"RIFF\0\0\0\0WAVE" + b"LIST\0\0\0\0" * 2**18,
        b"\x1a\x45\xdf\xa3\x80" + b"\x18\x53\x80\x67\x01" + b"\xff" * 7 + b"\xec\x80" * 2**20,
        b"OggS\0\2" + bytes(20) + b"\0" + (b"OggS\0\0" + bytes(20) + b"\0") * 2**16,
        b"wvpk" + b"\0" * 2**20,
        b"MPCK" + b"SH\x03" * 2**18,
        b"DSD " + b"\xff" * 2**16,
        b"FRM8" + b"\0" * 2**20,
        b"MAC " + b"\xff" * 2**16,
        b"APETAGEX" * 2**16,
    ],
    ids=lambda data: repr(data[:12]),
)
@pytest.mark.parametrize("suffix", ["mp3", "aac"])
def test_floods_end_quickly_and_cost_little_memory(tmp_path, data, suffix):
    path = tmp_path / f"x.{suffix}"
    path.write_bytes(data)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    assert outcome(path) in ("read", "bad_container")
    assert time.process_time() - start < 3
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150 * 1024


SEEDS = {}


def blank(container: str, directory: Path) -> bytes:
    if container not in SEEDS:
        path = directory / f"seed.{container}"
        make_audio(path, title="T", artist=["A", "B"], isrc="GBAYE0000351", lyrics="[00:01]a")
        SEEDS[container] = path.read_bytes()
    return SEEDS[container]


@settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_no_damage_raises_anything_but_a_file_fault(tmp_path, data):
    container = data.draw(st.sampled_from(CONTAINERS))
    content = bytearray(blank(container, tmp_path))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, min(len(content), 4000)))
        piece = data.draw(
            st.one_of(
                st.binary(min_size=1, max_size=8),
                st.sampled_from([b"\xff" * 4, b"\0" * 4, b"\x7f\xff\xff\xff", bytes(content[:64])]),
            )
        )
        length = data.draw(st.integers(0, 64))
        content[at : at + length] = piece
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(1, len(content))) :]
    path = tmp_path / f"x.{data.draw(st.sampled_from((container, 'mp3', 'flac')))}"
    path.write_bytes(content)
    assert outcome(path) in ("read", "bad_container")
