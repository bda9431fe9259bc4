"""A slot: works on one item at a time, on one route.

A slot looks at the gate, waits for its turn on the first lane that can be asked, and
claims last, so that whatever is most urgent at that moment gets it. What can be
served from here has a slot of its own, which waits for no lane.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from typing import Final

from lyrsvc.core.claiming import Turns
from lyrsvc.core.item import Route, WorkItem
from lyrsvc.core.ports import Clock
from lyrsvc.services.bell import Bell
from lyrsvc.services.item_worker import ItemWorker, Progress
from lyrsvc.services.lane_turns import Cancelled
from lyrsvc.services.lanes import Lane
from lyrsvc.services.pausing import Opening, Pause
from lyrsvc.services.steadying import PASSING, Steady
from lyrsvc.store import claims
from lyrsvc.store.database import Database, Tx

SHORTEST_REST_S: Final = 0.01
IDLE_LOOK_S: Final = 0.05
"""A slot that found nothing looks again after so long at the earliest, however often it rings:
a burst of webhooks must not make a slot that is not concerned look at each of them."""

Head = tuple[Route | None, object]
"""What waits in front: on a route by its place, on either by the moment it became due."""


class ClaimDesk:
    """Takes items out of the queue, webhook work first but not only."""

    def __init__(self, db: Database, *, clock: Clock, chance: Random, owner: str) -> None:
        self._db = db
        self._clock = clock
        self._chance = chance
        self._owner = owner
        self._lock = threading.Lock()
        self._turns = dict.fromkeys(Route, Turns())

    def has_work(self, route: Route) -> bool:
        """Tell whether a claim may give something; what became due counts on either route."""
        with self._db.read() as tx:
            return claims.is_anything_ready(tx, route) or self._due_since(tx) is not None

    def heads(self) -> set[Head]:
        """Give whatever a claim may give first."""
        with self._db.read() as tx:
            heads: list[Head] = [(route, claims.first_ready(tx, route)) for route in Route]
            heads.append((None, self._due_since(tx)))
        return {head for head in heads if head[1] is not None}

    def next_due_at(self) -> datetime | None:
        """Give the moment the next waiting item becomes due."""
        with self._db.glance() as tx:
            return claims.next_due_at(tx)

    def claim(self, route: Route, slot: str) -> WorkItem | None:
        """Take the next item of a route (A)."""
        with self._lock:
            turns = self._turns[route]

        def take(tx: Tx) -> tuple[WorkItem | None, Turns]:
            return claims.claim_next(
                tx,
                route=route,
                owner=f"{self._owner}/{slot}",
                now=self._clock.now(),
                turns=turns,
                chance=self._chance,
            )

        item, counted = self._db.write(take)
        with self._lock:
            self._turns[route] = counted
        return item

    def _due_since(self, tx: Tx) -> datetime | None:
        due_at = claims.next_due_at(tx)
        return due_at if due_at is not None and due_at <= self._clock.now() else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Workplace:
    """What the slots of a worker share.

    ``queueing`` is held by the one remote slot that waits for a turn; the others are
    behind it. ``poll_s`` is how often a slot looks around without a bell.
    """

    desk: ClaimDesk
    items: ItemWorker
    look: Callable[[], Opening | Pause]
    steady: Steady
    clock: Clock
    poll_s: float
    bell: Bell = field(default_factory=Bell)
    queueing: threading.Lock = field(default_factory=threading.Lock)


class Slot:
    """One item at a time; ``progress`` tells how far it is with it."""

    def __init__(self, name: str, route: Route, place: Workplace) -> None:
        self.name = name
        self.progress = Progress()
        self._route = route
        self._place = place
        self._stumbled: tuple[WorkItem, str] | None = None
        self._look_at: datetime | None = None

    def run(self) -> None:
        """Work until the program stops; called again after an error, it charges the item."""
        bell, clock = self._place.bell, self._place.clock
        while not bell.ended:
            rings, looked_at = bell.rings, clock.monotonic()
            if not self.step():
                bell.wait(rings, self._rest_s())
                bell.wait_for_end(looked_at + IDLE_LOOK_S - clock.monotonic())

    def step(self) -> bool:
        """Work on the next item; False when there is nothing to do now."""
        self._look_at = None
        try:
            self._charge_stumble()
            if self._route is Route.LOCAL:
                return self._step_here()
            return self._step_through_lane()
        except PASSING as fault:
            self._place.steady.note(fault)
        except Cancelled:
            pass
        return False

    def _step_here(self) -> bool:
        opening = self._look_for_work()
        if opening is None:
            return False
        if opening.probe and self._place.desk.has_work(Route.REMOTE):
            return False  # the lane is to be tried first; with nothing to try it with, go on
        item = self._claim()
        return item is not None and self._work(item)

    def _step_through_lane(self) -> bool:
        if self._look_for_work() is None:
            return False
        lane: Lane | None = None
        try:
            with self._place.queueing:
                opening = self._look_for_work()
                if opening is None:
                    return False
                lane = opening.lane
                lane.take_turn()
                item = self._claim_through(lane)
            return self._work(item) if isinstance(item, WorkItem) else item
        finally:
            if lane is not None:
                lane.give_back()

    def _look_for_work(self) -> Opening | None:
        """Say whether there is something to claim and nothing against it."""
        seen = self._place.look()
        if isinstance(seen, Pause):
            self._look_at = seen.until
            return None
        if self._place.desk.has_work(self._route):
            return seen
        self._look_at = self._place.desk.next_due_at()
        return None

    def _claim_through(self, lane: Lane) -> WorkItem | bool:
        """Claim once it is our turn; True when things have changed meanwhile: look again."""
        seen = self._place.look()
        if isinstance(seen, Pause):
            self._look_at = seen.until
            return False
        if seen.lane is not lane or (seen.probe and not lane.take_probe()):
            return True
        return self._claim() or False

    def _claim(self) -> WorkItem | None:
        item = self._place.desk.claim(self._route, self.name)
        self._place.steady.note_success()
        if item is None:
            self._look_at = self._place.desk.next_due_at()
        return item

    def _work(self, item: WorkItem) -> bool:
        try:
            self._place.items.work(item, self.progress)
        except BaseException as error:
            self._stumbled = item, type(error).__name__
            raise
        finally:
            self._place.bell.ring()
        return True

    def _charge_stumble(self) -> None:
        """Settle the item whose attempt ended in an error of our own."""
        if self._stumbled is not None:
            self._place.items.give_up(*self._stumbled)
            self._stumbled = None

    def _rest_s(self) -> float:
        """Give the seconds until it is worth a look, unless the bell rings before."""
        rest_s = self._place.poll_s
        if self._look_at is not None:
            rest_s = min(rest_s, (self._look_at - self._place.clock.now()).total_seconds())
        storage_s = self._place.steady.rest_s
        if storage_s is not None:
            rest_s = min(rest_s, storage_s)
        return max(rest_s, SHORTEST_REST_S)
