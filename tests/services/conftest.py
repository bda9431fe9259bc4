"""A queue in a real database; lanes over scripted providers, whose waits take no time."""

from datetime import timedelta
from pathlib import Path

import pytest

from fakes import FakeClock, Scripted, Wire
from lyrsvc.core.judging import GuardPolicy
from lyrsvc.core.recording import Recording
from lyrsvc.files.sidecar_writing import Place, SidecarWriter
from lyrsvc.files.sidecars import STATELESS
from lyrsvc.services.fetch_job import FetchOptions, Job
from lyrsvc.services.fetching import Fetcher
from lyrsvc.services.lanes import Lane, Manners
from lyrsvc.services.lookup import Lookup
from lyrsvc.store.database import Database
from queue_cases import Queue
from worker_shop import Shop


@pytest.fixture
def db(tmp_path):
    with Database.open(tmp_path / "lyrsvc.db", create=True, clock=FakeClock()) as database:
        yield database


@pytest.fixture
def queue(db):
    queue = Queue(db)
    yield queue
    assert queue.wrong_counts() == {}


@pytest.fixture
def make_lane(clock: FakeClock):
    def make(provider: Scripted, *, wire: Wire | None = None, stops: bool = False, **manners):
        def waiting(seconds: float, _lane: str) -> bool:
            clock.wait(seconds)
            return stops

        active = manners.pop("active", lambda: True)
        seconds = manners.pop("cooldown_s", 0)
        return Lane(
            provider,
            connect=(wire or Wire(clock)).connect,
            manners=Manners(cooldown=timedelta(seconds=seconds), **manners),
            clock=clock,
            waiting=waiting,
            is_active=active,
        )

    return make


@pytest.fixture
def make_lookup(make_lane):
    def make(*providers: Scripted, policy: GuardPolicy | None = None, **options) -> Lookup:
        lanes = [make_lane(provider) for provider in providers]
        return Lookup(lanes, policy=policy or GuardPolicy(), **options)

    return make


@pytest.fixture
def make_fetcher(clock: FakeClock, make_lookup):
    def make(*providers: Scripted, **options) -> Fetcher:
        return Fetcher(
            make_lookup(*providers),
            SidecarWriter(clock=clock, ownership=STATELESS),
            options=FetchOptions(**options),
            clock=clock,
            pause=lambda seconds, _why: clock.wait(seconds),
        )

    return make


@pytest.fixture
def make_job(tmp_path: Path):
    def make(recording: Recording, name: str = "") -> Job:
        stem = name or recording.title
        place = Place(directory=tmp_path, stem=stem)
        return Job(label=stem, place=place, recording=recording)

    return make


@pytest.fixture
def shop(tmp_path: Path, clock: FakeClock):
    """A worker with everything around it; each call starts the next run on one database."""
    shops: list[Shop] = []

    def make(*providers: Scripted, **options) -> Shop:
        if shops:
            shops[-1].close()
        shops.append(Shop(tmp_path, clock, *providers, **options))
        shops[-1].worker.start(alone=True)
        return shops[-1]

    yield make
    for one in shops:
        one.close()
