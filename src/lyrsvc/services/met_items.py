"""What the wishes of one call meet in the queue: read all at once, and kept up with.

A webhook of an album that is known already would else ask the same few questions for
every track. Whatever is written while the wishes are placed must be noted or forgotten
here. Of an item's targets only their kinds are counted: a recording may have many copies.
"""

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from lyrsvc.core.item import Target, TargetTrait, WorkItem
from lyrsvc.core.placing import names_of
from lyrsvc.core.wish import Spot, Wish
from lyrsvc.store import lyrics_cache, targets, work_items
from lyrsvc.store.targets import stem_hash

if TYPE_CHECKING:
    from lyrsvc.store.transaction import Tx

Names = tuple[str, str]


class MetItems:
    """Items by their names, targets by stem, companies by item; what is missing is asked for."""

    def __init__(self, tx: "Tx") -> None:
        self._tx = tx
        self._items: dict[Names, list[WorkItem]] = {}
        self._companies: dict[int, Counter[TargetTrait]] = {}
        self._owners: dict[str, Target | None] = {}
        self._uncached: set[Names] = set()

    def foresee(self, wishes: Iterable[Wish]) -> None:
        """Read what several wishes will ask for."""
        wishes = list(wishes)
        names = dict.fromkeys(each for each in map(names_of, wishes) if all(each))
        spots = [wish.spot for wish in wishes if wish.spot is not None]
        self._items = work_items.by_names(self._tx, names)
        self._owners = targets.by_stems(
            self._tx, (stem_hash(spot.out_dir, spot.out_stem) for spot in spots)
        )
        met = [item.id for same in self._items.values() for item in same]
        owners = [owner.item_id for owner in self._owners.values() if owner is not None]
        self._companies = targets.companies(self._tx, [*met, *owners])
        self._uncached = set(names) - lyrics_cache.known_names(self._tx, names)

    def namesakes(self, names: Names) -> list[WorkItem]:
        """Give the items of one artist and title, whatever their length, the shortest first."""
        found = self._items.get(names)
        return work_items.namesakes(self._tx, *names) if found is None else found

    def of_length(self, names: Names, bucket: int) -> list[WorkItem]:
        """Give the item of one recording, or none."""
        if (same := self._items.get(names)) is not None:
            return [item for item in same if item.duration_bucket == bucket]
        found = work_items.find(self._tx, *names, bucket)
        return [found] if found else []

    def company_of(self, item: WorkItem) -> Iterable[TargetTrait]:
        """Give the kinds of targets an item has."""
        company = self._companies.get(item.id)
        if company is None:
            company = targets.companies(self._tx, [item.id])[item.id]
            self._companies[item.id] = company
        return +company

    def owner_of(self, spot: Spot) -> Target | None:
        """Give the target that owns a stem."""
        key = stem_hash(spot.out_dir, spot.out_stem)
        if key in self._owners:
            return self._owners[key]
        return targets.find(self._tx, spot.out_dir, spot.out_stem)

    def may_be_cached(self, item: WorkItem) -> bool:
        """Tell whether the cache may hold anything of an item's name."""
        return (item.artist_key, item.title_key) not in self._uncached

    def note_item(self, before: WorkItem, after: WorkItem) -> None:
        """Take note of an item that was written."""
        same = self._items.get((before.artist_key, before.title_key))
        if same is not None:
            same[:] = [after if each.id == before.id else each for each in same]

    def note_target(self, before: Target | None, after: Target) -> None:
        """Take note of a target that was written; ``before`` is how its item had it until now."""
        self._owners[stem_hash(after.out_dir, after.out_stem)] = after
        company = self._companies.get(after.item_id)
        if company is not None:
            if before is not None:
                company[before.trait] -= 1
            company[after.trait] += 1

    def forget(self, item: WorkItem) -> None:
        """Read an item and its targets anew from now on."""
        self._items.pop((item.artist_key, item.title_key), None)
        self._companies.pop(item.id, None)

    def forget_stems(self) -> None:
        """Read anew who owns a stem."""
        self._owners.clear()
