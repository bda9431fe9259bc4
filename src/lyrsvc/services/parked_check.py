"""Looking after what was parked: a target whose audio is there again is due now.

Scans do the same for what they meet; this also finds what no scan will look at again.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple

from lyrsvc.core.item import Target, TargetStatus
from lyrsvc.core.ports import Clock
from lyrsvc.core.waiting import Moment
from lyrsvc.services.move_rows import open_again
from lyrsvc.services.probing import Probes
from lyrsvc.services.root_probes import RootProbes
from lyrsvc.services.target_leaving import audio_of, re_sourced
from lyrsvc.store import absences, libraries, targets
from lyrsvc.store.counts import Tally
from lyrsvc.store.database import Database

if TYPE_CHECKING:
    from lyrsvc.store.database import Tx
    from lyrsvc.store.engine import Row

BATCH: Final = 200
ANSWER_S: Final = 10.0
"""So long the disks may take over one batch."""

_LOG = logging.getLogger("lyrsvc.housekeeping")


class _Parked(NamedTuple):
    """A parked target, and the files of its stem that the inventory knows."""

    target: Target
    rows: "Sequence[Row]"

    @property
    def paths(self) -> list[str]:
        """Give where its audio may be, the place it was missed at first."""
        return [self.target.source_path, *(audio_of(self.target, row) for row in self.rows)]


class ParkedCheck:
    """Opens parked targets whose audio is there again."""

    def __init__(
        self,
        db: Database,
        *,
        clock: Clock,
        chance: Random,
        probes: Probes | None = None,
        roots: RootProbes | None = None,
    ) -> None:
        self._db = db
        self._clock = clock
        self._chance = chance
        self._probes = probes or Probes(purpose="housekeeping")
        self._roots = roots or RootProbes()

    def run(self) -> int:
        """Look at every parked target, some at a time; give how many are due again.

        A library whose root is away, or whose disk does not answer, is left for the next time.
        """
        silent = self._away()
        opened = 0
        with self._db.read(deadline_s=None) as tx:
            parked = targets.parked(tx)
        for start in range(0, len(parked), BATCH):
            batch = self._batch(parked[start : start + BATCH])
            asked = [one for one in batch if one.target.library_id not in silent]
            there = self._look(asked)
            silent |= {one.target.library_id for one in asked if one.target.id not in there}
            back = [(one, path) for one in asked if (path := there.get(one.target.id))]
            if back:
                opened += self._db.write(self._opening(back), bulk=True)
        if opened:
            _LOG.info("audio that was missed is there again", extra={"targets": opened})
        return opened

    def _away(self) -> set[int | None]:
        with self._db.read() as tx:
            every = libraries.all_libraries(tx)
        states = self._roots.look(library.path for library in every)
        return {
            library.id
            for library in every
            if not states[library.path].reachable or states[library.path].empty
        }

    def _batch(self, target_ids: Sequence[int]) -> list[_Parked]:
        with self._db.read() as tx:
            found = [targets.get(tx, target_id) for target_id in target_ids]
            return [_Parked(one, absences.of_target(tx, one.id)) for one in found if one]

    def _look(self, asked: Iterable[_Parked]) -> Mapping[int, str]:
        """Give where the audio of each target is, blank where it is not; silence gives nothing."""
        questions = {one.target.id: partial(_first_there, one.paths) for one in asked}
        return self._probes.ask(questions, until=time.monotonic() + ANSWER_S)

    def _opening(self, back: Sequence[tuple[_Parked, str]]) -> "Callable[[Tx], int]":
        moment = Moment(now=self._clock.now(), chance=self._chance)

        def open_all(tx: "Tx") -> int:
            tally = Tally()
            number = sum(_open(tx, parked, path, tally, moment) for parked, path in back)
            tally.write(tx, now=moment.now)
            return number

        return open_all


def _open(tx: "Tx", parked: _Parked, path: str, tally: Tally, moment: Moment) -> bool:
    """Open one target, unless somebody was quicker; its row is no longer missing."""
    target = targets.get(tx, parked.target.id)
    if target is None or target.status is not TargetStatus.PARKED:
        return False
    if target.source_path != parked.target.source_path:
        return False
    row = next((row for row in parked.rows if audio_of(target, row) == path), None)
    if row is not None:
        absences.clear(tx, row["id"], tally, now=moment.now)
        target = re_sourced(target, row)
    open_again(tx, target, tally, moment)
    return True


def _first_there(paths: Iterable[str]) -> str:
    return next((path for path in paths if path and _is_there(path)), "")


def _is_there(path: str) -> bool:
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False
