"""Audio files for tests, real enough that every reader of such files takes them.

``minimal_flac``, ``minimal_mp3`` and ``minimal_wav`` are made in memory and may claim
any length; ``make_audio`` makes any container the service knows, tagged as a common
tagger does it.
"""

import shutil
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

BLANKS = Path(__file__).parent / "data" / "audio"
"""Two seconds each of what only an encoder can make."""

CONTAINERS = (
    *("mp3", "m4a", "m4b", "m4p", "mp4", "alac", "flac", "ogg", "oga", "opus", "aac", "wav"),
    *("aif", "aiff", "wma", "asf", "ape", "wv", "mpc", "mka", "dsf", "dff", "tta"),
)
PICTURE = b"\xff\xd8\xff\xe0" + b"picture" * 100

Texts = str | Sequence[str]


def make_audio(path: Path, container: str | None = None, **tags: Texts) -> Path:
    """Make a file of about two seconds.

    Tags: ``title artist artists album album_artist isrc mbid lyrics``, each a text or
    a list; ``container`` is an extension and defaults to the one of ``path``.
    """
    kind = container or path.suffix[1:].lower()
    path.parent.mkdir(parents=True, exist_ok=True)
    values = {name: _listed(value) for name, value in tags.items()}
    if kind == "mka":
        path.write_bytes(matroska(values))
        return path
    if kind in _BY_HAND:
        path.write_bytes(_BY_HAND[kind]())
    else:
        shutil.copyfile(BLANKS / f"blank.{_BLANK_OF.get(kind, kind)}", path)
    if values:
        _TAGGERS[kind](path, values)
    return path


def minimal_flac(path: Path, *, seconds: float = 200.0, **tags: Texts) -> Path:
    """Write a FLAC file that claims this length; quick and a few hundred bytes long."""
    values = {name: _listed(value) for name, value in tags.items()}
    pairs = [(VORBIS_NAMES[name], each) for name, found in values.items() for each in found]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(flac_bytes(pairs, seconds=seconds))
    return path


def minimal_mp3(path: Path, *, seconds: float = 200.0, **tags: Texts) -> Path:
    """Write an MP3 file whose header claims this length."""
    values = {name: _listed(value) for name, value in tags.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes((id3_bytes(id3_frames(values)) if values else b"") + mp3_bytes(seconds))
    return path


def minimal_wav(path: Path, *, seconds: float = 200.0, rate: int = 8000, **tags: Texts) -> Path:
    """Write a sparse WAV file of this length with RIFF INFO texts."""
    names = {"title": b"INAM", "artist": b"IART", "album": b"IPRD", "isrc": b"ISRC"}
    info = b"".join(
        _riff_chunk(names[name], each.encode() + b"\0")
        for name, value in tags.items()
        for each in _listed(value)
    )
    size = int(seconds * rate)
    head = _riff_chunk(b"fmt ", struct.pack("<HHIIHH", 1, 1, rate, rate, 1, 8))
    if info:
        head += _riff_chunk(b"LIST", b"INFO" + info)
    head += b"data" + struct.pack("<I", size)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(b"RIFF" + struct.pack("<I", 4 + len(head) + size) + b"WAVE" + head)
        file.truncate(12 + len(head) + size)
    return path


def flac_bytes(pairs: Sequence[tuple[str, str]], *, seconds: float = 200.0) -> bytes:
    """Give the blocks of a FLAC file with these comments, and no audio."""
    rate = 44100
    packed = rate << 44 | 1 << 41 | 15 << 36 | round(seconds * rate)
    info = struct.pack(">HH6s", 4096, 4096, b"") + packed.to_bytes(8, "big") + bytes(16)
    comments = comment_bytes(pairs)
    return (
        b"fLaC"
        + b"\0" + len(info).to_bytes(3, "big") + info
        + b"\x84" + len(comments).to_bytes(3, "big") + comments
    )  # fmt: skip


def comment_bytes(pairs: Sequence[tuple[str, str]]) -> bytes:
    """Give a block of Vorbis comments."""
    entries = [f"{name}={value}".encode() for name, value in pairs]
    body = b"".join(struct.pack("<I", len(entry)) + entry for entry in entries)
    return struct.pack("<I", 4) + b"test" + struct.pack("<I", len(entries)) + body


def mp3_frame(kbits: int = 128) -> bytes:
    """Give one silent frame: MPEG 1 layer III, 44.1 kHz, stereo."""
    rates = (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
    head = bytes((0xFF, 0xFB, (rates.index(kbits) + 1) << 4, 0))
    return head.ljust(144 * kbits * 1000 // 44100, b"\0")


def mp3_bytes(seconds: float) -> bytes:
    """Give three frames of which the first claims this length."""
    frames = round(seconds * 44100 / 1152)
    frame = bytearray(mp3_frame())
    frame[36:52] = b"Xing" + struct.pack(">III", 3, frames, frames * len(frame))
    return bytes(frame) + mp3_frame() * 2


def id3_bytes(frames: Sequence[tuple[str, bytes]], *, version: int = 4, flags: int = 0) -> bytes:
    """Give an ID3v2.3 or 2.4 tag of these frames."""
    body = b"".join(
        name.encode()
        + (synchsafe(len(data)) if version == 4 else struct.pack(">I", len(data)))
        + b"\0\0"
        + data
        for name, data in frames
    )
    return b"ID3" + bytes((version, 0, flags)) + synchsafe(len(body)) + body


def id3_frames(values: dict[str, list[str]]) -> list[tuple[str, bytes]]:
    """Give the frames a common tagger writes for these tags, as UTF-8."""
    frames: list[tuple[str, bytes]] = []
    for name, found in values.items():
        text = b"\0".join(each.encode() for each in found)
        if name == "mbid":
            frames.append(("UFID", b"http://musicbrainz.org\0" + text))
        elif name == "artists":
            frames.append(("TXXX", b"\3ARTISTS\0" + text))
        elif name == "lyrics":
            frames.append(("USLT", b"\3eng\0" + text))
        else:
            frames.append((ID3_NAMES[name], b"\3" + text))
    return frames


def synchsafe(number: int) -> bytes:
    return bytes(number >> shift & 0x7F for shift in (21, 14, 7, 0))


VORBIS_NAMES = {
    "title": "TITLE",
    "artist": "ARTIST",
    "artists": "ARTISTS",
    "album": "ALBUM",
    "album_artist": "ALBUMARTIST",
    "isrc": "ISRC",
    "mbid": "MUSICBRAINZ_TRACKID",
    "lyrics": "LYRICS",
}
ID3_NAMES = {
    "title": "TIT2",
    "artist": "TPE1",
    "album": "TALB",
    "album_artist": "TPE2",
    "isrc": "TSRC",
}
MP4_NAMES = {
    "title": "\xa9nam",
    "artist": "\xa9ART",
    "artists": "----:com.apple.iTunes:ARTISTS",
    "album": "\xa9alb",
    "album_artist": "aART",
    "isrc": "----:com.apple.iTunes:ISRC",
    "mbid": "----:com.apple.iTunes:MusicBrainz Track Id",
    "lyrics": "\xa9lyr",
}
ASF_NAMES = {
    "title": "Title",
    "artist": "Author",
    "artists": "WM/ARTISTS",
    "album": "WM/AlbumTitle",
    "album_artist": "WM/AlbumArtist",
    "isrc": "WM/ISRC",
    "mbid": "MusicBrainz/Track Id",
    "lyrics": "WM/Lyrics",
}
APE_NAMES = {
    "title": "Title",
    "artist": "Artist",
    "artists": "Artists",
    "album": "Album",
    "album_artist": "Album Artist",
    "isrc": "ISRC",
    "mbid": "MUSICBRAINZ_TRACKID",
    "lyrics": "Lyrics",
}


def matroska(values: dict[str, list[str]], *, seconds: float = 2.0) -> bytes:
    """Give a Matroska file: index, info, one track, one cluster of silence, tags at the end."""
    track = {"title": "TITLE", "artist": "ARTIST", "isrc": "ISRC", "lyrics": "LYRICS"}
    track["mbid"] = "MUSICBRAINZ_TRACKID"
    album = {"album": "TITLE", "album_artist": "ARTIST"}
    tags = element(
        "1254C367",
        _matroska_tag(30, track, values) + _matroska_tag(50, album, values),
    )
    info = element(
        "1549A966",
        element("2AD7B1", (1_000_000).to_bytes(3, "big"))
        + element("4489", struct.pack(">d", seconds * 1000))
        + element("4D80", b"test")
        + element("5741", b"test"),
    )
    tracks = element(
        "1654AE6B",
        element(
            "AE",
            element("D7", b"\1")
            + element("73C5", b"\1")
            + element("83", b"\2")
            + element("86", b"A_PCM/INT/LIT")
            + element("E1", element("B5", struct.pack(">f", 8000)) + element("6264", b"\x08")),
        ),
    )
    cluster = element("1F43B675", element("E7", b"\0") + element("A3", b"\x81\0\0\x80" + bytes(99)))

    def index(position: int) -> bytes:
        seek = element("53AB", bytes.fromhex("1254C367"))
        seek += element("53AC", position.to_bytes(4, "big"))
        return element("114D9B74", element("4DBB", seek))

    before = len(index(0) + info + tracks + cluster)
    head = element("1A45DFA3", element("4282", b"matroska"))
    return head + element("18538067", index(before) + info + tracks + cluster + tags)


def element(kind: str, data: bytes) -> bytes:
    """Give an EBML element with an eight-byte size."""
    return bytes.fromhex(kind) + (1 << 56 | len(data)).to_bytes(8, "big") + data


def _matroska_tag(level: int, names: dict[str, str], values: dict[str, list[str]]) -> bytes:
    simple = b"".join(
        element("67C8", element("45A3", name.encode()) + element("4487", each.encode()))
        for field, name in names.items()
        for each in values.get(field, ())
    )
    return element("7373", element("63C0", element("68CA", bytes((level,)))) + simple)


def _listed(value: Texts) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _riff_chunk(name: bytes, data: bytes) -> bytes:
    return name + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)


def _wav() -> bytes:
    body = _riff_chunk(b"fmt ", struct.pack("<HHIIHH", 1, 1, 8000, 16000, 2, 16))
    body += _riff_chunk(b"data", bytes(32000))
    return b"RIFF" + struct.pack("<I", 4 + len(body)) + b"WAVE" + body


def _aiff() -> bytes:
    rate = struct.pack(">HQ", 16383 + 12, 8000 << 51)
    body = b"COMM" + struct.pack(">IHIH", 18, 1, 16000, 16) + rate
    body += b"SSND" + struct.pack(">III", 32008, 0, 0) + bytes(32000)
    return b"FORM" + struct.pack(">I", 4 + len(body)) + b"AIFF" + body


def _flac() -> bytes:
    return flac_bytes([], seconds=2)


def _ape() -> bytes:
    descriptor = struct.pack("<4sHHIIIIIII16s", b"MAC ", 3990, 0, 52, 24, 4, 0, 64, 0, 0, b"")
    header = struct.pack("<HHIIIHHI", 2000, 0, 73728, 14472, 2, 16, 2, 44100)
    return descriptor + header + bytes(68)


def _mpc() -> bytes:
    return struct.pack("<3sBII", b"MP+", 7, 77, 0) + bytes(20) + bytes(256)


def _dsf() -> bytes:
    data = bytes(8192)
    fmt = struct.pack("<4sQIIIIIIQII", b"fmt ", 52, 1, 0, 1, 1, 2822400, 1, 5644800, 4096, 0)
    body = fmt + struct.pack("<4sQ", b"data", 12 + len(data)) + data
    return struct.pack("<4sQQQ", b"DSD ", 28, 28 + len(body), 0) + body


def _dff() -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        return name + struct.pack(">Q", len(data)) + data + b"\0" * (len(data) % 2)

    sound = chunk(b"FS  ", struct.pack(">I", 8000)) + chunk(b"CHNL", b"\0\1SLFT")
    sound += chunk(b"CMPR", b"DSD \x0enot compressed")
    body = chunk(b"FVER", bytes((1, 5, 0, 0))) + chunk(b"PROP", b"SND " + sound)
    body += chunk(b"DSD ", bytes(2000))
    return b"FRM8" + struct.pack(">Q", 4 + len(body)) + b"DSD " + body


def _tag_id3(path: Path, values: dict[str, list[str]]) -> None:
    from mutagen import id3

    tags = id3.ID3()
    _fill_id3(tags, values)
    tags.save(path)


def _fill_id3(tags: Any, values: dict[str, list[str]]) -> None:
    from mutagen import id3

    for name, found in values.items():
        if name == "mbid":
            tags.add(id3.UFID(owner="http://musicbrainz.org", data=found[0].encode()))
        elif name == "artists":
            tags.add(id3.TXXX(encoding=3, desc="ARTISTS", text=found))
        elif name == "lyrics":
            tags.add(id3.USLT(encoding=3, lang="eng", desc="", text=found[0]))
        else:
            tags.add(id3.Frames[ID3_NAMES[name]](encoding=3, text=found))
    tags.add(id3.APIC(encoding=0, mime="image/jpeg", type=3, desc="", data=PICTURE))


def _tag_chunked(path: Path, values: dict[str, list[str]]) -> None:
    from mutagen import aiff, dsdiff, dsf, wave

    kinds: dict[bytes, Any]
    kinds = {b"RIFF": wave.WAVE, b"FORM": aiff.AIFF, b"DSD ": dsf.DSF, b"FRM8": dsdiff.DSDIFF}
    audio = kinds[path.read_bytes()[:4]](path)
    audio.add_tags()
    _fill_id3(audio.tags, values)
    audio.save()


def _tag_vorbis(path: Path, values: dict[str, list[str]]) -> None:
    from mutagen import flac, oggflac, oggopus, oggvorbis

    head = path.read_bytes()[:64]
    ogg: Any = oggopus.OggOpus if b"OpusHead" in head else oggvorbis.OggVorbis
    ogg = oggflac.OggFLAC if b"\x7fFLAC" in head else ogg
    audio: Any = (flac.FLAC if head[:4] == b"fLaC" else ogg)(path)
    if audio.tags is None:
        audio.add_tags()
    for name, found in values.items():
        audio.tags[VORBIS_NAMES[name]] = found
    audio.save()


def _tag_mp4(path: Path, values: dict[str, list[str]]) -> None:
    from mutagen.mp4 import MP4, MP4Cover

    audio = MP4(path)
    for name, found in values.items():
        key = MP4_NAMES[name]
        audio[key] = [each.encode() for each in found] if key[0] == "-" else found
    audio["covr"] = [MP4Cover(PICTURE)]
    audio.save()


def _tag_asf(path: Path, values: dict[str, list[str]]) -> None:
    from mutagen.asf import ASF

    audio = ASF(path)
    for name, found in values.items():
        audio[ASF_NAMES[name]] = found
    audio.save()


def _tag_ape(path: Path, values: dict[str, list[str]]) -> None:
    from mutagen.apev2 import APEv2

    tags = APEv2()
    for name, found in values.items():
        tags[APE_NAMES[name]] = found
    tags.save(path)


_BLANK_OF = {"m4b": "m4a", "m4p": "m4a", "mp4": "m4a", "asf": "wma"}
_BY_HAND: dict[str, Callable[[], bytes]] = {
    "wav": _wav,
    "aif": _aiff,
    "aiff": _aiff,
    "flac": _flac,
    "ape": _ape,
    "mpc": _mpc,
    "dsf": _dsf,
    "dff": _dff,
}
_TAGGERS: dict[str, Callable[[Path, dict[str, list[str]]], None]] = {
    **dict.fromkeys(("mp3", "aac", "tta"), _tag_id3),
    **dict.fromkeys(("wav", "aif", "aiff", "dsf", "dff"), _tag_chunked),
    **dict.fromkeys(("flac", "ogg", "oga", "opus"), _tag_vorbis),
    **dict.fromkeys(("m4a", "m4b", "m4p", "mp4", "alac"), _tag_mp4),
    **dict.fromkeys(("wma", "asf"), _tag_asf),
    **dict.fromkeys(("ape", "wv", "mpc"), _tag_ape),
}
