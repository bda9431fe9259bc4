"""Which tag of which family holds which field: the one table both readers obey.

A reader gives the tags under their native names in lower case (``tit2``,
``txxx:artists``, ``©nam``); this table alone knows what they mean.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

NAME_CAP: Final = 64 * 1024
LYRICS_CAP: Final = 2 * 1024 * 1024
MOST_ENTRIES: Final = 20_000
"""No honest file has more tags, frames, blocks or chunks in one place."""

Keys = tuple[str, ...]
Values = Mapping[str, list[str]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Wish:
    """What is wanted from a file beyond its names."""

    enrich: bool
    embedded: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Family:
    """The native tag names of each field, the best first.

    ``credits`` lists the artists one by one; it is used from ``least_credits``
    values on, because taggers fill it for single artists too.
    """

    name: str
    title: Keys
    credits: Keys = ()
    least_credits: int = 2
    artist: Keys
    album: Keys = ()
    album_artist: Keys = ()
    isrc: Keys = ()
    mbid: Keys = ()
    synced_lyrics: Keys = ()
    lyrics: Keys = ()

    @property
    def words(self) -> Keys:
        """Name every tag that may hold lyrics."""
        return self.synced_lyrics + self.lyrics

    def caps(self, wish: Wish) -> dict[str, int]:
        """Give every wanted key with the size above which its value is skipped."""
        return _CAPS[self.name, wish.enrich, wish.embedded]


@dataclass(frozen=True, slots=True)
class TimedFrame:
    """An ID3 frame of synchronised lyrics: texts, each with its time in ms or audio frames."""

    counts_frames: bool
    entries: tuple[tuple[str, int], ...]


@dataclass(kw_only=True, slots=True)
class RawTags:
    """What a reader found, in native names.

    ``length_settled`` says that another reader could only guess the length worse;
    ``frame_ms`` is the length of one audio frame where times may count frames.
    """

    family: Family
    values: Values
    duration_s: float | None = None
    length_settled: bool = False
    frame_ms: float | None = None
    timed: list[TimedFrame] = field(default_factory=list)

    def listed(self, keys: Keys) -> Iterator[str]:
        """Give all values of these keys, in the order of the table."""
        for key in keys:
            yield from self.values.get(key, ())

    def has(self, keys: Keys) -> bool:
        """Tell whether any of these keys has more than blanks."""
        for key in keys:
            for value in self.values.get(key, ()):
                if value.strip(" \t\r\n\0"):
                    return True
        return False

    @property
    def named(self) -> bool:
        """Tell whether both title and artist are there."""
        family = self.family
        return self.has(family.title) and (self.has(family.artist) or self.has(family.credits))


ID3: Final = Family(
    name="id3",
    title=("tit2",),
    credits=("txxx:artists",),
    artist=("tpe1",),
    album=("talb",),
    album_artist=("tpe2",),
    isrc=("tsrc", "txxx:isrc"),
    mbid=("ufid:http://musicbrainz.org", "txxx:musicbrainz track id"),
    lyrics=("uslt", "txxx:lyrics", "txxx:unsyncedlyrics"),
    synced_lyrics=("txxx:syncedlyrics",),
)
VORBIS: Final = Family(
    name="vorbis",
    title=("title",),
    credits=("artists",),
    artist=("artist",),
    album=("album",),
    album_artist=("albumartist", "album artist"),
    isrc=("isrc",),
    mbid=("musicbrainz_trackid", "musicbrainz_recordingid"),
    synced_lyrics=("syncedlyrics",),
    lyrics=("lyrics", "unsyncedlyrics"),
)
MP4: Final = Family(
    name="mp4",
    title=("©nam",),
    credits=("----:com.apple.itunes:artists",),
    artist=("©art",),
    album=("©alb",),
    album_artist=("aart",),
    isrc=("----:com.apple.itunes:isrc",),
    mbid=("----:com.apple.itunes:musicbrainz track id",),
    lyrics=("©lyr", "----:com.apple.itunes:lyrics", "----:com.apple.itunes:unsyncedlyrics"),
    synced_lyrics=("----:com.apple.itunes:syncedlyrics",),
)
ASF: Final = Family(
    name="asf",
    title=("title",),
    credits=("wm/artists",),
    least_credits=1,
    artist=("author",),
    album=("wm/albumtitle",),
    album_artist=("wm/albumartist",),
    isrc=("wm/isrc", "isrc"),
    mbid=("musicbrainz/track id",),
    synced_lyrics=("wm/lyrics_synchronised",),
    lyrics=("wm/lyrics",),
)
APE: Final = Family(
    name="ape",
    title=("title",),
    credits=("artists",),
    least_credits=1,
    artist=("artist",),
    album=("album",),
    album_artist=("album artist", "albumartist", "album_artist"),
    isrc=("isrc",),
    mbid=("musicbrainz_trackid",),
    synced_lyrics=("syncedlyrics",),
    lyrics=("lyrics", "unsyncedlyrics"),
)
MATROSKA: Final = Family(
    name="matroska",
    title=("30:title", "segment:title"),
    artist=("30:artist", "50:artist"),
    album=("50:title", "50:album", "30:album"),
    album_artist=("50:artist",),
    isrc=("30:isrc", "50:isrc"),
    mbid=("30:musicbrainz_trackid", "50:musicbrainz_trackid"),
    lyrics=("30:lyrics", "50:lyrics"),
)
RIFF_INFO: Final = Family(
    name="riff", title=("inam",), artist=("iart",), album=("iprd",), isrc=("isrc",)
)
AIFF_TEXT: Final = Family(name="aiff", title=("name",), artist=("auth",))


def _caps(family: Family, wish: Wish) -> dict[str, int]:
    names = family.title + family.credits + family.artist + family.album + family.album_artist
    caps = dict.fromkeys(names, NAME_CAP)
    if wish.enrich:
        caps |= dict.fromkeys(family.isrc + family.mbid, NAME_CAP)
    if wish.embedded:
        caps |= dict.fromkeys(family.synced_lyrics + family.lyrics, LYRICS_CAP)
    return caps


_CAPS: Final = {
    (family.name, enrich, embedded): _caps(family, Wish(enrich=enrich, embedded=embedded))
    for family in (ID3, VORBIS, MP4, ASF, APE, MATROSKA, RIFF_INFO, AIFF_TEXT)
    for enrich in (False, True)
    for embedded in (False, True)
}
