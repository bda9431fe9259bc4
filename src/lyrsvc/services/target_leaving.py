"""When an audio file goes: its target waits for it, or leaves the queue."""

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from lyrsvc.core import requeueing
from lyrsvc.core.item import WAITING, Status, TargetStatus
from lyrsvc.store import targets, work_items
from lyrsvc.store.counts import Tally

if TYPE_CHECKING:
    from lyrsvc.store.transaction import Tx


def park_target(tx: "Tx", target_id: int, tally: Tally, *, now: datetime) -> None:
    """Let a target wait for its audio; an item all of whose targets do so waits too (T21)."""
    target = targets.get(tx, target_id)
    if target is None or not target.is_open:
        return
    item = work_items.get(tx, target.item_id)
    if item.status is Status.PROCESSING:
        return  # the attempt under way finds out by itself
    targets.save(tx, replace(target, status=TargetStatus.PARKED), now=now)
    every = targets.of_item(tx, item.id)
    if item.status in WAITING and all(one.status is TargetStatus.PARKED for one in every):
        work_items.save(tx, item, requeueing.park(item), tally, now=now)


def drop_target(tx: "Tx", target_id: int, tally: Tally, *, now: datetime) -> bool:
    """Remove a target of a waiting item, and the item with its last one (T20).

    Items that are processing or done keep theirs. Tell whether the item is gone.
    """
    target = targets.get(tx, target_id)
    if target is None:
        return False
    item = work_items.get(tx, target.item_id)
    if item.status not in WAITING:
        return False
    targets.delete(tx, target_id)
    left = targets.of_item(tx, item.id)
    if not left:
        work_items.delete(tx, item, tally)
        return True
    if all(one.status is TargetStatus.PARKED for one in left):
        work_items.save(tx, item, requeueing.park(item), tally, now=now)
    return False
