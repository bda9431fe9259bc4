"""New items and their first targets, many at once: what a first scan makes.

A column that is not named here takes its default, which is that of a new item or
target; whatever is there already is looked up before, so that nothing clashes.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from lyrsvc.core.item import Status
from lyrsvc.store.counts import Tally
from lyrsvc.store.moments import to_db
from lyrsvc.store.value_lists import in_portions, listed

if TYPE_CHECKING:
    from lyrsvc.store.transaction import Tx


class FreshItem(NamedTuple):
    """A new item that is due now: the columns that a new row does not have by default."""

    artist: str
    artists: str
    title: str
    album: str
    album_artist: str
    artist_key: str
    title_key: str
    duration_bucket: int
    duration_ms: int
    isrc: str
    mbid: str
    low_confidence: int
    priority: int
    route: int
    ready_key: int
    provider_set_version: int
    detect_instrumental: int
    detect_origin: str


class FreshTarget(NamedTuple):
    """The first target of a new item; its paths are in the form of columns."""

    library_id: int | None
    origin: str
    source_path: str
    source_hash: str
    out_dir: str
    out_stem: str
    out_hash: str
    duration_ms: int
    mode: str


_ITEM_COLUMNS: Final = (*FreshItem._fields, "id", "due_at", "created_at", "updated_at")
_TARGET_COLUMNS: Final = (*FreshTarget._fields, "id", "item_id", "created_at", "updated_at")


def known_names(tx: "Tx", names: Sequence[tuple[str, str]]) -> set[tuple[str, str, int]]:
    """Give artist key, title key and bucket of every item that goes by one of these names."""
    sql = """
        WITH wanted (artist, title) AS (VALUES {wanted})
        SELECT i.artist_key, i.title_key, i.duration_bucket
          FROM wanted w JOIN work_items i ON i.artist_key = w.artist AND i.title_key = w.title
    """
    return {(artist, title, bucket) for artist, title, bucket in _ask(tx, sql, names)}


def cached_names(tx: "Tx", names: Sequence[tuple[str, str]]) -> set[tuple[str, str]]:
    """Give those of these names for which the cache holds anything."""
    if tx.first("SELECT id FROM lyrics_cache LIMIT 1") is None:
        return set()  # nothing was ever found, as in every first scan
    sql = """
        WITH wanted (artist, title) AS (VALUES {wanted})
        SELECT c.artist_key, c.title_key
          FROM wanted w JOIN lyrics_cache c ON c.artist_key = w.artist AND c.title_key = w.title
    """
    return {(artist, title) for artist, title in _ask(tx, sql, names)}


def known_stems(tx: "Tx", hashes: Sequence[str]) -> set[str]:
    """Give those of these stem hashes that a target owns."""
    sql = """
        WITH wanted (hash) AS (VALUES {wanted})
        SELECT t.out_hash FROM wanted w JOIN work_targets t ON t.out_hash = w.hash
    """
    return {found for (found,) in _ask(tx, sql, [(each,) for each in hashes])}


def insert(
    tx: "Tx",
    items: Sequence[FreshItem],
    targets: Sequence[FreshTarget],
    tally: Tally,
    *,
    now: datetime,
) -> list[tuple[int, int]]:
    """Write items down, each with its target; give the ids of both, in their order."""
    moment = to_db(now)
    item_ids = tx.next_ids("work_items", len(items))
    target_ids = tx.next_ids("work_targets", len(targets))
    ids = list(zip(item_ids, target_ids, strict=True))
    tx.insert_rows(
        "work_items",
        _ITEM_COLUMNS,
        [(*item, item_id, *(moment,) * 3) for item, item_id in zip(items, item_ids, strict=True)],
    )
    tx.insert_rows(
        "work_targets",
        _TARGET_COLUMNS,
        [
            (*target, target_id, item_id, moment, moment)
            for target, (item_id, target_id) in zip(targets, ids, strict=True)
        ],
    )
    tally.add(f"status.{Status.PENDING}", len(items))
    tally.add(f"ready.{Status.PENDING}", len(items))
    return ids


def _ask(tx: "Tx", sql: str, rows: Sequence[tuple[str, ...]]) -> Iterator[tuple[Any, ...]]:
    for portion in in_portions(rows):
        wanted, params = listed(portion)
        yield from tx.tuples(sql.replace("{wanted}", wanted), **params)
