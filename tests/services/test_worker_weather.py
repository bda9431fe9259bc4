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


class Year:
    """What may happen around a worker, by chance."""

    def __init__(self, shop, clock, seed):
        self.chance = random.Random(seed)
        self.clock = clock
        self.shops = []
        self.lanes = [Weather(name, self.chance, self.shops) for name in ("one", "two")]
        self._start = lambda: shop(*self.lanes, cooldown_s=1, policy={"max_misses": 4})
        self.restart()

    @property
    def here(self):
        return self.shops[-1]

    def restart(self):
        self.shops.append(self._start())

    def happen(self):
        title = f"Song {self.chance.randrange(25)}"
        rare = (self.want_better, self.edit, self.delete, self.set_clock, self.fail)
        self.chance.choice((self.scan, self.scan, self.scan, self.call, *rare))(title)

    def pass_time(self):
        for _ in range(self.chance.randrange(4)):
            self.chance.choice(self.here.worker.slots).step()
        self.clock.advance(self.chance.choice((0, 1, 60, 3600)))
        self.here.keeper.tick()

    def scan(self, title):
        self.here.enqueue(title, stem=self.chance.choice((title, f"{title} b")))

    def call(self, title):
        self.here.enqueue(title, origin=WishOrigin.WEBHOOK)

    def want_better(self, title):
        mode = self.chance.choice((FetchMode.UPGRADE, FetchMode.UPDATE, FetchMode.FORCE))
        self.here.enqueue(title, mode=mode, has_sidecar=True)

    def edit(self, title):
        (self.here.music / f"{title}.lrc").write_text("[00:01.00]mine\n")

    def delete(self, title):
        for path in self.here.music.glob(f"{title}.*"):
            path.unlink()

    def set_clock(self, _title):
        self.clock.moment += self.chance.choice((1, -1)) * self.here.policy.miss_base / 2
        self.here.keeper.tick()

    def fail(self, _title):
        self.here.steady.note(StorageFailed("full"))

    def calm_down(self):
        for lane in self.lanes:
            lane.stormy = False
        for _ in range(60):
            self.here.work()
            self.clock.advance(6 * 3600)
            self.here.keeper.tick()


@pytest.mark.parametrize("seed", range(6))
def test_whatever_happens_every_item_ends_and_every_count_is_right(shop, clock, seed):
    year = Year(shop, clock, seed)
    for _ in range(120):
        year.happen()
        year.pass_time()
        if year.chance.random() < 0.05:
            year.restart()
        assert year.here.wrong_counts() == {}
    year.calm_down()

    here = year.here
    for item in here.all_items():
        parked = [t.status for t in here.targets(item.title)].count(TargetStatus.PARKED)
        assert item.status is Status.DONE or (item.due_at is None and parked), item
    assert here.wrong_counts() == {}
    assert not list(here.music.glob(".lyrsvc-*"))
    for lane in year.lanes:
        hits, misses = here.counters().get(lane.name, (0, 0))
        assert hits + misses <= len(lane.asked)
