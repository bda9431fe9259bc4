"""How the stand-in was told to behave: modes for everything, for one lane or for one song."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from lyrsvc.core.keys import match_key


class Mode(StrEnum):
    """What the stand-in can do to a request."""

    NORMAL = "normal"
    PLAIN = "plain"
    INSTRUMENTAL = "instrumental"
    MISS = "miss"
    DECOY = "decoy"
    THROTTLED = "throttled"
    UNAUTHORIZED = "unauthorized"
    FINISHED = "finished"
    CAPTCHA = "captcha"
    UPGRADE = "upgrade"
    QUOTA = "quota"
    PLACEHOLDER = "placeholder"
    ERROR500 = "error500"
    SLOW = "slow"
    CUT = "cut"
    BAD_JSON = "bad_json"
    HTML = "html"


class Lane(StrEnum):
    """Which of the stand-in's faces a request meets; ``token`` is the call for a new token."""

    DEFAULTPROV = "defaultprov"
    TOKEN = "token"  # noqa: S105 - the name of a face
    LRCLIB = "lrclib"
    CLASSIFIER = "classifier"


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """One instruction; without ``song`` and ``lane`` it holds for every request.

    ``times`` limits it to that many requests. ``accept_newest`` lets the newest
    token pass in mode ``finished``.
    """

    mode: Mode = Mode.NORMAL
    song: str | None = None
    lane: Lane | None = None
    times: int | None = None
    retry_after: str | None = None
    seconds: float = 1.0
    accept_newest: bool = False


def order_from(values: Mapping[str, Any]) -> Order:
    """Read an order from JSON, as ``POST /_control`` takes it; raise ValueError for a bad one."""
    if unknown := set(values) - set(Order.__dataclass_fields__):
        raise ValueError(f"unknown field {min(unknown)}")
    known = dict(values)
    known["mode"] = Mode(known.get("mode", Mode.NORMAL))
    if known.get("lane") is not None:
        known["lane"] = Lane(known["lane"])
    if known.get("retry_after") is not None:
        known["retry_after"] = str(known["retry_after"])
    if known.get("times") is not None:
        known["times"] = int(known["times"])
    known["seconds"] = float(known.get("seconds", 1.0))
    return Order(**known)


class Orders:
    """The orders in force; the most particular one wins, then the newest."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._orders: list[Order] = []

    def give(self, order: Order) -> None:
        """Put an order in force in place of an earlier one with the same reach."""
        with self._lock:
            self._orders = [old for old in self._orders if _reach(old) != _reach(order)]
            if order.mode is not Mode.NORMAL or order.song is not None or order.lane is not None:
                self._orders.append(order)

    def take(self, lane: Lane, song: str | None, usual: str = Mode.NORMAL) -> Order:
        """Give the order for a request, and count it."""
        with self._lock:
            fitting = [order for order in self._orders if _applies(order, lane, song)]
            if not fitting:
                return Order(mode=Mode(usual))
            order = max(fitting, key=_weight)
            if order.times is not None:
                self._count(order, order.times - 1)
            return order

    def clear(self) -> None:
        """Forget every order."""
        with self._lock:
            self._orders = []

    def _count(self, order: Order, left: int) -> None:
        place = self._orders.index(order)
        self._orders[place : place + 1] = [replace(order, times=left)] if left > 0 else []


def _reach(order: Order) -> tuple[str | None, Lane | None]:
    return (None if order.song is None else match_key(order.song), order.lane)


def _applies(order: Order, lane: Lane, song: str | None) -> bool:
    if order.lane is not None and order.lane is not lane:
        return False
    if order.song is None:
        return True
    return song is not None and match_key(order.song) == match_key(song)


def _weight(order: Order) -> tuple[bool, bool]:
    return (order.song is not None, order.lane is not None)
