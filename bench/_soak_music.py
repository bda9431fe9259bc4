"""A library that lives: albums come, are renamed and go; and a provider that knows them.

What a song is called tells how the provider answers, so its catalogue has no end and
takes no room.
"""

import re
import shutil
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from builders import minimal_flac, minimal_mp3, minimal_wav
from lyrsvc.demo.loopback import Received
from lyrsvc.demo.orders import Lane, Mode
from lyrsvc.demo.song import Song
from lyrsvc.demo.stand_in import StandIn

TRACKS = 10
SECONDS = 200.0
MAKERS: dict[str, Callable[..., Path]] = {
    "flac": minimal_flac,
    "mp3": minimal_mp3,
    "wav": minimal_wav,
}
KINDS = ("flac", "mp3", "flac", "mp3", "flac", "mp3", "flac", "mp3", "flac", "wav")
MODES = (*[Mode.NORMAL] * 13, *[Mode.PLAIN] * 2, Mode.INSTRUMENTAL, *[Mode.MISS] * 4)
"""How the provider answers, of twenty songs."""
_WORDS = ("Harbour", "Lantern", "Silver", "Winter", "Hollow", "Paper", "Ember", "Glass", "River")
_NUMBER = re.compile(r"(\d+)-(\d+)$")


class Catalogue(StandIn):
    """The stand-in, with a song for every title that ends like ours."""

    def _matches(self, received: Received, lane: Lane) -> list[Song]:  # noqa: ARG002
        asked = _asked_title(received.query)
        found = _NUMBER.search(asked)
        if found is None:
            return []
        album, track = int(found[1]), int(found[2])
        mode = MODES[(album * TRACKS + track) % len(MODES)]
        if mode is Mode.MISS:
            return []
        return [
            Song(
                title=title_of(album, track),
                artist=artist_of(album),
                album=album_title(album),
                length_s=SECONDS,
                lines=tuple(f"{word} in verse {track} of {album}" for word in _WORDS),
                mode=mode,
            )
        ]


@dataclass(frozen=True)
class Track:
    """One audio file and what it is called."""

    path: Path
    title: str


class Music:
    """The files of one library; every method may be called from any thread."""

    def __init__(self, root: Path, *, albums: int) -> None:
        self.root = root
        self._lock = threading.Lock()
        self._chance = Random(7)
        self._begun_with = albums
        self._albums: dict[int, list[Track]] = {}
        self._next = 0
        for _ in range(albums):
            self.add_album(TRACKS)

    @property
    def files(self) -> int:
        """Count the audio files."""
        with self._lock:
            return sum(map(len, self._albums.values()))

    @property
    def extra(self) -> int:
        """Count the albums beyond those it began with."""
        with self._lock:
            return len(self._albums) - self._begun_with

    def add_album(self, tracks: int) -> tuple[int, list[Track]]:
        """Put a new album on the disk."""
        with self._lock:
            number, self._next = self._next, self._next + 1
        made = [
            Track(_make(self.folder(number), number, track), title_of(number, track))
            for track in range(1, tracks + 1)
        ]
        with self._lock:
            self._albums[number] = made
        return number, list(made)

    def some_album(self) -> tuple[int, list[Track]]:
        """Give any album."""
        with self._lock:
            number = self._chance.choice(list(self._albums))
            return number, list(self._albums[number])

    def rename_some(self) -> tuple[int, list[tuple[Path, Path]]]:
        """Give two files of an album other names; those we gave before lead back."""
        with self._lock:
            number = self._chance.choice(list(self._albums))
            tracks = self._albums[number]
            pairs = []
            for place, track in enumerate(tracks[:2]):
                new = track.path.with_name(_other_name(track.path.name))
                with suppress(OSError):
                    track.path.rename(new)
                    tracks[place] = Track(new, track.title)
                    pairs.append((track.path, new))
            return number, pairs

    def delete_some(self) -> int:
        """Remove an album that came later, its sidecars with it: the library keeps its size."""
        with self._lock:
            number = self._chance.choice(
                [each for each in self._albums if each >= self._begun_with]
            )
            del self._albums[number]
            folder = self.folder(number)
            shutil.rmtree(folder, ignore_errors=True)
            with suppress(OSError):  # other albums of the artist are still there
                folder.parent.rmdir()
            return number

    def folder(self, album: int) -> Path:
        """Give where an album lies."""
        return self.root / artist_of(album) / album_title(album)


def artist_of(album: int) -> str:
    """Name the artist of an album."""
    return f"{_WORDS[album // 10 % 9]} {_WORDS[album // 90 % 9]} {album // 10}"


def album_title(album: int) -> str:
    """Name an album."""
    return f"{_WORDS[album % 9]} Tides {album}"


def title_of(album: int, track: int) -> str:
    """Name a song; album and track stand at its end."""
    return f"{_WORDS[track % 9]} {_WORDS[(album + track) % 9]} {album}-{track}"


def _make(folder: Path, album: int, track: int) -> Path:
    kind = KINDS[track % len(KINDS)]
    path = folder / f"{track:02} - {title_of(album, track)}.{kind}"
    tags = {"title": title_of(album, track), "artist": artist_of(album)}
    return MAKERS[kind](path, seconds=SECONDS, album=album_title(album), **tags)


def _other_name(name: str) -> str:
    if name.startswith("1-"):
        return f"{name[2:4]} - {name[5:]}"
    return f"1-{name[:2]} {name[5:]}"


def _asked_title(query: Mapping[str, str]) -> str:
    for name in ("q_track", "track_name", "q"):
        if asked := query.get(name):
            return asked
    return ""
