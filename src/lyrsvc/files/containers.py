"""What a file is, told by its first bytes; its name is asked only when they are silent."""

from enum import StrEnum
from typing import Final, NamedTuple

from lyrsvc.files.adts_frames import is_adts
from lyrsvc.files.asf_objects import HEADER as ASF_HEADER
from lyrsvc.files.byte_source import ByteSource
from lyrsvc.files.id3_frames import tag_size


class Container(StrEnum):
    """The kinds of file the readers know."""

    MPEG = "mpeg"
    AAC = "aac"
    FLAC = "flac"
    OGG = "ogg"
    MP4 = "mp4"
    ASF = "asf"
    WAV = "wav"
    AIFF = "aiff"
    MATROSKA = "matroska"
    APE = "ape"
    WAVPACK = "wavpack"
    MUSEPACK = "musepack"
    DSF = "dsf"
    DSDIFF = "dsdiff"
    TTA = "tta"


class Sniffed(NamedTuple):
    """A kind of file, and where it begins behind any leading ID3 tags."""

    container: Container
    at: int


_LOOK: Final = 16
_STACKED: Final = 8
"""Some programs put one ID3 tag before another instead of replacing it."""
_FIRST: Final = {
    b"fLaC": Container.FLAC,
    b"OggS": Container.OGG,
    ASF_HEADER[:4]: Container.ASF,
    b"\x1a\x45\xdf\xa3": Container.MATROSKA,
    b"MAC ": Container.APE,
    b"wvpk": Container.WAVPACK,
    b"MPCK": Container.MUSEPACK,
    b"MP+\x07": Container.MUSEPACK,
    b"MP+\x17": Container.MUSEPACK,
    b"DSD ": Container.DSF,
    b"FRM8": Container.DSDIFF,
    b"TTA1": Container.TTA,
    b"TTA2": Container.TTA,
    b"ADIF": Container.AAC,
}
_SECOND: Final = dict.fromkeys(
    (b"ftyp", b"moov", b"mdat", b"free", b"skip", b"wide"), Container.MP4
)
_THIRD: Final = {b"WAVE": Container.WAV, b"AIFF": Container.AIFF, b"AIFC": Container.AIFF}
"""What the first, second and third four bytes of a file may be."""


def sniff(source: ByteSource, suffix: str) -> Sniffed | None:
    """Tell what a file is; ``suffix`` is the lower-case extension without its dot."""
    at, head = _behind_tags(source)
    container = _FIRST.get(head[:4]) or _SECOND.get(head[4:8]) or _THIRD.get(head[8:12])
    if container is not None:
        return Sniffed(container, at)
    if suffix == "aac" or is_adts(head):
        return Sniffed(Container.AAC, at)
    if at or suffix == "mp3" or (head[:1] == b"\xff" and head[1:2] >= b"\xe0"):
        return Sniffed(Container.MPEG, at)
    return None


def _behind_tags(source: ByteSource) -> tuple[int, bytes]:
    """Give where the leading ID3 tags end, and the first bytes there."""
    at, head = 0, source.peek(0, _LOOK)
    for _ in range(_STACKED):
        size = tag_size(head)
        if size == 0 or at + size > source.size:
            break
        at += size
        head = source.peek(at, _LOOK)
    return at, head
