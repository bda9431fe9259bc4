"""A stand-in for the lyric providers and the classifier, on loopback.

One server speaks three wire forms and can be told, in code or through
``POST /_control``, to misbehave in every way the real ones do. It remembers
what it was asked, so that a test can prove a pace, or that nobody asked.
"""

import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from types import TracebackType
from typing import Any, Final, Self

from lyrsvc.core.keys import match_key
from lyrsvc.demo import classifier_wire, defaultprov_wire, lrclib_wire
from lyrsvc.demo.loopback import LoopbackServer, Received
from lyrsvc.demo.orders import Lane, Mode, Order, Orders, order_from
from lyrsvc.demo.song import Song, song_from
from lyrsvc.demo.songs import SONGS
from lyrsvc.demo.wire import Answer, fault, in_json, in_text

TOKEN_PATH: Final = "/ws/1.1/token.get"  # noqa: S105 - a path
LYRICS_PATH: Final = "/ws/1.1/macro.subtitles.get"
RICHSYNC_PATH: Final = "/ws/1.1/track.richsync.get"
TRANSLATIONS_PATH: Final = "/ws/1.1/crowd.track.translations.get"
PLACEHOLDER: Final = "0" * 56


@dataclass(kw_only=True, slots=True)
class LoggedRequest:
    """One request as it was received; ``at`` and ``until`` are monotonic seconds."""

    at: float
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    lane: str = ""
    song: str | None = None
    mode: str = ""
    status: int = 0
    until: float = 0.0
    size: int = field(default=0)


class StandIn:
    """The stand-in server; use it as a context manager, or ``start`` and ``close`` it."""

    def __init__(self, songs: Iterable[Song] = SONGS, *, port: int = 0) -> None:
        self._given = tuple(songs)
        self._songs = list(self._given)
        self._orders = Orders()
        self._lock = threading.Lock()
        self._log: list[LoggedRequest] = []
        self._minted = 0
        self._server = LoopbackServer(self._answer, port=port)

    @property
    def url(self) -> str:
        """Give the base URL for every lane and for the classifier."""
        return self._server.url

    @property
    def requests(self) -> tuple[LoggedRequest, ...]:
        """Give what was received so far, control calls left out."""
        with self._lock:
            return tuple(self._log)

    def calls(self, path: str) -> tuple[LoggedRequest, ...]:
        """Give the received requests whose path ends so."""
        return tuple(request for request in self.requests if request.path.endswith(path))

    def set_mode(self, mode: str, **options: Any) -> None:  # noqa: ANN401 - the fields of Order
        """Give an order: ``song``, ``lane``, ``times``, ``retry_after`` or ``seconds``."""
        self._orders.give(order_from({"mode": mode, **options}))

    def add_song(self, song: Song) -> None:
        """Know one song more; it takes the place of one with the same names."""
        with self._lock:
            names = (song.title, song.artist, song.album)
            self._songs = [
                old for old in self._songs if (old.title, old.artist, old.album) != names
            ]
            self._songs.append(song)

    def reset(self) -> None:
        """Forget orders, requests, minted tokens and added songs."""
        self._orders.clear()
        with self._lock:
            self._log.clear()
            self._songs = list(self._given)
            self._minted = 0

    def start(self) -> Self:
        """Serve in the background."""
        self._server.start()
        return self

    def close(self) -> None:
        """Stop serving; may be called twice."""
        self._server.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _answer(self, received: Received) -> Answer:
        if received.path.startswith("/_"):
            return self._control(received)
        entry = LoggedRequest(
            at=time.monotonic(),
            method=received.method,
            path=received.path,
            query=received.query,
            headers=received.headers,
            size=len(received.body),
        )
        with self._lock:
            self._log.append(entry)
        answer = self._serve(received, entry)
        entry.status, entry.until = answer.status, time.monotonic()
        return answer

    def _serve(self, received: Received, entry: LoggedRequest) -> Answer:
        lane = _lane(received.path)
        if lane is None:
            return in_text("not found", status=404)
        matches = self._matches(received, lane)
        song = matches[0] if matches else None
        order = self._orders.take(
            lane, song.title if song else None, song.mode if song else "normal"
        )
        entry.lane, entry.mode, entry.song = lane, order.mode, song.title if song else None
        if answer := fault(order):
            return answer
        if order.mode is Mode.SLOW:
            self._server.linger(order.seconds)
        answer = _FACES[lane](self, received, matches, order)
        if order.mode is Mode.CUT:
            return Answer(status=answer.status, body=answer.body, kind=answer.kind, cut=True)
        return answer

    def _matches(self, received: Received, lane: Lane) -> list[Song]:
        with self._lock:
            songs = list(self._songs)
        if lane is Lane.LRCLIB:
            return lrclib_wire.found(songs, received.path, received.query)
        if received.path == LYRICS_PATH:
            return _matched(songs, received.query)
        if lane is Lane.DEFAULTPROV:
            return [song for song in songs if _has_id(song, received.query)]
        return []

    def _serve_token(self, _received: Received, _matches: list[Song], order: Order) -> Answer:
        if order.mode is Mode.PLACEHOLDER:
            return defaultprov_wire.minted(PLACEHOLDER)
        if order.mode is not Mode.FINISHED and (answer := defaultprov_wire.refusal(order)):
            return answer
        with self._lock:
            self._minted += 1
            return defaultprov_wire.minted(self._newest_token())

    def _serve_defaultprov(self, received: Received, matches: list[Song], order: Order) -> Answer:
        token = received.query.get("usertoken", "")
        if not token:
            return defaultprov_wire.unknown_token()
        passes = order.accept_newest and token == self._newest_token()
        if not passes and (answer := defaultprov_wire.refusal(order)):
            return answer
        song = matches[0] if matches else None
        if received.path == RICHSYNC_PATH:
            return defaultprov_wire.richsync(song)
        if received.path == TRANSLATIONS_PATH:
            return defaultprov_wire.translations(song, received.query.get("selected_language", ""))
        with_words = "track.richsync" in received.query.get("optional_calls", "")
        return defaultprov_wire.lyrics(song, order, with_words=with_words)

    def _serve_lrclib(self, received: Received, matches: list[Song], order: Order) -> Answer:
        if answer := lrclib_wire.refusal(received.path, received.query):
            return answer
        if received.path == "/api/get":
            return lrclib_wire.get(matches[0] if matches else None, order)
        return lrclib_wire.search(matches, order)

    def _serve_classifier(self, received: Received, _matches: list[Song], order: Order) -> Answer:
        if received.path == "/health":
            return classifier_wire.health()
        if received.method != "POST":
            return in_text("method not allowed", status=405)
        kind = received.headers.get("content-type", "")
        return classifier_wire.classify(received.body, kind, order)

    def _newest_token(self) -> str:
        return f"demo-token-{self._minted}"

    def _control(self, received: Received) -> Answer:
        control = _CONTROLS.get((received.method, received.path))
        if control is None:
            return in_text("not found", status=404)
        try:
            values = json.loads(received.body or b"{}")
            if not isinstance(values, dict):
                return in_json({"error": "not an object"}, status=400)
            return control(self, values)
        except (ValueError, TypeError, AttributeError) as error:
            return in_json({"error": str(error)}, status=400)

    def _take_order(self, values: dict[str, Any]) -> Answer:
        self._orders.give(order_from(values))
        return in_json({"ok": True})

    def _take_song(self, values: dict[str, Any]) -> Answer:
        self.add_song(song_from(values))
        return in_json({"ok": True})

    def _take_reset(self, _values: dict[str, Any]) -> Answer:
        self.reset()
        return in_json({"ok": True})

    def _show_log(self, _values: dict[str, Any]) -> Answer:
        return in_json([asdict(request) for request in self.requests])


def _lane(path: str) -> Lane | None:
    if path == TOKEN_PATH:
        return Lane.TOKEN
    if path in {LYRICS_PATH, RICHSYNC_PATH, TRANSLATIONS_PATH}:
        return Lane.DEFAULTPROV
    if path in {"/api/get", "/api/search"}:
        return Lane.LRCLIB
    return Lane.CLASSIFIER if path in {"/classify", "/health"} else None


def _matched(songs: Iterable[Song], query: Mapping[str, str]) -> list[Song]:
    """Match as loosely as the real matcher: a shared code, or names that contain each other."""
    code = query.get("track_isrc", "")
    by_code = [song for song in songs if code and song.isrc == code]
    if by_code:
        return by_code
    title, artist = match_key(query.get("q_track", "")), match_key(query.get("q_artist", ""))
    named = [
        song
        for song in songs
        if title
        and match_key(song.title).startswith(title)
        and _contain(match_key(song.artist), artist)
    ]
    album = match_key(query.get("q_album", ""))
    return sorted(
        named, key=lambda song: (match_key(song.title) != title, match_key(song.album) != album)
    )


def _contain(one: str, other: str) -> bool:
    return one in other or other in one


def _has_id(song: Song, query: Mapping[str, str]) -> bool:
    return query.get("track_id") == str(song.number) or query.get("commontrack_id") == str(
        song.number + 1
    )


_FACES: Final[Mapping[Lane, Callable[[StandIn, Received, list[Song], Order], Answer]]] = {
    Lane.TOKEN: StandIn._serve_token,
    Lane.DEFAULTPROV: StandIn._serve_defaultprov,
    Lane.LRCLIB: StandIn._serve_lrclib,
    Lane.CLASSIFIER: StandIn._serve_classifier,
}
_CONTROLS: Final[Mapping[tuple[str, str], Callable[[StandIn, dict[str, Any]], Answer]]] = {
    ("POST", "/_control"): StandIn._take_order,
    ("POST", "/_songs"): StandIn._take_song,
    ("POST", "/_reset"): StandIn._take_reset,
    ("GET", "/_log"): StandIn._show_log,
}
