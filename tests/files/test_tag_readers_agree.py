"""The fast reader and the complete one say the same about the same file."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders import CONTAINERS, id3_bytes, make_audio, minimal_flac, minimal_mp3, mp3_frame
from lyrsvc.files.audio_opening import open_audio
from lyrsvc.files.complete_tags import read_complete
from lyrsvc.files.containers import sniff
from lyrsvc.files.fast_tags import read_fast
from lyrsvc.files.tag_table import Wish
from lyrsvc.files.tags import TagRead, interpret

WISH = Wish(enrich=True, embedded=True)
SHARED = [
    each for each in CONTAINERS if each not in ("ape", "wv", "mpc", "mka", "dsf", "dff", "tta")
]
MBID = "f1d1d1d1-0000-4000-8000-000000000001"
CORPUS = {
    "full": {
        "title": "Größe / 大きさ",
        "artist": ["AC/DC", "B"],
        "artists": ["AC/DC", "B"],
        "album": "L",
        "album_artist": ["V", "W"],
        "isrc": ["us-abc-12-34567", "GBAYE0000351"],
        "mbid": MBID,
        "lyrics": "[00:01.00]One\n[00:02.00]Two\n",
    },
    "plain words": {"title": "T", "artist": "A", "lyrics": "One\nTwo\n"},
    "list without artist": {"title": "T", "artists": ["A", "B"]},
    "several titles": {"title": ["T", "U"], "artist": "A", "album": ["L", "M"]},
    "long": {"title": "T" * 3000, "artist": "A", "album": "é" * 20_000},
    "no title": {"artist": "A", "album": "L"},
    "odd blanks": {"title": "  T\tU ", "artist": " A ", "mbid": f" {MBID.upper()} "},
}


def both(path: Path) -> tuple[TagRead, TagRead]:
    with open_audio(path) as source:
        sniffed = sniff(source, path.suffix[1:])
        assert sniffed is not None
        fast = interpret(read_fast(source, sniffed, WISH), WISH, "")
        complete = interpret(read_complete(source, sniffed, WISH), WISH, "")
    return fast, complete


def agree(path: Path) -> None:
    fast, complete = both(path)
    assert fast.duration_ms == pytest.approx(complete.duration_ms, rel=0.01, abs=100)
    assert replace(fast, duration_ms=None) == replace(complete, duration_ms=None)


@pytest.mark.parametrize("name", CORPUS)
@pytest.mark.parametrize("container", SHARED)
def test_every_field_is_equal(tmp_path, container, name):
    agree(make_audio(tmp_path / f"x.{container}", **CORPUS[name]))


@pytest.mark.parametrize("container", SHARED)
def test_every_field_is_equal_for_a_file_without_tags(tmp_path, container):
    agree(make_audio(tmp_path / f"x.{container}"))


@pytest.mark.parametrize("v2_version", [3, 4])
@pytest.mark.parametrize("encoding", [0, 1, 3])
def test_every_field_is_equal_for_the_versions_of_id3(tmp_path, v2_version, encoding):
    from mutagen import id3

    path = make_audio(tmp_path / "x.mp3")
    tags = id3.ID3()
    tags.add(id3.TIT2(encoding=encoding, text="Größe ÿ"))
    tags.add(id3.TPE1(encoding=encoding, text=["AC/DC", "B"]))
    tags.add(id3.TXXX(encoding=encoding, desc="ARTISTS", text=["AC/DC", "B"]))
    tags.add(id3.USLT(encoding=encoding, lang="eng", desc="x", text="One\nTwo"))
    tags.add(
        id3.SYLT(encoding=encoding, lang="eng", format=2, type=1, text=[("One", 10), ("Two", 20)])
    )
    tags.save(path, v2_version=v2_version)
    agree(path)


@pytest.mark.parametrize("flags", [0x02, 0x03, 0x01, 0x40])
def test_every_field_is_equal_for_frames_with_flags(tmp_path, flags):
    """Unsynchronised, with its length first, grouped: what 2.4 allows for a frame."""
    title = b"\1" + "ÿ title".encode("utf-16")
    if flags & 0x02:
        title = title.replace(b"\xff", b"\xff\0")
    title = (b"\7" if flags & 0x40 else b"") + (b"\0\0\0\x20" if flags & 1 else b"") + title
    size = bytes(len(title) >> shift & 0x7F for shift in (21, 14, 7, 0))
    frame = b"TIT2" + size + bytes((0, flags)) + title
    rest = id3_bytes([("TPE1", b"\3A")])[10:]
    total = bytes(len(frame + rest) >> shift & 0x7F for shift in (21, 14, 7, 0))
    path = tmp_path / "x.mp3"
    path.write_bytes(b"ID3\4\0\0" + total + frame + rest + mp3_frame() * 99)
    assert both(path)[0].title == "ÿ title"
    if flags != 0x40:  # the library does not read a grouped frame
        agree(path)


NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=40)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(title=NAMES, artists=st.lists(NAMES, min_size=1, max_size=3), seconds=st.floats(1, 9999))
def test_every_field_is_equal_for_any_names(tmp_path, title, artists, seconds):
    agree(minimal_flac(tmp_path / "x.flac", title=title, artist=artists, seconds=seconds))
    agree(minimal_mp3(tmp_path / "x.mp3", title=title, artist=artists, seconds=seconds))


@pytest.mark.needs_tool("ffmpeg")
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("vbr.mp3", ["-c:a", "libmp3lame", "-q:a", "5"]),
        ("cbr.mp3", ["-c:a", "libmp3lame", "-b:a", "128k", "-write_xing", "0"]),
        ("x.flac", ["-c:a", "flac"]),
        ("x.ogg", ["-c:a", "libvorbis"]),
        ("x.opus", ["-c:a", "libopus"]),
        ("x.m4a", ["-c:a", "aac"]),
        ("x.wav", []),
        ("x.aiff", []),
        ("x.aac", ["-c:a", "aac"]),
        ("x.wma", ["-c:a", "wmav2"]),
    ],
)
def test_every_field_is_equal_for_what_an_encoder_makes(tmp_path, name, options):
    import subprocess

    path = tmp_path / name
    noise = ["-f", "lavfi", "-i", "anoisesrc=r=44100:d=20:a=0.2"]
    names = ["-metadata", "title=Größe", "-metadata", "artist=A; B", "-metadata", "album=L"]
    command = ["ffmpeg", "-v", "error", "-y", *noise, *names, *options, str(path)]
    subprocess.run(command, check=True)
    fast, complete = both(path)
    assert fast.duration_ms == pytest.approx(20_000, abs=200)
    assert replace(fast, duration_ms=None) == replace(complete, duration_ms=None)


@pytest.mark.parametrize("spelled", ["ARTISTS", "Artists", "artists"])
@pytest.mark.parametrize("v2_version", [3, 4])
@pytest.mark.parametrize("encoding", [0, 1, 2, 3])
def test_a_described_frame_is_found_among_many_that_nobody_asks_for(
    tmp_path, encoding, v2_version, spelled
):
    from mutagen import id3

    path = make_audio(tmp_path / "x.mp3")
    tags = id3.ID3()
    tags.add(id3.TIT2(encoding=encoding, text="T"))
    tags.add(id3.TPE1(encoding=encoding, text="A & B"))
    for number in range(40):
        tags.add(id3.TXXX(encoding=encoding, desc=f"ARTISTS {number}", text=["X", "Y"]))
        tags.add(id3.TXXX(encoding=encoding, desc=f"{number} ARTISTS", text=["X", "Y"]))
    tags.add(id3.APIC(encoding=0, mime="image/jpeg", type=3, desc="", data=bytes(100_000)))
    tags.add(id3.TXXX(encoding=encoding, desc=spelled, text=["A", "B"]))
    tags.add(id3.TXXX(encoding=encoding, desc="MusicBrainz Track Id", text=MBID))
    tags.save(path, v2_version=v2_version, v23_sep=None)
    agree(path)
    fast, _ = both(path)
    assert (fast.artists, fast.mbid) == (("A", "B"), MBID)


@pytest.mark.parametrize("mark", [b"\xff\xfe", b"\xfe\xff", b"", b"\xff\xfe\xff\xfe"])
def test_a_description_is_found_behind_any_byte_order_mark(tmp_path, mark):
    order = "utf-16-be" if mark == b"\xfe\xff" else "utf-16-le"
    described = b"\1" + mark + "ISRC\0".encode(order) + mark[:2] + "GBAYE0000351".encode(order)
    path = tmp_path / "x.mp3"
    frames = [("TIT2", b"\3T"), ("TPE1", b"\3A"), ("TXXX", described)]
    path.write_bytes(id3_bytes(frames) + mp3_frame() * 99)
    assert both(path)[0].isrcs == ("GBAYE0000351",)


def test_every_field_is_equal_where_freeform_atoms_are_many(tmp_path):
    from mutagen.mp4 import MP4, MP4Cover

    path = make_audio(tmp_path / "x.m4a", title="T", artist="A")
    audio = MP4(path)
    for number in range(60):
        audio[f"----:com.apple.iTunes:ISRC {number}"] = [b"GBAYE0000352"]
    audio["----:org.elsewhere:ISRC"] = [b"GBAYE0000353"]
    audio["covr"] = [MP4Cover(bytes(100_000))]
    audio["----:com.apple.iTunes:isrc"] = [b"GBAYE0000351"]
    audio["----:com.apple.iTunes:ARTISTS"] = [b"A", b"B"]
    audio.save()
    agree(path)
    assert both(path)[0].isrcs == ("GBAYE0000351",)


@pytest.mark.parametrize("container", ["ogg", "opus", "oga", "flac"])
def test_every_field_is_equal_behind_a_large_picture(tmp_path, container):
    """The comments of an Ogg file hold their picture as text, over many pages."""
    from mutagen import File

    path = make_audio(tmp_path / f"x.{container}", title="T", artist="A")
    audio = File(path)
    audio["aaa"] = ["x" * 150_000]
    audio["ArTiSts"] = ["A", "B"]
    audio["zzz"] = ["y" * 70_000]
    audio["isrc"] = ["GBAYE0000351"]
    audio.save()
    agree(path)
    fast, _ = both(path)
    assert (fast.artists, fast.isrcs) == (("A", "B"), ("GBAYE0000351",))
