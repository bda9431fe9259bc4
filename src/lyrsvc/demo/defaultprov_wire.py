"""The default provider's wire form, as the stand-in speaks it."""

import json
from collections.abc import Mapping
from typing import Any, Final

from lyrsvc.demo.orders import Mode, Order
from lyrsvc.demo.song import Song, word_times
from lyrsvc.demo.wire import Answer, in_json

HINTS: Final = {Mode.FINISHED: "renew", Mode.CAPTCHA: "captcha", Mode.UPGRADE: "upgrade"}
DECOY: Final = Song(
    title="NEON",
    artist="Someone Else Entirely",
    album="Unrelated",
    length_s=0,
    language="tt",
    lines=("Wob gopi den", "Tefe wosi fero", "Lun ariki peso"),
    times_ms=(0, 4000, 8000),
)


def refusal(order: Order) -> Answer | None:
    """Answer with an outer code that refuses, when the order's mode is one of those."""
    if order.mode is Mode.QUOTA:
        return _outer(402)
    if hint := HINTS.get(order.mode):
        return _outer(401, hint=hint)
    return None


def unknown_token() -> Answer:
    """Refuse a token that is missing or over."""
    return _outer(401, hint="renew")


def minted(token: str) -> Answer:
    """Answer with a token."""
    return _outer(200, body={"user_token": token, "app_config": {"trial": False}})


def lyrics(song: Song | None, order: Order, *, with_words: bool) -> Answer:
    """Answer the lyrics call for the song the matcher found, or for none."""
    if order.mode is Mode.DECOY:
        song = DECOY
    if song is None or order.mode is Mode.MISS:
        missing = ("matcher.track.get", "track.lyrics.get", "track.subtitles.get")
        return _macro({name: _part(404) for name in missing})
    flagged = song.instrumental or order.mode is Mode.INSTRUMENTAL
    has_lyrics = bool(song.lines) and not flagged
    has_subtitles = has_lyrics and order.mode is not Mode.PLAIN
    calls = {
        "matcher.track.get": _part(
            200, {"track": _track(song, flagged, has_lyrics, has_subtitles)}
        ),
        "track.lyrics.get": _plain_part(song) if has_lyrics else _part(404),
        "track.subtitles.get": _subtitle_part(song) if has_subtitles else _part(404),
    }
    if with_words and has_subtitles:
        calls["track.richsync.get"] = _richsync_part(song)
    return _macro(calls)


def richsync(song: Song | None) -> Answer:
    """Answer the call for word times."""
    if song is None or not song.lines:
        return _outer(404, body="")
    return in_json(_richsync_part(song))


def translations(song: Song | None, language: str) -> Answer:
    """Answer the call for a translation."""
    translated = song.translations.get(language, ()) if song else ()
    rows = [
        {
            "translation": {
                "type_id": "translation",
                "subtitle_matched_line": original,
                "matched_line": original,
                "description": text,
                "selected_language": language,
            }
        }
        for original, text in zip(song.lines if song else (), translated, strict=False)
        if original
    ]
    return _outer(200, body={"translations_list": rows})


def _track(song: Song, flagged: bool, has_lyrics: bool, has_subtitles: bool) -> dict[str, Any]:  # noqa: FBT001 - a row of flags
    return {
        "track_id": song.number,
        "commontrack_id": song.number + 1,
        "track_name": song.title,
        "artist_name": song.artist,
        "album_name": song.album,
        "track_length": round(song.length_s) or None,
        "instrumental": int(flagged),
        "has_lyrics": int(has_lyrics),
        "has_subtitles": int(has_subtitles),
        "has_richsync": int(has_subtitles),
        "restricted": 0,
        "track_isrc": song.isrc,
        "commontrack_isrcs": [[song.isrc]] if song.isrc else [],
    }


def _plain_part(song: Song) -> dict[str, Any]:
    body = {
        "lyrics_id": song.number + 2,
        "restricted": 0,
        "lyrics_language": song.language,
        "lyrics_body": "\n".join(song.lines),
    }
    return _part(200, {"lyrics": body})


def _subtitle_part(song: Song) -> dict[str, Any]:
    cues = [{"text": text, "time": _time(ms)} for ms, text in song.timed_lines]
    subtitle = {
        "subtitle_id": song.number + 3,
        "restricted": 0,
        "subtitle_body": json.dumps(cues, ensure_ascii=False),
        "subtitle_length": round(song.length_s),
        "subtitle_language": song.language,
    }
    return _part(200, {"subtitle_list": [{"subtitle": subtitle}]})


def _richsync_part(song: Song) -> dict[str, Any]:
    body = json.dumps(word_times(song), ensure_ascii=False)
    return _part(200, {"richsync": {"restricted": 0, "richsync_body": body}})


def _time(ms: int) -> dict[str, float]:
    minutes, rest = divmod(ms, 60_000)
    seconds, rest = divmod(rest, 1000)
    return {
        "total": ms / 1000,
        "minutes": minutes,
        "seconds": seconds,
        "hundredths": rest // 10,
    }


def _macro(calls: Mapping[str, object]) -> Answer:
    return _outer(200, body={"macro_calls": calls})


def _outer(code: int, *, body: object = None, hint: str = "") -> Answer:
    envelope = _part(code, [] if body is None else body)
    if hint:
        envelope["message"]["header"]["hint"] = hint
    return in_json(envelope)


def _part(code: int, body: object = "") -> dict[str, Any]:
    return {"message": {"header": {"status_code": code, "execute_time": 0.011}, "body": body}}
