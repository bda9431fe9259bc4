"""How the queue stands to one inventory row: read after a wish was placed."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lyrsvc.store.transaction import Tx


@dataclass(frozen=True, slots=True)
class QueueStanding:
    """The status a row takes over, why, and whether the queue can serve it from here."""

    status: str
    reason: str
    reason_text: str
    is_local: bool


def of_target(tx: "Tx", item_id: int, target_id: int | None) -> QueueStanding:
    """Give how an item stands, or rather one of its targets."""
    row = tx.first(
        """
        SELECT i.status, i.reason, i.reason_text, i.route, t.status AS target_status
          FROM work_items i LEFT JOIN work_targets t ON t.id = :target
         WHERE i.id = :item
        """,
        item=item_id,
        target=target_id,
    )
    if row is None:
        return QueueStanding("pending", "", "", is_local=False)
    status = "done" if row["target_status"] == "done" else row["status"]
    if status not in ("failed", "deferred"):
        shown = "done" if status == "done" else "pending"
        return QueueStanding(shown, "", "", is_local=row["route"] == 0)
    return QueueStanding(status, row["reason"], row["reason_text"], is_local=row["route"] == 0)
