"""The fast reader: common containers, read by position without loading what is not wanted."""

from collections.abc import Callable
from typing import Final

from lyrsvc.files.adts_frames import measure_adts
from lyrsvc.files.asf_objects import read_asf
from lyrsvc.files.byte_source import ByteSource
from lyrsvc.files.chunk_files import read_aiff, read_wav
from lyrsvc.files.containers import Container, Sniffed
from lyrsvc.files.id3_frames import HEADER, read_id3, tag_size
from lyrsvc.files.matroska import read_matroska
from lyrsvc.files.mp4_atoms import read_mp4
from lyrsvc.files.mpeg_frames import measure_mpeg
from lyrsvc.files.ogg_pages import read_ogg
from lyrsvc.files.tag_table import ID3, RawTags, Wish
from lyrsvc.files.vorbis_comments import read_flac

Reader = Callable[[ByteSource, int, Wish], RawTags]


def knows(container: Container) -> bool:
    """Tell whether the fast reader can read this kind of file."""
    return container in _READERS


def read_fast(source: ByteSource, sniffed: Sniffed, wish: Wish) -> RawTags:
    """Read the wanted tags; raise ``ValueError`` or ``struct.error`` for a damaged file."""
    return _READERS[sniffed.container](source, sniffed.at, wish)


def read_mpeg(source: ByteSource, at: int, wish: Wish) -> RawTags:
    """Read an MP3: its ID3v2 tag, and the length of the stream behind it."""
    raw = _leading_tag(source, wish)
    if wish.enrich or raw.timed:
        stream = measure_mpeg(source, at)
        if stream is not None:
            raw.duration_s, raw.frame_ms = stream.duration_s, stream.frame_ms
            raw.length_settled = stream.variable
    return raw


def read_aac(source: ByteSource, at: int, wish: Wish) -> RawTags:
    """Read a raw AAC stream: its ID3v2 tag, and its length frame by frame."""
    raw = _leading_tag(source, wish)
    if wish.enrich:
        raw.duration_s = measure_adts(source, at)
    return raw


def _leading_tag(source: ByteSource, wish: Wish) -> RawTags:
    if tag_size(source.peek(0, HEADER)) == 0:
        return RawTags(family=ID3, values={})
    tag = read_id3(source, 0, ID3.caps(wish), timed=wish.embedded)
    return RawTags(family=ID3, values=tag.values, timed=tag.timed)


_READERS: Final[dict[Container, Reader]] = {
    Container.MPEG: read_mpeg,
    Container.AAC: read_aac,
    Container.FLAC: read_flac,
    Container.OGG: read_ogg,
    Container.MP4: read_mp4,
    Container.ASF: read_asf,
    Container.WAV: read_wav,
    Container.AIFF: read_aiff,
    Container.MATROSKA: read_matroska,
}
