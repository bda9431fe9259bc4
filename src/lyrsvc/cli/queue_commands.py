"""Looking into the work queue, and bringing items back."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lyrsvc.cli.call import Call

if TYPE_CHECKING:
    from lyrsvc.services.retrying import Hand, Selection
    from lyrsvc.store.database import Database

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


def retry(call: Call) -> int:
    """Put failed items back in the queue; every other status is refused, item by item."""
    from functools import partial

    from lyrsvc.core.errors import NotFound, Refused
    from lyrsvc.services import retrying
    from lyrsvc.store.moments import to_db

    ids = list(dict.fromkeys(call.args.ids))
    hand = _hand(call)
    retried: list[dict[str, Any]] = []
    refused: list[int] = []
    with _open_to_write(call) as db:
        for item_id in ids:
            try:
                item = db.write(partial(retrying.retry, item_id=item_id, hand=hand, show=to_db))
            except (NotFound, Refused) as error:
                call.voice.complain(str(error))
                refused.append(item_id)
            else:
                retried.append({"id": item.id, "status": str(item.status)})
    if len(retried) > 1:
        call.audit("queue.retried", items=[row["id"] for row in retried])
    _print_rows(call, ("id", "status"), retried, single=len(ids) == 1)
    return 1 if refused else 0


def recheck(call: Call) -> int:
    """Look again at deferred items and at those given up for want of lyrics."""
    from lyrsvc.core.errors import UsageError
    from lyrsvc.services import retrying

    args = call.args
    ids = list(dict.fromkeys(args.ids))
    if not (ids or args.deferred or args.retired or args.library is not None):
        raise UsageError(
            "queue recheck needs an item ID, --deferred, --retired or --library; "
            "see: lyrsvc queue recheck --help"
        )
    hand = _hand(call)
    with _open_to_write(call) as db:
        selection = _selection(call, db)
        named = _named_beside(db, ids, selection, hand)
        if not args.yes:
            with db.read(deadline_s=None) as tx:
                selected = len(named) + retrying.count_selected(tx, selection)
            return _print_count(call, "selected", selected, "nothing was changed")
        db.write(lambda tx: [retrying.recheck(tx, item_id, hand) for item_id in named])
        rechecked = len(named) + retrying.recheck_selected(db, selection, hand)
    call.audit("queue.retried", rechecked=rechecked)
    return _print_count(call, "rechecked", rechecked)


def clear(call: Call) -> int:
    """Delete the finished items; without --yes only count them."""
    from lyrsvc.services import retrying

    now = call.world.clock.now()
    with _open_to_write(call) as db:
        if not call.args.yes:
            with db.read(deadline_s=None) as tx:
                count = retrying.count_done(tx, now=now)
            return _print_count(call, "would_delete", count, "nothing was deleted")
        deleted = retrying.clear_done(db, now=now)
    call.audit("queue.cleared", deleted=deleted)
    return _print_count(call, "deleted", deleted)


def _selection(call: Call, db: "Database") -> "Selection":
    """Name what the flags choose; a library alone means all that can be looked at again."""
    from lyrsvc.services.retrying import Selection
    from lyrsvc.store import libraries

    args = call.args
    library_id = None
    if args.library is not None:
        with db.read() as tx:
            library_id = libraries.find(tx, args.library).id
    everything = library_id is not None and not (args.ids or args.deferred or args.retired)
    return Selection(
        deferred=args.deferred or everything,
        retired=args.retired or everything,
        library_id=library_id,
    )


def _named_beside(
    db: "Database", ids: list[int], selection: "Selection", hand: "Hand"
) -> list[int]:
    """Give the named items that no flag selects; refuse them all when one cannot be rechecked."""
    from lyrsvc.core import requeueing
    from lyrsvc.services import retrying
    from lyrsvc.store import work_items

    beside = []
    with db.read() as tx:
        for item_id in ids:
            item = work_items.get(tx, item_id)
            requeueing.recheck(item, now=hand.now, chance=hand.chance)
            if not retrying.is_selected(tx, item, selection):
                beside.append(item_id)
    return beside


def _hand(call: Call) -> "Hand":
    from random import SystemRandom

    from lyrsvc.services.retrying import Hand

    return Hand(by=f"cli:{call.world.user}", now=call.world.clock.now(), chance=SystemRandom())


def _open_to_write(call: Call) -> "Database":
    from lyrsvc.store.database import Database

    return Database.open(call.database_path, clock=call.world.clock, create=False, upgrade=True)


def _print_rows(
    call: Call, columns: tuple[str, ...], rows: list[dict[str, Any]], *, single: bool
) -> None:
    """Print rows; as JSON one object when one thing was asked for."""
    from lyrsvc.cli.listing import to_json

    if call.args.json and single and rows:
        call.print(to_json(rows[0]))
    elif rows or call.args.json:
        call.print_rows(columns, rows)


def _print_count(call: Call, name: str, count: int, nothing: str = "") -> int:
    _print_rows(call, (name,), [{name: count}], single=True)
    if nothing and count:
        call.note(f"{nothing}; add --yes to go on")
    return 0


def _list(call: Call, status: str | None) -> int:
    from lyrsvc.store import queue_listing

    args = call.args

    def rows() -> Iterator[dict[str, Any]]:
        db = call.open_to_read()
        if db is None:
            return
        with db, db.read(deadline_s=None) as tx:
            yield from queue_listing.list_items(
                tx, status=status, limit=args.limit, with_targets=args.json
            )

    call.print_rows(COLUMNS, rows())
    return 0
