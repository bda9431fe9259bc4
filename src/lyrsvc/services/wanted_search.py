"""Searching for wanted lyrics: inventory rows become items that are due now.

Whatever an item waits for is cut short. A file whose lyrics are unsynced is asked for
once more in the hope of better ones; what it has stays until they are found.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from lyrsvc.core.item import Priority
from lyrsvc.core.merging import Effect
from lyrsvc.core.ptext import from_ptext
from lyrsvc.core.scan_facts import stored_recording
from lyrsvc.core.sidecar import FetchMode
from lyrsvc.core.wish import Spot, Wish, WishOrigin
from lyrsvc.services.enqueueing import Enqueuer, enqueue
from lyrsvc.services.placement import Placed, Terms
from lyrsvc.store import inventory, libraries, scan_results, standings, wanted
from lyrsvc.store.database import Database
from lyrsvc.store.wanted import WantedKind

if TYPE_CHECKING:
    from lyrsvc.store.engine import Row
    from lyrsvc.store.transaction import Tx

BATCH: Final = 50
"""Files of one bulk operation: few enough that a webhook hardly waits behind one."""

_DUE: Final = frozenset({Effect.ENQUEUED, Effect.REFRESHED})


class WantedSearch:
    """Brings wanted files back into the queue."""

    def __init__(self, db: Database, enqueuer: Enqueuer) -> None:
        self._db = db
        self._enqueuer = enqueuer

    def search_files(self, ids: Sequence[int], *, by: str) -> int:
        """Search for some files ahead of everything else; give how many items are due.

        A file that is not wanted, or not known, is passed over.
        """
        found: set[int] = set()
        wanted_ids = list(dict.fromkeys(ids))
        for start in range(0, len(wanted_ids), BATCH):
            batch = wanted_ids[start : start + BATCH]
            found |= self._search(batch, by=by, priority=Priority.WEBHOOK, bulk=False)
        return len(found)

    def search_kind(self, kind: WantedKind, *, by: str, library_id: int | None = None) -> int:
        """Search for everything that is wanted, in the order of scans; give how many are due."""
        if library_id is not None:
            with self._db.read() as tx:
                libraries.get(tx, library_id)
        found: set[int] = set()
        last = 0
        while ids := self._next(kind, library_id, last):
            found |= self._search(ids, by=by, priority=Priority.SCAN, bulk=True)
            last = ids[-1]
        return len(found)

    def _next(self, kind: WantedKind, library_id: int | None, last: int) -> list[int]:
        with self._db.read() as tx:
            return wanted.ids_after(tx, kind, library_id=library_id, after=last, limit=BATCH)

    def _search(self, ids: Iterable[int], *, by: str, priority: int, bulk: bool) -> set[int]:
        make_wish = partial(_wish, by=by, priority=priority)
        return self._enqueuer.within(
            lambda tx, terms: _enqueue_rows(tx, ids, terms, make_wish), bulk=bulk
        )


def _enqueue_rows(
    tx: "Tx", ids: Iterable[int], terms: Terms, make_wish: "Callable[[Row], Wish]"
) -> set[int]:
    """Enqueue the rows that are wanted, and let them follow; give the items that are due."""
    found = (scan_results.get(tx, row_id) for row_id in ids)
    rows = [row for row in found if row is not None and wanted.kind_of(row) is not None]
    placed = enqueue(tx, [make_wish(row) for row in rows], terms)
    for row, place in zip(rows, placed, strict=True):
        _tie(tx, row, place, terms)
    return {place.item_id for place in placed if place.item_id and place.effect in _DUE}


def _wish(row: "Row", *, by: str, priority: int) -> Wish:
    folder = f"{row['root'].rstrip('/')}/{row['rel_path']}".rstrip("/")
    unsynced = wanted.kind_of(row) is WantedKind.UNSYNCED
    return Wish(
        recording=stored_recording(row),
        spot=Spot(
            out_dir=from_ptext(folder or "/"),
            out_stem=from_ptext(row["out_stem"]),
            source_path=from_ptext(f"{folder}/{row['name']}"),
            library_id=row["library_id"],
        ),
        origin=WishOrigin.SEARCH,
        mode=FetchMode.UPGRADE if unsynced else FetchMode.NORMAL,
        priority=priority,
        has_sidecar=unsynced,
        by=by,
    )


def _tie(tx: "Tx", row: "dict[str, Any]", place: Placed, terms: Terms) -> None:
    if place.item_id is None or place.target_id is None:
        return
    unsynced = wanted.kind_of(row) is WantedKind.UNSYNCED
    standing = None if unsynced else standings.of_target(tx, place.item_id, place.target_id)
    inventory.tie(tx, row["id"], place.target_id, standing, now=terms.now)
