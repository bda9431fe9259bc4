"""The table ``work_targets``: the sidecar stems an item must write; a stem has one owner."""

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Final

from lyrsvc.core.item import OwnTags, Target, TargetOrigin, TargetResult, TargetStatus, TargetTrait
from lyrsvc.core.ptext import from_ptext, path_hash, to_ptext
from lyrsvc.core.scan_facts import LastSeen, stored_recording
from lyrsvc.core.sidecar import FetchMode, Kind
from lyrsvc.store.moments import from_db, to_db
from lyrsvc.store.value_lists import questions

if TYPE_CHECKING:
    from lyrsvc.store.engine import Row
    from lyrsvc.store.transaction import Tx

# CROSS JOIN keeps the order of tables: what is asked for is always less than what is there.
_COMPANIES: Final = """
    SELECT t.item_id, t.library_id, t.status IN ('pending', 'failed') AS is_open, t.mode,
           t.source_path <> '' AS has_file, t.duration_ms, count(*) AS number
      FROM work_targets t
     WHERE t.item_id IN (VALUES {wanted})
     GROUP BY 1, 2, 3, 4, 5, 6
"""
_BY_STEMS: Final = """
    WITH wanted (hash) AS (VALUES {wanted})
    SELECT t.* FROM wanted w CROSS JOIN work_targets t WHERE t.out_hash = w.hash
"""
_SERVED: Final = """
    WITH wanted (artist, title) AS (VALUES {wanted})
    SELECT i.artist_key, i.title_key, t.*
      FROM wanted w CROSS JOIN work_items i CROSS JOIN work_targets t
     WHERE i.artist_key = w.artist AND i.title_key = w.title AND t.item_id = i.id
       AND i.status = 'done' AND t.status = 'done'
       AND i.outcome IN ('synced', 'unsynced', 'instrumental')
     ORDER BY i.duration_bucket, t.id
"""


class Others(Enum):
    """The other targets of an item: none, all parked, or some that are not."""

    NONE = "none"
    PARKED = "parked"
    WAITING = "waiting"


def stem_hash(out_dir: str, out_stem: str) -> str:
    """Give the hash by which a stem is found."""
    return path_hash(os.path.join(out_dir, out_stem))  # noqa: PTH118 - paths are texts here


def get(tx: "Tx", target_id: int) -> Target | None:
    """Give a target by its id."""
    row = tx.first("SELECT * FROM work_targets WHERE id = :id", id=target_id)
    return _target(row) if row else None


def of_item(tx: "Tx", item_id: int) -> list[Target]:
    """Give the targets of one item, by id."""
    rows = tx.all("SELECT * FROM work_targets WHERE item_id = :item ORDER BY id", item=item_id)
    return [_target(row) for row in rows]


def with_tags(tx: "Tx", item_id: int) -> list[Target]:
    """Give the targets of one item, by id, each with the tags of its own file.

    Of several files with one stem the first name in byte order counts; how a target was
    seen is always told of the file it is for.
    """
    rows = tx.all(
        """
        SELECT s.*
          FROM work_targets t CROSS JOIN scan_results s
         WHERE t.item_id = :item AND s.target_id = t.id
         ORDER BY t.id, s.name DESC
        """,
        item=item_id,
    )
    tags = {row["target_id"]: _tags(row) for row in rows}
    seen = {(row["target_id"], row["name"]): row for row in rows}
    return [
        replace(
            target,
            tags=tags.get(target.id),
            seen=_seen(seen.get((target.id, to_ptext(os.path.basename(target.source_path))))),  # noqa: PTH119
        )
        for target in of_item(tx, item_id)
    ]


def exists(tx: "Tx", target_id: int) -> bool:
    """Tell whether there is such a target."""
    return tx.first("SELECT id FROM work_targets WHERE id = :id", id=target_id) is not None


def others(tx: "Tx", target: Target) -> Others:
    """Tell what else the item of a target has to look after."""
    found = tx.first(
        """
        SELECT EXISTS (SELECT 1 FROM work_targets WHERE item_id = :item AND id <> :id) AS other,
               EXISTS (SELECT 1 FROM work_targets
                        WHERE item_id = :item AND id <> :id AND status <> 'parked') AS waiting
        """,
        item=target.item_id,
        id=target.id,
    )
    if not found or not found["other"]:
        return Others.NONE
    return Others.WAITING if found["waiting"] else Others.PARKED


def find(tx: "Tx", out_dir: str, out_stem: str) -> Target | None:
    """Give the target that owns a stem."""
    row = tx.first(
        "SELECT * FROM work_targets WHERE out_hash = :hash", hash=stem_hash(out_dir, out_stem)
    )
    return _target(row) if row else None


def companies(tx: "Tx", item_ids: Iterable[int]) -> dict[int, Counter[TargetTrait]]:
    """Give the targets of several items as far as they matter to these: how many of each kind."""
    found: dict[int, Counter[TargetTrait]] = {each: Counter() for each in item_ids}
    for sql, params in questions(_COMPANIES, [(each,) for each in found]):
        for row in tx.all(sql, **params):
            trait = TargetTrait(
                row["library_id"],
                bool(row["is_open"]),
                FetchMode(row["mode"]),
                bool(row["has_file"]),
                row["duration_ms"],
            )
            found[row["item_id"]][trait] = row["number"]
    return found


def by_stems(tx: "Tx", hashes: Iterable[str]) -> dict[str, Target | None]:
    """Give the target that owns each of some stems, None where nobody does."""
    found: dict[str, Target | None] = dict.fromkeys(hashes)
    for sql, params in questions(_BY_STEMS, [(each,) for each in found]):
        for row in tx.all(sql, **params):
            found[row["out_hash"]] = _target(row)
    return found


def served_by_name(
    tx: "Tx", names: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], list[Target]]:
    """Give the finished targets of finished items with lyrics, by artist and title key."""
    found: dict[tuple[str, str], dict[int, Target]] = {each: {} for each in names}
    for sql, params in questions(_SERVED, list(found)):
        for row in tx.all(sql, **params):
            found[row["artist_key"], row["title_key"]][row["id"]] = _target(row)
    return {each: list(of_name.values()) for each, of_name in found.items()}


def of_source(tx: "Tx", source_path: str) -> list[Target]:
    """Give the targets of one audio file, by id."""
    rows = tx.all(
        "SELECT * FROM work_targets WHERE source_hash = :hash ORDER BY id",
        hash=path_hash(source_path),
    )
    return [_target(row) for row in rows]


def parked(tx: "Tx") -> list[int]:
    """Give every parked target, by item; answered by ``ix_targets_item`` alone."""
    rows = tx.each("SELECT id FROM work_targets WHERE status = 'parked'")
    return [row["id"] for row in rows]


def insert(tx: "Tx", target: Target, *, now: datetime) -> Target:
    """Write a new target down; give it with its id."""
    target_id = tx.value(
        """
        INSERT INTO work_targets (item_id, library_id, origin, source_path, source_hash, out_dir,
                                  out_stem, out_hash, duration_ms, mode, status, result, kind,
                                  reason, settled_at, created_at, updated_at)
        VALUES (:item_id, :library_id, :origin, :source_path, :source_hash, :out_dir,
                :out_stem, :out_hash, :duration_ms, :mode, :status, :result, :kind,
                :reason, :settled_at, :now, :now)
        RETURNING id
        """,
        **_row(target),
        now=to_db(now),
    )
    return replace(target, id=int(target_id))


def save(tx: "Tx", target: Target, *, now: datetime) -> None:
    """Write a change of a target down; a target that is gone stays gone."""
    tx.run(
        """
        UPDATE work_targets
           SET item_id = :item_id, library_id = :library_id, origin = :origin,
               source_path = :source_path, source_hash = :source_hash, out_dir = :out_dir,
               out_stem = :out_stem, out_hash = :out_hash, duration_ms = :duration_ms,
               mode = :mode, status = :status, result = :result, kind = :kind, reason = :reason,
               settled_at = :settled_at, updated_at = :now
         WHERE id = :id
        """,
        **_row(target),
        id=target.id,
        now=to_db(now),
    )


def save_changed(
    tx: "Tx", before: Iterable[Target], after: Iterable[Target], *, now: datetime
) -> None:
    """Write down those of several targets that have changed."""
    known = {target.id: target for target in before}
    for target in after:
        if known.get(target.id) != target:
            save(tx, target, now=now)


def delete(tx: "Tx", target_id: int) -> None:
    """Remove a target; inventory rows that pointed to it point nowhere then."""
    tx.run("DELETE FROM work_targets WHERE id = :id", id=target_id)


def _target(row: "Row") -> Target:
    return Target(
        id=row["id"],
        item_id=row["item_id"],
        library_id=row["library_id"],
        origin=TargetOrigin(row["origin"]),
        source_path=from_ptext(row["source_path"]),
        out_dir=from_ptext(row["out_dir"]),
        out_stem=from_ptext(row["out_stem"]),
        duration_ms=row["duration_ms"],
        mode=FetchMode(row["mode"]),
        status=TargetStatus(row["status"]),
        result=TargetResult(row["result"]),
        kind=Kind(row["kind"]) if row["kind"] else None,
        reason=row["reason"],
        settled_at=from_db(row["settled_at"]),
    )


def _tags(row: "Row") -> OwnTags:
    return OwnTags(
        album=row["album"],
        album_artist=row["album_artist"],
        isrc=row["isrc"],
        mbid=row["mbid"],
        low_confidence=bool(row["low_confidence"]),
    )


def _seen(row: "Row | None") -> LastSeen | None:
    if row is None:
        return None
    stamp = row["mtime_ns"], row["size"], row["inode"]
    return LastSeen(stamp, stored_recording(row), bool(row["enriched"]))


def _row(target: Target) -> "Row":
    return {
        "item_id": target.item_id,
        "library_id": target.library_id,
        "origin": str(target.origin),
        "source_path": to_ptext(target.source_path),
        "source_hash": path_hash(target.source_path) if target.source_path else "",
        "out_dir": to_ptext(target.out_dir),
        "out_stem": to_ptext(target.out_stem),
        "out_hash": stem_hash(target.out_dir, target.out_stem),
        "duration_ms": target.duration_ms,
        "mode": str(target.mode),
        "status": str(target.status),
        "result": str(target.result),
        "kind": str(target.kind or ""),
        "reason": target.reason,
        "settled_at": to_db(target.settled_at),
    }
