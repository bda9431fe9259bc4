"""What a scan learns about one audio file: names, keys and ids, or why there are none.

Facts are plain tuples, for they cross from one process to another by the thousand.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from lyrsvc.core.credits import identity_artist, track_artist
from lyrsvc.core.errors import FileFault
from lyrsvc.core.keys import KEY_VERSION, duration_bucket, match_key
from lyrsvc.core.recording import Recording

LONGEST_TEXT: Final = 2000
"""Characters of a reason that are kept."""


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
            "artists": json.dumps(self.artists, ensure_ascii=False),
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


def describe(recording: Recording, *, embedded: int = Embedded.UNKNOWN) -> TagFacts:
    """Give the facts of a recording; refuse one whose names leave no key to find it by."""
    keys = keys_of(recording)
    if not (keys["title_key"] and keys["artist_key"]):
        raise FileFault("no_metadata", "title or artist is made of signs alone; tag the file")
    return TagFacts(
        title=recording.title,
        artist=recording.artist,
        artists=recording.artists,
        album=recording.album,
        album_artist=recording.album_artist,
        isrcs=recording.isrcs,
        mbid=recording.mbid or "",
        duration_ms=recording.duration_ms or 0,
        low_confidence=recording.low_confidence,
        embedded=embedded,
        artist_key=keys["artist_key"],
        alt_artist_key=keys["alt_artist_key"],
        title_key=keys["title_key"],
        album_key=keys["album_key"],
    )


def keys_of(recording: Recording) -> dict[str, str]:
    """Give the match keys: of title, album, the identifying artist and the other credit."""
    artist_key = match_key(identity_artist(recording))
    others = (match_key(name) for name in (track_artist(recording), recording.album_artist))
    return {
        "artist_key": artist_key,
        "alt_artist_key": next((key for key in others if key and key != artist_key), ""),
        "title_key": match_key(recording.title),
        "album_key": match_key(recording.album),
    }


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


def _names(text: str) -> tuple[str, ...]:
    try:
        names = json.loads(text)
    except ValueError:
        return ()
    return tuple(map(str, names)) if isinstance(names, list) else ()
