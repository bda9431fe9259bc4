"""What is put right after the start, and whenever a lane becomes active."""

import logging
from collections.abc import Sequence
from random import Random
from typing import Final

from lyrsvc.core.ports import Clock
from lyrsvc.core.provider_set import provider_set_version
from lyrsvc.services.lanes import Lane
from lyrsvc.services.retrying import Hand, follow_embedded, follow_provider_set
from lyrsvc.services.task_board import Record
from lyrsvc.store import counts
from lyrsvc.store.database import Database

BY: Final = "service"

_LOG = logging.getLogger("lyrsvc.upkeep")


class Upkeep:
    """Compares counts with rows, and brings the queue in line with the lanes and the tags.

    ``embedded`` is what is done about lyrics in the tags. What it does by itself runs
    through ``record`` where it is a task: ``counts`` and ``lanes``.
    """

    def __init__(
        self,
        db: Database,
        lanes: Sequence[Lane],
        *,
        clock: Clock,
        chance: Random,
        embedded: str = "off",
        record: Record = lambda _name, work: work(),
    ) -> None:
        self._db = db
        self._lanes = tuple(lanes)
        self._clock = clock
        self._chance = chance
        self._embedded = embedded
        self._record = record

    @property
    def provider_set(self) -> tuple[str, ...]:
        """Name the lanes that can be asked, in their order."""
        return tuple(lane.name for lane in self._lanes if lane.active)

    @property
    def provider_set_version(self) -> int:
        """Give the number of the present set."""
        return provider_set_version(self.provider_set)

    def run(self) -> None:
        """Do what a start asks for."""
        self._record("counts", self.check_counts)
        self.greet_lane()
        self.follow_embedded()

    def greet_lane(self) -> None:
        """Do what is due when a lane becomes active."""
        self._record("lanes", self.follow_lanes)

    def check_counts(self) -> None:
        """Compare the maintained counts with a real count; correct and tell what differs."""
        with self._db.read(deadline_s=None) as tx:
            if not counts.differences(tx):
                return
        wrong = self._db.write(lambda tx: counts.correct(tx, now=self._clock.now()))
        if wrong:
            told = {name: f"{kept} -> {real}" for name, (kept, real) in wrong.items()}
            _LOG.error("maintained counts were wrong and are corrected", extra={"counts": told})

    def follow_lanes(self) -> None:
        """Have tracks without lyrics looked at again, over a day, when the lanes have changed.

        Without any lane there is nobody to ask, and so nothing to look at again.
        """
        lanes = self.provider_set
        if not lanes:
            return
        concerned = follow_provider_set(self._db, provider_set_version(lanes), self._hand())
        if concerned:
            _LOG.info(
                "lanes have changed; tracks without lyrics are looked at again within a day",
                extra={"items": concerned, "lanes": ",".join(lanes)},
            )

    def follow_embedded(self) -> None:
        """Have tracks without lyrics looked at whose tags hold some, once they are wanted."""
        concerned = follow_embedded(self._db, self._embedded, self._hand())
        if concerned:
            _LOG.info(
                "lyrics in the tags are written out from now on; tracks that wait are looked at",
                extra={"items": concerned},
            )

    def _hand(self) -> Hand:
        return Hand(by=BY, now=self._clock.now(), chance=self._chance)
