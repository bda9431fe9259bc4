"""When nothing is claimed: throttled primaries, closed lanes, no lane, failing storage, the end."""

import logging
from datetime import timedelta
from itertools import pairwise

import pytest

from fakes import Scripted
from lyrsvc.core.errors import Miss, StorageFailed, StoreBusy, Throttled, Transient
from lyrsvc.core.item import Route, Status
from lyrsvc.core.pacing import Standing
from lyrsvc.core.wish import WishOrigin
from lyrsvc.services.pausing import PauseCause
from worker_shop import Knowing

SONGS = [f"Song {number:03}" for number in range(40)]


class Moody(Knowing):
    """Raises what is in ``errors`` first, then knows every song."""

    def __init__(self, name="main", errors=()):
        super().__init__(name)
        self.errors = list(errors)

    def lookup(self, recording, ctx):
        if self.errors:
            self.asked.append(recording)
            ctx.http.get("http://moody")
            raise self.errors.pop(0)
        return super().lookup(recording, ctx)


def cached(here, title):
    """Make an item that the cache can serve: its recording is known under another stem."""
    here.enqueue(title, stem=f"{title} copy")


@pytest.mark.spec("E-21")
@pytest.mark.seed("S-020")
def test_a_throttled_primary_stops_every_claim_until_one_probe_succeeds(shop, clock):
    main = Moody()
    here = shop(main)
    here.enqueue("Known")
    here.work()
    main.errors = [Throttled("HTTP 429")]
    here.enqueue(*SONGS[:5])
    cached(here, "Known")
    here.worker.slots[0].step()
    closed = here.state("main")
    assert closed.closed_until_at == clock.now() + timedelta(seconds=60)

    assert here.work() == 0
    assert here.worker.pause.cause is PauseCause.THROTTLED
    assert here.worker.pause.until == closed.closed_until_at
    assert "Known copy.lrc" not in here.sidecars()  # on no route
    assert len(main.asked) == 2
    clock.advance(59)
    assert here.work() == 0

    clock.advance(1)
    main.errors = [Throttled("HTTP 429")]
    here.work()
    assert len(main.asked) == 3
    again = here.state("main")
    assert (again.trips, again.closed_until_at) == (2, clock.now() + timedelta(seconds=120))
    assert here.statuses() == {Status.PENDING: 6}

    clock.advance(120)
    here.work()
    assert here.statuses() == {Status.DONE: 6}
    assert here.state("main").trips == 0
    assert all(item.attempts == 0 and item.misses == 0 for item in here.all_items())
    assert here.worker.pause is None


@pytest.mark.spec("E-21")
def test_while_the_probe_is_under_way_nobody_else_asks(shop, clock):
    main = Moody(errors=[Throttled("HTTP 429")])
    here = shop(main)
    here.enqueue(*SONGS[:3])
    here.work()
    clock.advance(60)
    seen = []
    asking = main.lookup

    def lookup(recording, ctx):
        main.lookup = asking
        seen.append([slot.step() for slot in here.worker.slots[1:]])
        seen.append(here.worker.pause.cause)
        return asking(recording, ctx)

    main.lookup = lookup
    here.worker.slots[0].step()

    assert seen == [[False, False], PauseCause.THROTTLED]
    assert len(main.asked) == 2


@pytest.mark.spec("E-22")
def test_a_restart_asks_a_throttling_upstream_no_earlier(shop, clock):
    first = Moody(errors=[Throttled("HTTP 429"), Throttled("HTTP 429")])
    here = shop(first)
    here.enqueue(*SONGS[:3])
    here.work()
    clock.advance(60)
    here.work()
    closed = here.state("main")
    assert closed.trips == 2

    second = Knowing()
    here = shop(second)
    assert here.work() == 0
    clock.advance(119)
    assert here.work() == 0
    assert (second.asked, here.state("main").trips) == ([], 2)
    clock.advance(1)
    here.work()
    assert here.statuses() == {Status.DONE: 3}


def test_a_restart_keeps_the_pace(shop, clock):
    here = shop(Knowing(), cooldown_s=15)
    here.enqueue(SONGS[0])
    here.work()
    sent_at = clock.now()

    here = shop(Knowing(), cooldown_s=15)
    here.enqueue(SONGS[1])
    here.work()
    assert here.wires["main"].times[0] - sent_at >= timedelta(seconds=15)


@pytest.mark.seed("S-121")
def test_requests_are_the_cooldown_apart(shop):
    here = shop(Knowing(), cooldown_s=15)
    here.enqueue(*SONGS[:6])
    here.work()

    times = here.wires["main"].times
    assert len(times) == 6
    assert all(later - earlier >= timedelta(seconds=15) for earlier, later in pairwise(times))
    assert times[-1] - times[0] <= timedelta(seconds=5 * 15 + 5)


@pytest.mark.spec("E-23")
def test_a_throttled_fallback_does_not_slow_the_primary(shop, clock):
    one = Knowing("one", kind="plain")
    two = Moody("two", errors=[Throttled("HTTP 429", retry_after_s=3600)])
    here = shop(one, two)
    here.enqueue(*SONGS)
    begun = clock.now()
    here.work()

    assert here.statuses() == {Status.DONE: len(SONGS)}
    assert (len(one.asked), len(two.asked)) == (len(SONGS), 1)
    assert clock.now() == begun


@pytest.mark.spec("E-24")
def test_a_webhook_gets_the_very_next_slot(shop, clock):
    main = Knowing()
    here = shop(main, cooldown_s=15)
    here.enqueue(*SONGS)
    here.worker.slots[0].step()
    waiting = here.lanes[0]._turns._waiting

    def while_waiting(seconds, lane):
        here.lanes[0]._turns._waiting = waiting
        here.webhook("Urgent")
        return waiting(seconds, lane)

    here.lanes[0]._turns._waiting = while_waiting
    here.worker.slots[1].step()

    assert [asked.title for asked in main.asked][-1] == "Urgent"


@pytest.mark.spec("E-25")
def test_cached_items_wait_for_no_slot(shop, clock):
    main = Knowing()
    here = shop(main)
    here.enqueue(*SONGS)
    here.work()
    here = shop(main, cooldown_s=15)
    for title in SONGS:
        cached(here, title)
    begun = clock.now()
    assert {item.route for item in here.all_items()} == {Route.LOCAL}
    here.work()

    assert len(here.sidecars()) == 2 * len(SONGS)
    assert clock.now() == begun
    assert len(main.asked) == len(SONGS)
    assert here.counters() == {"main": (len(SONGS), 0)}


@pytest.mark.spec("E-32")
def test_a_dead_upstream_rests_after_five_failures_and_is_probed_once_a_window(shop, clock):
    dead = Scripted("one", Transient("connection refused", reason="network"))
    here = shop(dead, Knowing("two", kind="plain"))
    here.enqueue(*SONGS)
    here.work()
    assert len(dead.asked) == 5
    assert here.state("one").cause == "unreachable"
    assert here.statuses() == {Status.DONE: len(SONGS)}  # the fallback serves

    for window in range(3):
        clock.advance(60)
        here.enqueue(*[f"{title} {window}" for title in SONGS[:10]])
        here.work()
        assert len(dead.asked) == 6 + window


@pytest.mark.spec("E-32")
def test_alone_a_dead_upstream_is_probed_by_one_item_a_window(shop, clock):
    dead = Scripted("one", Transient("connection refused", reason="network"))
    here = shop(dead)
    here.enqueue(*SONGS)
    here.work()
    assert len(dead.asked) == 5
    assert here.worker.pause.cause is PauseCause.LANES_CLOSED

    clock.advance(60)
    here.work()
    assert len(dead.asked) == 6
    clock.advance(59)
    here.work()
    assert len(dead.asked) == 6


@pytest.mark.spec("P-16")
def test_five_bad_answers_in_a_row_close_the_lane(shop):
    from lyrsvc.core.errors import Malformed

    here = shop(Scripted("main", Malformed("HTTP 200, 40 bytes, not JSON")))
    here.enqueue(*SONGS[:8])
    here.work()

    assert here.state("main").cause == "malformed"
    assert here.statuses() == {Status.FAILED: 5, Status.PENDING: 3}
    assert {i.reason for i in here.all_items() if i.status is Status.FAILED} == {"bad_response"}


def test_without_an_active_lane_nothing_is_claimed_until_one_becomes_active(shop):
    has_token = []
    here = shop(Knowing(), active={"main": lambda: bool(has_token)})
    here.enqueue(SONGS[0])
    assert here.work() == 0
    assert here.worker.pause.cause is PauseCause.NO_LANE
    assert here.item(SONGS[0]).claim_seq == 0

    has_token.append("token")
    here.work()
    assert here.item(SONGS[0]).status is Status.DONE


def test_an_inactive_primary_leaves_its_fallback_a_fallback(shop):
    here = shop(
        Knowing("one"),
        Moody("two", errors=[Throttled("HTTP 429")]),
        Knowing("three"),
        active={"one": lambda: False},
    )
    here.enqueue(*SONGS[:4])
    here.work()
    assert here.statuses() == {Status.DONE: 4}


def test_once_the_program_stops_nothing_more_is_claimed(shop):
    here = shop(Knowing())
    here.enqueue(SONGS[0])
    here.stop.set()
    assert here.work() == 0
    assert here.worker.pause.cause is PauseCause.SHUTDOWN
    assert here.item(SONGS[0]).claim_seq == 0


@pytest.mark.spec("E-20")
def test_a_wait_for_a_slot_that_the_end_cuts_short_charges_nothing(shop, clock):
    here = shop(Knowing(), cooldown_s=15)
    here.enqueue(*SONGS[:2])
    here.worker.slots[0].step()
    slot_before = here.state("main").next_slot_at
    clock.stopped = True
    assert here.worker.slots[0].step() is False

    assert here.statuses() == {Status.DONE: 1, Status.PENDING: 1}
    assert here.state("main").next_slot_at == slot_before


@pytest.mark.spec("E-20")
def test_an_item_is_given_back_from_under_an_attempt_that_waits_for_its_answer(shop):
    main = Knowing()
    here = shop(main)
    here.enqueue(SONGS[0])
    asking = main.lookup

    def lookup(recording, ctx):
        assert here.worker.release_asking() == 1
        return asking(recording, ctx)

    main.lookup = lookup
    here.worker.slots[0].step()

    item = here.item(SONGS[0])
    assert (item.status, item.attempts, item.misses) == (Status.PENDING, 0, 0)
    assert here.sidecars() == []
    assert here.counters() == {}
    assert here.wrong_counts() == {}


class Failing:
    """Lets a database's writes fail while ``fault`` is set."""

    def __init__(self, db):
        self.fault = None
        self._write = db.write
        db.write = self.write

    def write(self, operation, **options):
        if self.fault is not None:
            raise self.fault
        return self._write(operation, **options)


@pytest.mark.spec("E-28")
@pytest.mark.parametrize("fault", [StorageFailed("disk full"), StoreBusy("held")])
def test_a_failing_storage_pauses_the_worker_until_it_works_again(shop, clock, caplog, fault):
    here = shop(Knowing())
    here.enqueue(*SONGS[:3])
    storage = Failing(here.db)
    storage.fault = fault
    lasting = {"tries": 0}
    wait = clock.wait

    def wait_and_free(seconds):
        lasting["tries"] += 1
        assert here.worker.pause.cause is PauseCause.STORAGE
        if lasting["tries"] == 4:
            storage.fault = None
        return wait(seconds)

    clock.wait = wait_and_free
    with caplog.at_level(logging.INFO, "lyrsvc.worker"):
        here.work()

    assert here.statuses() == {Status.DONE: 3}
    assert here.worker.pause is None
    assert clock.waits == [15] * 4
    assert sum("worker paused" in line for line in caplog.messages) == 1
    assert "the database can be used again" in caplog.messages


@pytest.mark.spec("E-28")
def test_an_answer_outlasts_a_storage_that_fails_for_a_while(shop, clock):
    main = Knowing()
    here = shop(main)
    here.enqueue(SONGS[0])
    storage = Failing(here.db)
    asking, wait = main.lookup, clock.wait

    def lookup(recording, ctx):
        answer = asking(recording, ctx)
        storage.fault = StorageFailed("disk full")
        return answer

    def wait_and_free(seconds):
        storage.fault = None
        return wait(seconds)

    main.lookup, clock.wait = lookup, wait_and_free
    here.worker.slots[0].step()
    main.lookup = asking
    here.work()

    assert here.item(SONGS[0]).status is Status.DONE
    assert len(main.asked) == 1
    assert here.counters() == {"main": (1, 0)}
    assert 15 in clock.waits


def test_an_end_while_the_storage_fails_leaves_the_item_to_the_next_start(shop, clock):
    main = Knowing()
    here = shop(main)
    here.enqueue(SONGS[0])
    storage = Failing(here.db)
    asking = main.lookup

    def lookup(recording, ctx):
        answer = asking(recording, ctx)
        storage.fault = StorageFailed("disk full")
        clock.stopped = True
        return answer

    main.lookup = lookup
    here.worker.slots[0].step()
    assert here.item(SONGS[0]).status is Status.PROCESSING

    storage.fault = None
    clock.stopped = False
    main.lookup = asking
    here = shop(main)
    assert here.item(SONGS[0]).status is Status.PENDING
    here.work()
    assert here.item(SONGS[0]).status is Status.DONE


@pytest.mark.spec("E-30")
def test_a_clock_that_was_a_year_ahead_freezes_nothing(shop, clock):
    main = Moody()
    here = shop(main, cooldown_s=15)
    here.enqueue(*SONGS[:2])
    here.work()
    year = 365 * 86_400

    clock.advance(year)
    here.keeper.tick()
    main.errors = [Throttled("HTTP 429"), Miss(), Transient("HTTP 500")]
    here.enqueue(*SONGS[2:6])
    for _ in range(3):
        here.work()
        clock.advance(60)
    here.webhook("Ahead")
    assert here.work() > 0
    main.errors = [Throttled("HTTP 429")]
    here.enqueue("Closes it", "Waits")
    here.work()
    ahead = here.state("main")
    assert ahead.closed_until_at > clock.now()

    clock.moment -= timedelta(seconds=year)
    here.keeper.tick()
    assert here.work() == 0  # whoever looks at a lane cuts what it says
    now = clock.now()
    assert here.state("main").closed_until_at <= now + timedelta(hours=6)
    furthest = {
        Status.PENDING: timedelta(hours=6.6),
        Status.FAILED: timedelta(hours=26.4),
        Status.DEFERRED: timedelta(hours=168),
    }
    for item in here.all_items():
        if item.status in furthest:
            assert item.due_at <= now + furthest[item.status], item
    clock.advance(6.7 * 3600)
    here.work()
    assert here.item("Waits").status is Status.DONE
    clock.advance(168 * 3600)
    here.work()
    assert here.statuses() == {Status.DONE: len(here.all_items())}
    assert here.wrong_counts() == {}


@pytest.mark.spec("E-30")
def test_our_own_leases_survive_a_leap_of_the_clock(shop, clock):
    main = Knowing()
    here = shop(main)
    here.enqueue(SONGS[0])
    asking = main.lookup

    def lookup(recording, ctx):
        clock.moment += timedelta(days=365)
        clock.seconds += 61
        here.keeper.tick()
        return asking(recording, ctx)

    main.lookup = lookup
    here.worker.slots[0].step()
    assert here.item(SONGS[0]).status is Status.DONE


def test_the_outlook_of_a_lane_names_its_rest(shop, clock):
    here = shop(Moody(errors=[Throttled("HTTP 429")]))
    assert here.lanes[0].outlook.standing is Standing.READY
    here.enqueue(SONGS[0])
    here.work()
    seen = here.lanes[0].outlook
    assert (seen.standing, seen.cause) == (Standing.CLOSED, "throttled")
    clock.advance(60)
    assert here.lanes[0].outlook.is_free


def test_a_probe_that_its_item_did_not_need_is_given_back(shop, clock):
    """The item is served from the cache after all; the next one probes at once."""
    main = Moody()
    here = shop(main)
    here.enqueue("Known")
    here.work()
    main.errors = [Throttled("HTTP 429")]
    here.enqueue("Probe")
    here.work()
    here.enqueue("Known", stem="Known copy", origin=WishOrigin.WEBHOOK)
    here.db.write(lambda tx: tx.run("UPDATE work_items SET route = 1"))

    clock.advance(60)
    here.work()
    assert here.statuses() == {Status.DONE: 2}
    assert "Known copy.lrc" in here.sidecars()


def test_with_nothing_to_probe_with_what_is_here_is_served_once_the_lane_has_rested(shop, clock):
    main = Moody()
    here = shop(main)
    here.enqueue("Known")
    here.work()
    main.errors = [Throttled("HTTP 429")]
    here.enqueue("Probe")
    here.work()
    here.db.write(lambda tx: tx.run("DELETE FROM work_items WHERE title = 'Probe'"))
    cached(here, "Known")
    assert here.work() == 0

    clock.advance(60)
    here.work()
    assert "Known copy.lrc" in here.sidecars()
    assert len(main.asked) == 2


def test_a_pause_for_the_storage_outlasts_no_change_of_the_clock(shop, clock):
    here = shop(Knowing())
    here.enqueue(SONGS[0])
    here.steady.note(StorageFailed("full"))
    clock.moment -= timedelta(days=365)
    clock.seconds += 15
    here.keeper.tick()
    here.work()
    assert here.item(SONGS[0]).status is Status.DONE


@pytest.mark.parametrize("count", [1, 3])
def test_a_lookup_without_slots_ahead_takes_none(shop, clock, count):
    here = shop(Knowing(), cooldown_s=15, remote=count)
    for slot in here.worker.slots:
        slot.step()
    assert here.state("main").next_slot_at is None
