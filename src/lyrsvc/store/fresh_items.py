"""New items and their first targets, many at once: what a first scan makes.

A column that is not named here takes its default, which is that of a new item or
target; whatever is there already is looked up before, so that nothing clashes.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from lyrsvc.core.item import Status
from lyrsvc.store.counts import Tally
from lyrsvc.store.moments import to_db
from lyrsvc.store.searching import search_keys
from lyrsvc.store.value_lists import questions

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


class Wanted(NamedTuple):
    """What a new item would go by: its match keys, and the hash of the stem of its target."""

    artist_key: str
    title_key: str
    out_hash: str


class Met(NamedTuple):
    """What is there: items of a name with their bucket, stems with an owner, names in the cache."""

    items: set[tuple[str, str, int]]
    stems: set[str]
    cached: set[tuple[str, str]]


_ITEM: Final = 1
_STEM: Final = 2
# CROSS JOIN keeps the order of tables: what is asked for is always less than what is there.
_MET: Final = """
    WITH wanted (artist, title, hash) AS (VALUES {wanted})
    SELECT 1, i.artist_key, i.title_key, i.duration_bucket
      FROM wanted w CROSS JOIN work_items i
     WHERE i.artist_key = w.artist AND i.title_key = w.title
     UNION ALL
    SELECT 2, t.out_hash, '', 0
      FROM wanted w CROSS JOIN work_targets t WHERE t.out_hash = w.hash
     UNION ALL
    SELECT 3, c.artist_key, c.title_key, 0
      FROM wanted w CROSS JOIN lyrics_cache c
     WHERE c.artist_key = w.artist AND c.title_key = w.title
"""
_ITEM_COLUMNS: Final = (
    *FreshItem._fields,
    "search_keys",
    "id",
    "due_at",
    "created_at",
    "updated_at",
)
_TARGET_COLUMNS: Final = (*FreshTarget._fields, "id", "item_id", "created_at", "updated_at")


def meet(tx: "Tx", wanted: Sequence[Wanted]) -> Met:
    """Find what is there already of these names and stems, with one question."""
    items: set[tuple[str, str, int]] = set()
    stems: set[str] = set()
    cached: set[tuple[str, str]] = set()
    for sql, params in questions(_MET, wanted):
        for kind, artist, title, bucket in tx.tuples(sql, **params):
            if kind == _ITEM:
                items.add((artist, title, bucket))
            elif kind == _STEM:
                stems.add(artist)
            else:
                cached.add((artist, title))
    return Met(items, stems, cached)


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
    item_ids, target_ids = tx.next_ids(len(items), "work_items", "work_targets")
    ids = list(zip(item_ids, target_ids, strict=True))
    tx.insert_rows(
        "work_items",
        _ITEM_COLUMNS,
        [
            (*item, search_keys(item.artist_key, item.title_key, item.album), item_id)
            + (moment,) * 3
            for item, item_id in zip(items, item_ids, strict=True)
        ],
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
