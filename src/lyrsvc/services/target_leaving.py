"""When an audio file goes: its target waits for it, or leaves the queue."""

import os
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from lyrsvc.core import requeueing
from lyrsvc.core.item import WAITING, Status, Target, TargetStatus
from lyrsvc.core.ptext import from_ptext
from lyrsvc.store import absences, scan_results, targets, work_items
from lyrsvc.store.counts import Tally

if TYPE_CHECKING:
    from lyrsvc.store.engine import Row
    from lyrsvc.store.transaction import Tx


def miss_audio(tx: "Tx", target_id: int, path: str, tally: Tally, *, now: datetime) -> None:
    """Write down that an attempt missed the audio of a target at this path.

    Its row is missing from now on, so that a scan that meets the file again opens the
    target. Another file of the stem that is there speaks for the target instead.
    """
    target = targets.get(tx, target_id)
    if target is None or target.source_path != path:
        return
    rows = [row for row in absences.of_target(tx, target_id) if row["missing_since_at"] is None]
    gone = [row for row in rows if audio_of(target, row) == path]
    for row in absences.mark(tx, [row["id"] for row in gone], now=now):
        scan_results.count(tally, row, {**row, "missing_since_at": now})
    other = next((row for row in rows if row not in gone and row["status"] != "unreadable"), None)
    if other is not None:
        targets.save(tx, re_sourced(target, other), now=now)


def audio_of(target: Target, row: "Row") -> str:
    """Give the path of a file that shares the stem of a target."""
    return os.path.join(os.path.dirname(target.source_path), from_ptext(row["name"]))  # noqa: PTH118, PTH120 - paths are texts here


def re_sourced(target: Target, row: "Row") -> Target:
    """Let another file of its stem speak for a target."""
    return replace(target, source_path=audio_of(target, row), duration_ms=row["duration_ms"])


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
