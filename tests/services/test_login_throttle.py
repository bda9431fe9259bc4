"""Slowing down whoever guesses passwords."""

import threading

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from fakes import FakeClock
from lyrsvc.services.login_throttle import (
    LOCK_S,
    MOST_FAILURES,
    UNKNOWN_CLIENT,
    Attempt,
    Denied,
    Locked,
    LoginThrottle,
    throttle_key,
)

HERE = "192.0.2.7"


@pytest.fixture
def throttle(clock) -> LoginThrottle:
    return LoginThrottle(clock=clock)


def fail(throttle: LoginThrottle, client: str = HERE) -> Denied | Locked:
    attempt = throttle.admit(client)
    return attempt if isinstance(attempt, Locked) else throttle.fail(attempt)


def test_each_failure_in_a_row_waits_longer_and_the_tenth_locks(throttle, clock):
    answers = []
    for _ in range(10):
        answers.append(fail(throttle))
        clock.advance(10)
    assert [answer.delay_s for answer in answers] == [0, 1, 2, 4, 8, 8, 8, 8, 8, 8]
    assert [answer.locks for answer in answers] == [False] * 9 + [True]
    assert throttle.admit(HERE) == Locked(890)


def test_the_lock_holds_a_quarter_hour_from_the_last_failure_and_is_not_prolonged(throttle, clock):
    for _ in range(10):
        fail(throttle)
    for _ in range(899):
        clock.advance(1)
        assert isinstance(throttle.admit(HERE), Locked)
    assert throttle.admit(HERE) == Locked(1)
    clock.advance(1)
    assert fail(throttle) == Denied(0)  # and all is forgiven
    assert fail(throttle) == Denied(1)


def test_another_address_is_not_concerned(throttle):
    for _ in range(10):
        fail(throttle)
    assert isinstance(throttle.admit("192.0.2.8"), Attempt)


def test_success_forgives_what_was_before(throttle):
    for _ in range(9):
        fail(throttle)
    throttle.succeed(throttle.admit(HERE))
    assert fail(throttle) == Denied(0)


def test_an_attempt_nobody_looked_at_does_not_count(throttle):
    for _ in range(30):
        throttle.forget(throttle.admit(HERE))
    assert fail(throttle) == Denied(0)
    in_flight = [throttle.admit(HERE) for _ in range(9)]
    assert isinstance(throttle.admit(HERE), Locked)
    throttle.forget(in_flight.pop())
    assert isinstance(throttle.admit(HERE), Attempt)


def test_of_fifty_at_once_ten_are_admitted(throttle):
    start, admitted = threading.Barrier(50), []

    def come() -> None:
        start.wait()
        attempt = throttle.admit(HERE)
        if isinstance(attempt, Attempt):
            admitted.append(attempt)

    threads = [threading.Thread(target=come) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(attempt.number for attempt in admitted) == list(range(1, 11))
    locking = [throttle.fail(attempt).locks for attempt in admitted]
    assert locking.count(True) == 1


def test_at_most_64_answers_wait_at_once(throttle, clock):
    for number in range(64):
        fail(throttle, f"10.0.0.{number}")
        assert fail(throttle, f"10.0.0.{number}") == Denied(1)
    assert fail(throttle, "10.0.1.1") == Denied(0)  # this one need not wait
    assert fail(throttle, "10.0.1.1") == Locked(1)
    clock.advance(1)
    assert fail(throttle, "10.0.1.1") == Denied(2)


@pytest.mark.parametrize(
    ("client", "key"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        (" 192.0.2.7 ", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:DB8:1:2::", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::/64"),
        ("", UNKNOWN_CLIENT),
        ("testclient", UNKNOWN_CLIENT),
        ("1.2.3.4.5", UNKNOWN_CLIENT),
        ("x" * 100_000, UNKNOWN_CLIENT),
    ],
)
def test_attempts_are_counted_by_ipv4_address_or_ipv6_network(client, key):
    assert throttle_key(client) == key


def test_two_addresses_of_one_ipv6_network_share_the_lock(throttle):
    for number in range(10):
        fail(throttle, f"2001:db8::{number:x}")
    assert isinstance(throttle.admit("2001:db8::ffff:1"), Locked)
    assert isinstance(throttle.admit("2001:db8:0:1::1"), Attempt)


def test_memory_is_bounded_and_the_locked_are_remembered_longest(clock):
    throttle = LoginThrottle(clock=clock, most_keys=100)
    for _ in range(10):
        fail(throttle, "10.9.9.9")
    for number in range(1000):
        fail(throttle, f"10.0.{number // 250}.{number % 250}")
        assert len(throttle._records) <= 100
    assert isinstance(throttle.admit("10.9.9.9"), Locked)
    assert fail(throttle, "10.0.3.249") == Denied(1)  # the newest
    assert fail(throttle, "10.0.0.0") == Denied(0)  # long forgotten


def test_when_all_are_locked_the_oldest_goes(clock):
    throttle = LoginThrottle(clock=clock, most_keys=3)
    for number in range(4):
        for _ in range(10):
            fail(throttle, f"10.0.0.{number}")
    assert isinstance(throttle.admit("10.0.0.3"), Locked)
    assert len(throttle._records) == 3


def test_the_idle_are_forgotten_first(clock):
    throttle = LoginThrottle(clock=clock, most_keys=10)
    for number in range(9):
        fail(throttle, f"10.0.0.{number}")
    clock.advance(24 * 3600 + 1)
    fail(throttle, "10.0.0.200")
    assert list(throttle._records) == ["10.0.0.200"]


class Guessing(RuleBasedStateMachine):
    """Attempts of one client, in any order and overlapping."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.throttle = LoginThrottle(clock=self.clock)
        self.in_flight: list[tuple[Attempt, int]] = []
        self.round = 0
        self.failed = 0
        self.locked_at_s: float | None = None

    @property
    def counted(self) -> int:
        return self.failed + sum(which == self.round for _, which in self.in_flight)

    @rule()
    def come(self) -> None:
        answer = self.throttle.admit(HERE)
        if isinstance(answer, Locked):
            assert self.counted == MOST_FAILURES
            assert 1 <= answer.retry_after_s <= LOCK_S
            return
        if self.counted == MOST_FAILURES:  # the lock has run out
            assert self.clock.monotonic() - self.locked_at_s >= LOCK_S
            self._begin_anew()
        self.in_flight.append((answer, self.round))
        if self.counted == MOST_FAILURES:
            self.locked_at_s = self.clock.monotonic()

    @precondition(lambda self: self.in_flight)
    @rule(at=st.integers(0, 100), how=st.sampled_from(["fail", "fail", "forget", "succeed"]))
    def end(self, at: int, how: str) -> None:
        attempt, which = self.in_flight.pop(at % len(self.in_flight))
        getattr(self.throttle, how)(attempt)
        if which != self.round:
            return
        if how == "fail":
            self.failed += 1
            if attempt.number == MOST_FAILURES:
                self.locked_at_s = self.clock.monotonic()
        elif how == "succeed":
            self._begin_anew()

    @rule(seconds=st.sampled_from([0.5, 60, 300, LOCK_S]))
    def pass_time(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @invariant()
    def no_more_than_ten_count(self) -> None:
        assert self.counted <= MOST_FAILURES

    def _begin_anew(self) -> None:
        self.round += 1
        self.failed = 0
        self.locked_at_s = None


TestGuessing = Guessing.TestCase
TestGuessing.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
