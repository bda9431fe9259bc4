"""Lyrics from the default provider, which needs a token for every call."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from lyrsvc.core.credits import primary_artist, query_artist
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
from lyrsvc.core.lyrics import Candidate
from lyrsvc.core.ports import Http, LaneContext, Reply, Tokens
from lyrsvc.core.recording import Recording
from lyrsvc.providers.answers import (
    as_int,
    as_list,
    as_text,
    describe,
    read_json,
    retry_after_s,
    step_into,
)
from lyrsvc.providers.asking import has_company, matcher_title, whole_seconds
from lyrsvc.providers.defaultprov_answer import (
    Envelope,
    Found,
    decide,
    read_envelope,
    read_found,
    read_richsync,
)
from lyrsvc.providers.defaultprov_bodies import bind_translation, bind_words
from lyrsvc.providers.tokens import is_placeholder

HEADERS: Final = {"Accept": "application/json", "Cookie": "x-mxm-token-guid="}
TOKEN_CAP_BYTES: Final = 64 * 1024
NOBODY: Final = Recording(title="lyrsvc", artist="lyrsvc")


class DefaultProv:
    """One request a lookup, a second one with the first artist alone after a miss.

    ``base_url`` and ``app_id`` are one identity: a token belongs to the pair it
    was made for.
    """

    name = "defaultprov"
    local = False
    needs_token = True

    def __init__(
        self,
        *,
        base_url: str,
        app_id: str,
        tokens: Tokens,
        word_timing: bool = False,
        translation_language: str | None = None,
    ) -> None:
        self._base_url = base_url.rstrip("/")
        self._app_id = app_id
        self._tokens = tokens
        self._word_timing = word_timing
        self._translation_language = translation_language

    def lookup(self, recording: Recording, ctx: LaneContext) -> Sequence[Candidate]:
        """Give the one track the provider's matcher found."""
        artist = query_artist(recording)
        if not (artist or recording.isrcs or recording.album):
            raise Miss("nothing to ask with: no artist, ISRC or album", reason="not_found")
        calls = self._calls(ctx)
        try:
            return [self._find(calls, recording, artist)]
        except Miss as miss:
            if not has_company(recording):
                raise
            return [self._find_alone(calls, recording, miss)]

    def probe(self, ctx: LaneContext) -> None:
        """Ask for a track that does not exist; a finished token is told, not replaced."""
        calls = self._calls(ctx)
        try:
            read_found(calls.ask("macro.subtitles.get", self._query(NOBODY, NOBODY.artist)))
        except Miss:
            return

    def close(self) -> None:
        """Hold nothing, so let go of nothing."""

    def _calls(self, ctx: LaneContext) -> "_Calls":
        return _Calls(ctx, self._base_url, self._app_id, self._tokens)

    def _find(self, calls: "_Calls", recording: Recording, artist: str) -> Candidate:
        envelope = calls.ask_renewing("macro.subtitles.get", self._query(recording, artist))
        found = read_found(envelope)
        try:
            candidate = decide(found)
        except (Miss, Malformed):
            # A wrong track without words is a mismatch first, whatever else it lacks.
            bare = Candidate(matched=found.candidate.matched, instrumental=True)
            if not calls.ctx.judge(bare).rejected:
                raise
            return replace(bare, instrumental=False)
        return self._with_extras(calls, found, candidate)

    def _find_alone(self, calls: "_Calls", recording: Recording, first: Miss) -> Candidate:
        try:
            return self._find(calls, recording, primary_artist(recording))
        except Miss as second:
            raise (second if first.reason == "not_found" else first) from None

    def _query(self, recording: Recording, artist: str) -> dict[str, str]:
        query = {
            "format": "json",
            "namespace": "lyrics_richsynched",
            "subtitle_format": "mxm",
            "q_artist": artist,
            "q_artists": artist,
            "q_track": matcher_title(recording),
            "q_album": recording.album,
            "q_duration": str(whole_seconds(recording.duration_ms) or ""),
            "track_spotify_id": "",
            "f_subtitle_length": "",
        }
        if recording.isrcs:
            query["track_isrc"] = recording.isrcs[0]
        if self._word_timing:
            query |= {"optional_calls": "track.richsync", "richsync_compact_type": "words"}
        return query

    def _with_extras(self, calls: "_Calls", found: Found, candidate: Candidate) -> Candidate:
        """Add word times and a translation; a fault there costs only them."""
        if not candidate.cues:
            return candidate
        if self._word_timing and found.richsync:
            candidate = replace(candidate, cues=bind_words(candidate.cues, found.richsync))
        wanted = [
            add
            for add, is_wanted in (
                (_add_words, self._word_timing and not found.richsync and found.has_richsync),
                (self._add_translation, self._wants_translation(candidate)),
            )
            if is_wanted
        ]
        if wanted and calls.ctx.judge(candidate).accepted:
            return _add_all(wanted, calls, found, candidate)
        return candidate

    def _wants_translation(self, candidate: Candidate) -> bool:
        wanted = self._translation_language
        return wanted is not None and not _is_same_language(candidate.language, wanted)

    def _add_translation(self, calls: "_Calls", found: Found, candidate: Candidate) -> Candidate:
        track_id = as_int(found.envelope.track.get("track_id"))
        language = self._translation_language
        if track_id is None or language is None:
            return candidate
        envelope = calls.ask(
            "crowd.track.translations.get",
            {
                "format": "json",
                "track_id": str(track_id),
                "selected_language": language,
                "translation_fields_set": "minimal",
                "comment_format": "text",
            },
        )
        rows = as_list(step_into(envelope.message, "body", "translations_list"))
        translation = bind_translation(candidate.cues, rows, language)
        return replace(candidate, translation=translation, translation_language=language)


class _Calls:
    """The calls of one lookup; its token is replaced at most once."""

    def __init__(self, ctx: LaneContext, base_url: str, app_id: str, tokens: Tokens) -> None:
        self.ctx = ctx
        self._base_url = base_url
        self._app_id = app_id
        self._tokens = tokens
        self._token = tokens.current()
        self._renewed = False

    def ask(self, call: str, query: Mapping[str, str]) -> Envelope:
        """Make one call, or raise what rows 1 to 9 say."""
        if not self._token:
            raise IdentityRefused("there is no token", reason="not_configured")
        identity = {"app_id": self._app_id, "usertoken": self._token}
        url = _call_url(self._base_url, call)
        return read_envelope(self.ctx.http.get(url, {**query, **identity}, headers=HEADERS))

    def ask_renewing(self, call: str, query: Mapping[str, str]) -> Envelope:
        """Make one call; when the token is finished, once more with a new one."""
        try:
            return self.ask(call, query)
        except TokenFinished:
            self._renew()
        try:
            return self.ask(call, query)
        except TokenFinished:
            raise _refused_again() from None

    def _renew(self) -> None:
        if self._renewed:
            raise _refused_again() from None
        self._renewed = True
        mint = partial(mint_token, self.ctx.http, self._base_url, self._app_id)
        try:
            self._token = self._tokens.renew(self._token or "", mint)
        except (Transient, Malformed) as fault:
            # The item is not to blame: the lane rests, and asks again later.
            raise Throttled(f"no new token: {fault}", reason="throttled") from None


def mint_token(http: Http, base_url: str, app_id: str) -> str:
    """Ask for a token; raise ``Throttled`` when refused, ``IdentityRefused`` for a placeholder."""
    url = _call_url(base_url.rstrip("/"), "token.get")
    reply = http.get(url, {"app_id": app_id}, headers=HEADERS, cap_bytes=TOKEN_CAP_BYTES)
    if reply.status >= 500:
        raise Transient(describe(reply), reason="upstream_error")
    if reply.status != 200:
        raise _refusal(reply)
    message = step_into(read_json(reply), "message")
    token = as_text(step_into(message, "body", "user_token")).strip()
    if as_int(step_into(message, "header", "status_code")) != 200 or not token:
        raise _refusal(reply)
    if is_placeholder(token):
        raise IdentityRefused(f"{describe(reply)}, placeholder token", reason="placeholder")
    return token


def _add_all(
    extras: Sequence["_Extra"], calls: _Calls, found: Found, candidate: Candidate
) -> Candidate:
    """Add what can be had; after a throttle the breaker is told and nothing more is asked."""
    for add in extras:
        try:
            candidate = add(calls, found, candidate)
        except (Throttled, Quota) as fault:
            calls.ctx.note_fault(fault)
            break
        except LaneError as fault:
            calls.ctx.log.debug("extra left out: %s", fault.code)
    return candidate


def _add_words(calls: _Calls, found: Found, candidate: Candidate) -> Candidate:
    track = found.envelope.track
    for name in ("commontrack_id", "track_id"):
        if number := as_int(track.get(name)):
            envelope = calls.ask("track.richsync.get", {"format": "json", name: str(number)})
            words = read_richsync(envelope.message.get("body"))
            return replace(candidate, cues=bind_words(candidate.cues, words))
    return candidate


def _call_url(base_url: str, call: str) -> str:
    return f"{base_url}/ws/1.1/{call}"


def _refusal(reply: Reply) -> Throttled:
    return Throttled(f"{describe(reply)}, no token", retry_after_s=retry_after_s(reply))


def _refused_again() -> IdentityRefused:
    return IdentityRefused("a new token is not accepted either", reason="token_finished")


def _is_same_language(given: str | None, wanted: str) -> bool:
    """Compare language codes; a code without a region stands for all of them."""
    one = (given or "").casefold().replace("_", "-")
    other = wanted.casefold().replace("_", "-")
    if "-" in one and "-" in other:
        return one == other
    return one.partition("-")[0] == other.partition("-")[0]


_Extra = Callable[[_Calls, Found, Candidate], Candidate]
