"""Claims: who holds an item, for how long, and whose turn it is."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from lyrsvc.core.errors import LyrsvcError
from lyrsvc.core.item import Event, Priority, WorkItem, move
from lyrsvc.core.waiting import LEASE

URGENT_IN_A_ROW: Final = 50
"""So many webhook items go first before one of the others gets its turn."""


class ClaimLost(LyrsvcError):
    """Somebody else holds the item now; the attempt ends without touching anything."""

    code = "claim_lost"


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to work on an item; the number fences off whoever held it before."""

    item_id: int
    seq: int

    @classmethod
    def on(cls, item: WorkItem) -> "Claim":
        """Give the claim under which an item was handed out."""
        return cls(item.id, item.claim_seq)


@dataclass(frozen=True, slots=True)
class Turns:
    """How many urgent items went in a row, so that the others are not forgotten."""

    urgent: int = 0

    @property
    def others_first(self) -> bool:
        """Tell whether one of the others is to be taken next."""
        return self.urgent >= URGENT_IN_A_ROW

    def after(self, item: WorkItem | None) -> "Turns":
        """Count a claim; the count begins anew when nobody else was waiting for a turn."""
        if item is None:
            return self
        if item.priority < Priority.WEBHOOK or self.others_first:
            return Turns()
        return Turns(self.urgent + 1)


def claimed(item: WorkItem, *, owner: str, now: datetime) -> WorkItem:
    """Give the item as it stands after a claim (T2); the store does the same in one statement."""
    return replace(
        item,
        status=move(item, Event.CLAIM),
        claimed_from=item.status,
        ready_key=None,
        lease_owner=owner,
        lease_until_at=now + LEASE,
        claim_seq=item.claim_seq + 1,
    )
