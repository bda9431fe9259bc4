"""Looking into the work queue."""

from collections.abc import Iterator
from typing import Any

from lyrsvc.cli.call import Call

COLUMNS = (
    "id", "status", "priority", "attempts", "due_at", "artist", "title", "album", "reason",
)  # fmt: skip


def list_items(call: Call) -> int:
    """List work items of any or one status."""
    return _list(call, call.args.status)


def list_failed(call: Call) -> int:
    """List what failed; items that merely have no lyrics yet are not among them."""
    return _list(call, "failed")


def list_deferred(call: Call) -> int:
    """List what waits for another look."""
    return _list(call, "deferred")


def _list(call: Call, status: str | None) -> int:
    from lyrsvc.store import queue_listing

    def rows() -> Iterator[dict[str, Any]]:
        db = call.open_to_read()
        if db is None:
            return
        with db, db.read(deadline_s=None) as tx:
            yield from queue_listing.list_items(tx, status=status, limit=call.args.limit)

    call.print_rows(COLUMNS, rows())
    return 0
