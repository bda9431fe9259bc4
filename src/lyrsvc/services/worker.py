"""The worker: a few slots that bring items to their end, and the keeper of their leases."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from lyrsvc.core.claiming import ClaimLost
from lyrsvc.core.item import Route
from lyrsvc.core.ports import Clock
from lyrsvc.services.item_worker import ItemWorker
from lyrsvc.services.leasing import LeaseKeeper
from lyrsvc.services.overhearing import Eavesdropper
from lyrsvc.services.pausing import Gate, Opening, Pause, PauseCause
from lyrsvc.services.slots import ClaimDesk, Slot, Workplace
from lyrsvc.services.steadying import PASSING, Steady
from lyrsvc.store.database import Database

_LOG = logging.getLogger("lyrsvc.worker")


@dataclass(frozen=True, kw_only=True, slots=True)
class Slots:
    """How many items are worked on at once, who works, and how often to look without a bell."""

    owner: str
    remote: int = 2
    poll_s: float = 15.0


class Worker:
    """Runs the slots; ``loops`` are to be run in a thread each, after ``start``."""

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
        self._pause: Pause | None = None
        place = Workplace(
            desk=ClaimDesk(db, clock=clock, chance=chance, owner=slots.owner),
            items=items,
            look=self._look,
            steady=steady,
            clock=clock,
            poll_s=slots.poll_s,
        )
        self._bell = place.bell
        self._eavesdropper = Eavesdropper(place.desk, place.bell, clock=clock)
        remote = [
            Slot(f"remote-{number}", Route.REMOTE, place) for number in range(1, slots.remote + 1)
        ]
        self.slots = (*remote, Slot("local", Route.LOCAL, place))

    @property
    def pause(self) -> Pause | None:
        """Say why nothing is claimed, as far as the slots know; None while work goes on."""
        retry_at, fault = self._steady.retry_at, self._steady.fault
        return Pause(PauseCause.STORAGE, retry_at, fault) if retry_at else self._pause

    @property
    def is_writing(self) -> bool:
        """Tell whether a slot is past asking and on its way to settle."""
        return any(slot.progress.writing for slot in self.slots)

    @property
    def loops(self) -> Mapping[str, Callable[[], None]]:
        """Name every loop; one that ends by an error is to be started again."""
        slots = {f"worker-{slot.name}": slot.run for slot in self.slots}
        return {
            **slots,
            "worker-leases": self._keeper.run,
            "worker-ear": self._eavesdropper.run,
        }

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
        return sum(self._is_released(slot) for slot in self.slots)

    def _is_released(self, slot: Slot) -> bool:
        claim = slot.progress.asking
        if claim is None:
            return False
        try:
            self._items.release(claim)
        except (ClaimLost, *PASSING):
            return False
        return True

    def _look(self) -> Opening | Pause:
        """Ask the gate, and remember its answer for whoever wants to know."""
        seen = self._gate.look()
        pause = seen if isinstance(seen, Pause) else None
        before, self._pause = self._pause, pause
        if pause is not None and (before is None or before.cause is not pause.cause):
            _tell(pause)
        return seen


def _tell(pause: Pause) -> None:
    told = {"cause": str(pause.cause), "until": pause.until.isoformat() if pause.until else ""}
    _LOG.info("worker paused", extra=told)
