"""What the queue writes into the inventory: rows of ``scan_results`` follow their target.

A row shows how its own sidecar stands, not how the item as a whole does: of two
copies of a song each is done only after its own write.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from lyrsvc.core.item import Status, Target, TargetStatus, WorkItem
from lyrsvc.core.sidecar import Kind
from lyrsvc.store.counts import Tally
from lyrsvc.store.moments import to_db
from lyrsvc.store.scan_results import wanted_counts

if TYPE_CHECKING:
    from lyrsvc.store.engine import Row
    from lyrsvc.store.transaction import Tx

SIDECAR_BITS: Final = {".lrc": 1, ".txt": 2, ".elrc": 4}
_CLASS_BIT: Final = {Kind.LRC: 1, Kind.TXT: 2, Kind.MARKER: 2}


@dataclass(frozen=True, kw_only=True, slots=True)
class Beside:
    """What stands beside an audio file after a write: bits that came and went, whose it is."""

    kind: Kind
    ours: bool
    added: int = 0
    removed: int = 0


def follow(tx: "Tx", item: WorkItem, targets: Iterable[Target], *, now: datetime) -> None:
    """Give the inventory rows of these targets the status they have by now."""
    for target in targets:
        status, reason, text = _standing(item, target)
        tx.run(
            """
            UPDATE scan_results
               SET status = :status, reason = :reason, reason_text = :text, updated_at = :now
             WHERE target_id = :target AND status <> 'unreadable'
               AND (status <> :status OR reason <> :reason OR reason_text <> :text)
            """,
            target=target.id,
            status=str(status),
            reason=reason,
            text=text,
            now=to_db(now),
        )


def note_sidecar(tx: "Tx", target_id: int, beside: Beside, tally: Tally, *, now: datetime) -> None:
    """Write down what stands beside the audio of a target now."""
    rows = tx.all(
        "SELECT id, library_id, sidecar, sidecar_class, ours, missing_since_at FROM scan_results "
        "WHERE target_id = :target",
        target=target_id,
    )
    for row in rows:
        bits = (row["sidecar"] & ~beside.removed) | beside.added | _CLASS_BIT[beside.kind]
        after = {
            **row,
            "sidecar": bits,
            "sidecar_class": str(beside.kind),
            "ours": int(beside.ours),
        }
        _count(tally, row, -1)
        _count(tally, after, 1)
        tx.run(
            """
            UPDATE scan_results
               SET sidecar = :bits, sidecar_class = :class, ours = :ours, updated_at = :now
             WHERE id = :id
            """,
            id=row["id"],
            bits=bits,
            **{"class": str(beside.kind)},
            ours=int(beside.ours),
            now=to_db(now),
        )


def tie(tx: "Tx", row_ids: Iterable[int], target_id: int) -> None:
    """Tie inventory rows to another target."""
    for row_id in row_ids:
        tx.run(
            "UPDATE scan_results SET target_id = :target WHERE id = :id AND target_id IS NULL",
            id=row_id,
            target=target_id,
        )


def standing(item: WorkItem, target: Target) -> Status:
    """Give the status of the inventory row of a target."""
    return _standing(item, target)[0]


def _standing(item: WorkItem, target: Target) -> tuple[Status, str, str]:
    """Give status and reason of a row: its target's own, else the item's."""
    if target.status is TargetStatus.DONE or item.status is Status.DONE:
        return Status.DONE, "", ""
    if target.status is TargetStatus.FAILED and item.status is Status.FAILED:
        return Status.FAILED, target.reason or item.reason, item.reason_text
    if item.status in (Status.FAILED, Status.DEFERRED):
        return item.status, item.reason, item.reason_text
    return Status.PENDING, "", ""


def _count(tally: Tally, row: "Row", difference: int) -> None:
    for name in wanted_counts(row):
        tally.add(name, difference)
