"""Hashing never takes more than two cores, whoever asks."""

import threading
from collections.abc import Callable

import pytest

from fakes import FakeClock
from lyrsvc.services.hash_budget import Busy, HashBudget, HashLimits
from served import wait_until


class Crowd:
    """Threads that want a hash; each hash lasts until it is told to end."""

    def __init__(self, budget: HashBudget) -> None:
        self.budget = budget
        self.answers: list[object] = []
        self.running = 0
        self.most = 0
        self._may_end = threading.Semaphore(0)
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []

    def come(self, number: int) -> None:
        for _ in range(number):
            thread = threading.Thread(target=self._want)
            self._threads.append(thread)
            thread.start()

    def finish(self, number: int) -> None:
        for _ in range(number):
            self._may_end.release()

    def leave(self) -> None:
        self.finish(len(self._threads))
        for thread in self._threads:
            thread.join()

    def _want(self) -> None:
        answer = self.budget.run(self._hash)
        with self._lock:
            self.answers.append(answer)

    def _hash(self) -> str:
        with self._lock:
            self.running += 1
            self.most = max(self.most, self.running)
        self._may_end.acquire()
        with self._lock:
            self.running -= 1
        return "hash"


@pytest.fixture
def crowd(clock):
    crowds = []

    def gather(**limits) -> Crowd:
        crowds.append(Crowd(HashBudget(clock=clock, limits=HashLimits(**limits))))
        return crowds[-1]

    yield gather
    for one in crowds:
        one.leave()


def hold(crowd: Crowd, *, running: int, waiting: int) -> None:
    wait_until(lambda: crowd.running == running, f"{running} run")
    wait_until(lambda: crowd.budget._waiting == waiting, f"{waiting} wait")


def test_two_run_eight_wait_and_more_are_turned_away_at_once(crowd):
    one = crowd()
    one.come(2)
    hold(one, running=2, waiting=0)
    one.come(8)
    hold(one, running=2, waiting=8)
    assert one.budget.run(lambda: "never") == Busy(retry_after_s=2)
    one.finish(10)
    wait_until(lambda: len(one.answers) == 10, "all are answered")
    assert one.answers == ["hash"] * 10
    assert one.most == 2


def test_who_waits_too_long_is_turned_away(crowd):
    one = crowd(at_once=1, wait_s=0.05)
    one.come(1)
    hold(one, running=1, waiting=0)
    assert one.budget.run(lambda: "never") == Busy()
    one.finish(1)
    wait_until(lambda: one.answers == ["hash"], "the first is done")
    assert one.budget.run(lambda: "hash") == "hash"


def run_many(budget: HashBudget, number: int) -> int:
    return sum(budget.run(lambda: "hash") == "hash" for _ in range(number))


def test_twenty_at_once_and_five_a_second(clock):
    budget = HashBudget(clock=clock)
    assert run_many(budget, 100) == 20
    clock.advance(1)
    assert run_many(budget, 100) == 5
    clock.advance(0.2)
    assert run_many(budget, 100) == 1
    clock.advance(3600)
    assert run_many(budget, 100) == 20


def test_a_steady_flood_gets_five_a_second(clock: FakeClock):
    budget = HashBudget(clock=clock)
    done = 0
    for _ in range(1000):
        done += run_many(budget, 3)
        clock.advance(0.1)
    assert 500 <= done <= 520


def test_who_was_turned_away_has_used_nothing_up(crowd):
    one = crowd(at_once=1, waiting=0, burst=3, per_second=0.001)
    one.come(1)
    hold(one, running=1, waiting=0)
    assert run_many(one.budget, 50) == 0
    one.finish(1)
    wait_until(lambda: one.answers == ["hash"], "the first is done")
    assert run_many(one.budget, 50) == 2


def test_an_error_frees_its_place(clock):
    budget = HashBudget(clock=clock, limits=HashLimits(at_once=1, wait_s=0.01))

    def stumble() -> Callable[[], str]:
        raise MemoryError

    for _ in range(3):
        with pytest.raises(MemoryError):
            budget.run(stumble)
    assert budget.run(lambda: "hash") == "hash"
