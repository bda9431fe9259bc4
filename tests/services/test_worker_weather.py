"""A worker through all weathers: whatever lanes, users and restarts do, everything ends well."""

import random

import pytest

from lyrsvc.core.errors import (
    IdentityRefused,
    Malformed,
    Miss,
    Quota,
    StorageFailed,
    Throttled,
    TokenFinished,
    Transient,
)
from lyrsvc.core.item import Status, TargetStatus
from lyrsvc.core.sidecar import FetchMode
from lyrsvc.core.wish import WishOrigin
from worker_shop import Knowing

ERRORS = (
    Miss(reason="not_found"),
    Miss(reason="no_lyrics"),
    Throttled("HTTP 429"),
    Throttled("HTTP 429", retry_after_s=7200),
    Quota("spent"),
    TokenFinished("over"),
    IdentityRefused("not served"),
    Malformed("not JSON"),
    Transient("timeout", reason="timeout"),
)


class Weather(Knowing):
    """Answers as the day goes: a lane error, or words of some kind; some steps lose a claim."""

    def __init__(self, name, chance, shops):
        super().__init__(name)
        self.chance = chance
        self.shops = shops
        self.stormy = True

    def lookup(self, recording, ctx):
        if self.stormy and self.chance.random() < 0.6:
            self.asked.append(recording)
            ctx.http.get("http://weather")
            raise self.chance.choice(ERRORS)
        if self.stormy and self.chance.random() < 0.1:
            self.shops[-1].worker.release_asking()
        kinds = ("synced", "plain", "instrumental") if self.stormy else ("synced",)
        self.kind = self.chance.choice(kinds)
        return super().lookup(recording, ctx)


@pytest.mark.parametrize("seed", range(80))
def test_whatever_happens_every_item_ends_and_every_count_is_right(shop, clock, seed):
    chance = random.Random(seed)
    shops = []
    lanes = [Weather(name, chance, shops) for name in ("one", "two")]
    shops.append(shop(*lanes, cooldown_s=1, policy={"max_misses": 4}))
    titles = [f"Song {number}" for number in range(25)]

    def happen(here):
        title = chance.choice(titles)
        match chance.randrange(9):
            case 0 | 1 | 2:
                here.enqueue(title, stem=chance.choice((title, f"{title} b")))
            case 3:
                here.enqueue(title, origin=WishOrigin.WEBHOOK)
            case 4:
                mode = chance.choice((FetchMode.UPGRADE, FetchMode.UPDATE, FetchMode.FORCE))
                here.enqueue(title, mode=mode, has_sidecar=True)
            case 5:
                (here.music / f"{title}.lrc").write_text("[00:01.00]mine\n")
            case 6:
                for path in here.music.glob(f"{title}.*"):
                    path.unlink()
            case 7:
                clock.moment += chance.choice((1, -1)) * here.policy.miss_base / 2
                here.keeper.tick()
            case 8:
                here.steady.note(StorageFailed("full"))

    for _ in range(120):
        here = shops[-1]
        happen(here)
        for _ in range(chance.randrange(4)):
            chance.choice(here.worker.slots).step()
        clock.advance(chance.choice((0, 1, 60, 3600)))
        here.keeper.tick()
        if chance.random() < 0.05:
            shops.append(shop(*lanes, cooldown_s=1, policy={"max_misses": 4}))
        assert shops[-1].wrong_counts() == {}

    for lane in lanes:
        lane.stormy = False
    here = shops[-1]
    for _ in range(60):
        here.work()
        clock.advance(6 * 3600)
        here.keeper.tick()

    for item in here.all_items():
        parked = [t.status for t in here.targets(item.title)].count(TargetStatus.PARKED)
        assert item.status is Status.DONE or (item.due_at is None and parked), item
    assert here.wrong_counts() == {}
    assert not list(here.music.glob(".lyrsvc-*"))
    for lane in lanes:
        hits, misses = here.counters().get(lane.name, (0, 0))
        assert hits + misses <= len(lane.asked)
