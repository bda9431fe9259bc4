"""Deleted music: what waits for it leaves the queue.

Nothing goes by name alone: a target is dropped only if its audio is gone while the
root of its library is there. Sidecars, inventory and finished items stay.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from lyrsvc.core.item import WAITING
from lyrsvc.core.keys import match_key
from lyrsvc.core.payload_paths import spellings
from lyrsvc.services.payload_files import PayloadFiles, PlacedPath, is_gone
from lyrsvc.services.probing import Probes
from lyrsvc.services.target_leaving import drop_target
from lyrsvc.store import target_sources, targets, work_items
from lyrsvc.store.counts import Tally
from lyrsvc.store.database import Database

if TYPE_CHECKING:
    from lyrsvc.store.database import Tx

_READ_S = 30.0
"""Rare, and over all targets of a library: it may take longer than a page."""


class Deletions:
    """Finds what waits for files that were deleted."""

    def __init__(self, db: Database, probes: Probes) -> None:
        self._db = db
        self._probes = probes

    def place(self, path: str, files: PayloadFiles, *, until: float) -> PlacedPath | None:
        """Find the directory of a deleted artist; None when it is not visible here."""
        if not path:
            return None
        return self._probes.ask({path: partial(files.place, path)}, until=until).get(path)

    def gone(self, paths: Sequence[str], files: PayloadFiles, *, until: float) -> list[str]:
        """Give those of some paths at which there is nothing any more."""
        asked = {path: partial(files.place, path) for path in filter(None, paths)}
        answers = self._probes.ask(asked, until=until)
        return [place.path for place in answers.values() if place is not None and not place.exists]

    def orphaned(self, place: PlacedPath, *, album: str | None, until: float) -> list[int]:
        """Give the waiting targets below a place whose audio is gone; of one album, if named."""
        with self._db.read(deadline_s=_READ_S) as tx:
            found = [
                target
                for spelling in spellings(place.path)
                for target in target_sources.waiting_below(tx, place.library.id, spelling)
            ]
        if album is not None:
            wanted = match_key(album)
            found = [one for one in found if wanted and match_key(one.album) == wanted]
        asked = {one.id: partial(is_gone, one.source_path) for one in found}
        answers = self._probes.ask(asked, until=until)
        return [target_id for target_id, gone in answers.items() if gone]


def drop_targets(tx: "Tx", target_ids: Sequence[int], *, now: datetime) -> int:
    """Drop targets, and items with their last one; give how many targets went."""
    tally, dropped = Tally(), 0
    for target_id in target_ids:
        drop_target(tx, target_id, tally, now=now)
        dropped += not targets.exists(tx, target_id)
    tally.write(tx, now=now)
    return dropped


def drop_titles(tx: "Tx", artist: str, titles: Sequence[str], *, now: datetime) -> int:
    """Drop the waiting items of an artist's titles; give how many went."""
    tally, dropped = Tally(), 0
    for title in dict.fromkeys(map(match_key, titles)):
        for item in work_items.namesakes(tx, match_key(artist), title):
            if item.status in WAITING:
                work_items.delete(tx, item, tally)
                dropped += 1
    tally.write(tx, now=now)
    return dropped
