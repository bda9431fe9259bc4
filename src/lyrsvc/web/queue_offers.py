"""What can be done with all items that the queue page shows a part of.

An offer is made only where the operation means the very rows that are listed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lyrsvc.web.page_actions import counted

if TYPE_CHECKING:
    from lyrsvc.web.queue_shapes import QueueQuery

_FILTERS: Final = ("library", "lane", "reason", "result", "q")


@dataclass(frozen=True, kw_only=True)
class BulkOffer:
    """A button: the action and its fields, and what is asked before it is done."""

    action: str
    label: str
    fields: Mapping[str, str | int]
    question: str
    confirm: str
    danger: bool = False


def offers_of(query: "QueueQuery", total: int) -> list[BulkOffer]:
    """Give the offers of a list of so many rows; none where other filters narrow it further."""
    used = {name for name in _FILTERS if getattr(query, name) not in (None, "")}
    if not total:
        return []
    match query.status:
        case ("failed",) if used <= {"reason"}:
            return [_retry(total, query.reason)]
        case ("deferred",) if used <= {"library"}:
            return [_recheck(total, "deferred", query.library)]
        case ("done",) if query.result == "miss" and used <= {"result", "library"}:
            return [_recheck(total, "retired", query.library)]
        case ("done",) if not used:
            return [_clear(total)]
    return []


def _retry(count: int, reason: str | None) -> BulkOffer:
    return BulkOffer(
        action="retry",
        label=f"Retry all {count:,}",
        fields={"all": "true"} if reason is None else {"reason": reason},
        question=f"Try {counted(count, 'failed item')} again now?",
        confirm="Retry all",
    )


def _recheck(count: int, kind: str, library: int | None) -> BulkOffer:
    fields: dict[str, str | int] = {"kind": kind}
    if library is not None:
        fields["library"] = library
    return BulkOffer(
        action="recheck",
        label=f"Re-check all {count:,}",
        fields=fields,
        question=f"Look up {counted(count, 'item')} again now, ahead of time?",
        confirm="Re-check all",
    )


def _clear(count: int) -> BulkOffer:
    return BulkOffer(
        action="clear",
        label="Clear finished",
        fields={"status": "done"},
        question=f"Delete {counted(count, 'finished item')} from the queue? "
        "Lyrics files, the cache and the history stay.",
        confirm="Clear",
        danger=True,
    )
