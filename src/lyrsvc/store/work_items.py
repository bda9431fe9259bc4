"""The table ``work_items``: one row for each recording in the queue.

Every change goes through :func:`insert`, :func:`save` or :func:`delete`, which keep
the counts exact. A change carries the status and claim number it was made for, so
that whoever comes too late changes nothing.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Final

from lyrsvc.core.claiming import Claim, ClaimLost
from lyrsvc.core.errors import NotFound
from lyrsvc.core.item import Status, WorkItem
from lyrsvc.store.counts import Tally
from lyrsvc.store.item_rows import to_item, to_row
from lyrsvc.store.moments import to_db
from lyrsvc.store.value_lists import questions

if TYPE_CHECKING:
    from lyrsvc.store.transaction import Tx

CHUNK: Final = 1000
"""So many rows a bulk operation changes at once."""

_INSERT: Final = """
    INSERT INTO work_items (
        artist, artists, title, album, album_artist, artist_key, title_key, search_keys,
        duration_bucket, duration_ms, isrc, mbid, low_confidence, status, claimed_from, reason,
        reason_detail, reason_text, priority, route, ready_key, due_at, attempts, misses,
        provider_set_version, detect_instrumental, detect_origin, rerun, boosted, lease_owner,
        lease_until_at, claim_seq, resume, completed_at, fetched_at, lane, outcome, from_cache,
        detector_verdict, detector_version, music_sum, vocal_peak, speech_mean, vocal_class,
        detected_at, created_at, updated_at)
    VALUES (
        :artist, :artists, :title, :album, :album_artist, :artist_key, :title_key,
        :search_keys, :duration_bucket, :duration_ms, :isrc, :mbid, :low_confidence, :status,
        :claimed_from, :reason, :reason_detail, :reason_text, :priority, :route, :ready_key,
        :due_at, :attempts, :misses, :provider_set_version, :detect_instrumental, :detect_origin,
        :rerun, :boosted, :lease_owner, :lease_until_at, :claim_seq, :resume, :completed_at,
        :fetched_at, :lane,
        :outcome, :from_cache, :detector_verdict, :detector_version, :music_sum, :vocal_peak,
        :speech_mean, :vocal_class, :detected_at, :now, :now)
    RETURNING id
"""

_UPDATE: Final = """
    UPDATE work_items
       SET artist = :artist, artists = :artists, title = :title, album = :album,
           album_artist = :album_artist, search_keys = :search_keys,
           duration_ms = :duration_ms, isrc = :isrc, mbid = :mbid,
           low_confidence = :low_confidence, status = :status, claimed_from = :claimed_from,
           reason = :reason, reason_detail = :reason_detail, reason_text = :reason_text,
           priority = :priority, route = :route, ready_key = :ready_key, due_at = :due_at,
           attempts = :attempts, misses = :misses, provider_set_version = :provider_set_version,
           detect_instrumental = :detect_instrumental, detect_origin = :detect_origin,
           rerun = :rerun, boosted = :boosted, lease_owner = :lease_owner,
           lease_until_at = :lease_until_at, resume = :resume, completed_at = :completed_at,
           fetched_at = :fetched_at, lane = :lane, outcome = :outcome, from_cache = :from_cache,
           detector_verdict = :detector_verdict, detector_version = :detector_version,
           music_sum = :music_sum, vocal_peak = :vocal_peak, speech_mean = :speech_mean,
           vocal_class = :vocal_class, detected_at = :detected_at, updated_at = :now
     WHERE id = :id AND status = :status_before AND claim_seq = :claim_seq
"""


def get(tx: "Tx", item_id: int) -> WorkItem:
    """Give the item with this id, or raise ``NotFound``."""
    row = tx.first("SELECT * FROM work_items WHERE id = :id", id=item_id)
    if row is None:
        raise NotFound(f"no item {item_id}; see: lyrsvc queue list")
    return to_item(row)


def newest_id(tx: "Tx") -> int:
    """Give the largest id there is, 0 without items."""
    return int(tx.value("SELECT max(id) FROM work_items") or 0)


def held(tx: "Tx", claim: Claim) -> WorkItem:
    """Give the item under a claim, or raise ``ClaimLost`` when somebody else has it by now."""
    row = tx.first(
        """
        SELECT * FROM work_items
         WHERE id = :id AND status = 'processing' AND claim_seq = :seq
        """,
        id=claim.item_id,
        seq=claim.seq,
    )
    if row is None:
        raise ClaimLost(f"item {claim.item_id} is no longer held by this attempt")
    return to_item(row)


def find(tx: "Tx", artist_key: str, title_key: str, bucket: int) -> WorkItem | None:
    """Give the item of one recording."""
    row = tx.first(
        """
        SELECT * FROM work_items
         WHERE artist_key = :artist AND title_key = :title AND duration_bucket = :bucket
        """,
        artist=artist_key,
        title=title_key,
        bucket=bucket,
    )
    return to_item(row) if row else None


def namesakes(tx: "Tx", artist_key: str, title_key: str) -> list[WorkItem]:
    """Give the items of one artist and title, whatever their length, the shortest first."""
    rows = tx.all(
        """
        SELECT * FROM work_items WHERE artist_key = :artist AND title_key = :title
         ORDER BY duration_bucket
        """,
        artist=artist_key,
        title=title_key,
    )
    return [to_item(row) for row in rows]


def by_names(tx: "Tx", names: Iterable[tuple[str, str]]) -> dict[tuple[str, str], list[WorkItem]]:
    """Give the items of each artist and title key, the shortest first; one question for many."""
    found: dict[tuple[str, str], dict[int, WorkItem]] = {each: {} for each in names}
    for sql, params in questions(_BY_NAMES, list(found)):
        for row in tx.all(sql, **params):
            same = found[row["artist_key"], row["title_key"]]
            if row["id"] not in same:
                same[row["id"]] = to_item(row)
    return {
        each: sorted(same.values(), key=lambda item: item.duration_bucket)
        for each, same in found.items()
    }


def insert(tx: "Tx", item: WorkItem, tally: Tally, *, now: datetime) -> int:
    """Write a new item down and give its id."""
    item_id = tx.value(_INSERT, **to_row(item), now=to_db(now))
    tally.item(None, item)
    return int(item_id)


def save(tx: "Tx", before: WorkItem, after: WorkItem, tally: Tally, *, now: datetime) -> None:
    """Write a change down; raise ``ClaimLost`` when the row is no longer as it was."""
    if before == after:
        return
    changed = tx.run(
        _UPDATE,
        **{**to_row(after), "claim_seq": before.claim_seq},
        id=before.id,
        status_before=str(before.status),
        now=to_db(now),
    )
    if not changed:
        raise ClaimLost(f"item {before.id} is no longer {before.status} as it was")
    tally.item(before, after)


def set_length(tx: "Tx", item_id: int, bucket: int) -> None:
    """Make an item one of another length; no other item may be that already.

    A statement of its own: :func:`save` leaves the key and its index alone.
    """
    tx.run(
        "UPDATE work_items SET duration_bucket = :bucket WHERE id = :id", id=item_id, bucket=bucket
    )


def delete(tx: "Tx", item: WorkItem, tally: Tally) -> None:
    """Remove an item; its targets go with it, what lanes answered stays."""
    if tx.run("DELETE FROM work_items WHERE id = :id", id=item.id):
        tally.item(item, None)


def delete_done(tx: "Tx", *, until: datetime, now: datetime, limit: int = CHUNK) -> int:
    """Remove the oldest finished items, at most so many (T19); give how many went."""
    rows = tx.all(
        """
        SELECT * FROM work_items
         WHERE status = 'done' AND completed_at IS NOT NULL AND completed_at <= :until
         ORDER BY completed_at, id LIMIT :limit
        """,
        until=to_db(until),
        limit=limit,
    )
    tally = Tally()
    for row in rows:
        delete(tx, to_item(row), tally)
    tally.write(tx, now=now)
    return len(rows)


def count_done(tx: "Tx", *, until: datetime) -> int:
    """Count what :func:`delete_done` would remove."""
    found = tx.value(
        """
        SELECT count(*) FROM work_items
         WHERE status = 'done' AND completed_at IS NOT NULL AND completed_at <= :until
        """,
        until=to_db(until),
    )
    return int(found)


def each_after(
    tx: "Tx", status: Status, *, after: int, limit: int = CHUNK, library_id: int | None = None
) -> list[WorkItem]:
    """Give deferred items, or those given up, with larger ids than ``after``, by id."""
    sql = _GIVEN_UP if status is Status.DONE else _DEFERRED
    rows = tx.all(sql, after=after, limit=limit, library=library_id)
    return [to_item(row) for row in rows]


def failed_after(
    tx: "Tx", *, after: int, reason: str | None = None, limit: int = CHUNK
) -> list[int]:
    """Give the failed items of any or one reason with larger ids than ``after``, by id."""
    rows = tx.all(_FAILED, after=after, limit=limit, reason=reason)
    return [row["id"] for row in rows]


def with_words_inside(tx: "Tx", *, after: int, limit: int = CHUNK) -> list[int]:
    """Give deferred items, and those given up, of files whose tags hold lyrics, by id."""
    rows = tx.all(_WITH_WORDS_INSIDE, after=after, limit=limit)
    return [row["id"] for row in rows]


def count_again(tx: "Tx", status: Status, *, library_id: int | None = None) -> int:
    """Count the deferred items, or those given up, of all libraries or one."""
    sql = _COUNT_GIVEN_UP if status is Status.DONE else _COUNT_DEFERRED
    return int(tx.value(sql, library=library_id))


_BY_NAMES: Final = """
    WITH wanted (artist, title) AS (VALUES {wanted})
    SELECT i.* FROM wanted w CROSS JOIN work_items i
     WHERE i.artist_key = w.artist AND i.title_key = w.title
"""
_FAILED: Final = """
    SELECT id FROM work_items
     WHERE status = 'failed' AND id > :after
       AND (:reason IS NULL OR reason = :reason OR (:reason = 'unknown' AND reason = ''))
     ORDER BY id LIMIT :limit
"""
_WITH_WORDS_INSIDE: Final = """
    SELECT i.id FROM work_items i
     WHERE i.id > :after
       AND (i.status = 'deferred' OR (i.status = 'done' AND i.outcome IN ('miss', 'rejected')))
       AND EXISTS (SELECT 1 FROM work_targets t JOIN scan_results s ON s.target_id = t.id
                    WHERE t.item_id = i.id AND s.embedded IN (1, 2)
                      AND s.missing_since_at IS NULL)
     ORDER BY i.id LIMIT :limit
"""
# The plus keeps the planner from walking all targets of the library, once per item.
_GIVEN_UP: Final = """
    SELECT * FROM work_items
     WHERE status = 'done' AND outcome IN ('miss', 'rejected') AND id > :after
       AND (:library IS NULL OR EXISTS (SELECT 1 FROM work_targets t
                                         WHERE t.item_id = work_items.id
                                           AND +t.library_id = :library))
     ORDER BY id LIMIT :limit
"""
_DEFERRED: Final = """
    SELECT * FROM work_items
     WHERE status = 'deferred' AND id > :after
       AND (:library IS NULL OR EXISTS (SELECT 1 FROM work_targets t
                                         WHERE t.item_id = work_items.id
                                           AND +t.library_id = :library))
     ORDER BY id LIMIT :limit
"""
_COUNT_GIVEN_UP: Final = """
    SELECT count(*) FROM work_items
     WHERE status = 'done' AND outcome IN ('miss', 'rejected') AND id > 0
       AND (:library IS NULL OR EXISTS (SELECT 1 FROM work_targets t
                                         WHERE t.item_id = work_items.id
                                           AND +t.library_id = :library))
"""
_COUNT_DEFERRED: Final = """
    SELECT count(*) FROM work_items
     WHERE status = 'deferred'
       AND (:library IS NULL OR EXISTS (SELECT 1 FROM work_targets t
                                         WHERE t.item_id = work_items.id
                                           AND +t.library_id = :library))
"""
