"""The demo's music library: which tracks there are, and what is to become of each.

Every track stands for something that happens in real libraries. The first twelve are all of
it; a larger library repeats them under other names.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from itertools import count, islice
from pathlib import PurePosixPath
from typing import Final

from lyrsvc.demo.song import Song
from lyrsvc.demo.songs import SONGS

USUAL_TRACKS: Final = 12
COMPILATION: Final = "Harbour Lights"
MANY: Final = "Various Artists"
WEBHOOK_SONG: Final = "La sal de tu abrigo"
"""Known to the stand-in and not in the library: a webhook can ask for it."""


class Ending(Enum):
    """What is to become of a track: its status, why, and the sidecar beside it.

    The reason of a finished track is its outcome.
    """

    SYNCED = ("done", "synced", ".lrc")
    PLAIN = ("done", "unsynced", ".txt")
    INSTRUMENTAL = ("done", "instrumental", ".txt")
    MISS = ("deferred", "not_found", "")
    DECOY = ("deferred", "rejected_match", "")
    BROKEN = ("failed", "upstream_error", "")
    FOREIGN = ("done", "present", ".lrc")
    """Somebody else's sidecar: nobody is asked, and it stays as it is."""

    @property
    def status(self) -> str:
        """The status of the track."""
        return self.value[0]

    @property
    def reason(self) -> str:
        """The outcome, or why there is none yet."""
        return self.value[1]

    @property
    def sidecar(self) -> str:
        """The extension of the sidecar; empty when there is to be none."""
        return self.value[2]


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedTrack:
    """One audio file; ``path`` is below the library's root."""

    path: PurePosixPath
    song: Song
    ending: Ending
    shows: str
    is_tagged: bool = True
    album: str = ""
    album_artist: str = ""
    orphan: str = ""
    """Stem of a sidecar beside it that lost its audio file to a rename."""

    @property
    def container(self) -> str:
        """What kind of audio file it is."""
        return self.path.suffix[1:]

    @property
    def sidecar(self) -> PurePosixPath | None:
        """Where its sidecar is to be, below the root."""
        extension = self.ending.sidecar
        return self.path.with_suffix(extension) if extension else None


def plan_library(tracks: int = USUAL_TRACKS) -> tuple[PlannedTrack, ...]:
    """Plan a library of so many tracks."""
    every = (track for number in count() for track in _round(number))
    return tuple(islice(every, tracks))


def songs_of(plan: Iterable[PlannedTrack]) -> tuple[Song, ...]:
    """Give everything the stand-in has to know: the songs of a library, then all others."""
    planned = {_names(track.song): track.song for track in plan}
    others = {_names(song): song for song in SONGS}
    return tuple(
        (planned | {key: song for key, song in others.items() if key not in planned}).values()
    )


def _names(song: Song) -> tuple[str, str, str]:
    return song.artist, song.title, song.album


def _round(number: int) -> tuple[PlannedTrack, ...]:
    """Give the twelve, under names of their own in each round."""
    if not number:
        return _FIRST
    word = _word(number - 1)
    return tuple(_renamed(track, word, number) for track in _FIRST)


def _renamed(track: PlannedTrack, word: str, number: int) -> PlannedTrack:
    """Give a track another title, album and code; what would close a lane ends well instead."""
    old, calm = track.song, track.ending not in (Ending.DECOY, Ending.BROKEN)
    isrc = f"{old.isrc[:7]}{int(old.isrc[7:]) + number * 100:05d}"
    song = replace(
        old,
        title=f"{word} {old.title}",
        album=f"{word} {old.album}",
        isrc=isrc,
        mode=old.mode if calm else "normal",
    )
    artist, album, name = track.path.parts
    path = PurePosixPath(artist, f"{word} {album}", name.replace(old.title, song.title))
    return replace(
        track,
        path=path,
        song=song,
        ending=track.ending if calm else Ending.SYNCED,
        album=f"{word} {track.album}" if track.album else "",
        orphan=f"{word} {track.orphan}" if track.orphan else "",
    )


def _word(number: int) -> str:
    size = len(_ADJECTIVES)
    if number < size:
        return _ADJECTIVES[number]
    high, low = divmod(number - size, size)
    return f"{_ADJECTIVES[high % size]} {_NOUNS[low]}"


def _song(title: str) -> Song:
    return next(song for song in SONGS if song.title == title)


def _track(  # noqa: PLR0913 - one parameter for each thing a track may be
    name: str,
    song: Song,
    ending: Ending,
    shows: str,
    *,
    compiled: bool = False,
    is_tagged: bool = True,
    folder: tuple[str, str] | None = None,
    orphan: str = "",
) -> PlannedTrack:
    artist, album = folder or ((MANY, COMPILATION) if compiled else (song.artist, song.album))
    return PlannedTrack(
        path=PurePosixPath(artist, album, name),
        song=song,
        ending=ending,
        shows=shows,
        is_tagged=is_tagged,
        album=COMPILATION if compiled else "",
        album_artist=MANY if compiled else "",
        orphan=orphan,
    )


_FIRST: Final = (
    _track(
        "01 - Lanterns on the Weir.flac",
        _song("Lanterns on the Weir"),
        Ending.SYNCED,
        "synced lyrics",
    ),
    _track("02 - Kitchen Radio.flac", _song("Kitchen Radio"), Ending.PLAIN, "plain words only"),
    _track(
        "03 - Harbour Interlude.flac",
        _song("Harbour Interlude"),
        Ending.INSTRUMENTAL,
        "an instrumental",
    ),
    _track(
        "01 - Counting Ghost Notes.mp3",
        _song("Counting Ghost Notes"),
        Ending.DECOY,
        "an answer about another song",
    ),
    _track(
        "02 - Unfinished Bridge.mp3", _song("Unfinished Bridge"), Ending.MISS, "nobody has words"
    ),
    _track(
        "03 - Server Room Lullaby.mp3",
        _song("Server Room Lullaby"),
        Ending.BROKEN,
        "a server that fails",
    ),
    _track(
        "Mara Voss - Glass Orchard.mp3",
        _song("Glass Orchard"),
        Ending.SYNCED,
        "no tags, but a speaking name",
        is_tagged=False,
        folder=("Odd Parade", "Wrong Room"),
    ),
    _track(
        "01 - Lanterns on the Weir.wav",
        _song("Lanterns on the Weir"),
        Ending.SYNCED,
        "the same recording on another album",
        compiled=True,
    ),
    _track(
        "02 - Nine Umbrellas.wav",
        _song("Nine Umbrellas"),
        Ending.FOREIGN,
        "somebody else's sidecar",
        compiled=True,
    ),
    _track(
        "03 - Schlafende Züge.wav",
        _song("Schlafende Züge"),
        Ending.SYNCED,
        "a name with umlauts",
        compiled=True,
    ),
    _track(
        "04 - 紙の月をたたむ.flac",
        _song("紙の月をたたむ"),
        Ending.SYNCED,
        "a name in another script",
        compiled=True,
    ),
    _track(
        "05 - Le facteur des nuages.wav",
        replace(_song("Le facteur des nuages"), mode="miss"),
        Ending.MISS,
        "a sidecar that lost its audio to a rename",
        compiled=True,
        orphan="05 - Facteur",
    ),
)

_ADJECTIVES: Final = (
    *("Amber", "Brittle", "Copper", "Distant", "Early", "Feathered", "Gentle", "Hollow"),
    *("Ivory", "Jagged", "Kindly", "Lonely", "Misty", "Narrow", "Open", "Paper"),
    *("Quick", "Russet", "Silver", "Tidal", "Upper", "Velvet", "Wooden", "Yellow"),
)
_NOUNS: Final = (
    *("Anchor", "Bridge", "Cellar", "Door", "Ember", "Field", "Garden", "Hill"),
    *("Island", "Jetty", "Kettle", "Ladder", "Meadow", "Needle", "Orchid", "Pillar"),
    *("Quarry", "River", "Signal", "Tower", "Valley", "Window", "Yard", "Zephyr"),
)
MOST_TRACKS: Final = USUAL_TRACKS * 500
