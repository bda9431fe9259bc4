"""The queue under arbitrary sequences of events: it never leaves the table, its counts are true."""

import tempfile
from datetime import timedelta
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from fakes import FakeClock
from lyrsvc.core.claiming import Claim, ClaimLost
from lyrsvc.core.errors import Refused
from lyrsvc.core.item import (
    TRANSITIONS,
    WAITING,
    Event,
    Fate,
    Result,
    Route,
    Status,
    TargetResult,
    TargetStatus,
)
from lyrsvc.core.outcome import Answer
from lyrsvc.core.settling import Ending
from lyrsvc.core.sidecar import FetchMode, Kind
from lyrsvc.core.waiting import WaitPolicy
from lyrsvc.core.wish import WishOrigin
from lyrsvc.services import attempting, retrying
from lyrsvc.services.attempting import Finding, TargetReport
from lyrsvc.services.retrying import Hand, Selection
from lyrsvc.services.routing import cache_key
from lyrsvc.store import claims
from lyrsvc.store.database import Database
from lyrsvc.store.moments import to_db
from queue_cases import Queue, a_report, a_wish, an_attempt, an_end, served, some_lyrics

TITLES = ("One", "Two")
MOVES = {
    (source, target)
    for event, row in TRANSITIONS.items()
    for source in row.sources
    if source is not None and row.leads_to is not Fate.GONE and event is not Event.ENQUEUE
    for target in (
        WAITING
        if row.leads_to is Fate.BACK
        else (source if row.leads_to is Fate.SAME else row.leads_to,)
    )
}
"""Every change of status the table allows."""


class QueueMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name) / "x.db"
        self.db = Database.open(path, create=True, clock=FakeClock())
        self.queue = Queue(self.db)
        self.queue.policy = WaitPolicy(max_misses=3)
        self.held = []
        self.seen = {}

    def teardown(self):
        self.db.close()
        self.folder.cleanup()

    @rule(
        title=st.sampled_from(TITLES),
        seconds=st.sampled_from([None, 180, 300]),
        stem=st.sampled_from([None, "a", "b", "c"]),
        origin=st.sampled_from(WishOrigin),
        mode=st.sampled_from(FetchMode),
        has_sidecar=st.sampled_from([None, False, True]),
    )
    def enqueue(self, **fields):
        self.queue.enqueue(a_wish(**fields))

    @rule(route=st.sampled_from(Route))
    def claim(self, route):
        item = self.queue.claim(route)
        if item is not None:
            self.held.append(item)

    @precondition(lambda self: self.held)
    @rule(data=st.data(), kind=st.sampled_from([Kind.LRC, Kind.TXT, Kind.MARKER]))
    def record(self, data, kind):
        item = data.draw(st.sampled_from(self.held))
        finding = Finding(
            accepted=some_lyrics(), attempts=(an_attempt(),), key=cache_key(item), update=True
        )
        self._late(
            lambda: self.db.write(
                lambda tx: attempting.record_result(
                    tx, Claim.on(item), finding, (), now=self.queue.now
                )
            )
        )

    @precondition(lambda self: self.held)
    @rule(
        data=st.data(),
        results=st.lists(
            st.sampled_from(["written", "same", "present", "kept", "failed", "parked"]),
            min_size=4,
            max_size=4,
        ),
        from_cache=st.booleans(),
    )
    def settle_with_files(self, data, results, from_cache):
        item = self._give_up_holding(data)
        outcome = served(from_cache=from_cache, attempts=() if from_cache else (an_attempt(),))
        targets = [t for t in self.queue.targets(item.id) if t.is_open]
        reports = [self._report(t, r) for t, r in zip(targets, results, strict=False)]
        ending = Ending(outcome=outcome, attempts=outcome.attempts)
        self._late(lambda: self.queue.settle(item, ending, *reports))

    @precondition(lambda self: self.held)
    @rule(data=st.data(), rejected=st.booleans())
    def settle_with_a_miss(self, data, rejected):
        item = self._give_up_holding(data)
        self._late(lambda: self.queue.miss(item, rejected=rejected))

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def settle_with_an_error(self, data):
        item = self._give_up_holding(data)
        self._late(lambda: self.queue.fail(item))

    @precondition(lambda self: self.held)
    @rule(data=st.data(), hours=st.sampled_from([None, 0, 3]))
    def release(self, data, hours):
        item = self._give_up_holding(data)
        until = None if hours is None else self.queue.now + timedelta(hours=hours)
        attempts = (an_attempt("defaultprov", Answer.MISS),)
        self._late(lambda: self.queue.release(item, until=until, attempts=attempts))

    @rule(hours=st.sampled_from([0.01, 1, 30, 200, -400]))
    def time_passes(self, hours):
        self.queue.advance(hours=hours)

    @rule()
    def sweep(self):
        now, chance = self.queue.now, self.queue.chance
        self.db.write(lambda tx: claims.sweep(tx, now=now, chance=chance))
        policy = self.queue.policy
        self.db.write(lambda tx: claims.cut_waits(tx, now=now, policy=policy, chance=chance))

    @rule()
    def restart(self):
        now, chance = self.queue.now, self.queue.chance
        self.db.write(lambda tx: claims.release_all(tx, now=now, chance=chance))

    @rule(item_id=st.integers(1, 6))
    def retry(self, item_id):
        self._refusable(
            item_id,
            lambda: self.db.write(lambda tx: retrying.retry(tx, item_id, self._hand, show=to_db)),
            allowed=lambda item: item.status is Status.FAILED,
        )

    @rule(item_id=st.integers(1, 6))
    def recheck(self, item_id):
        self._refusable(
            item_id,
            lambda: self.db.write(lambda tx: retrying.recheck(tx, item_id, self._hand)),
            allowed=lambda item: (
                item.status is Status.DEFERRED
                or (item.status is Status.DONE and item.outcome.is_miss)
            ),
        )

    @rule()
    def recheck_all(self):
        every = Selection(deferred=True, retired=True)
        retrying.recheck_selected(self.db, every, self._hand)

    @rule(version=st.integers(1, 3))
    def lanes_change(self, version):
        self.queue.version = version
        retrying.follow_provider_set(self.db, version, self._hand)

    @rule()
    def clear(self):
        retrying.clear_done(self.db, now=self.queue.now)

    @invariant()
    def counts_are_true(self):
        assert self.queue.wrong_counts() == {}

    @invariant()
    def statuses_change_as_the_table_says(self):
        present = {item.id: item.status for item in self.queue.items()}
        for item_id, status in present.items():
            before = self.seen.get(item_id)
            assert before is None or before is status or (before, status) in MOVES
        self.seen = present

    @invariant()
    def every_item_is_consistent(self):
        for item in self.queue.items():
            waiting = item.status in WAITING
            assert item.ready_key is None or (waiting and item.due_at is not None)
            assert (item.status is Status.PROCESSING) == (item.lease_until_at is not None)
            assert (item.status is Status.PROCESSING) == (item.claimed_from is not None)
            if item.status is Status.DONE:
                assert item.completed_at is not None
                assert item.resume is None
                assert not any(t.is_open for t in self.queue.targets(item.id))
            if waiting and item.due_at is None:
                stand = self.queue.targets(item.id)
                assert all(t.status is TargetStatus.PARKED for t in stand) or not any(
                    t.is_open for t in stand
                )
            if waiting:
                assert not item.rerun
                assert not item.boosted
                assert self.queue.targets(item.id)
            if item.status is Status.FAILED:
                assert item.reason
            if item.outcome is not Result.NONE:
                assert item.completed_at is not None

    @property
    def _hand(self):
        return Hand(by="cli:tester", now=self.queue.now, chance=self.queue.chance)

    def _give_up_holding(self, data):
        item = data.draw(st.sampled_from(self.held))
        self.held.remove(item)
        return item

    def _late(self, step):
        """Whoever lost its claim changes nothing."""
        before = self.queue.items()
        try:
            step()
        except ClaimLost:
            assert self.queue.items() == before

    def _refusable(self, item_id, step, *, allowed):
        before = {item.id: item for item in self.queue.items()}
        if item_id not in before:
            return
        try:
            step()
        except Refused:
            assert not allowed(before[item_id])
            assert self.queue.item(item_id) == before[item_id]
        else:
            assert allowed(before[item_id])

    def _report(self, target, result):
        if result == "parked":
            end = an_end(target.id, TargetResult.NONE, status=TargetStatus.PARKED, kind=None)
        elif result == "failed":
            end = an_end(
                target.id,
                TargetResult.NONE,
                status=TargetStatus.FAILED,
                kind=None,
                reason="write_denied",
            )
        elif result in ("present", "kept"):
            end = an_end(target.id, TargetResult(result), mode=target.mode)
        else:
            return a_report(target, result=TargetResult(result))
        from dataclasses import replace

        return TargetReport(end=replace(end, mode=target.mode))


QueueMachine.TestCase.settings = settings(
    max_examples=60,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestQueueMachine = QueueMachine.TestCase
