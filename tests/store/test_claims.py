"""Claims, leases and the order of the queue, on a real database."""

from datetime import timedelta
from random import Random

import pytest

from lyrsvc.core.claiming import Claim, ClaimLost, claimed
from lyrsvc.core.item import Priority, Route, Status
from lyrsvc.core.waiting import TIER, WaitPolicy, ready_key
from lyrsvc.services import attempting
from lyrsvc.services.attempting import Finding
from lyrsvc.store import claims, work_items
from queue_cases import NOW, Queue, a_webhook, a_wish, some_lyrics


@pytest.fixture
def queue(db):
    return Queue(db)


def place(db, number, *, key=None, status="pending", priority=0, due_at=NOW, **columns):
    """Insert plain rows, quicker than wishes, and count them."""
    from lyrsvc.store import counts
    from lyrsvc.store.moments import to_db

    def fill(tx):
        start = tx.value("SELECT coalesce(max(id), 0) FROM work_items")
        tx.many(
            """
            INSERT INTO work_items (artist_key, title_key, status, priority, ready_key, due_at,
                                    route, reason, created_at, updated_at)
            VALUES ('a', :title, :status, :priority, :key, :due, 1, :reason, :now, :now)
            """,
            [
                {
                    "title": f"t{start + at}",
                    "status": status,
                    "priority": priority,
                    "key": key(at) if callable(key) else key,
                    "due": to_db(due_at),
                    "reason": columns.get("reason", ""),
                    "now": to_db(NOW),
                }
                for at in range(number)
            ],
        )
        counts.correct(tx, now=NOW)

    db.write(fill)


def test_the_statement_of_the_claim_does_what_the_rule_says(queue):
    queue.enqueue(a_wish())
    before = queue.items()[0]
    taken = queue.claim(owner="me/1")
    assert taken == claimed(before, owner="me/1", now=NOW)
    assert queue.item(taken.id) == taken
    assert queue.wrong_counts() == {}


@pytest.mark.parametrize("status", ["pending", "failed", "deferred"])
def test_every_waiting_status_is_claimed_once_due(queue, status):
    place(queue.db, 1, status=status, reason="network" if status == "failed" else "")
    taken = queue.claim()
    assert (taken.claimed_from, taken.claim_seq) == (Status(status), 1)
    assert queue.claim() is None
    assert queue.wrong_counts() == {}


def test_nothing_is_claimed_before_it_is_due(queue):
    place(queue.db, 1, due_at=NOW + timedelta(seconds=1))
    assert queue.claim() is None
    queue.advance(seconds=1)
    assert queue.claim() is not None


def test_a_parked_item_is_never_claimed(queue):
    place(queue.db, 1)
    queue.db.write(lambda tx: tx.run("UPDATE work_items SET due_at = NULL"))
    queue.advance(days=900)
    assert queue.claim() is None


def test_the_routes_are_apart(queue):
    queue.enqueue(a_wish())
    assert queue.claim(Route.LOCAL) is None
    assert queue.claim(Route.REMOTE) is not None


def test_webhook_work_comes_before_everything_else(queue):
    queue.enqueue(*(a_wish(f"Song {at}") for at in range(20)))
    queue.advance(hours=3)
    queue.enqueue(a_webhook("Urgent"))
    assert queue.claim().title == "Urgent"


def test_items_of_one_hour_do_not_come_in_the_order_of_their_names(queue):
    titles = [f"Song {at:02}" for at in range(30)]
    queue.enqueue(*map(a_wish, titles))
    order = [queue.claim().title for _ in titles]
    assert sorted(order) == titles
    assert order != titles


def test_what_became_ready_in_an_earlier_hour_comes_first(queue):
    queue.enqueue(*(a_wish(f"Early {at}") for at in range(5)))
    queue.advance(hours=1)
    queue.enqueue(*(a_wish(f"Late {at}") for at in range(5)))
    order = [queue.claim().title for _ in range(10)]
    assert all(title.startswith("Early") for title in order[:5])


@pytest.mark.spec("E-17")
def test_a_recheck_is_claimed_before_what_became_ready_72_hours_after_it(queue):
    chance = Random(5)
    place(queue.db, 1, status="deferred", priority=-100, due_at=NOW)
    for hours, number in ((71, 20), (74, 100_000)):
        ready = NOW + timedelta(hours=hours)
        place(queue.db, number, key=lambda _, at=ready: ready_key(at, 0, chance), due_at=ready)
    queue.advance(hours=80)
    order = [queue.claim() for _ in range(22)]
    positions = [at for at, item in enumerate(order) if item.claimed_from is Status.DEFERRED]
    assert positions == [20]
    assert queue.wrong_counts() == {}


@pytest.mark.spec("E-17")
def test_of_60_webhook_items_and_scan_items_one_scan_item_is_among_the_first_51(queue):
    queue.enqueue(*(a_wish(f"Scan {at}") for at in range(3)))
    queue.enqueue(*(a_webhook(f"Hook {at}") for at in range(60)))
    order = [queue.claim().priority for _ in range(63)]
    assert [at for at, priority in enumerate(order) if priority == 0] == [50, 61, 62]


def test_the_share_of_the_others_costs_nothing_when_nobody_else_waits(queue):
    queue.enqueue(*(a_webhook(f"Hook {at}") for at in range(120)))
    assert all(queue.claim() for _ in range(120))


def test_promotion_takes_five_hundred_at_a_time_and_counts_them(queue):
    place(queue.db, 501, status="deferred")
    first = queue.db.write(lambda tx: claims.promote(tx, now=NOW, chance=queue.chance))
    second = queue.db.write(lambda tx: claims.promote(tx, now=NOW, chance=queue.chance))
    third = queue.db.write(lambda tx: claims.promote(tx, now=NOW, chance=queue.chance))
    assert (first, second, third) == (500, 1, 0)
    assert queue.wrong_counts() == {}


def test_a_worker_can_sleep_until_the_next_item_is_due(queue):
    with queue.db.read() as tx:
        assert claims.next_due_at(tx) is None
        assert not claims.is_anything_ready(tx, Route.REMOTE)
    place(queue.db, 1, due_at=NOW + timedelta(hours=5))
    place(queue.db, 1, due_at=NOW + timedelta(hours=3))
    with queue.db.read() as tx:
        assert claims.next_due_at(tx) == NOW + timedelta(hours=3)


def test_a_lease_that_is_over_gives_the_item_back_and_its_holder_changes_nothing_more(queue):
    queue.enqueue(a_wish())
    held = queue.claim(owner="slow/1")
    queue.advance(seconds=121)
    swept = queue.db.write(lambda tx: claims.sweep(tx, now=queue.now, chance=queue.chance))
    assert swept.taken_back == (held.id,)
    back = queue.item(held.id)
    assert (back.status, back.attempts, back.misses) == (Status.PENDING, 0, 0)

    again = queue.claim(owner="quick/1")
    assert again.claim_seq == held.claim_seq + 1
    for late in (
        lambda: queue.serve(held),
        lambda: queue.miss(held),
        lambda: queue.release(held),
        lambda: queue.db.write(
            lambda tx: attempting.record_result(
                tx, Claim.on(held), Finding(accepted=some_lyrics()), (), now=queue.now
            )
        ),
        lambda: queue.db.write(lambda tx: claims.renew_one(tx, Claim.on(held), now=queue.now)),
    ):
        with pytest.raises(ClaimLost):
            late()
    assert queue.item(held.id) == again
    assert [queue.count(table) for table in ("lane_attempts", "lane_counters", "history")] == [
        0
    ] * 3
    assert queue.wrong_counts() == {}
    queue.serve(again)
    assert queue.item(held.id).status is Status.DONE


def test_one_statement_renews_all_leases_of_an_instance_and_no_other(queue):
    queue.enqueue(*(a_wish(f"Song {at}") for at in range(4)))
    for owner in ("abc/1", "abc/2", "abcd/1", "a_c/1"):
        queue.claim(owner=owner)
    queue.advance(seconds=100)
    renewed = queue.db.write(lambda tx: claims.renew(tx, owner="abc", now=queue.now))
    assert renewed == 2
    queue.advance(seconds=30)
    swept = queue.db.write(lambda tx: claims.sweep(tx, now=queue.now, chance=queue.chance))
    assert len(swept.taken_back) == 2
    assert {item.lease_owner for item in queue.items()} == {"", "abc/1", "abc/2"}
    assert queue.db.write(lambda tx: claims.renew(tx, owner="a_c", now=queue.now)) == 0


def test_at_start_every_claimed_item_returns_to_where_it_was(queue):
    place(queue.db, 2, status="failed", reason="network")
    place(queue.db, 2, status="deferred", reason="not_found")
    taken = {queue.claim().id: None for _ in range(4)}
    freed = queue.db.write(lambda tx: claims.release_all(tx, now=NOW, chance=queue.chance))
    assert set(freed) == set(taken)
    assert [item.status for item in queue.items()] == [Status.FAILED] * 2 + [Status.DEFERRED] * 2
    assert queue.wrong_counts() == {}
    assert queue.claim() is not None


@pytest.mark.spec("E-30")
def test_a_clock_that_ran_a_year_ahead_freezes_nothing(queue):
    queue.enqueue(*(a_wish(f"Song {at}") for at in range(5)))
    queue.advance(days=365)
    queue.fail(queue.claim())
    queue.miss(queue.claim())
    queue.release(queue.claim(), until=queue.now + timedelta(hours=2))
    held = queue.claim()
    queue.enqueue(a_wish("Far ahead"))
    queue.advance(days=-365)

    queue.db.write(lambda tx: claims.sweep(tx, now=queue.now, chance=queue.chance))
    queue.db.write(
        lambda tx: claims.cut_waits(tx, now=queue.now, policy=WaitPolicy(), chance=queue.chance)
    )
    longest = {
        Status.PENDING: timedelta(hours=6.6),
        Status.FAILED: timedelta(hours=26.4),
        Status.DEFERRED: timedelta(hours=168),
    }
    for item in queue.items():
        if item.status is Status.PROCESSING:
            assert item.lease_until_at <= queue.now + timedelta(seconds=120)
        else:
            assert item.due_at <= queue.now + longest[item.status]
    queue.advance(seconds=120)
    swept = queue.db.write(lambda tx: claims.sweep(tx, now=queue.now, chance=queue.chance))
    assert swept.taken_back == (held.id,)
    place(queue.db, 3, key=lambda _: ready_key(NOW + timedelta(hours=90), 0, queue.chance))
    titles = [queue.claim().title for _ in range(3)]
    assert "Far ahead" in titles
    assert queue.wrong_counts() == {}


def test_the_tiers_lie_far_apart(queue):
    queue.enqueue(a_wish("Scan"), a_webhook("Hook"))
    keys = {item.priority: item.ready_key for item in queue.items()}
    assert keys[Priority.WEBHOOK] < TIER <= keys[Priority.SCAN]


CLAIMER = """
from random import Random
from datetime import timedelta
from lyrsvc.core.claiming import Turns
from lyrsvc.core.item import Route
from lyrsvc.store import claims
from queue_cases import NOW

chance, turns, taken = Random(int(sys.argv[2])), Turns(), []
with Database.open(sys.argv[1], create=False, clock=FakeClock()) as db:
    def claim(tx):
        found = []
        for _ in range(25):
            item, _turns = claims.claim_next(
                tx, route=Route.REMOTE, owner=f"p{sys.argv[2]}/1", now=NOW, turns=turns,
                chance=chance)
            if item is None:
                break
            found.append(item.id)
        return found
    while found := db.write(claim, wait_s=60):
        taken += found
print(*taken)
"""


def test_four_processes_claim_ten_thousand_items_and_no_two_the_same(queue, path, other_process):
    place(queue.db, 10_000)
    processes = [other_process(CLAIMER, path, number) for number in range(4)]
    shares = []
    for process in processes:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        shares.append([int(word) for word in out.split()])
    taken = [item_id for share in shares for item_id in share]
    assert len(taken) == len(set(taken)) == 10_000
    assert queue.wrong_counts() == {}
    with queue.db.read() as tx:
        assert tx.value("SELECT count(*) FROM work_items WHERE claim_seq <> 1") == 0


def test_finished_items_are_cleared_in_chunks_oldest_first(queue):
    for at in range(5):
        queue.enqueue(a_wish(f"Song {at}"))
        queue.serve(queue.claim())
        queue.advance(hours=1)
    queue.enqueue(a_wish("Waiting"))
    until = NOW + timedelta(hours=3)
    with queue.db.read() as tx:
        assert work_items.count_done(tx, until=until) == 4
    for expected in (3, 1, 0):
        gone = queue.db.write(
            lambda tx: work_items.delete_done(tx, until=until, now=queue.now, limit=3)
        )
        assert gone == expected
    assert [item.title for item in queue.items()] == ["Song 4", "Waiting"]
    assert queue.wrong_counts() == {}
