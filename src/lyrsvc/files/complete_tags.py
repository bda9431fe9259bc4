"""The complete reader: the tag library, for rare containers and for doubt.

It gives tags under the same native names as the fast reader, so that one table
serves both. It is slower, and it loads pictures: the budget bounds that.
"""

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, Final

from lyrsvc.files.byte_source import BoundedFile, ByteSource, Truncated
from lyrsvc.files.chunk_files import read_text_chunks
from lyrsvc.files.containers import Container, Sniffed
from lyrsvc.files.mpeg_frames import measure_mpeg
from lyrsvc.files.tag_table import (
    APE,
    ASF,
    ID3,
    MP4,
    VORBIS,
    Family,
    RawTags,
    TimedFrame,
    Values,
    Wish,
)

BUDGET: Final = 64 * 1024 * 1024
_LYRICS_TYPE: Final = 1
_IN_FRAMES: Final = 1

_CLASSES: Final = {
    Container.MPEG: ("mutagen.mp3", "MP3"),
    Container.AAC: ("mutagen.aac", "AAC"),
    Container.FLAC: ("mutagen.flac", "FLAC"),
    Container.MP4: ("mutagen.mp4", "MP4"),
    Container.ASF: ("mutagen.asf", "ASF"),
    Container.WAV: ("mutagen.wave", "WAVE"),
    Container.AIFF: ("mutagen.aiff", "AIFF"),
    Container.APE: ("mutagen.monkeysaudio", "MonkeysAudio"),
    Container.WAVPACK: ("mutagen.wavpack", "WavPack"),
    Container.MUSEPACK: ("mutagen.musepack", "Musepack"),
    Container.DSF: ("mutagen.dsf", "DSF"),
    Container.DSDIFF: ("mutagen.dsdiff", "DSDIFF"),
    Container.TTA: ("mutagen.trueaudio", "TrueAudio"),
}
_WITH_FIRST_VERSION: Final = (Container.MPEG, Container.TTA)
_OGG_CLASSES: Final = (
    (b"OpusHead", ("mutagen.oggopus", "OggOpus")),
    (b"\x7fFLAC", ("mutagen.oggflac", "OggFLAC")),
    (b"Speex   ", ("mutagen.oggspeex", "OggSpeex")),
    (b"\x01vorbis", ("mutagen.oggvorbis", "OggVorbis")),
)


def read_complete(source: ByteSource, sniffed: Sniffed, wish: Wish) -> RawTags:
    """Read a file with the tag library; anything it raises is its own."""
    module, name = _class_of(source, sniffed)
    bounded = source.again(BUDGET)
    # The short first version of ID3 counts only when nothing better is there.
    options = {"load_v1": False} if sniffed.container in _WITH_FIRST_VERSION else {}
    try:
        audio = getattr(import_module(module), name)(BoundedFile(bounded, name), **options)
    finally:
        source.failure = bounded.failure
    raw = _native(audio.tags)
    if not raw.named:
        raw = _second_source(source, sniffed, wish) or raw
    if sniffed.container is Container.MPEG:
        _settle_mpeg(source, sniffed, raw)
    if raw.duration_s is None and not raw.length_settled:
        raw.duration_s = audio.info.length
    return raw


def _class_of(source: ByteSource, sniffed: Sniffed) -> tuple[str, str]:
    if sniffed.container in _CLASSES:
        return _CLASSES[sniffed.container]
    head = source.peek(sniffed.at, 512)
    for magic, named in _OGG_CLASSES:
        if magic in head:
            return named
    raise Truncated


def _settle_mpeg(source: ByteSource, sniffed: Sniffed, raw: RawTags) -> None:
    """Keep the library from guessing the length of a variable stream by its first frame."""
    stream = measure_mpeg(source, sniffed.at)
    if stream is not None:
        raw.frame_ms, raw.duration_s = stream.frame_ms, stream.duration_s
        raw.length_settled = stream.variable


def _second_source(source: ByteSource, sniffed: Sniffed, wish: Wish) -> RawTags | None:
    """Read the tags that count where the container's own are missing."""
    if sniffed.container in (Container.MPEG, Container.TTA, Container.AAC):
        return _separate_tags(source)
    if sniffed.container in (Container.WAV, Container.AIFF):
        plain = read_text_chunks(source, sniffed.at, wish)
        return plain if plain.values else None
    return None


def _separate_tags(source: ByteSource) -> RawTags | None:
    from mutagen import MutagenError
    from mutagen.apev2 import APEv2
    from mutagen.id3 import ID3 as Id3

    best: RawTags | None = None
    openers: tuple[tuple[Callable[..., Any], dict[str, bool]], ...] = (
        (Id3, {"load_v1": False}),
        (APEv2, {}),
        (Id3, {"load_v1": True}),
    )
    for opener, options in openers:
        try:
            raw = _native(opener(BoundedFile(source.again(BUDGET), "tags"), **options))
        except MutagenError:
            continue
        if raw.named:
            return raw
        best = best or (raw if raw.values else None)
    return best


def _native(tags: Any) -> RawTags:  # noqa: ANN401 - the library has no types
    kind = type(tags).__mro__
    names = {each.__name__ for each in kind}
    for name, family, reader in _FAMILIES:
        if name in names:
            return RawTags(family=family, values=reader(tags), timed=_timed(tags, family))
    return RawTags(family=VORBIS, values={})


def _id3_values(tags: Any) -> Values:  # noqa: ANN401
    values: dict[str, list[str]] = {}
    for frame in tags.values():
        name = frame.FrameID
        if name == "TXXX":
            _add(values, f"txxx:{frame.desc}", frame.text)
        elif name == "UFID":
            _add(values, f"ufid:{frame.owner}", [frame.data.decode("latin-1")])
        elif name == "USLT":
            _add(values, "uslt", [frame.text])
        elif name in ("TIT2", "TPE1", "TPE2", "TALB", "TSRC"):
            _add(values, name, frame.text)
    return values


def _vorbis_values(tags: Any) -> Values:  # noqa: ANN401
    values: dict[str, list[str]] = {}
    for key, value in list(tags):
        _add(values, key, [value])
    return values


def _mp4_values(tags: Any) -> Values:  # noqa: ANN401
    values: dict[str, list[str]] = {}
    for key, items in tags.items():
        if isinstance(items, list):
            _add(values, key, [_as_text(item, "utf-8") for item in items])
    return values


def _asf_values(tags: Any) -> Values:  # noqa: ANN401
    values: dict[str, list[str]] = {}
    for key, attribute in list(tags):
        if isinstance(getattr(attribute, "value", attribute), str):
            _add(values, key, [str(attribute)])
    return values


def _ape_values(tags: Any) -> Values:  # noqa: ANN401
    values: dict[str, list[str]] = {}
    for key, item in tags.items():
        if isinstance(getattr(item, "value", None), str):
            _add(values, key, item.value.split("\0"))
    return values


def _timed(tags: Any, family: Family) -> list[TimedFrame]:  # noqa: ANN401
    if family is not ID3:
        return []
    return [
        TimedFrame(frame.format == _IN_FRAMES, tuple(frame.text))
        for frame in tags.getall("SYLT")
        if frame.type == _LYRICS_TYPE and frame.format in (_IN_FRAMES, 2)
    ]


def _add(values: dict[str, list[str]], key: str, found: Iterable[object]) -> None:
    values.setdefault(key.lower(), []).extend(str(each) for each in found)


def _as_text(item: object, encoding: str) -> str:
    return bytes(item).decode(encoding, "replace") if isinstance(item, bytes) else str(item)


_FAMILIES: Final[tuple[tuple[str, Family, Callable[[Any], Values]], ...]] = (
    ("ID3", ID3, _id3_values),
    ("VComment", VORBIS, _vorbis_values),
    ("MP4Tags", MP4, _mp4_values),
    ("ASFTags", ASF, _asf_values),
    ("APEv2", APE, _ape_values),
)
