"""The tables ``lane_attempts`` and ``lane_counters``: who was asked, and who won.

Attempts hold the latest answer of each lane for each item and outlive the items;
counters count answers and never fall. Lanes stand under their own names.
"""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from lyrsvc.core.outcome import Answer, Attempt
from lyrsvc.core.ptext import clean_text
from lyrsvc.core.resume import evidence_of
from lyrsvc.store.counts import Tally
from lyrsvc.store.moments import to_db

if TYPE_CHECKING:
    from lyrsvc.store.engine import Row
    from lyrsvc.store.transaction import Tx

_MISSES: Final = frozenset({Answer.MISS, Answer.MISMATCH})


def credit(
    tx: "Tx",
    item_id: int,
    attempts: Iterable[Attempt],
    tally: Tally,
    *,
    winner: str,
    now: datetime,
) -> None:
    """Write down every lane that was asked; the winner has a hit, the others none.

    A lane that had words and lost is an attempt without hit and counts in neither
    counter; errors and throttles count in neither; skipped lanes leave no trace.
    """
    for attempt in attempts:
        if attempt.answer is Answer.SKIPPED:
            continue
        hit = attempt.lane == winner and attempt.answer is Answer.HIT
        _record(tx, item_id, attempt, tally, hit=hit, now=now)
        if hit or attempt.answer in _MISSES:
            _count(tx, attempt.lane, hit=hit, now=now)


def of_item(tx: "Tx", item_id: int) -> "list[Row]":
    """Give the attempts of an item, by lane."""
    return tx.all(
        """
        SELECT lane, hit, verdict, reason_detail, evidence, attempted_at
          FROM lane_attempts WHERE queue_id = :item ORDER BY lane
        """,
        item=item_id,
    )


def last_tries(tx: "Tx", ids: Sequence[int]) -> dict[int, str]:
    """Give when lanes were last asked about these items; those never asked about are left out."""
    if not ids:
        return {}
    params = {f"id_{number}": item_id for number, item_id in enumerate(ids)}
    places = ", ".join(f":{name}" for name in params)
    rows = tx.all(
        f"""
        SELECT queue_id, max(attempted_at) AS at
          FROM lane_attempts WHERE queue_id IN ({places}) GROUP BY queue_id
        """,  # noqa: S608 - our own names
        **params,
    )
    return {row["queue_id"]: row["at"] for row in rows}


def counters(tx: "Tx") -> "dict[str, Row]":
    """Give hits, misses and the last hit of every lane that ever had one."""
    rows = tx.each("SELECT lane, hits, misses, last_hit_at FROM lane_counters")
    return {row["lane"]: row for row in rows}


def _record(
    tx: "Tx", item_id: int, attempt: Attempt, tally: Tally, *, hit: bool, now: datetime
) -> None:
    old = tx.value(
        "SELECT hit FROM lane_attempts WHERE queue_id = :item AND lane = :lane",
        item=item_id,
        lane=attempt.lane,
    )
    tx.run(
        """
        INSERT INTO lane_attempts (queue_id, lane, hit, verdict, reason_detail, evidence,
                                   attempted_at)
        VALUES (:item, :lane, :hit, :verdict, :reason, :evidence, :at)
        ON CONFLICT (queue_id, lane) DO UPDATE
           SET hit = :hit, verdict = :verdict, reason_detail = :reason, evidence = :evidence,
               attempted_at = :at
        """,
        item=item_id,
        lane=attempt.lane,
        hit=int(hit),
        verdict=str(attempt.answer),
        reason=clean_text(attempt.reason),
        evidence=clean_text(json.dumps(evidence_of(attempt), ensure_ascii=False)),
        at=to_db(attempt.answered_at or now),
    )
    tally.add(f"attempts.{attempt.lane}", 1 if old is None else 0)
    tally.add(f"attempt_hits.{attempt.lane}", int(hit) - (old or 0))


def _count(tx: "Tx", lane: str, *, hit: bool, now: datetime) -> None:
    tx.run(
        """
        INSERT INTO lane_counters (lane, hits, misses, last_hit_at, created_at, updated_at)
        VALUES (:lane, :hit, 1 - :hit, CASE WHEN :hit = 1 THEN :now END, :now, :now)
        ON CONFLICT (lane) DO UPDATE
           SET hits = lane_counters.hits + :hit, misses = lane_counters.misses + 1 - :hit,
               last_hit_at = CASE WHEN :hit = 1 THEN :now ELSE lane_counters.last_hit_at END,
               updated_at = :now
        """,
        lane=lane,
        hit=int(hit),
        now=to_db(now),
    )
