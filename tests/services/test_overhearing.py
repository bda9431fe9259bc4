"""Work that comes from another process: the bell rings for it, once, and the slots hear."""

from contextlib import closing
from random import Random

import pytest

from fakes import Scripted
from lyrsvc.core.errors import Miss, StorageFailed
from lyrsvc.core.item import Route
from lyrsvc.services import retrying
from lyrsvc.services.bell import Bell
from lyrsvc.services.overhearing import Eavesdropper
from lyrsvc.services.retrying import Hand
from lyrsvc.services.slots import ClaimDesk
from worker_shop import Shop


@pytest.fixture
def shop(tmp_path, clock):
    with closing(Shop(tmp_path, clock, Scripted("main", Miss()))) as shop:
        yield shop


@pytest.fixture
def bell() -> Bell:
    return Bell()


@pytest.fixture
def listener(shop, clock, bell) -> Eavesdropper:
    desk = ClaimDesk(shop.db, clock=clock, chance=Random(1), owner="test")
    return Eavesdropper(desk, bell, clock=clock)


def heard(listener: Eavesdropper, bell: Bell) -> int:
    """Look once; give how often the bell has rung for it."""
    before = bell.rings
    listener.look()
    return bell.rings - before


def test_work_that_comes_rings_once(shop, listener, bell):
    assert heard(listener, bell) == 0
    shop.enqueue("First")
    assert [heard(listener, bell) for _ in range(3)] == [1, 0, 0]
    shop.enqueue("Second")  # the slots find it after the first
    assert heard(listener, bell) == 0


def test_it_rings_again_after_the_queue_was_empty(shop, listener, bell):
    shop.enqueue("First")
    assert heard(listener, bell) == 1
    shop.work()
    assert heard(listener, bell) == 0
    shop.enqueue("Second")
    assert heard(listener, bell) == 1


def test_an_item_that_comes_again_is_heard_again(shop, listener, bell, clock):
    shop.enqueue("First")
    assert heard(listener, bell) == 1
    shop.work()
    hand = Hand(by="test", now=clock.now(), chance=Random(2))
    item = shop.item("First")
    shop.db.write(lambda tx: retrying.recheck(tx, item.id, hand))
    assert heard(listener, bell) == 1


def test_each_route_is_heard_by_itself(shop, listener, bell):
    shop.enqueue("First")
    assert heard(listener, bell) == 1
    shop.enqueue("Second")
    route = int(Route.LOCAL)
    shop.db.write(
        lambda tx: tx.run(
            "UPDATE work_items SET route = :route WHERE title = 'Second'", route=route
        )
    )
    assert heard(listener, bell) == 1


def test_a_database_that_fails_is_looked_at_again(shop, listener, bell, monkeypatch):
    def fails(**_):
        raise StorageFailed("the disk is gone")

    shop.enqueue("First")
    with monkeypatch.context() as broken:
        broken.setattr(shop.db, "read", fails)
        assert heard(listener, bell) == 0
    assert heard(listener, bell) == 1


def test_it_looks_until_the_program_stops(shop, listener, bell, clock):
    shop.enqueue("First")
    waits = []

    def wait(seconds):
        waits.append(seconds)
        return len(waits) > 3

    clock.wait = wait
    listener.run()
    assert waits == [1.0] * 4
    assert bell.rings == 1
    assert "worker-ear" in shop.worker.loops
