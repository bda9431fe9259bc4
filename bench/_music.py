"""Songs as real libraries hold them, made quickly and without filling the disk.

Each has the tags a common tagger writes, a cover of 50 to 200 KiB, and 3 to 10 MB of
audio of which only the headers and the ends are really there.
"""

import struct
import sys
from base64 import b64encode
from io import BytesIO
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

MIX = ("mp3", "flac", "m4a", "mp3", "flac", "mp3", "ogg", "flac", "mp3", "opus")
"""The kinds of file in an album folder of ten."""
COVERS_KIB = (50, 80, 120, 200)
_WORDS = (
    *("Harbour", "Lantern", "Silver", "Winter", "Hollow", "Paper", "Northern", "Quiet", "Ember"),
    *("Glass", "River", "Thunder", "Copper", "Velvet", "Midnight", "Garden", "Distant", "Broken"),
)
_COVER = Random(4).randbytes(256 * 1024)


def make_real_song(path: Path, kind: str, album: int, track: int) -> None:
    """Make one song; where it lies in the library decides what it is called."""
    chance = Random(album * 100 + track)
    tags = song_tags(album, track, chance)
    cover = b"\xff\xd8\xff\xe0" + _COVER[: chance.choice(COVERS_KIB) * 1024]
    size = chance.randrange(3_000_000, 10_000_000)
    seconds = 120 + chance.randrange(240)
    _MAKERS[kind](path, tags, cover, (seconds, size, chance.random()))


def song_tags(album: int, track: int, chance: Random) -> dict[str, str]:
    """Give what a tagger writes, under the names of Vorbis comments."""
    artist = f"{_WORDS[album // 10 % 18]} {_WORDS[album // 180 % 18]} {album // 10}"
    guest = f" feat. {chance.choice(_WORDS)} Choir" if chance.random() < 0.1 else ""
    title = f"{chance.choice(_WORDS)} {chance.choice(_WORDS)} {album}-{track}"
    title += chance.choice(("", "", "", "", " (Live)", " - 2011 Remaster", " é la nuit"))
    uuid = "{:08x}-0000-4000-8000-{:012x}"
    return {
        "TITLE": title,
        "ARTIST": artist + guest,
        "ARTISTS": artist,
        "ALBUM": f"{chance.choice(_WORDS)} Tides {album}",
        "ALBUMARTIST": artist,
        "ALBUMARTISTSORT": artist,
        "ARTISTSORT": artist,
        "DATE": "2011-04-05",
        "ORIGINALDATE": "1987-01-01",
        "TRACKNUMBER": str(track + 1),
        "TRACKTOTAL": "10",
        "DISCNUMBER": "1",
        "GENRE": "Rock",
        "LABEL": "Some Records",
        "CATALOGNUMBER": f"SR-{album}",
        "BARCODE": f"{album:013}",
        "MEDIA": "CD",
        "RELEASESTATUS": "official",
        "RELEASETYPE": "album",
        "RELEASECOUNTRY": "GB",
        "SCRIPT": "Latn",
        "ISRC": f"GBAYE{album % 100:02}{track:05}",
        "MUSICBRAINZ_TRACKID": uuid.format(album, track),
        "MUSICBRAINZ_ALBUMID": uuid.format(album, 1000),
        "MUSICBRAINZ_ARTISTID": uuid.format(album // 10, 2000),
        "MUSICBRAINZ_ALBUMARTISTID": uuid.format(album // 10, 2000),
        "MUSICBRAINZ_RELEASEGROUPID": uuid.format(album, 3000),
        "MUSICBRAINZ_RELEASETRACKID": uuid.format(album, 4000 + track),
        "REPLAYGAIN_TRACK_GAIN": "-7.32 dB",
        "REPLAYGAIN_TRACK_PEAK": "0.988525",
    }


_Body = tuple[int, int, float]
_ID3_NAMES = {
    **{"TITLE": "TIT2", "ARTIST": "TPE1", "ALBUM": "TALB", "ALBUMARTIST": "TPE2"},
    **{"ALBUMARTISTSORT": "TSO2", "ARTISTSORT": "TSOP", "TRACKNUMBER": "TRCK"},
    **{"DISCNUMBER": "TPOS", "GENRE": "TCON", "LABEL": "TPUB", "MEDIA": "TMED", "ISRC": "TSRC"},
}


def _make_mp3(path: Path, tags: dict[str, str], cover: bytes, body: _Body) -> None:
    from builders import id3_bytes, mp3_bytes, mp3_frame

    seconds, size, chance = body
    version = 3 if chance < 0.5 else 4
    frames = [_id3_frame(name, value, version) for name, value in tags.items()]
    frames.append(("TDRC" if version == 4 else "TYER", b"\x002011"))
    frames.append(("APIC", b"\0image/jpeg\0\x03\0" + cover))
    head = id3_bytes(frames, version=version)
    if chance < 0.9:
        _write_sparse(path, head + mp3_bytes(seconds), size)
        return
    frame = mp3_frame()  # an old encoder: no header says the length
    count = seconds * 38
    _write_sparse(path, head + frame * 4, len(head) + len(frame) * count)
    with path.open("r+b") as file:
        for quarter in (1, 2, 3):
            file.seek(len(head) + len(frame) * (count * quarter // 4))
            file.write(frame * 4)


def _id3_frame(name: str, value: str, version: int) -> tuple[str, bytes]:
    if name == "MUSICBRAINZ_TRACKID":
        return "UFID", b"http://musicbrainz.org\0" + value.encode()
    known = _ID3_NAMES.get(name)
    if version == 4:
        return (known, b"\3" + value.encode()) if known else ("TXXX", _described(name, value))
    text = "\ufeff{}".format
    if known:
        return known, b"\1" + text(value).encode("utf-16-le")
    both = text(name) + "\0" + text(value)
    return "TXXX", b"\1" + both.encode("utf-16-le")


def _described(name: str, value: str) -> bytes:
    return b"\3" + name.encode() + b"\0" + value.encode()


def _make_flac(path: Path, tags: dict[str, str], cover: bytes, body: _Body) -> None:
    from builders import comment_bytes

    seconds, size, chance = body
    rate = 44100
    packed = rate << 44 | 1 << 41 | 15 << 36 | seconds * rate
    info = struct.pack(">HH6s", 4096, 4096, b"") + packed.to_bytes(8, "big") + bytes(16)
    blocks = [
        (0, info),
        (3, bytes(18 * (seconds // 10))),
        (4, comment_bytes(list(tags.items()))),
        (6, _picture(cover)),
        (1, bytes(8192)),
    ]
    if chance < 0.3:  # some taggers put the picture first
        blocks[2], blocks[3] = blocks[3], blocks[2]
    last = len(blocks) - 1
    data = b"".join(
        bytes((kind | (0x80 if at == last else 0),)) + len(block).to_bytes(3, "big") + block
        for at, (kind, block) in enumerate(blocks)
    )
    _write_sparse(path, b"fLaC" + data + b"\xff\xf8", size * 3)


def _picture(cover: bytes) -> bytes:
    head = struct.pack(">I", 3) + struct.pack(">I", 10) + b"image/jpeg" + struct.pack(">I", 0)
    return head + struct.pack(">IIIII", 600, 600, 24, 0, len(cover)) + cover


def _make_m4a(path: Path, tags: dict[str, str], cover: bytes, body: _Body) -> None:
    from mutagen.mp4 import MP4, MP4Cover

    from builders import MP4_NAMES, make_audio

    seconds, size, _ = body
    make_audio(path, "m4a")
    audio = MP4(path)
    plain = {"TITLE": "title", "ARTIST": "artist", "ALBUM": "album", "ALBUMARTIST": "album_artist"}
    for name, value in tags.items():
        if name in plain:
            audio[MP4_NAMES[plain[name]]] = [value]
        else:
            known = "MusicBrainz Track Id" if name == "MUSICBRAINZ_TRACKID" else name
            audio[f"----:com.apple.iTunes:{known}"] = [value.encode()]
    audio["covr"] = [MP4Cover(cover)]
    audio.save()
    data = path.read_bytes()
    at = data.index(b"mdhd") + 4
    scale = struct.unpack_from(">I", data, at + 12)[0]
    data = data[: at + 16] + struct.pack(">I", scale * seconds) + data[at + 20 :]
    data += struct.pack(">I4s", size - len(data), b"free")
    _write_sparse(path, data, size)


def _make_ogg(path: Path, tags: dict[str, str], cover: bytes, body: _Body) -> None:
    from mutagen import File
    from mutagen.ogg import OggPage

    from builders import make_audio

    seconds, size, _ = body
    make_audio(path, path.suffix[1:])
    audio = File(path)
    for name, value in tags.items():
        audio[name] = [value]
    audio["METADATA_BLOCK_PICTURE"] = [b64encode(_picture(cover)).decode()]
    audio.save()
    data = path.read_bytes()
    at = data.rindex(b"OggS")
    page = OggPage(BytesIO(data[at:]))
    page.position = seconds * (48000 if path.suffix == ".opus" else 44100)
    _write_sparse(path, data[:at], size)
    with path.open("ab") as file:
        file.write(page.write())


def _write_sparse(path: Path, head: bytes, size: int) -> None:
    with path.open("wb") as file:
        file.write(head)
        file.truncate(max(size, len(head)))


_MAKERS = {
    "mp3": _make_mp3,
    "flac": _make_flac,
    "m4a": _make_m4a,
    "ogg": _make_ogg,
    "opus": _make_ogg,
}
