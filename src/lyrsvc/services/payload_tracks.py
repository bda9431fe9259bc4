"""The tracks of a webhook: each paired with its file, and named by payload and tags."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from lyrsvc.core.keys import match_key
from lyrsvc.core.payload_paths import stem_of
from lyrsvc.core.recording import Recording
from lyrsvc.core.resolution import Names
from lyrsvc.core.scan_facts import keys_of
from lyrsvc.core.track_pairing import FileNames, pair
from lyrsvc.services.payload_files import SeenFile


@dataclass(frozen=True, kw_only=True, slots=True)
class Payload:
    """The names and paths of a webhook; ``titles`` and ``files`` are not yet paired."""

    artist: str
    album: str
    titles: tuple[str, ...]
    files: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class PayloadTrack:
    """A track with the file of its own; without title or artist there is no recording."""

    seen: SeenFile | None
    recording: Recording | None
    payload: Names
    tagged: Names
    album_key: str


def pair_tracks(payload: Payload, seen: Mapping[str, SeenFile]) -> list[PayloadTrack]:
    """Pair tracks and files; a file of several tracks belongs to none."""
    names = [FileNames(stem_of(path), _tag_title(seen.get(path))) for path in payload.files]
    places = pair(payload.titles, names)
    files = [seen.get(payload.files[place]) if place is not None else None for place in places]
    owners = Counter(file.path for file in files if file is not None)
    return [
        _track(payload, title, file if file is None or owners[file.path] == 1 else None)
        for title, file in zip(payload.titles, files, strict=True)
    ]


def _tag_title(file: SeenFile | None) -> str:
    return file.tags.title if file is not None and file.tags is not None else ""


def _track(payload: Payload, title: str, seen: SeenFile | None) -> PayloadTrack:
    """Join the names of the payload with those of the tags, which win one by one."""
    tags = seen.tags if seen is not None else None
    recording = Recording(title=title, artist=payload.artist, album=payload.album)
    if tags is not None:
        recording = Recording(
            title=tags.title or title,
            artist=tags.artist or payload.artist,
            artists=tags.artists,
            album_artist=tags.album_artist,
            album=tags.album or payload.album,
            duration_ms=tags.duration_ms,
            isrcs=tags.isrcs,
            mbid=tags.mbid,
        )
    keys = keys_of(recording)
    return PayloadTrack(
        seen=seen,
        recording=recording if recording.title and recording.artist else None,
        payload=Names(match_key(title), match_key(payload.artist)),
        tagged=Names(keys["title_key"], keys["artist_key"]),
        album_key=match_key(payload.album) or keys["album_key"],
    )
