"""What a scan learns about one audio file: names, keys and ids, or why there are none.

Facts are plain tuples, for they cross from one process to another by the thousand.
"""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from lyrsvc.core.credits import identity_artist, track_artist
from lyrsvc.core.errors import FileFault
from lyrsvc.core.keys import KEY_VERSION, duration_bucket, match_key
from lyrsvc.core.recording import Recording

LONGEST_TEXT: Final = 2000
"""Characters of a reason that are kept."""
IDENTITY: Final = ("artist_key", "title_key", "duration_bucket")
"""The columns by which a file is known as a song."""

_JSON: Final = json.JSONEncoder(ensure_ascii=False)


class Embedded:
    """What the column ``embedded`` says of lyrics inside the tags."""

    NONE: Final = 0
    PLAIN: Final = 1
    SYNCED: Final = 2
    UNKNOWN: Final = 9


class TagFacts(NamedTuple):
    """What the tags of one file came to."""

    title: str
    artist: str
    artists: tuple[str, ...]
    album: str
    album_artist: str
    isrcs: tuple[str, ...]
    mbid: str
    duration_ms: int
    low_confidence: bool
    embedded: int
    artist_key: str
    alt_artist_key: str
    title_key: str
    album_key: str

    @property
    def recording(self) -> Recording:
        """Give what the queue is asked for."""
        return Recording(
            title=self.title,
            artist=self.artist,
            artists=self.artists,
            album_artist=self.album_artist,
            album=self.album,
            duration_ms=self.duration_ms or None,
            isrcs=self.isrcs,
            mbid=self.mbid or None,
            low_confidence=self.low_confidence,
        )

    @property
    def columns(self) -> dict[str, Any]:
        """Give the columns of a scan result that come from the tags."""
        return {
            "title": self.title,
            "artist": self.artist,
            "artists": names_text(self.artists),
            "album": self.album,
            "album_artist": self.album_artist,
            "isrc": ",".join(self.isrcs),
            "mbid": self.mbid,
            "duration_ms": self.duration_ms,
            "duration_bucket": duration_bucket(self.duration_ms),
            "low_confidence": int(self.low_confidence),
            "embedded": self.embedded,
            "artist_key": self.artist_key,
            "alt_artist_key": self.alt_artist_key,
            "title_key": self.title_key,
            "album_key": self.album_key,
            "key_version": KEY_VERSION,
        }


class Unreadable(NamedTuple):
    """Why a file gave no facts: a reason code of the scan and a sentence."""

    reason: str
    text: str


class LastSeen(NamedTuple):
    """How a scan saw a file: what tells a change, the song it was, and how it was read."""

    stamp: tuple[int, int, int]
    recording: Recording
    enriched: bool


def describe(recording: Recording, *, embedded: int = Embedded.UNKNOWN) -> TagFacts:
    """Give the facts of a recording; refuse one whose names leave no key to find it by."""
    keys = keys_of(recording)
    if not (keys["title_key"] and keys["artist_key"]):
        raise FileFault("no_metadata", "title or artist is made of signs alone; tag the file")
    return TagFacts(
        recording.title,
        recording.artist,
        recording.artists,
        recording.album,
        recording.album_artist,
        recording.isrcs,
        recording.mbid or "",
        recording.duration_ms or 0,
        recording.low_confidence,
        embedded,
        keys["artist_key"],
        keys["alt_artist_key"],
        keys["title_key"],
        keys["album_key"],
    )


def keys_of(recording: Recording) -> dict[str, str]:
    """Give the match keys: of title, album, the identifying artist and the other credit."""
    credit = recording.artist, recording.artists, recording.album_artist
    artist_key, alt_artist_key = _artist_keys(*credit)
    return {
        "artist_key": artist_key,
        "alt_artist_key": alt_artist_key,
        "title_key": match_key(recording.title),
        "album_key": _album_key(recording.album),
    }


@lru_cache(maxsize=512)
def names_text(artists: tuple[str, ...]) -> str:
    """Give a list of artists as a column holds it."""
    return _JSON.encode(artists)


def stored_recording(row: Mapping[str, Any]) -> Recording:
    """Give back the recording that a scan result was made from."""
    return Recording(
        title=row["title"],
        artist=row["artist"],
        artists=_names(row["artists"]),
        album_artist=row["album_artist"],
        album=row["album"],
        duration_ms=row["duration_ms"] or None,
        isrcs=tuple(filter(None, row["isrc"].split(","))),
        mbid=row["mbid"] or None,
        low_confidence=bool(row["low_confidence"]),
    )


@lru_cache(maxsize=512)
def _artist_keys(artist: str, artists: tuple[str, ...], album_artist: str) -> tuple[str, str]:
    """Give the keys of a credit; the songs of an album nearly always share it."""
    credited = Recording(title="", artist=artist, artists=artists, album_artist=album_artist)
    key = match_key(identity_artist(credited))
    others = (match_key(name) for name in (track_artist(credited), album_artist))
    return key, next((other for other in others if other and other != key), "")


@lru_cache(maxsize=512)
def _album_key(album: str) -> str:
    return match_key(album)


def _names(text: str) -> tuple[str, ...]:
    try:
        names = json.loads(text)
    except ValueError:
        return ()
    return tuple(map(str, names)) if isinstance(names, list) else ()
