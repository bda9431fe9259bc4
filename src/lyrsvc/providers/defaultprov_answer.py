"""What an answer of the default provider means: the decision table, row by row.

The two tables are the specification. The first row that applies decides;
whether a credential is renewed or a lane is closed depends on these rows only,
never on the words of a body.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any, Final

from lyrsvc.core.cleaning import clean
from lyrsvc.core.content import is_instrumental_claim
from lyrsvc.core.errors import (
    IdentityRefused,
    LaneError,
    Malformed,
    Miss,
    Quota,
    Throttled,
    TokenFinished,
    Transient,
)
from lyrsvc.core.isrc import read_isrcs
from lyrsvc.core.lyrics import Candidate, Cue, Matched
from lyrsvc.core.ports import Reply
from lyrsvc.providers.answers import (
    as_flag,
    as_int,
    as_list,
    as_ms,
    as_object,
    as_text,
    describe,
    read_json,
    retry_after_s,
    step_into,
)
from lyrsvc.providers.defaultprov_bodies import read_subtitle

_CALLS: Final = ("message", "body", "macro_calls")


class Use(Enum):
    """What of an answer is the result."""

    CLAIM = auto()
    CUES = auto()
    WORDS = auto()


@dataclass(frozen=True, kw_only=True, slots=True)
class Envelope:
    """The outside of an answer; ``code`` is None when the body is not understood."""

    reply: Reply
    code: int | None
    hint: str
    message: Mapping[str, Any]
    matcher: int | None
    track: Mapping[str, Any]

    @property
    def http(self) -> int:
        """Give the HTTP status."""
        return self.reply.status


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """The inside of an answer: the matched track and its texts.

    ``cleaned`` is what the texts come to; it decides, but ``candidate`` is what
    is handed on, because cleaning happens once.
    """

    envelope: Envelope
    candidate: Candidate
    cleaned: Candidate
    subtitle_bytes: int
    has_subtitles: bool
    has_lyrics: bool
    has_richsync: bool
    restricted: bool
    richsync: str

    @property
    def undecodable(self) -> bool:
        """Tell whether there was a subtitle body that could not be read."""
        return bool(self.subtitle_bytes) and not self.candidate.cues


REFUSALS: Final[tuple[tuple[int, Callable[[Envelope], bool], type[LaneError], str], ...]] = (
    (1, lambda a: a.http == 401, Throttled, "throttled"),
    (2, lambda a: a.http == 429, Throttled, "throttled"),
    (3, lambda a: a.http == 404, Miss, "not_found"),
    (3, lambda a: a.http == 402, Quota, "quota"),
    (4, lambda a: a.http != 200, Transient, "upstream_error"),
    (5, lambda a: a.code is None, Malformed, "malformed"),
    (6, lambda a: a.code == 401 and a.hint == "renew", TokenFinished, "token_finished"),
    (7, lambda a: a.code == 401 and a.hint == "upgrade", IdentityRefused, "identity_refused"),
    (8, lambda a: a.code == 401, Throttled, "throttled"),
    (9, lambda a: a.code == 402, Quota, "quota"),
    (9, lambda a: a.code == 404, Miss, "not_found"),
    (9, lambda a: a.code == 429, Throttled, "throttled"),
    (9, lambda a: (a.code or 0) >= 500, Transient, "upstream_error"),
    (9, lambda a: a.code != 200, Malformed, "malformed"),
)
"""Rows 1 to 9: answers that refuse, whatever was asked."""

MATCHER_REFUSALS: Final[
    tuple[tuple[int, Callable[[Envelope], bool], type[LaneError], str], ...]
] = (
    (10, lambda a: a.matcher in {401, 429}, Throttled, "throttled"),
    (11, lambda a: 400 <= (a.matcher or 0) < 500, Miss, "not_found"),
    (12, lambda a: not a.matcher or a.matcher >= 500, Transient, "upstream_error"),
    (13, lambda a: a.matcher != 200 or not a.track, Malformed, "malformed"),
)
"""Rows 10 to 13: what the matcher inside the lyrics call said. Row 14 is the guard's."""

RESULTS: Final[tuple[tuple[int, Callable[[Found], bool], Use | type[LaneError], str], ...]] = (
    (15, lambda a: is_instrumental_claim(a.cleaned), Use.CLAIM, ""),
    (16, lambda a: a.has_subtitles and bool(a.cleaned.cues), Use.CUES, ""),
    (17, lambda a: a.has_subtitles and a.undecodable and _has_plain(a), Use.WORDS, ""),
    (17, lambda a: a.has_subtitles and a.undecodable, Malformed, "malformed"),
    (18, lambda a: a.has_subtitles and _has_plain(a), Use.WORDS, ""),
    (19, lambda a: a.restricted, Miss, "restricted"),
    (18, lambda a: a.has_subtitles, Miss, "no_lyrics"),
    (20, lambda a: a.has_lyrics and _has_plain(a), Use.WORDS, ""),
    (21, lambda a: True, Miss, "no_lyrics"),  # noqa: ARG005 - the last row takes all
)
"""Rows 15 to 21. Rows 18 and 19 are both a miss; the second only gives the better reason."""


def read_envelope(reply: Reply) -> Envelope:
    """Read the outside of an answer; refuse what rows 1 to 9 refuse."""
    try:
        body = read_json(reply)
    except Malformed:
        body = None
    matcher = step_into(body, *_CALLS, "matcher.track.get", "message")
    envelope = Envelope(
        reply=reply,
        code=as_int(step_into(body, "message", "header", "status_code")),
        hint=as_text(step_into(body, "message", "header", "hint")).strip().casefold(),
        message=as_object(step_into(body, "message")),
        matcher=as_int(step_into(matcher, "header", "status_code")),
        track=as_object(step_into(matcher, "body", "track")),
    )
    _refuse(envelope, REFUSALS)
    return envelope


def read_found(envelope: Envelope) -> Found:
    """Read the matched track and its texts; refuse what rows 10 to 13 refuse."""
    _refuse(envelope, MATCHER_REFUSALS)
    track = envelope.track
    lyrics = as_object(step_into(_part(envelope, "track.lyrics.get"), "lyrics"))
    subtitle = _subtitle(envelope)
    restricted = as_flag(track.get("restricted")) or as_flag(lyrics.get("restricted"))
    body = as_text(subtitle.get("subtitle_body"))
    candidate = Candidate(
        matched=read_matched(track),
        cues=_cues(body),
        # A restricted body is a notice, not the words.
        plain=None if restricted else as_text(lyrics.get("lyrics_body")) or None,
        instrumental=as_flag(track.get("instrumental")),
        language=_language(subtitle, lyrics),
    )
    return Found(
        envelope=envelope,
        candidate=candidate,
        cleaned=clean(candidate),
        subtitle_bytes=0 if body.strip() in {"", "[]"} else len(body.encode()),
        has_subtitles=as_flag(track.get("has_subtitles")),
        has_lyrics=as_flag(track.get("has_lyrics")),
        has_richsync=as_flag(track.get("has_richsync")),
        restricted=restricted,
        richsync=read_richsync(_part(envelope, "track.richsync.get")),
    )


def decide(found: Found) -> Candidate:
    """Give the result by rows 15 to 21, or raise what they say."""
    _, _, result, reason = next(row for row in RESULTS if row[1](found))
    match result:
        case Use.CLAIM:
            return replace(found.candidate, cues=(), plain=None, instrumental=True)
        case Use.CUES:
            return replace(found.candidate, instrumental=False)
        case Use.WORDS:
            return replace(found.candidate, cues=(), instrumental=False)
        case _ if result is Malformed:
            raise Malformed(f"unknown subtitle encoding, {found.subtitle_bytes} bytes")
        case _:
            raise result(describe(found.envelope.reply), reason=reason)


def read_matched(track: Mapping[str, Any]) -> Matched:
    """Read the identity the provider gives for its answer."""
    listed = [code for codes in as_list(track.get("commontrack_isrcs")) for code in as_list(codes)]
    ids = (as_int(track.get("track_id")), as_int(track.get("commontrack_id")))
    return Matched(
        artist=as_text(track.get("artist_name")),
        title=as_text(track.get("track_name")),
        album=as_text(track.get("album_name")),
        duration_ms=as_ms(as_int(track.get("track_length"))) or None,
        isrcs=read_isrcs(as_text(code) for code in (track.get("track_isrc"), *listed)),
        ids=tuple(str(number) for number in ids if number),
    )


def read_richsync(body: object) -> str:
    """Give the word times inside a body, or a blank text."""
    return as_text(step_into(body, "richsync", "richsync_body"))


def _refuse(
    envelope: Envelope,
    rows: tuple[tuple[int, Callable[[Envelope], bool], type[LaneError], str], ...],
) -> None:
    for _, applies, kind, reason in rows:
        if applies(envelope):
            wait_s = retry_after_s(envelope.reply)
            raise kind(describe(envelope.reply), reason=reason, retry_after_s=wait_s)


def _part(envelope: Envelope, call: str) -> object:
    return step_into(envelope.message, "body", "macro_calls", call, "message", "body")


def _subtitle(envelope: Envelope) -> Mapping[str, Any]:
    listed = as_list(step_into(_part(envelope, "track.subtitles.get"), "subtitle_list"))
    return as_object(as_object(listed[0]).get("subtitle")) if listed else {}


def _cues(body: str) -> tuple[Cue, ...]:
    try:
        return read_subtitle(body) if body.strip() else ()
    except Malformed:
        return ()


def _language(subtitle: Mapping[str, Any], lyrics: Mapping[str, Any]) -> str | None:
    given = as_text(subtitle.get("subtitle_language")) or as_text(lyrics.get("lyrics_language"))
    return given or None


def _has_plain(found: Found) -> bool:
    return found.cleaned.plain is not None
