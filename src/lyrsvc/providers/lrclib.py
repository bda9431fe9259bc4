"""Lyrics from the open catalogue, which needs no token and is only ever read."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from lyrsvc.core.credits import primary_artist, query_artist
from lyrsvc.core.errors import LaneError, Malformed, Miss, Throttled, Transient
from lyrsvc.core.lyrics import Candidate
from lyrsvc.core.ports import LaneContext, Reply
from lyrsvc.core.recording import Recording
from lyrsvc.providers.answers import describe, read_json, retry_after_s
from lyrsvc.providers.asking import search_title, whole_seconds
from lyrsvc.providers.catalogue import Harvest
from lyrsvc.providers.dump_normaliser import normalise

API: Final = "/api"
GET: Final = f"{API}/get"
SEARCH: Final = f"{API}/search"
LONGEST_S: Final = 3600
"""The server refuses a longer duration."""

Question = tuple[str, Mapping[str, str]]


class Lrclib:
    """A ladder of at most four questions, from the most exact to the widest.

    ``base_url`` may end in ``/api``, as the catalogue's own pages write it.
    """

    name = "lrclib"
    local = False
    needs_token = False

    def __init__(self, *, base_url: str) -> None:
        self._base_url = base_url.rstrip("/").removesuffix(API)

    def lookup(self, recording: Recording, ctx: LaneContext) -> Sequence[Candidate]:
        """Climb until a candidate is accepted with its timing, or the ladder ends.

        Words in hand outlive a rung that breaks; an instrumental flag does not, since
        the rung might have had words.
        """
        harvest = Harvest(ctx.judge)
        for path, query in questions(recording):
            try:
                rows = self._rows(ctx, path, query)
            except LaneError as fault:
                if not harvest.with_words:
                    raise
                ctx.note_fault(fault)
                return harvest.with_words
            usable = harvest.add(rows)
            if harvest.done or (usable and "track_name" in query and path == SEARCH):
                break
        if harvest.candidates:
            return harvest.candidates
        raise Miss("no row with words", reason="no_lyrics" if harvest.rows else "not_found")

    def probe(self, ctx: LaneContext) -> None:
        """Ask for a track that does not exist; only a catalogue says so in its own words."""
        reply = self._ask(ctx, GET, {"track_name": "lyrsvc", "artist_name": "lyrsvc"})
        if reply.status not in {200, 404}:
            raise _refusal(reply)
        if not isinstance(read_json(reply), dict):
            raise Malformed(f"{describe(reply)}, unknown shape")

    def close(self) -> None:
        """Hold nothing, so let go of nothing."""

    def _rows(self, ctx: LaneContext, path: str, query: Mapping[str, str]) -> list[dict[str, Any]]:
        reply = self._ask(ctx, path, query)
        if reply.status == 404:
            return []
        if reply.status != 200:
            raise _refusal(reply)
        body = read_json(reply)
        rows = body if path == SEARCH else [body]
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise Malformed(f"{describe(reply)}, unknown shape")
        return rows

    def _ask(self, ctx: LaneContext, path: str, query: Mapping[str, str]) -> Reply:
        return ctx.http.get(
            f"{self._base_url}{path}", query, headers={"Accept": "application/json"}
        )


def questions(recording: Recording) -> Iterator[Question]:
    """Give the rungs of the ladder for a recording, as path and query."""
    artist, title, album = query_artist(recording), recording.title, recording.album
    if not artist:
        if album:
            yield SEARCH, {"q": f"{search_title(recording)} {album}"}
        return
    if not normalise(title) or not normalise(artist):
        yield SEARCH, {"q": f"{artist} {album}".strip()}
        return
    names = {"track_name": title, "artist_name": artist}
    duration = _duration(recording.duration_ms)
    if album and recording.duration_ms:
        yield GET, {**names, "album_name": album, **duration}
    yield GET, {**names, **duration}
    base, primary = search_title(recording), primary_artist(recording)
    yield SEARCH, {"track_name": base, "artist_name": primary}
    yield SEARCH, {"q": f"{primary} {base}"}


def _duration(duration_ms: int | None) -> dict[str, str]:
    """Give the length in whole seconds, unless the server would refuse it."""
    seconds = whole_seconds(duration_ms) or 0
    return {"duration": str(seconds)} if 1 <= seconds <= LONGEST_S else {}


def _refusal(reply: Reply) -> LaneError:
    if reply.status in {401, 429, 503}:
        return Throttled(describe(reply), retry_after_s=retry_after_s(reply))
    if reply.status >= 500:
        return Transient(describe(reply), reason="upstream_error")
    return Malformed(describe(reply))
