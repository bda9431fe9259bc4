"""Claims on ``work_items``: taking the next one, keeping it, and taking back what was lost.

The claim is the only change of status made in SQL, because it must be one statement;
a test compares it with :func:`lyrsvc.core.claiming.claimed`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import TYPE_CHECKING, Final

from lyrsvc.core.claiming import Claim, Turns
from lyrsvc.core.item import WAITING, Route, Status, WorkItem
from lyrsvc.core.releasing import expire
from lyrsvc.core.waiting import (
    LEASE,
    LONGEST_RELEASE,
    TIER,
    WaitPolicy,
    highest_legal_key,
    longest_wait,
    ready_key,
)
from lyrsvc.store import work_items
from lyrsvc.store.counts import Tally
from lyrsvc.store.item_rows import to_item
from lyrsvc.store.moments import from_db, to_db

if TYPE_CHECKING:
    from lyrsvc.store.engine import Row
    from lyrsvc.store.transaction import Tx

PROMOTED_AT_ONCE: Final = 500

_CLAIM: Final = """
    UPDATE work_items
       SET claimed_from = status, status = 'processing', ready_key = NULL, lease_owner = :owner,
           lease_until_at = :until, claim_seq = claim_seq + 1, updated_at = :now
     WHERE id = (SELECT id FROM work_items
                  WHERE route = :route AND ready_key IS NOT NULL AND ready_key >= :from_key
                  ORDER BY ready_key, id LIMIT 1)
    RETURNING *
"""


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep did: items taken back from holders that are gone, and moments cut."""

    taken_back: tuple[int, ...] = ()
    cut: int = 0


def claim_next(
    tx: "Tx", *, route: Route, owner: str, now: datetime, turns: Turns, chance: Random
) -> tuple[WorkItem | None, Turns]:
    """Take the next item of a route (A): what became due is made ready first.

    Give it with the turns counted; hand these in again at the next claim of the route.
    """
    promote(tx, now=now, chance=chance)
    row = _take(tx, route, owner, now, from_key=TIER) if turns.others_first else None
    row = row or _take(tx, route, owner, now, from_key=0)
    if row is None:
        return None, turns
    item = to_item(row)
    tally = Tally()
    tally.add(f"status.{item.claimed_from}", -1)
    tally.add(f"ready.{item.claimed_from}", -1)
    if item.claimed_from in (Status.FAILED, Status.DEFERRED) and item.reason:
        tally.add(f"reason.{item.claimed_from}.{item.reason}", -1)
    tally.add("status.processing")
    tally.write(tx, now=now)
    return item, turns.after(item)


def promote(tx: "Tx", *, now: datetime, chance: Random, limit: int = PROMOTED_AT_ONCE) -> int:
    """Give a place in the queue to items that became due (T14); give how many did."""
    rows = tx.all(
        """
        SELECT id, status, priority, due_at FROM work_items
         WHERE ready_key IS NULL AND status IN ('pending', 'failed', 'deferred')
           AND due_at <= :now
         ORDER BY due_at, id LIMIT :limit
        """,
        now=to_db(now),
        limit=limit,
    )
    if not rows:
        return 0
    tally = Tally()
    for row in rows:
        tally.add(f"ready.{row['status']}")
    tx.many(
        "UPDATE work_items SET ready_key = :key WHERE id = :id AND ready_key IS NULL",
        [
            {"id": row["id"], "key": ready_key(from_db(row["due_at"]), row["priority"], chance)}
            for row in rows
        ],
    )
    tally.write(tx, now=now)
    return len(rows)


def hasten_released(tx: "Tx", *, now: datetime) -> int:
    """Let items that were given back while nobody could be asked be due now; give how many."""
    # The list of statuses is that of the index of waiting items; only pending ones are meant.
    return tx.run(
        """
        UPDATE work_items SET due_at = :now
         WHERE id IN (SELECT id FROM work_items
                       WHERE ready_key IS NULL AND status IN ('pending', 'failed', 'deferred')
                         AND due_at > :now AND due_at <= :latest AND status = 'pending'
                       ORDER BY due_at, id LIMIT :limit)
        """,
        now=to_db(now),
        latest=to_db(now + LONGEST_RELEASE * 2),
        limit=PROMOTED_AT_ONCE,
    )


def next_due_at(tx: "Tx") -> datetime | None:
    """Give the moment the next waiting item becomes due, so that a worker can sleep until then."""
    due: str | None = tx.value(
        """
        SELECT due_at FROM work_items
         WHERE ready_key IS NULL AND status IN ('pending', 'failed', 'deferred')
           AND due_at IS NOT NULL
         ORDER BY due_at, id LIMIT 1
        """
    )
    return from_db(due)


def is_anything_ready(tx: "Tx", route: Route) -> bool:
    """Tell whether a claim on a route would give something."""
    return first_ready(tx, route) is not None


def first_ready(tx: "Tx", route: Route) -> tuple[int, int] | None:
    """Give the place of the item that is next on a route, which is its own as long as it waits."""
    found = tx.first(
        """
        SELECT ready_key, id FROM work_items WHERE route = :route AND ready_key IS NOT NULL
         ORDER BY ready_key, id LIMIT 1
        """,
        route=int(route),
    )
    return None if found is None else (found["ready_key"], found["id"])


def renew(tx: "Tx", *, owner: str, now: datetime) -> int:
    """Prolong every lease of an owner and its slots; give how many it holds."""
    return tx.run(
        """
        UPDATE work_items SET lease_until_at = :until, updated_at = :now
         WHERE status = 'processing' AND lease_until_at IS NOT NULL
           AND (lease_owner = :owner OR lease_owner LIKE :slots ESCAPE '!')
        """,
        owner=owner,
        slots=f"{_escaped(owner)}/%",
        until=to_db(now + LEASE),
        now=to_db(now),
    )


def renew_one(tx: "Tx", claim: Claim, *, now: datetime) -> None:
    """Prolong one lease, or raise ``ClaimLost``."""
    work_items.held(tx, claim)
    tx.run(
        "UPDATE work_items SET lease_until_at = :until WHERE id = :id AND claim_seq = :seq",
        id=claim.item_id,
        seq=claim.seq,
        until=to_db(now + LEASE),
    )


def sweep(tx: "Tx", *, now: datetime, chance: Random, limit: int = work_items.CHUNK) -> Swept:
    """Take back items whose lease is over (T8); cut leases that reach too far ahead."""
    cut = tx.run(
        """
        UPDATE work_items SET lease_until_at = :furthest
         WHERE status = 'processing' AND lease_until_at > :furthest
        """,
        furthest=to_db(now + LEASE),
    )
    rows = tx.all(
        """
        SELECT * FROM work_items WHERE status = 'processing' AND lease_until_at <= :now
         ORDER BY lease_until_at LIMIT :limit
        """,
        now=to_db(now),
        limit=limit,
    )
    return Swept(_take_back(tx, rows, now=now, chance=chance), cut)


def release_all(tx: "Tx", *, now: datetime, chance: Random) -> tuple[int, ...]:
    """Take back every item at start, when the lock of ``serve`` proves each holder dead (T8)."""
    rows = tx.all("SELECT * FROM work_items WHERE status = 'processing'")
    return _take_back(tx, rows, now=now, chance=chance)


def cut_waits(tx: "Tx", *, now: datetime, policy: WaitPolicy, chance: Random) -> int:
    """Cut moments that lie further ahead than they legally can; give how many.

    To be called at start, once an hour, and when the clock was seen to go back: a
    clock that ran ahead for a while must not freeze the queue.
    """
    cut = sum(_cut_due(tx, status, now, policy) for status in WAITING)
    for tier in (0, TIER):
        rows = tx.all(
            """
            SELECT id, priority FROM work_items
             WHERE ready_key IS NOT NULL AND route IN (0, 1)
               AND ready_key >= :from_key AND ready_key < :to_key
             LIMIT :limit
            """,
            from_key=highest_legal_key(now, tier=tier),
            to_key=TIER if tier == 0 else TIER * 1000,
            limit=work_items.CHUNK,
        )
        tx.many(
            "UPDATE work_items SET ready_key = :key, due_at = :now WHERE id = :id",
            [
                {"id": row["id"], "key": ready_key(now, row["priority"], chance), "now": to_db(now)}
                for row in rows
            ],
        )
        cut += len(rows)
    return cut


def _take(tx: "Tx", route: Route, owner: str, now: datetime, *, from_key: int) -> "Row | None":
    return tx.first(
        _CLAIM,
        route=int(route),
        owner=owner,
        until=to_db(now + LEASE),
        now=to_db(now),
        from_key=from_key,
    )


def _take_back(
    tx: "Tx", rows: "Sequence[Row]", *, now: datetime, chance: Random
) -> tuple[int, ...]:
    tally = Tally()
    for row in rows:
        item = to_item(row)
        work_items.save(tx, item, expire(item, now=now, chance=chance), tally, now=now)
    tally.write(tx, now=now)
    return tuple(row["id"] for row in rows)


def _cut_due(tx: "Tx", status: Status, now: datetime, policy: WaitPolicy) -> int:
    return tx.run(
        """
        UPDATE work_items SET due_at = :furthest
         WHERE id IN (SELECT id FROM work_items
                       WHERE ready_key IS NULL AND status IN ('pending', 'failed', 'deferred')
                         AND due_at > :furthest AND status = :status
                       LIMIT :limit)
        """,
        status=str(status),
        furthest=to_db(now + longest_wait(status, policy)),
        limit=work_items.CHUNK,
    )


def _escaped(text: str) -> str:
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")
