"""Enqueueing: wishes become items and targets, or join those that are there.

One transaction per call, however many wishes; the same wishes twice create nothing
twice. What a wish does to an item is decided in :mod:`lyrsvc.core.merging`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Final, TypeVar

from lyrsvc.core import merging, placing, requeueing
from lyrsvc.core.detection import decide_detection
from lyrsvc.core.item import (
    Route,
    Status,
    Target,
    TargetStatus,
    TargetTrait,
    WorkItem,
)
from lyrsvc.core.keys import duration_bucket
from lyrsvc.core.merging import Decision, Effect, Step, TargetStep
from lyrsvc.core.ports import Clock
from lyrsvc.core.sidecar import FetchMode
from lyrsvc.core.waiting import ready_key
from lyrsvc.core.wish import Spot, Wish
from lyrsvc.services.fresh_placing import place_fresh
from lyrsvc.services.met_items import MetItems
from lyrsvc.services.placement import Overrides, Placed, Terms
from lyrsvc.services.routing import route_of
from lyrsvc.store import history, lyrics_cache, scan_links, targets, work_items
from lyrsvc.store.counts import Tally
from lyrsvc.store.database import Database
from lyrsvc.store.lyrics_cache import CacheKey
from lyrsvc.store.targets import Others

if TYPE_CHECKING:
    from lyrsvc.store.transaction import Tx

T = TypeVar("T")

__all__ = ["Enqueuer", "Placed", "Terms", "enqueue"]

WEBHOOK_WAIT_S: Final = 10.0
_URGENT_STEPS: Final = frozenset({Step.HASTEN, Step.BOOST, Step.REOPEN, Step.SEEK})


class Enqueuer:
    """Takes wishes from outside: one durable transaction, then the worker is woken."""

    def __init__(
        self,
        db: Database,
        *,
        clock: Clock,
        terms: Callable[[datetime], Terms],
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        self._db = db
        self._clock = clock
        self._terms = terms
        self._wake = wake

    def enqueue(
        self, wishes: Sequence[Wish], *, bulk: bool = False, wait_s: float = WEBHOOK_WAIT_S
    ) -> list[Placed]:
        """Enqueue all wishes or none; give what became of each, in their order."""
        terms = self._terms(self._clock.now())
        placed = self._db.write(lambda tx: enqueue(tx, wishes, terms), bulk=bulk, wait_s=wait_s)
        self._wake()
        return placed

    def within(self, operation: "Callable[[Tx, Terms], T]", *, bulk: bool = False) -> T:
        """Run an operation that enqueues beside other changes, then wake the worker."""
        terms = self._terms(self._clock.now())
        answer = self._db.write(lambda tx: operation(tx, terms), bulk=bulk)
        self._wake()
        return answer


def enqueue(tx: "Tx", wishes: Iterable[Wish], terms: Terms) -> list[Placed]:
    """Enqueue wishes inside an operation, so that inventory rows can go with them."""
    wishes = list(wishes)
    desk = _Desk(tx, terms)
    fresh = place_fresh(tx, wishes, terms, desk.tally)
    desk.foresee([wish for one, wish in zip(fresh, wishes, strict=True) if one is None])
    placed = [one or desk.place(wish) for one, wish in zip(fresh, wishes, strict=True)]
    desk.tally.write(tx, now=terms.now)
    return placed


class _Desk:
    """Places the wishes of one call."""

    def __init__(self, tx: "Tx", terms: Terms) -> None:
        self._tx = tx
        self._terms = terms
        self._overrides = Overrides(tx)
        self._met = MetItems(tx)
        self.tally = Tally()

    def foresee(self, wishes: Sequence[Wish]) -> None:
        if len(wishes) > 1:
            self._met.foresee(wishes)

    def place(self, wish: Wish) -> Placed:
        names = placing.names_of(wish)
        if not all(names):
            return Placed(effect=Effect.SKIPPED)
        owned = self._met.owner_of(wish.spot) if wish.spot else None
        bucket = duration_bucket(wish.recording.duration_ms)
        if not wish.recording.duration_ms or wish.origin.urgent:
            same = self._met.namesakes(names)
        else:
            same = self._met.of_length(names, bucket)
        if wish.spot is None and not wish.recording.duration_ms and same:
            return self._place_everywhere(same, wish)
        item = placing.chosen(same, wish, bucket, owned)
        if owned is not None and (item is None or owned.item_id != item.id):
            item, owned = self._settle_ownership(item, owned, wish)
        placed = (
            self._meet(item, wish, owned) if item else self._create(wish, (*names, bucket), owned)
        )
        if wish.origin.urgent:
            # Asked for again: placing may have changed or removed some of them.
            others = self._met.namesakes(names)
            self._boost((one for one in others if one.id != placed.item_id), wish)
        return placed

    def _place_everywhere(self, items: Sequence[WorkItem], wish: Wish) -> Placed:
        """Hand a wish without file and length to every item of the name; the strongest counts."""
        placed = [self._meet(item, wish, None) for item in items]
        order = (Effect.ENQUEUED, Effect.REFRESHED, Effect.ALREADY_DONE)
        return min(placed, key=lambda one: order.index(one.effect))

    def _settle_ownership(
        self, item: WorkItem | None, owned: Target, wish: Wish
    ) -> tuple[WorkItem | None, Target | None]:
        """Decide about a stem that belongs to another item.

        It moves when its file has a new identity or is gone; else it stays, and the
        wish is one of that item: files of one stem share their sidecar.
        """
        owner = work_items.get(self._tx, owned.item_id)
        source = wish.spot.source_path if wish.spot else ""
        moved = owned.source_path in ("", source) or owned.status is TargetStatus.PARKED
        if owner.status is Status.PROCESSING or not moved:
            return owner, owned
        if (
            item is None
            and placing.is_same_track(owner, wish)
            and targets.others(self._tx, owned) is Others.NONE
        ):
            return self._relengthen(owner, wish), owned
        return item, self._take_from(owner, owned, wish)

    def _relengthen(self, owner: WorkItem, wish: Wish) -> WorkItem:
        """Let a failed item become one of another length, so that it keeps its backoff (T13)."""
        bucket = duration_bucket(wish.recording.duration_ms)
        after = placing.of_new_length(owner, wish, bucket)
        work_items.set_length(self._tx, owner.id, bucket)
        work_items.save(self._tx, owner, after, self.tally, now=self._terms.now)
        self._met.forget(owner)
        return after

    def _take_from(self, owner: WorkItem, owned: Target, wish: Wish) -> Target:
        """Detach a target from its item; an item that waits for nothing else goes (T20)."""
        left = targets.others(self._tx, owned)
        self._met.forget(owner)
        self._met.forget_stems()
        if left is Others.NONE and owner.status is not Status.DONE:
            target = placing.new_target(wish, owned.item_id)
            work_items.delete(self._tx, owner, self.tally)
            return replace(target, id=0, item_id=0)
        if left is Others.PARKED and owner.status is not Status.DONE:
            parked = requeueing.park(owner)
            work_items.save(self._tx, owner, parked, self.tally, now=self._terms.now)
        return replace(requeueing.opened(owned), item_id=0, mode=FetchMode.NORMAL)

    def _create(self, wish: Wish, key: tuple[str, str, int], owned: Target | None) -> Placed:
        """Make a new item (T1)."""
        terms, recording = self._terms, wish.recording
        target = self._first_target(wish, owned)
        detect, origin = decide_detection(
            wish.detect, [self._overrides.of(target.library_id)], default=terms.detect_default
        )
        cached = CacheKey(
            artist_key=key[0], title_key=key[1], duration_ms=recording.duration_ms or 0
        )
        served = lyrics_cache.may_serve(self._tx, cached, mode=wish.mode)
        item = WorkItem(  # made at once, for a scan makes many
            id=0,
            artist=recording.artist or ", ".join(recording.artists),
            artists=recording.artists,
            title=recording.title,
            album=recording.album,
            album_artist=recording.album_artist,
            artist_key=key[0],
            title_key=key[1],
            duration_bucket=key[2],
            duration_ms=cached.duration_ms,
            isrc=",".join(recording.isrcs),
            mbid=recording.mbid or "",
            low_confidence=recording.low_confidence,
            priority=wish.urgency,
            route=Route.LOCAL if served else Route.REMOTE,
            ready_key=ready_key(terms.now, wish.urgency, terms.chance),
            due_at=terms.now,
            provider_set_version=terms.provider_set_version,
            detect_instrumental=detect,
            detect_origin=origin,
            created_at=terms.now,
            updated_at=terms.now,
        )
        item_id = work_items.insert(self._tx, item, self.tally, now=terms.now)
        self._met.forget(item)
        target = self._write_target(replace(target, item_id=item_id))
        if wish.origin.urgent:  # a first scan would only repeat what the inventory says
            self._remember(work_items.get(self._tx, item_id), wish)
        return Placed(effect=Effect.ENQUEUED, item_id=item_id, target_id=target.id)

    def _first_target(self, wish: Wish, owned: Target | None) -> Target:
        if wish.spot is None:
            return placing.new_target(replace(wish, spot=self._fallback(wish)), 0)
        if owned is None or not owned.id:
            return placing.new_target(wish, 0)
        return placing.re_sourced(replace(owned, mode=wish.mode), wish)

    def _fallback(self, wish: Wish) -> Spot:
        """Name a file in the output directory that no other item owns."""
        number, output_dir = 1, self._terms.output_dir
        spot = placing.fallback_spot(wish, output_dir)
        while targets.find(self._tx, spot.out_dir, spot.out_stem):
            number += 1
            spot = placing.fallback_spot(wish, output_dir, number)
        return spot

    def _meet(self, item: WorkItem, wish: Wish, owned: Target | None) -> Placed:
        """Let a wish join an item that is there."""
        terms = self._terms
        own = owned if owned is not None and owned.item_id == item.id else None
        decision = merging.decide(item, wish, own)
        after = merging.apply(item, wish, decision, now=terms.now, chance=terms.chance)
        after = merging.described(after, wish.recording)
        self._open_others(item, wish, decision, own)
        if wish.spot is not None and (owned is not None or decision.target is not TargetStep.LEAVE):
            own = self._own_target(item, wish, decision, owned)
        if decision.step is not Step.NOTHING and item.status is not Status.PROCESSING:
            after = self._stamped(after, wish, decision)
        if after != item:
            work_items.save(self._tx, item, after, self.tally, now=terms.now)
            self._met.note_item(item, after)
        if after.status is not item.status:
            stand = targets.of_item(self._tx, item.id)
            scan_links.follow(self._tx, after, stand, now=terms.now)
            self._remember(after, wish)
        return Placed(
            effect=decision.effect,
            item_id=item.id,
            target_id=own.id if own else None,
        )

    def _open_others(
        self, item: WorkItem, wish: Wish, decision: Decision, own: Target | None
    ) -> None:
        """Open the targets that are concerned although the wish does not name them."""
        if not placing.concerns_others(wish, decision):
            return
        before = [t for t in targets.of_item(self._tx, item.id) if own is None or t.id != own.id]
        opened = [placing.followed(target, wish, decision) for target in before]
        targets.save_changed(self._tx, before, opened, now=self._terms.now)
        self._met.forget(item)
        self._met.forget_stems()

    def _own_target(
        self, item: WorkItem, wish: Wish, decision: Decision, owned: Target | None
    ) -> Target:
        if owned is None or owned.item_id != item.id:
            fresh = (
                replace(placing.re_sourced(owned, wish), item_id=item.id, mode=wish.mode)
                if owned is not None and owned.id
                else placing.new_target(wish, item.id)
            )
            if decision.target is TargetStep.MISS:
                fresh = placing.missed(fresh, item, self._terms.now)
            return self._write_target(fresh)
        target = placing.re_sourced(owned, wish) if placing.speaks_first(owned, wish) else owned
        if decision.target is TargetStep.OPEN:
            target = _opened_for(target, wish)
        if target != owned:
            targets.save(self._tx, target, now=self._terms.now)
            self._met.note_target(owned, target)
        return target

    def _write_target(self, target: Target) -> Target:
        """Write a target its item did not have yet."""
        if target.id:
            targets.save(self._tx, target, now=self._terms.now)
        else:
            target = targets.insert(self._tx, target, now=self._terms.now)
        self._met.note_target(None, target)
        return target

    def _stamped(self, item: WorkItem, wish: Wish, decision: Decision) -> WorkItem:
        """Decide anew about detection, route and, when it is due now, the provider set."""
        stand = list(self._met.company_of(item))
        detect, origin = decide_detection(
            wish.detect,
            [self._overrides.of(target.library_id) for target in stand],
            default=self._terms.detect_default,
        )
        version = item.provider_set_version
        if decision.step in _URGENT_STEPS:
            version = self._terms.provider_set_version
        return replace(
            item,
            detect_instrumental=detect,
            detect_origin=origin,
            provider_set_version=version,
            route=self._route(item, stand),
        )

    def _route(self, item: WorkItem, stand: Sequence[TargetTrait]) -> Route:
        if not any(trait.is_open for trait in stand):
            return Route.REMOTE
        return route_of(self._tx, item, stand, may_be_cached=self._met.may_be_cached(item))

    def _boost(self, siblings: Iterable[WorkItem], wish: Wish) -> None:
        """Cut the waits of the other lengths of the same artist and title (T12)."""
        terms = self._terms
        for item in siblings:
            if item.status is Status.DONE:
                continue
            step = Step.RERUN if item.status is Status.PROCESSING else Step.BOOST
            plain = replace(wish, mode=FetchMode.NORMAL)
            after = merging.apply(item, plain, Decision(step), now=terms.now, chance=terms.chance)
            work_items.save(self._tx, item, after, self.tally, now=terms.now)
            self._met.forget(item)

    def _remember(self, item: WorkItem, wish: Wish) -> None:
        library_id = wish.spot.library_id if wish.spot else None
        note = history.Note(by=wish.by or str(wish.origin), library_id=library_id)
        history.add(self._tx, item, history.Happening.ENQUEUED, note, now=self._terms.now)


def _opened_for(target: Target, wish: Wish) -> Target:
    stronger = merging.raised(target.mode, wish.mode)
    wanted = stronger is not target.mode or not wish.has_sidecar
    if target.status in (TargetStatus.DONE, TargetStatus.PARKED) and wanted:
        target = requeueing.opened(target)
    return replace(target, mode=stronger) if target.is_open else target
