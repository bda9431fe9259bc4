"""Every statement of the queue finds its rows by an index, whatever the length of the queue."""

from random import Random

import pytest

from lyrsvc.core.claiming import Claim, Turns
from lyrsvc.core.item import Route, Status
from lyrsvc.core.sidecar import FetchMode
from lyrsvc.core.waiting import Moment, WaitPolicy
from lyrsvc.services import attempting, retrying
from lyrsvc.services.attempting import Finding
from lyrsvc.services.enqueueing import enqueue
from lyrsvc.services.retrying import Hand
from lyrsvc.services.routing import cache_key
from lyrsvc.store import claims, work_items
from queue_cases import (
    NOW,
    Queue,
    a_report,
    a_webhook,
    a_wish,
    an_attempt,
    served,
    some_lyrics,
)

BIG = ("work_items", "work_targets", "scan_results", "lane_attempts", "lyrics_cache", "history")


class Explaining:
    """A Tx that also notes the plan of every statement."""

    def __init__(self, tx, plans):
        self._tx = tx
        self._plans = plans

    def __getattr__(self, name):
        method = getattr(self._tx, name)
        if name in ("next_ids", "insert_rows"):  # these take no statement
            return method

        def call(sql, *args, **params):
            sample = params or (args[0][0] if args and args[0] else {})
            if sample or not args:
                plan = self._tx.all("EXPLAIN QUERY PLAN " + sql, **sample)
                self._plans.append((" ".join(sql.split()), [row["detail"] for row in plan]))
            return method(sql, *args, **params)

        return call


@pytest.fixture
def queue(db):
    return Queue(db)


@pytest.fixture
def explained(queue):
    """Run an operation; give its plans after a look for scans and sorts."""

    def run(operation):
        plans = []
        result = queue.db.write(lambda tx: operation(Explaining(tx, plans)))
        for sql, plan in plans:
            for line in plan:
                assert not any(line.startswith(f"SCAN {table}") for table in BIG), (sql, plan)
                # The few targets of one item may be sorted; items never.
                assert "TEMP B-TREE" not in line or "FROM work_targets" in sql, (sql, plan)
        return result, plans

    return run


def used(plans, index):
    return any(index in line for _, plan in plans for line in plan)


@pytest.mark.spec("E-31")
def test_claim_and_promotion_use_the_named_indexes(queue, explained):
    queue.enqueue(*(a_wish(f"Song {at}") for at in range(3)), a_webhook("Hook"))
    queue.fail(queue.claim())
    queue.advance(hours=1)
    for turns in (Turns(), Turns(50)):
        (item, _), plans = explained(
            lambda tx, turns=turns: claims.claim_next(
                tx,
                route=Route.REMOTE,
                owner="me/1",
                now=queue.now,
                turns=turns,
                chance=queue.chance,
            )
        )
        assert item is not None
        assert used(plans, "ix_items_ready")
        assert used(plans, "ix_items_wait")


@pytest.mark.spec("E-31")
def test_sweep_renewal_and_the_next_moment_use_the_named_indexes(queue, explained):
    queue.enqueue(a_wish())
    queue.claim(owner="me/1")
    _, plans = explained(lambda tx: claims.renew(tx, owner="me", now=queue.now))
    assert used(plans, "ix_items_lease")
    queue.advance(hours=1)
    _, plans = explained(lambda tx: claims.sweep(tx, now=queue.now, chance=queue.chance))
    assert used(plans, "ix_items_lease")
    _, plans = explained(claims.next_due_at)
    assert used(plans, "ix_items_wait")
    _, plans = explained(lambda tx: claims.is_anything_ready(tx, Route.REMOTE))
    assert used(plans, "ix_items_ready")


def test_cutting_waits_uses_the_small_indexes(queue, explained):
    queue.enqueue(a_wish())
    _, plans = explained(
        lambda tx: claims.cut_waits(tx, now=NOW, policy=WaitPolicy(), chance=Random(1))
    )
    assert used(plans, "ix_items_wait")
    assert used(plans, "ix_items_ready")


@pytest.mark.parametrize(
    "wish",
    [
        a_wish(),
        a_wish(seconds=None),
        a_wish(mode=FetchMode.UPGRADE),
        a_webhook(),
        a_webhook(seconds=None, stem=None),
        a_webhook("New one", None, stem=None),
    ],
)
def test_enqueueing_looks_everything_up_by_an_index(queue, explained, wish):
    queue.enqueue(a_wish())
    queue.serve(queue.claim())
    _, plans = explained(lambda tx: enqueue(tx, [wish, wish], queue.terms))
    assert used(plans, "ux_items_key")


def test_an_attempt_touches_only_its_own_rows(queue, explained):
    queue.enqueue(a_wish())
    item = queue.claim()
    finding = Finding(accepted=some_lyrics(), attempts=(an_attempt(),), key=cache_key(item))
    explained(lambda tx: attempting.record_result(tx, Claim.on(item), finding, (), now=NOW))
    moment = Moment(now=NOW, chance=Random(1))
    from lyrsvc.core.settling import Ending

    outcome = served()
    report = a_report(queue.targets(item.id)[0])
    _, plans = explained(
        lambda tx: attempting.settle(
            tx,
            Claim.on(item),
            Ending(outcome=outcome, attempts=outcome.attempts),
            [report],
            moment,
        )
    )
    assert used(plans, "ix_targets_item")
    assert used(plans, "ix_scan_target")


def test_bringing_back_and_clearing_walk_their_own_indexes(queue, explained):
    queue.policy = WaitPolicy(max_misses=2)
    queue.enqueue(*(a_wish(f"Song {at}") for at in range(3)))
    queue.miss(queue.claim())
    deferred = next(item.id for item in queue.items() if item.status is Status.DEFERRED)
    hand = Hand(by="cli:tester", now=queue.now, chance=queue.chance)
    explained(lambda tx: retrying.recheck(tx, deferred, hand))
    _, plans = explained(lambda tx: work_items.each_after(tx, Status.DONE, after=0))
    assert used(plans, "ix_items_miss")
    _, plans = explained(lambda tx: work_items.count_again(tx, Status.DONE))
    assert used(plans, "ix_items_miss")
    _, plans = explained(lambda tx: work_items.delete_done(tx, until=queue.now, now=queue.now))
    assert used(plans, "ix_items_done")
