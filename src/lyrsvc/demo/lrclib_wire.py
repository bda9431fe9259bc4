"""The open catalogue's wire form, as the stand-in speaks it."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from lyrsvc.core.keys import match_key
from lyrsvc.demo.defaultprov_wire import DECOY
from lyrsvc.demo.orders import Mode, Order
from lyrsvc.demo.song import Song
from lyrsvc.demo.wire import Answer, in_json, in_text

MOST_ROWS: Final = 20
LONGEST_S: Final = 3600
DURATION_SLACK_S: Final = 2.0

NOT_FOUND: Final = in_json(
    {"message": "Failed to find specified track", "name": "TrackNotFound", "statusCode": 404},
    status=404,
)
BAD_DURATION: Final = in_json(
    {
        "message": "duration: must be between 1 and 3600",
        "name": "ValidationError",
        "statusCode": 400,
    },
    status=400,
)


def refusal(path: str, query: Mapping[str, str]) -> Answer | None:
    """Answer a query the server does not take, or give None."""
    if path != "/api/get":
        return None
    for name in ("track_name", "artist_name"):
        if name not in query:
            return in_text(
                f"Failed to deserialize query string: missing field `{name}`", status=400
            )
    if (given := query.get("duration", "")) and not _is_duration(given):
        return BAD_DURATION
    return None


def found(songs: Iterable[Song], path: str, query: Mapping[str, str]) -> list[Song]:
    """Give the songs a query finds: exact names for a get, words for a search."""
    fits = _is_exact if path == "/api/get" else _has_words
    return [song for song in songs if fits(song, query)][:MOST_ROWS]


def get(song: Song | None, order: Order) -> Answer:
    """Answer with one row."""
    if order.mode is Mode.DECOY:
        return in_json(_row(DECOY, Mode.NORMAL))
    if song is None or order.mode is Mode.MISS:
        return NOT_FOUND
    return in_json(_row(song, order.mode))


def search(songs: Iterable[Song], order: Order) -> Answer:
    """Answer with a list of rows."""
    if order.mode is Mode.DECOY:
        return in_json([_row(DECOY, Mode.NORMAL)])
    if order.mode is Mode.MISS:
        return in_json([])
    return in_json([_row(song, order.mode) for song in songs])


def _row(song: Song, mode: str) -> dict[str, Any]:
    flagged = song.instrumental or mode == Mode.INSTRUMENTAL
    has_words = bool(song.lines) and not flagged
    synced = "\n".join(f"{_stamp(ms)} {text}".rstrip() for ms, text in song.timed_lines)
    return {
        "id": song.number,
        "name": song.title,
        "trackName": song.title,
        "artistName": song.artist,
        "albumName": song.album,
        "duration": float(song.length_s),
        "instrumental": flagged,
        "plainLyrics": "\n".join(song.lines) if has_words else None,
        "syncedLyrics": synced if has_words and mode != Mode.PLAIN else None,
    }


def _stamp(ms: int) -> str:
    minutes, rest = divmod(ms // 10, 6000)
    return f"[{minutes:02d}:{rest // 100:02d}.{rest % 100:02d}]"


def _is_duration(text: str) -> bool:
    try:
        return 1 <= float(text) <= LONGEST_S
    except ValueError:
        return False


def _is_exact(song: Song, query: Mapping[str, str]) -> bool:
    named = (("track_name", song.title), ("artist_name", song.artist), ("album_name", song.album))
    if any(query.get(name) and match_key(query[name]) != match_key(own) for name, own in named):
        return False
    asked_s = query.get("duration")
    return not asked_s or abs(float(asked_s) - song.length_s) <= DURATION_SLACK_S


def _has_words(song: Song, query: Mapping[str, str]) -> bool:
    """Match as the real search does: of the artist only the first word counts."""
    if asked := query.get("q"):
        return _words(asked) <= _words(f"{song.title} {song.artist} {song.album}")
    title, artist = query.get("track_name", ""), query.get("artist_name", "")
    first = re.findall(r"\w+", match_key(artist))[:1]
    return (
        bool(_words(title))
        and _words(title) <= _words(song.title)
        and set(first) <= _words(song.artist)
    )


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", match_key(text)))
