"""The work queue over HTTP: look into it, add to it, bring items back, clear what is done."""

from random import SystemRandom
from typing import TYPE_CHECKING, Any, Final

import msgspec

from lyrsvc.services import retrying
from lyrsvc.services.retrying import Hand, Selection
from lyrsvc.store import counts, history_pages, lane_attempts, libraries
from lyrsvc.store.database import to_db
from lyrsvc.store.queue_listing import whole_items
from lyrsvc.store.queue_pages import QueueFilter, next_items, queue_page
from lyrsvc.store.stock_taking import count_reasons
from lyrsvc.web.audit_notes import audited
from lyrsvc.web.exchange import Exchange
from lyrsvc.web.gates import API
from lyrsvc.web.problems import Problem
from lyrsvc.web.queue_shapes import (
    Cleared,
    ClearWish,
    ItemDetail,
    LaneAttempt,
    NextQuery,
    QueueQuery,
    Rechecked,
    RecheckWish,
    Retried,
    RetryWish,
    TrackWish,
)
from lyrsvc.web.replies import Reply
from lyrsvc.web.route import get, post
from lyrsvc.web.shapes import Item, Page, history_row_of, item_of, page_of, to_seconds

if TYPE_CHECKING:
    from lyrsvc.store.transaction import Tx


def list_queue(exchange: Exchange, query: QueueQuery) -> Page[Item]:
    """List work items."""
    which = QueueFilter(
        statuses=query.status,
        library_id=query.library,
        lane=query.lane,
        reason=query.reason,
        result=query.result,
        text=query.q,
    )
    order = query.order(query.sort)
    with exchange.service.db.read() as tx:
        found = queue_page(tx, which, order, page=query.page, page_size=query.page_size)
    return page_of(map(item_of, found.rows), query, found.total)


def list_next(exchange: Exchange, query: NextQuery) -> Page[Item]:
    """List the items that are claimed next, in that order; claims none."""
    now = exchange.service.clock.now()
    with exchange.service.db.read() as tx:
        rows = next_items(tx, limit=query.limit, now=now)
    items = [item_of(row) for row in rows]
    return Page(items=items, page=1, page_size=query.limit, total=len(items))


def show_item(exchange: Exchange, id: int) -> ItemDetail:
    """Show one item, what each lane answered and its latest history."""
    with exchange.service.db.read() as tx:
        item = _item(tx, id)
        attempts = lane_attempts.of_item(tx, id)
        past = history_pages.of_item(tx, id)
    return ItemDetail(
        **msgspec.structs.asdict(item),
        attempts_by_lane={row["lane"]: _attempt(row) for row in attempts},
        history=[history_row_of(row) for row in past],
    )


def add_track(exchange: Exchange, body: TrackWish) -> Item | Reply:
    """Ask for a track ahead of everything else: 201 for a new item, 200 for one that was there."""
    asked = exchange.service.intake.ask(
        artist=body.artist,
        title=body.title,
        album=body.album,
        path=body.path or "",
        by=exchange.identity.actor,
    )
    with exchange.service.db.read() as tx:
        item = _item(tx, asked.item_id)
    return Reply(status=201 if asked.is_new else 200, data=item)


def retry_item(exchange: Exchange, id: int) -> Item:
    """Make one failed item pending again; any other status is refused."""
    hand = hand_of(exchange)
    service = exchange.service
    service.db.write(lambda tx: retrying.retry(tx, id, hand, show=to_db))
    service.worker.wake()
    with service.db.read() as tx:
        return _item(tx, id)


def retry_items(exchange: Exchange, body: RetryWish) -> Retried:
    """Make failed items pending again: named ones, those of one reason, or all."""
    _require_one(body.ids is not None, body.reason is not None, body.all, of="ids, reason or all")
    service, hand = exchange.service, hand_of(exchange)
    if body.ids is not None:
        retried, refused = retrying.retry_all(service.db, body.ids, hand)
    else:
        retried, refused = _retry_failed(exchange, hand, body.reason), 0
    service.worker.wake()
    audited(exchange, "queue.retried", retried=retried, refused=refused)
    return Retried(retried=retried, refused=refused)


def recheck_items(exchange: Exchange, body: RecheckWish) -> Rechecked:
    """Look again at deferred items, and at those given up for want of lyrics, now."""
    _require_one(body.ids is not None, body.kind is not None, of="ids or kind")
    service, hand = exchange.service, hand_of(exchange)
    if body.ids is not None:
        if body.library is not None:
            raise Problem("invalid_request", "library: goes with kind, not with ids")
        due = retrying.recheck_all(service.db, body.ids, hand)
    else:
        due = _recheck_kind(exchange, hand, body)
    service.worker.wake()
    audited(exchange, "queue.retried", rechecked=due)
    return Rechecked(due=due)


def clear_items(exchange: Exchange, body: ClearWish) -> Cleared:
    """Count the finished items, and with ``confirm`` delete them."""
    service = exchange.service
    now = service.clock.now()
    with service.db.read() as tx:
        count = retrying.count_done(tx, now=now)
    if not body.confirm:
        return Cleared(would_delete=count, deleted=0)
    deleted = service.chores.run(
        "clearing the queue",
        lambda: retrying.clear_done(service.db, now=now),
        expected=lambda: count,
    )
    audited(exchange, "queue.cleared", deleted=deleted)
    return Cleared(would_delete=max(count, deleted), deleted=deleted)


def hand_of(exchange: Exchange) -> Hand:
    """Say who brings items back, and when."""
    now = exchange.service.clock.now()
    return Hand(by=exchange.identity.actor, now=now, chance=SystemRandom())


def _retry_failed(exchange: Exchange, hand: Hand, reason: str | None) -> int:
    service = exchange.service

    def count() -> int:
        with service.db.read() as tx:
            failed = count_reasons(counts.read(tx), "failed")
        return sum(failed.values()) if reason is None else failed.get(reason, 0)

    return service.chores.run(
        "retrying failed items",
        lambda: retrying.retry_failed(service.db, hand, reason=reason),
        expected=count,
    )


def _recheck_kind(exchange: Exchange, hand: Hand, body: RecheckWish) -> int:
    service = exchange.service
    chosen = Selection(
        deferred=body.kind == "deferred",
        retired=body.kind == "retired",
        library_id=body.library,
    )

    def count() -> int:
        with service.db.read() as tx:
            if body.library is not None:
                libraries.get(tx, body.library)
            return retrying.count_selected(tx, chosen)

    return service.chores.run(
        f"rechecking {body.kind} items",
        lambda: retrying.recheck_selected(service.db, chosen, hand),
        expected=count,
    )


def _item(tx: "Tx", item_id: int) -> Item:
    rows = whole_items(tx, [item_id])
    if not rows:
        raise Problem("not_found", f"there is no item {item_id}")
    return item_of(rows[0])


def _attempt(row: dict[str, Any]) -> LaneAttempt:
    return LaneAttempt(
        hit=bool(row["hit"]),
        answer=row["verdict"],
        reason=row["reason_detail"] or None,
        evidence=msgspec.json.decode(row["evidence"] or "{}", type=dict[str, Any]),
        attempted_at=to_seconds(row["attempted_at"]),
    )


def _require_one(*given: bool, of: str) -> None:
    if sum(given) != 1:
        raise Problem("invalid_request", f"exactly one of {of} is needed")


ROUTES: Final = (
    get("/api/v1/queue", API, list_queue),
    post("/api/v1/queue", API, add_track, also=(201,)),
    get("/api/v1/queue/next", API, list_next),
    post("/api/v1/queue/retry", API, retry_items, refusals=("already_running",)),
    post("/api/v1/queue/recheck", API, recheck_items, refusals=("not_found", "already_running")),
    post("/api/v1/queue/clear", API, clear_items, refusals=("already_running",)),
    get("/api/v1/queue/{id}", API, show_item),
    post("/api/v1/queue/{id}/retry", API, retry_item, refusals=("not_failed",)),
)
