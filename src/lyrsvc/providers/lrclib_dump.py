"""Lyrics from an unpacked copy of the open catalogue's published dump, without any network.

The file is opened read-only and immutable: neither it nor anything beside it
is ever written, and it may lie on a read-only mount.
"""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

from lyrsvc.core.credits import credited_names, primary_artist, query_artist
from lyrsvc.core.errors import ConfigError, LaneError, Miss, Transient
from lyrsvc.core.lyrics import Candidate
from lyrsvc.core.ports import LaneContext
from lyrsvc.core.recording import Recording
from lyrsvc.providers.asking import search_title
from lyrsvc.providers.catalogue import MOST_CANDIDATES, Harvest
from lyrsvc.providers.dump_normaliser import normalise

PHRASE_LIMIT_S: Final = 2.0
QUERY_LIMIT_S: Final = 10.0
"""An exact question takes milliseconds; only a dump without its index could take longer."""
REACH_S: Final = 8.0
STEPS_BETWEEN_CHECKS: Final = 20_000
MOST_NAMES: Final = 8

COLUMNS: Final[Mapping[str, frozenset[str]]] = {
    "tracks": frozenset(
        {
            "id",
            "name",
            "name_lower",
            "artist_name",
            "artist_name_lower",
            "album_name",
            "album_name_lower",
            "duration",
            "last_lyrics_id",
        }
    ),
    "lyrics": frozenset(
        {"id", "plain_lyrics", "synced_lyrics", "instrumental", "has_synced_lyrics"}
    ),
}

_SELECT: Final = """
    SELECT t.id, t.name AS trackName, t.artist_name AS artistName, t.album_name AS albumName,
           t.duration, l.instrumental, l.plain_lyrics AS plainLyrics,
           l.synced_lyrics AS syncedLyrics
      FROM {tracks} LEFT JOIN lyrics AS l ON l.id = t.last_lyrics_id
"""
_EXACT: Final = (
    _SELECT.format(tracks="tracks AS t")
    + """
     WHERE t.name_lower = :title AND t.artist_name_lower = :artist
       AND (:length IS NULL OR t.duration BETWEEN :length - :reach AND :length + :reach)
     ORDER BY l.has_synced_lyrics DESC, ABS(t.duration - :length), t.id
     LIMIT :most
    """
)
_LONGER: Final = (
    _SELECT.format(tracks="tracks AS t")
    + """
     WHERE t.name_lower = :title
       AND t.artist_name_lower >= :artist || ' ' AND t.artist_name_lower < :artist || '!'
       AND (:length IS NULL OR t.duration BETWEEN :length - :reach AND :length + :reach)
     ORDER BY l.has_synced_lyrics DESC, ABS(t.duration - :length), t.id
     LIMIT :most
    """
)
"""The artist with company: names that go on after a blank, by the same index."""
_PHRASE: Final = (
    _SELECT.format(tracks="tracks_fts AS f JOIN tracks AS t ON t.id = f.rowid")
    + """
     WHERE tracks_fts MATCH :phrase
     LIMIT :most
    """
)


class LrclibDump:
    """Exact names first, then longer artists, then phrases; one connection for each thread."""

    name = "lrclib-dump"
    local = True
    needs_token = False

    def __init__(self, *, path: Path) -> None:
        self._path = path
        self._own = threading.local()
        self._lock = threading.Lock()
        self._open: list[sqlite3.Connection] = []
        self._closed = False
        _check_file(path)
        with closing(_connect(path)) as connection:
            self._has_phrases = _check_schema(connection)

    def lookup(self, recording: Recording, ctx: LaneContext) -> Sequence[Candidate]:
        """Give the rows that carry the names, nearest in length first."""
        harvest = Harvest(ctx.judge)
        usable = False
        for title, artist in _names(recording):
            usable = harvest.add(self._exact(recording, title, artist, ctx)) or usable
            if harvest.done:
                return harvest.candidates
        if not usable and (phrase := _phrase(recording)):
            title, artist = _phrase_names(recording)
            harvest.add(self._exact(recording, title, artist, ctx, sql=_LONGER))
            if not harvest.done:
                harvest.add(self._phrases(phrase, ctx))
        if harvest.candidates:
            return harvest.candidates
        raise Miss("no row with words", reason="no_lyrics" if harvest.rows else "not_found")

    def probe(self, ctx: LaneContext) -> None:
        """Ask for a track that does not exist."""
        self._exact(Recording(title="lyrsvc"), "lyrsvc", "lyrsvc", ctx)

    def close(self) -> None:
        """Close every thread's connection; may be called twice."""
        with self._lock:
            self._closed = True
            connections, self._open = self._open, []
        for connection in connections:
            connection.close()

    def _exact(
        self,
        recording: Recording,
        title: str,
        artist: str,
        ctx: LaneContext,
        *,
        sql: str = _EXACT,
    ) -> list[dict[str, Any]]:
        length = recording.duration_ms / 1000 if recording.duration_ms else None
        values = {
            "title": title,
            "artist": artist,
            # A title of nothing but signs has no index entry worth narrowing by length.
            "length": length if title else None,
            "reach": REACH_S,
            "most": MOST_CANDIDATES if title else 4 * MOST_CANDIDATES,
        }
        return self._ask(sql, values, _Limit(QUERY_LIMIT_S, ctx.cancelled))

    def _phrases(self, phrase: str, ctx: LaneContext) -> list[dict[str, Any]]:
        if not self._has_phrases:
            return []
        limit = _Limit(PHRASE_LIMIT_S, ctx.cancelled)
        try:
            return self._ask(_PHRASE, {"phrase": phrase, "most": MOST_CANDIDATES}, limit)
        except Transient as fault:
            if fault.reason != "timeout":
                raise
            return []

    def _ask(self, sql: str, values: Mapping[str, Any], limit: "_Limit") -> list[dict[str, Any]]:
        connection = self._connection()
        connection.set_progress_handler(limit, STEPS_BETWEEN_CHECKS)
        try:
            return [dict(row) for row in connection.execute(sql, values)]
        except sqlite3.Error as error:
            raise _translated(error) from None
        finally:
            with suppress(sqlite3.Error):
                connection.set_progress_handler(None, 0)

    def _connection(self) -> sqlite3.Connection:
        own: sqlite3.Connection | None = getattr(self._own, "connection", None)
        if own is not None and not self._closed:
            return own
        with self._lock:
            if self._closed:
                raise Transient("the dump is closed", reason="upstream_error")
            try:
                connection = _connect(self._path)
            except sqlite3.Error as error:
                raise _translated(error) from None
            self._open.append(connection)
        self._own.connection = connection
        return connection


class _Limit:
    """A progress handler that ends a query when its time is over or nobody waits for it."""

    def __init__(self, seconds: float, cancelled: Callable[[], bool]) -> None:
        self._until = time.monotonic() + seconds
        self._cancelled = cancelled

    def __call__(self) -> int:
        return int(time.monotonic() > self._until or self._cancelled())


def _names(recording: Recording) -> Iterator[tuple[str, str]]:
    """Give each pair of normalised names to look for, once."""
    artist = query_artist(recording)
    artists = [artist, *credited_names(recording)[:MOST_NAMES]]
    titles = [recording.title, search_title(recording)]
    pairs = ((normalise(title), normalise(name)) for title in titles for name in artists)
    return iter(dict.fromkeys((title, name) for title, name in pairs if name))


def _phrase(recording: Recording) -> str:
    title, artist = _phrase_names(recording)
    if not title or not artist:
        return ""
    return f"name_lower : {_quoted(title)} AND artist_name_lower : {_quoted(artist)}"


def _phrase_names(recording: Recording) -> tuple[str, str]:
    return normalise(search_title(recording)), normalise(primary_artist(recording))


def _quoted(phrase: str) -> str:
    return '"' + phrase.replace('"', '""') + '"'


def _connect(path: Path) -> sqlite3.Connection:
    address = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    connection = sqlite3.connect(address, uri=True, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    connection.execute("PRAGMA query_only = 1")
    return connection


def _check_file(path: Path) -> None:
    try:
        with path.open("rb") as file:
            start = file.read(16)
    except OSError as error:
        raise _config_error(path, f"cannot be read ({error.strerror})") from None
    if path.suffix == ".gz" or start.startswith(b"\x1f\x8b"):
        raise _config_error(path, "is compressed; unpack it (gunzip) and name the unpacked file")
    if not start.startswith(b"SQLite format 3\0"):
        raise _config_error(path, "is no SQLite database; take the published dump")
    journal = path.with_name(path.name + "-wal")
    if journal.exists() and journal.stat().st_size:
        raise _config_error(
            path, "has unfinished writes in its -wal file; checkpoint it or take another copy"
        )


def _check_schema(connection: sqlite3.Connection) -> bool:
    """Refuse a file that is not the dump; tell whether it can search for phrases."""
    try:
        for table, columns in COLUMNS.items():
            _check_columns(connection, table, columns)
        return _has_phrases(connection)
    except sqlite3.Error as error:
        name = error.sqlite_errorname or "unknown"
        raise ConfigError([f"{_SETTING}: the file cannot be read as a database ({name})"]) from None


def _check_columns(connection: sqlite3.Connection, table: str, columns: frozenset[str]) -> None:
    found = {row["name"] for row in connection.execute(f"PRAGMA table_info({table})")}
    if not found:
        raise ConfigError([f"{_SETTING}: table {table} is missing; take the published dump"])
    if missing := ", ".join(sorted(columns - found)):
        raise ConfigError(
            [f"{_SETTING}: table {table} has no column {missing}; take the published dump"]
        )


def _has_phrases(connection: sqlite3.Connection) -> bool:
    try:
        connection.execute("SELECT rowid FROM tracks_fts WHERE tracks_fts MATCH '\"a\"' LIMIT 1")
    except sqlite3.OperationalError:
        return False
    return True


_SETTING: Final = "providers.lrclib_dump.path"


def _config_error(path: Path, what: str) -> ConfigError:
    return ConfigError([f"{_SETTING}: {path} {what}"])


def _translated(error: sqlite3.Error) -> LaneError:
    name = getattr(error, "sqlite_errorname", None) or type(error).__name__
    reason = "timeout" if name == "SQLITE_INTERRUPT" else "upstream_error"
    return Transient(f"local database, {name}", reason=reason)
