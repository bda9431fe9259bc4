"""Items that nobody knows and that are listened to: the whole worker, real audio, real HTTP."""

from datetime import UTC, datetime, timedelta

import pytest

import sounds
from fakes import FakeClock, Scripted
from lyrsvc.core.detection import DetectorDown
from lyrsvc.core.errors import Miss
from lyrsvc.core.instrumental_gates import Gates
from lyrsvc.core.item import Result, Status
from lyrsvc.core.sidecar import FetchMode
from lyrsvc.detector.classifier import Classifier, ClassifierLimits
from lyrsvc.detector.ear import Ear
from lyrsvc.detector.sampler import Sampler
from lyrsvc.services.detector_lane import DetectorLane
from lyrsvc.services.lane_memory import StoredLaneMemory
from lyrsvc.services.lane_turns import Manners
from lyrsvc.store import instrumentals
from scored import SUNG, VERSION, Classifying, score_maps
from worker_shop import Knowing, Shop

pytestmark = pytest.mark.needs_tool("ffmpeg")
TITLE = "Tidewater"
MARKER = "♪ Instrumental ♪\n"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=2))


@pytest.fixture
def server():
    with Classifying() as server:
        yield server


class LateLane:
    """A detector lane that is made once there is a database for its memory."""

    def __init__(self, url, clock):
        self._url, self._clock = url, clock

    def settle_in(self, shop):
        self._lane = DetectorLane(
            Ear(
                Sampler(),
                Classifier(
                    self._url,
                    user_agent="t",
                    clock=self._clock,
                    limits=ClassifierLimits(classify_s=5, health_s=1),
                ),
            ),
            Gates(),
            manners=Manners(),
            memory=StoredLaneMemory(shop.db, "detector", clock=self._clock, owner="test"),
            clock=self._clock,
            waiting=lambda seconds, _lane: self._clock.wait(seconds),
        )

    def listen(self, audio, known, *, duration_ms=0):
        return self._lane.listen(audio, known, duration_ms=duration_ms)


@pytest.fixture
def shop(tmp_path, clock, server):
    opened = []

    def make(*providers, **options):
        lane = LateLane(options.pop("url", server.url), clock)
        options.setdefault("detect_default", True)
        shop = Shop(
            tmp_path, clock, *(providers or [Scripted("main", Miss())]), detector=lane, **options
        )
        lane.settle_in(shop)
        opened.append(shop)
        return shop

    yield make
    for one in opened:
        one.close()


def enqueue(shop, title=TITLE, **fields):
    sounds.tone(shop.music / f"{title}.flac", 3)
    shop.enqueue(title, **{"seconds": 3, **fields})


@pytest.mark.seed("S-016", "S-057", "S-084")
@pytest.mark.spec("E-65")
def test_a_track_that_sounds_instrumental_gets_its_marker_its_scores_and_its_line(shop, server):
    here = shop()
    enqueue(here, detect=True)
    here.work()
    item = here.item(TITLE)
    assert here.text(f"{TITLE}.txt") == MARKER
    assert (item.status, item.outcome, item.lane) == (Status.DONE, Result.INSTRUMENTAL, "detector")
    assert (item.detector.verdict, item.detector.version) == (True, VERSION)
    assert item.detector.music_sum == pytest.approx(0.96)
    assert here.counters() == {"main": (0, 1), "detector": (1, 0)}
    with here.db.read() as tx:
        (line,) = instrumentals.instrumental_inventory(tx)
        assert tx.value("SELECT n FROM counts WHERE name = 'instrumental'") == 1
    assert (line.title, line.origin) == (TITLE, "explicit")
    assert line.source_path == str(here.music / f"{TITLE}.flac")
    assert here.wrong_counts() == {}


@pytest.mark.spec("E-65")
def test_a_track_with_a_voice_is_a_miss_like_any_other(shop, server, clock):
    server.scores = SUNG
    here = shop()
    enqueue(here)
    here.work()
    item = here.item(TITLE)
    assert (item.status, item.misses, here.sidecars()) == (Status.DEFERRED, 1, [])
    assert (item.detector.verdict, item.detector.vocal_peak) == (False, 0.6)
    assert here.counters() == {"main": (0, 1), "detector": (0, 1)}
    clock.advance(169 * 3600)  # the next look: the scores are known, the lanes are asked
    here.work()
    assert (here.item(TITLE).misses, len(server.bodies)) == (2, 1)
    assert here.counters() == {"main": (0, 2), "detector": (0, 1)}
    assert here.attempts(TITLE) == {"main": (0, "miss"), "detector": (0, "miss")}


@pytest.mark.spec("E-65")
def test_broken_audio_is_a_miss_and_leaves_the_lane_alone(shop, server):
    here = shop()
    (here.music / f"{TITLE}.flac").write_bytes(b"no audio at all")
    here.enqueue(TITLE, seconds=3)
    here.work()
    item = here.item(TITLE)
    assert (item.status, item.misses) == (Status.DEFERRED, 1)
    assert (item.detector.verdict, item.detector.music_sum) == (False, None)
    assert (server.bodies, here.state("detector").trips) == ([], 0)
    assert here.counters() == {"main": (0, 1)}


@pytest.mark.spec("E-65")
@pytest.mark.parametrize("fault", ["refused", "500", "incomplete", "garbage"])
def test_an_outage_charges_nothing_for_a_day_and_then_one_miss(shop, server, clock, fault):
    options = {"url": "http://127.0.0.1:9"} if fault == "refused" else {}
    if fault == "500":
        server.status = 500
    if fault == "incomplete":
        server.scores = {"mean": {"Music": 1.0}, "max": {"Music": 1.0}}
    if fault == "garbage":
        server.scores = b"<html>"
    main = Scripted("main", Miss())
    here = shop(main, **options)
    enqueue(here)
    began = clock.now()
    here.work()
    item = here.item(TITLE)
    assert (item.status, item.misses, item.attempts) == (Status.PENDING, 0, 0)
    assert item.due_at >= clock.now() + timedelta(seconds=60)
    assert here.state("detector").trips == 1
    while clock.now() < began + timedelta(hours=23, minutes=30):
        clock.advance(900)
        here.work()
        item = here.item(TITLE)
        assert (item.status, item.misses, item.attempts) == (Status.PENDING, 0, 0)
    assert len(main.asked) == 1
    for _ in range(40):
        clock.advance(900)
        here.work()
    item = here.item(TITLE)
    assert (item.status, item.misses, item.attempts) == (Status.DEFERRED, 1, 0)
    assert item.detector.verdict is None
    assert here.sidecars() == []
    assert here.counters()["main"][0] == 0
    assert here.wrong_counts() == {}


def test_a_classifier_that_comes_back_is_asked_without_asking_the_lanes_again(shop, server, clock):
    main = Scripted("main", Miss())
    server.status = 500
    here = shop(main)
    enqueue(here)
    here.work()
    server.status = 200
    clock.moment = here.item(TITLE).due_at
    here.work()
    assert (here.item(TITLE).outcome, len(main.asked)) == (Result.INSTRUMENTAL, 1)
    assert here.text(f"{TITLE}.txt") == MARKER


def test_a_restart_keeps_the_rest_of_the_classifier(shop, server, clock):
    server.status = 500
    here = shop()
    enqueue(here)
    here.work()
    asked = len(server.bodies)
    here.close()
    again = shop()
    enqueue(again, "Another")
    again.work()
    assert len(server.bodies) == asked
    assert again.state("detector").trips == 1


def test_a_busy_detector_gives_the_item_back_unblamed_however_long_it_takes(shop, clock):
    here = shop()

    def busy(audio, known, *, duration_ms=0):
        raise DetectorDown("busy", until=clock.now() + timedelta(minutes=1), busy=True)

    listening = here.items._listening._listener
    listening.listen = busy
    enqueue(here)
    for _ in range(60):
        here.work()
        item = here.item(TITLE)
        assert (item.status, item.misses) == (Status.PENDING, 0)
        assert item.due_at == clock.now() + timedelta(minutes=1)
        clock.advance(3600)
    del listening.listen
    here.work()
    assert here.item(TITLE).outcome is Result.INSTRUMENTAL


def test_a_track_that_has_words_is_not_listened_to_for_better_ones(shop, server):
    main = Knowing(kind="plain")
    here = shop(main)
    enqueue(here)
    here.work()
    assert here.sidecars() == [f"{TITLE}.txt"]
    words = here.text(f"{TITLE}.txt")
    here = here.again(
        Scripted("main", Miss()), detector=here.items._listening._listener, detect_default=True
    )
    try:
        here.reopen(TITLE, FetchMode.UPGRADE, seconds=3)
        here.work()
        assert (server.bodies, here.text(f"{TITLE}.txt")) == ([], words)
        assert here.item(TITLE).outcome is Result.UNSYNCED
    finally:
        here.close()


@pytest.mark.seed("S-016")
def test_words_of_a_provider_spare_the_classifier(shop, server):
    here = shop(Knowing())
    enqueue(here, seconds=200)
    here.work()
    assert (here.sidecars(), server.bodies, server.asked_health) == ([f"{TITLE}.lrc"], [], 0)


def test_the_lane_of_a_provider_is_free_while_a_track_is_listened_to(shop, server):
    here = shop()
    lane = here.lanes[0]
    given = []
    give_back, lane.give_back = lane.give_back, lambda: given.append(len(server.bodies))
    enqueue(here)
    here.work()
    assert given[0] == 0
    assert len(server.bodies) == 1
    lane.give_back = give_back


def test_a_kill_between_the_finding_and_the_file_costs_no_second_listening(shop, server):
    """What B stored is enough: here the file cannot be written at first."""
    here = shop()
    enqueue(here)
    desk = here.items._desk
    write = desk.write

    def killed(plan):
        raise SystemExit

    desk.write = killed
    with pytest.raises(SystemExit):
        here.work()
    desk.write = write
    here.clock.advance(300)
    here.worker.start(alone=True)
    here.work()
    assert (here.text(f"{TITLE}.txt"), len(server.bodies)) == (MARKER, 1)
    assert here.counters()["detector"] == (1, 0)


def test_only_what_was_confirmed_is_counted(shop, server):
    here = shop()
    enqueue(here)
    here.work()
    server.scores = score_maps(speech=0.5)
    enqueue(here, "Spoken")
    here.work()
    with here.db.read() as tx:
        assert tx.value("SELECT n FROM counts WHERE name = 'instrumental'") == 1
        assert [line.title for line in instrumentals.instrumental_inventory(tx)] == [TITLE]
