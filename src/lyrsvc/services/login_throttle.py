"""Slowing down whoever guesses passwords, by the network they come from.

An attempt counts from the moment it is admitted, so that a burst of them cannot
slip through while the first is still being checked; what was right, or was never
looked at, is forgiven. All of it is kept in memory.
"""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Final

from lyrsvc.core.ports import Clock

DELAYS_S: Final = (0.0, 1.0, 2.0, 4.0, 8.0)
"""How long the first, second, … failure in a row waits for its answer; the last goes on."""
MOST_FAILURES: Final = 10
LOCK_S: Final = 15 * 60.0
MOST_WAITING: Final = 64
MOST_KEYS: Final = 10_000
IDLE_S: Final = 24 * 3600.0
UNKNOWN_CLIENT: Final = "unknown"
"""Shared by all whose address is not known."""


@dataclass(frozen=True, slots=True)
class Locked:
    """Too many attempts: come back later, whatever the password."""

    retry_after_s: int


@dataclass(frozen=True, slots=True)
class Denied:
    """A failed attempt; its answer is to wait ``delay_s``. ``locks`` when it was one too many."""

    delay_s: float
    locks: bool = False


class _Record:
    """What is remembered of one client."""

    __slots__ = ("failures", "locked_until_s", "seen_s")

    def __init__(self) -> None:
        self.failures = 0
        self.locked_until_s = 0.0
        self.seen_s = 0.0


@dataclass(frozen=True, slots=True)
class Attempt:
    """An admitted attempt; end it with exactly one of ``fail``, ``succeed`` and ``forget``."""

    key: str
    record: _Record
    number: int


class LoginThrottle:
    """Counts failures in a row of each client; the tenth locks it out for a quarter hour."""

    def __init__(self, *, clock: Clock, most_keys: int = MOST_KEYS) -> None:
        self._clock = clock
        self._most_keys = most_keys
        self._lock = threading.Lock()
        self._records: OrderedDict[str, _Record] = OrderedDict()
        self._waits_until_s: list[float] = []

    def admit(self, client: str) -> Attempt | Locked:
        """Count an attempt of this address, or turn it away."""
        key, now_s = throttle_key(client), self._clock.monotonic()
        with self._lock:
            record = self._record(key, now_s)
            if record.failures >= MOST_FAILURES:
                return Locked(_whole_seconds(record.locked_until_s - now_s))
            record.failures += 1
            if record.failures >= MOST_FAILURES:
                record.locked_until_s = now_s + LOCK_S
            return Attempt(key, record, record.failures)

    def fail(self, attempt: Attempt) -> Denied | Locked:
        """Say how long the answer to a wrong password waits; ``Locked`` when too many wait."""
        now_s = self._clock.monotonic()
        delay_s = DELAYS_S[min(attempt.number, len(DELAYS_S)) - 1]
        with self._lock:
            locks = attempt.number >= MOST_FAILURES
            if locks:
                attempt.record.locked_until_s = now_s + LOCK_S
            if delay_s and not self._may_wait(now_s, delay_s):
                return Locked(_whole_seconds(delay_s))
        return Denied(delay_s, locks=locks)

    def succeed(self, attempt: Attempt) -> None:
        """Forgive everything this client did before."""
        with self._lock:
            if self._records.get(attempt.key) is attempt.record:
                del self._records[attempt.key]

    def forget(self, attempt: Attempt) -> None:
        """Take back an attempt whose password nobody looked at."""
        with self._lock:
            attempt.record.failures = max(0, attempt.record.failures - 1)

    def _record(self, key: str, now_s: float) -> _Record:
        record = self._records.get(key)
        if record is not None and _has_expired(record, now_s):
            del self._records[key]
            record = None
        if record is None:
            self._make_room(now_s)
            record = self._records[key] = _Record()
        record.seen_s = now_s
        self._records.move_to_end(key)
        return record

    def _make_room(self, now_s: float) -> None:
        """Forget the idle; when that is not enough the oldest that is not locked, or any."""
        while self._records:
            oldest = next(iter(self._records.values()))
            if now_s - oldest.seen_s <= IDLE_S:
                break
            self._records.popitem(last=False)
        if len(self._records) >= self._most_keys:
            unlocked = (k for k, r in self._records.items() if not _is_locked(r, now_s))
            del self._records[next(unlocked, next(iter(self._records)))]

    def _may_wait(self, now_s: float, delay_s: float) -> bool:
        # A place frees itself when its time is over: nobody has to give it back.
        self._waits_until_s = [until for until in self._waits_until_s if until > now_s]
        if len(self._waits_until_s) >= MOST_WAITING:
            return False
        self._waits_until_s.append(now_s + delay_s)
        return True


def throttle_key(client: str) -> str:
    """Give what attempts are counted by: an IPv4 address, or the /64 of an IPv6 one."""
    try:
        address = ip_address(client.strip().partition("%")[0])
    except ValueError:
        return UNKNOWN_CLIENT
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return f"{IPv6Address(int(address) >> 64 << 64)}/64"
    return str(address)


def _is_locked(record: _Record, now_s: float) -> bool:
    return record.failures >= MOST_FAILURES and now_s < record.locked_until_s


def _has_expired(record: _Record, now_s: float) -> bool:
    return record.failures >= MOST_FAILURES and now_s >= record.locked_until_s


def _whole_seconds(seconds: float) -> int:
    return max(1, int(-(-seconds // 1)))
