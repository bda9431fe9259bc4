"""What an audio file says about itself: one door to two readers.

The fast reader serves the common containers; the complete one serves the rest
and every doubt: a blank title or artist, no length, or damage. Whatever is
wrong with a file leaves here as a ``FileFault`` and as nothing else.
"""

import math
import os
import re
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Final

from lyrsvc.core.errors import FileFault
from lyrsvc.core.file_names import guess_names
from lyrsvc.core.isrc import read_isrcs
from lyrsvc.core.mbid import read_mbid
from lyrsvc.core.ptext import clean_text
from lyrsvc.core.recording import Recording
from lyrsvc.files.audio_opening import AnyPath, fault_of, open_audio
from lyrsvc.files.byte_source import ByteSource, Unreasonable
from lyrsvc.files.containers import Container, Sniffed, sniff
from lyrsvc.files.embedded import EmbeddedLyrics, find_embedded
from lyrsvc.files.fast_tags import knows, read_fast
from lyrsvc.files.tag_table import Keys, RawTags, Values, Wish

READER_VERSION: Final = 1
"""Raise it when a change here should make every file be read once more."""

_DAMAGE: Final = (ValueError, struct.error, IndexError, OverflowError, zlib.error)
_CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_LONGEST_S: Final = 30 * 24 * 3600


@dataclass(kw_only=True, slots=True)
class TagRead:
    """The tags of one file; ``artist`` is for display, ``artists`` the credited list."""

    title: str = ""
    artist: str = ""
    artists: tuple[str, ...] = ()
    album: str = ""
    album_artist: str = ""
    isrcs: tuple[str, ...] = ()
    mbid: str | None = None
    duration_ms: int | None = None
    embedded: EmbeddedLyrics | None = None
    reader: str = ""


def read_tags(path: AnyPath, *, enrich: bool, embedded: bool = False) -> TagRead:
    """Read one audio file; without ``enrich`` its ids and length are not looked for."""
    wish = Wish(enrich=enrich, embedded=embedded)
    suffix = os.fsdecode(path).rpartition(".")[2].lower()
    with open_audio(path) as source:
        sniffed = sniff(source, suffix)
        if sniffed is None:
            raise FileFault("bad_container", "no audio format is recognised in this file")
        raw, reader = _read(source, sniffed, wish)
        return interpret(raw, wish, reader)


def to_recording(tags: TagRead, path: AnyPath, root: AnyPath | None = None) -> Recording:
    """Make the recording to ask for; blank names are guessed from the path below ``root``.

    Raises ``FileFault`` with ``no_metadata`` when title or artist stay unknown.
    """
    place = Path(os.fsdecode(path))
    title, artist, album = tags.title, tags.artist, tags.album
    guessed = not (title and artist)
    if guessed:
        names = guess_names(_inside(place, root))
        title, artist = title or clean_name(names.title), artist or clean_name(names.artist)
        album = album or clean_name(names.album)
    if not (title and artist):
        raise FileFault("no_metadata", "neither tags nor file name tell title and artist; tag it")
    return Recording(
        title=title,
        artist=artist,
        artists=tags.artists or (artist,),
        album_artist=tags.album_artist,
        album=album,
        duration_ms=tags.duration_ms,
        isrcs=tags.isrcs,
        mbid=tags.mbid,
        low_confidence=guessed,
        source_path=place,
    )


def named_recording(tags: TagRead) -> Recording | None:
    """Make the recording of tags that say title and artist, wherever the file lies."""
    if not (tags.title and tags.artist):
        return None
    return Recording(
        title=tags.title,
        artist=tags.artist,
        artists=tags.artists or (tags.artist,),
        album_artist=tags.album_artist,
        album=tags.album,
        duration_ms=tags.duration_ms,
        isrcs=tags.isrcs,
        mbid=tags.mbid,
    )


def interpret(raw: RawTags, wish: Wish, reader: str) -> TagRead:
    """Give native tags their meaning by the table."""
    family, values = raw.family, raw.values
    artists = _names(values, family.credits)
    if len(artists) < family.least_credits:
        artists = _names(values, family.artist) or artists
    tags = TagRead(
        title=_first(values, family.title),
        artist="; ".join(artists),
        artists=artists,
        album=_first(values, family.album),
        album_artist="; ".join(_names(values, family.album_artist)),
        embedded=find_embedded(raw) if wish.embedded else None,
        reader=reader,
    )
    if wish.enrich:
        tags.isrcs = read_isrcs(raw.listed(family.isrc))
        tags.mbid = read_mbid(raw.listed(family.mbid))
        tags.duration_ms = _milliseconds(raw.duration_s)
    return tags


def clean_name(text: str) -> str:
    """Give a name as one line of valid text."""
    if text.isprintable():
        return text.strip()
    return _CONTROLS.sub(" ", clean_text(text)).strip()


def _inside(path: Path, root: AnyPath | None) -> tuple[str, ...]:
    if root is not None:
        try:
            return PurePath(path).relative_to(os.fsdecode(root)).parts
        except ValueError:
            pass
    return (path.name,)


def _read(source: ByteSource, sniffed: Sniffed, wish: Wish) -> tuple[RawTags, str]:
    fast = None
    if knows(sniffed.container):
        try:
            fast = read_fast(source, sniffed, wish)
        except Unreasonable as damage:
            raise _broken() from damage
        except _DAMAGE:
            pass
    if fast is not None and (not _doubtful(fast, wish) or _alone(sniffed)):
        return fast, "fast"
    if _alone(sniffed):
        raise _broken()
    return _ask_library(source, sniffed, wish, fast)


def _ask_library(
    source: ByteSource, sniffed: Sniffed, wish: Wish, fast: RawTags | None
) -> tuple[RawTags, str]:
    from lyrsvc.files.complete_tags import read_complete

    try:
        complete = read_complete(source, sniffed, wish)
    except Exception as damage:  # the library raises what it likes on damage
        if source.failure is not None:
            raise fault_of(source.failure) from damage
        if fast is not None and fast.named:
            return fast, "fast"
        raise _broken() from damage
    return complete, "complete"


def _doubtful(raw: RawTags, wish: Wish) -> bool:
    no_length = wish.enrich and not raw.duration_s and not raw.length_settled
    return no_length or not raw.named


def _alone(sniffed: Sniffed) -> bool:
    return sniffed.container is Container.MATROSKA


def _broken() -> FileFault:
    return FileFault("bad_container", "the file is damaged or not what its name says; replace it")


def _names(values: Values, keys: Keys) -> tuple[str, ...]:
    """Give the names of the first key that has any; equal ones collapse."""
    for key in keys:
        if key not in values:
            continue
        pieces = [piece for value in values[key] for piece in _pieces(value)]
        names = dict.fromkeys(filter(None, map(clean_name, pieces)))
        if names:
            return tuple(names)
    return ()


def _pieces(value: str) -> list[str]:
    return value.replace("\0", "; ").split("; ")


def _first(values: Values, keys: Keys) -> str:
    for key in keys:
        for value in values.get(key, ()):
            if name := clean_name(value):
                return name
    return ""


def _milliseconds(seconds: float | None) -> int | None:
    if not seconds or not math.isfinite(seconds) or not 0 < seconds <= _LONGEST_S:
        return None
    return round(seconds * 1000) or None
