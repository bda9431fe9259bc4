"""The worker: a few slots that claim items and bring each to its end.

A slot looks at the gate, waits for its turn on the first lane that can be asked, and
claims last, so that whatever is most urgent at that moment gets it. What can be
served from here has a slot of its own, which waits for no lane.
"""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import Final

from lyrsvc.core.claiming import ClaimLost, Turns
from lyrsvc.core.item import Route, WorkItem
from lyrsvc.core.ports import Clock
from lyrsvc.services.bell import Bell
from lyrsvc.services.item_worker import ItemWorker, Progress
from lyrsvc.services.lane_turns import Cancelled
from lyrsvc.services.lanes import Lane
from lyrsvc.services.leasing import LeaseKeeper
from lyrsvc.services.pausing import Gate, Opening, Pause, PauseCause
from lyrsvc.services.steadying import PASSING, Steady
from lyrsvc.store import claims
from lyrsvc.store.database import Database, Tx

SHORTEST_REST_S: Final = 0.01

_LOG = logging.getLogger("lyrsvc.worker")


@dataclass(frozen=True, kw_only=True, slots=True)
class Slots:
    """How many items are worked on at once, who works, and how often to look without a bell."""

    owner: str
    remote: int = 2
    poll_s: float = 15.0


class Worker:
    """Runs the slots and the keeper of their leases; ``loops`` are to be run in a thread each."""

    def __init__(  # noqa: PLR0913 - one keyword for each part it is made of
        self,
        db: Database,
        items: ItemWorker,
        *,
        gate: Gate,
        keeper: LeaseKeeper,
        steady: Steady,
        clock: Clock,
        chance: Random,
        slots: Slots,
    ) -> None:
        self._items = items
        self._gate = gate
        self._keeper = keeper
        self._steady = steady
        self._bell = Bell()
        self._pause: Pause | None = None
        desk = _Claims(db, clock=clock, chance=chance, owner=slots.owner)
        names = [(f"remote-{number}", Route.REMOTE) for number in range(1, slots.remote + 1)]
        self.slots = tuple(
            Slot(name, route, desk, self, clock=clock, poll_s=slots.poll_s)
            for name, route in (*names, ("local", Route.LOCAL))
        )
        self.queueing = threading.Lock()
        """Held by the one remote slot that waits for a turn; the others are behind it."""

    @property
    def pause(self) -> Pause | None:
        """Say why nothing is claimed, as far as the slots know; None while work goes on."""
        retry_at = self._steady.retry_at
        return Pause(PauseCause.STORAGE, retry_at) if retry_at else self._pause

    @property
    def bell(self) -> Bell:
        """What wakes idle slots."""
        return self._bell

    @property
    def items(self) -> ItemWorker:
        """Who works on a claimed item."""
        return self._items

    @property
    def steady(self) -> Steady:
        """Who knows whether the storage works."""
        return self._steady

    @property
    def loops(self) -> Mapping[str, Callable[[], None]]:
        """Name every loop; one that ends by an error is to be started again."""
        slots = {f"worker-{slot.name}": slot.run for slot in self.slots}
        return {**slots, "worker-leases": self._keeper.run}

    def start(self, *, alone: bool) -> None:
        """Take back what an earlier run left; ``alone`` when no other worker can be alive."""
        self._keeper.start(alone=alone)

    def wake(self) -> None:
        """Have every idle slot look around now; any thread may say so."""
        self._bell.ring()

    def stop(self) -> None:
        """Let no slot begin anything more."""
        self._bell.end()

    def release_asking(self) -> int:
        """Give back the items of slots that still wait for an answer; tell how many.

        Their attempts find the claim lost and end without touching anything.
        """
        released = 0
        for slot in self.slots:
            claim = slot.progress.asking
            if claim is None:
                continue
            try:
                self._items.release(claim)
            except (ClaimLost, *PASSING):
                continue
            released += 1
        return released

    @property
    def is_writing(self) -> bool:
        """Tell whether a slot is past asking and on its way to settle."""
        return any(slot.progress.writing for slot in self.slots)

    def look(self) -> Opening | Pause:
        """Ask the gate, and remember its answer for whoever wants to know."""
        seen = self._gate.look()
        pause = seen if isinstance(seen, Pause) else None
        if pause is not None and (self._pause is None or self._pause.cause is not pause.cause):
            _LOG.info("worker paused", extra={"cause": str(pause.cause), "until": str(pause.until)})
        self._pause = pause
        return seen


class Slot:
    """One item at a time, on one route."""

    def __init__(
        self,
        name: str,
        route: Route,
        desk: "_Claims",
        worker: Worker,
        *,
        clock: Clock,
        poll_s: float,
    ) -> None:
        self.name = name
        self.progress = Progress()
        self._route = route
        self._desk = desk
        self._worker = worker
        self._clock = clock
        self._poll_s = poll_s
        self._stumbled: tuple[WorkItem, str] | None = None
        self._look_at: datetime | None = None

    def run(self) -> None:
        """Work until the program stops; called again after an error, it charges the item."""
        bell = self._worker.bell
        while not bell.ended:
            rings = bell.rings
            if not self.step():
                bell.wait(rings, self._rest_s())

    def step(self) -> bool:
        """Work on the next item; False when there is nothing to do now."""
        self._look_at = None
        try:
            self._charge_stumble()
            if self._route is Route.LOCAL:
                return self._step_here()
            return self._step_through_lane()
        except PASSING as fault:
            self._worker.steady.note(fault)
        except Cancelled:
            pass
        return False

    def _step_here(self) -> bool:
        seen = self._worker.look()
        if isinstance(seen, Pause) or seen.probe:
            self._look_at = seen.until if isinstance(seen, Pause) else None
            return False
        if not self._has_work():
            return False
        item = self._claim()
        return item is not None and self._work(item)

    def _step_through_lane(self) -> bool:
        if not self._may_look():
            return False
        lane: Lane | None = None
        try:
            with self._worker.queueing:
                seen = self._worker.look()
                if isinstance(seen, Pause) or not self._desk.has_work(self._route):
                    return False
                lane = seen.lane
                lane.take_turn()
                item = self._claim_through(lane)
            return self._work(item) if isinstance(item, WorkItem) else item
        finally:
            if lane is not None:
                lane.give_back()

    def _may_look(self) -> bool:
        seen = self._worker.look()
        if isinstance(seen, Pause):
            self._look_at = seen.until
            return False
        return self._has_work()

    def _has_work(self) -> bool:
        if self._desk.has_work(self._route):
            return True
        self._look_at = self._desk.next_due_at()
        return False

    def _claim_through(self, lane: Lane) -> WorkItem | bool:
        """Claim once it is our turn; True when things have changed meanwhile: look again."""
        seen = self._worker.look()
        if isinstance(seen, Pause):
            self._look_at = seen.until
            return False
        if seen.lane is not lane or (seen.probe and not lane.take_probe()):
            return True
        return self._claim() or False

    def _claim(self) -> WorkItem | None:
        item = self._desk.claim(self._route, self.name)
        self._worker.steady.note_success()
        if item is None:
            self._look_at = self._desk.next_due_at()
        return item

    def _work(self, item: WorkItem) -> bool:
        try:
            self._worker.items.work(item, self.progress)
        except BaseException as error:
            self._stumbled = item, type(error).__name__
            raise
        finally:
            self._worker.wake()
        return True

    def _charge_stumble(self) -> None:
        """Settle the item whose attempt ended in an error of our own."""
        if self._stumbled is not None:
            item, kind = self._stumbled
            self._worker.items.give_up(item, kind)
            self._stumbled = None

    def _rest_s(self) -> float:
        """Give the seconds until it is worth a look, unless the bell rings before."""
        rest_s = self._poll_s
        retry_at = self._worker.steady.retry_at
        for moment in (self._look_at, retry_at):
            if moment is not None:
                rest_s = min(rest_s, (moment - self._clock.now()).total_seconds())
        return max(rest_s, SHORTEST_REST_S)


class _Claims:
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
            if claims.is_anything_ready(tx, route):
                return True
            due_at = claims.next_due_at(tx)
        return due_at is not None and due_at <= self._clock.now()

    def next_due_at(self) -> datetime | None:
        """Give the moment the next waiting item becomes due."""
        with self._db.read() as tx:
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
