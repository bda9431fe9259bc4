"""The table ``lyrics_cache``: results that passed the guards, kept for ever.

A row is found by artist, title and length; whoever takes it judges it again with its
own data. Misses, rejected answers, detector verdicts and extracted lyrics never get in.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from lyrsvc.core import lyrics_text
from lyrsvc.core.judging import RULES_VERSION
from lyrsvc.core.keys import NEAR_MS, duration_bucket
from lyrsvc.core.lyrics import Quality
from lyrsvc.core.result import Accepted
from lyrsvc.core.sidecar import FetchMode
from lyrsvc.store.moments import from_db, to_db
from lyrsvc.store.value_lists import questions

if TYPE_CHECKING:
    from lyrsvc.store.engine import Row
    from lyrsvc.store.transaction import Tx


@dataclass(frozen=True, kw_only=True, slots=True)
class CacheKey:
    """What the cache is asked with: the identity of a recording and its length, if known."""

    artist_key: str
    title_key: str
    duration_ms: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class CachedLyrics:
    """A row: the result as it was when it was stored."""

    id: int
    accepted: Accepted
    rules_version: int


def find(tx: "Tx", key: CacheKey, *, mode: FetchMode = FetchMode.NORMAL) -> CachedLyrics | None:
    """Give the row that may serve: nearest in length, else one of unknown length.

    ``--update`` passes over the cache; for ``--upgrade`` only synced lyrics count.
    """
    row = _candidate_row(tx, key, mode, columns_only=False)
    return _lyrics(row) if row else None


def may_serve(tx: "Tx", key: CacheKey, *, mode: FetchMode = FetchMode.NORMAL) -> bool:
    """Tell whether there is such a row, without reading it."""
    return _candidate_row(tx, key, mode, columns_only=True) is not None


def known_names(tx: "Tx", names: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    """Give those of some artist and title keys for which there is anything."""
    found: set[tuple[str, str]] = set()
    for sql, params in questions(_NAMES, list(names)):
        found.update((artist, title) for artist, title in tx.tuples(sql, **params))
    return found


def get(tx: "Tx", cache_id: int) -> CachedLyrics | None:
    """Give a row by its id; None when it is gone or cannot be read."""
    row = tx.first("SELECT * FROM lyrics_cache WHERE id = :id", id=cache_id)
    return _lyrics(row) if row else None


def keep(
    tx: "Tx", key: CacheKey, accepted: Accepted, *, now: datetime, update: bool = False
) -> int | None:
    """Store a result and give its id; None when a better one stays, except with ``update``."""
    if accepted.quality is Quality.NONE:
        return None
    bucket = duration_bucket(key.duration_ms)
    old = tx.first(
        """
        SELECT id, kind FROM lyrics_cache
         WHERE artist_key = :artist AND title_key = :title AND duration_bucket = :bucket
        """,
        artist=key.artist_key,
        title=key.title_key,
        bucket=bucket,
    )
    if old and not update and _quality(old["kind"]) > accepted.quality:
        return None
    kept: int = tx.value(
        """
        INSERT INTO lyrics_cache (artist_key, title_key, duration_bucket, duration_ms, lane, kind,
                                  body, rules_version, fetched_at, created_at, updated_at)
        VALUES (:artist, :title, :bucket, :duration, :lane, :kind, :body, :rules, :fetched,
                :now, :now)
        ON CONFLICT (artist_key, title_key, duration_bucket) DO UPDATE
           SET duration_ms = :duration, lane = :lane, kind = :kind, body = :body,
               rules_version = :rules, fetched_at = :fetched, updated_at = :now
        RETURNING id
        """,
        artist=key.artist_key,
        title=key.title_key,
        bucket=bucket,
        duration=key.duration_ms,
        lane=accepted.lane,
        kind=accepted.quality.name.lower(),
        body=lyrics_text.to_text(accepted.candidate, accepted.verdict),
        rules=RULES_VERSION,
        fetched=to_db(accepted.fetched_at or now),
        now=to_db(now),
    )
    return kept


def _candidate_row(tx: "Tx", key: CacheKey, mode: FetchMode, *, columns_only: bool) -> "Row | None":
    if mode in (FetchMode.UPDATE, FetchMode.FORCE):
        return None
    bucket = duration_bucket(key.duration_ms)
    rows = tx.all(
        _SHORT_ROWS if columns_only else _ROWS,
        artist=key.artist_key,
        title=key.title_key,
        low=max(bucket - 1, 0),
        high=bucket + 1 if key.duration_ms else 0,
    )
    chosen = _nearest(rows, key.duration_ms)
    synced_only = mode is FetchMode.UPGRADE
    return chosen if chosen and (not synced_only or _is_synced(chosen)) else None


def _nearest(rows: "list[Row]", duration_ms: int) -> "Row | None":
    if not duration_ms:
        return next((row for row in rows if row["duration_bucket"] == 0), None)
    near = [
        row
        for row in rows
        if row["duration_ms"] and abs(row["duration_ms"] - duration_ms) <= NEAR_MS
    ]
    if near:
        return min(near, key=lambda row: (abs(row["duration_ms"] - duration_ms), row["id"]))
    unknown = (row for row in rows if not row["duration_ms"] and row["duration_bucket"] == 0)
    return next((row for row in unknown if not _is_synced(row)), None)


def _is_synced(row: "Row") -> bool:
    return _quality(row["kind"]) >= Quality.SYNCED


def _quality(kind: str) -> Quality:
    return Quality[kind.upper()] if kind.upper() in Quality.__members__ else Quality.NONE


def _lyrics(row: "Row") -> CachedLyrics | None:
    try:
        candidate, verdict = lyrics_text.from_text(row["body"])
    except ValueError:
        return None
    accepted = Accepted(
        candidate=candidate,
        quality=_quality(row["kind"]),
        verdict=verdict,
        lane=row["lane"],
        fetched_at=from_db(row["fetched_at"]),
    )
    return CachedLyrics(id=row["id"], accepted=accepted, rules_version=row["rules_version"])


_NAMES: Final = """
    WITH wanted (artist, title) AS (VALUES {wanted})
    SELECT c.artist_key, c.title_key
      FROM wanted w CROSS JOIN lyrics_cache c
     WHERE c.artist_key = w.artist AND c.title_key = w.title
"""
# The row of bucket 0 is for recordings of unknown length, and so always of interest.
_ROWS: Final = """
    SELECT id, duration_bucket, duration_ms, kind, lane, body, rules_version, fetched_at
      FROM lyrics_cache
     WHERE artist_key = :artist AND title_key = :title
       AND (duration_bucket = 0 OR duration_bucket BETWEEN :low AND :high)
"""
_SHORT_ROWS: Final = """
    SELECT id, duration_bucket, duration_ms, kind
      FROM lyrics_cache
     WHERE artist_key = :artist AND title_key = :title
       AND (duration_bucket = 0 OR duration_bucket BETWEEN :low AND :high)
"""
