"""The detector in its place: real samples, a real classifier on loopback, time that is moved."""

import logging
import os
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

import sounds
from fakes import FakeClock
from lyrsvc.clock import SystemClock
from lyrsvc.core.detection import DetectorDown, ListeningStopped
from lyrsvc.core.instrumental_gates import Gates
from lyrsvc.core.item import NOT_RUN
from lyrsvc.core.pacing import LaneState
from lyrsvc.detector.classifier import Classifier, ClassifierLimits
from lyrsvc.detector.ear import Ear
from lyrsvc.detector.sampler import Sampler
from lyrsvc.services import detector_lane
from lyrsvc.services.detector_lane import DetectorLane
from lyrsvc.services.lane_turns import Cancelled, LaneMemory, Manners
from scored import SUNG, VERSION, Classifying, score_maps

pytestmark = pytest.mark.needs_tool("ffmpeg")


@pytest.fixture
def clock() -> FakeClock:
    """The present, so that it can be compared with what the file system says."""
    return FakeClock(datetime.now(UTC) + timedelta(seconds=1))


@pytest.fixture
def server():
    with Classifying() as server:
        yield server


@pytest.fixture
def memory() -> LaneMemory:
    return LaneMemory()


@pytest.fixture
def lane_of(server, memory, clock):
    def make(*, gates=None, cooldown_s=0, sampler=None, clock=clock, waiting=None, url=None):
        limits = ClassifierLimits(classify_s=5, health_s=1)
        classifier = Classifier(url or server.url, user_agent="t", clock=clock, limits=limits)
        return DetectorLane(
            Ear(sampler or Sampler(), classifier),
            gates or Gates(),
            manners=Manners(cooldown=timedelta(seconds=cooldown_s)),
            memory=memory,
            clock=clock,
            waiting=waiting or (lambda seconds, _lane: clock.wait(seconds)),
        )

    return make


@pytest.fixture
def track(tmp_path):
    return sounds.tone(tmp_path / "track.wav", 3)


@pytest.mark.spec("E-65")
def test_what_passes_every_gate_is_instrumental_and_its_scores_are_kept(lane_of, track, clock):
    finding = lane_of().listen(track, NOT_RUN, duration_ms=3000)
    assert finding.verdict is True
    assert finding.version == VERSION
    assert finding.music_sum == pytest.approx(0.96)
    assert (finding.vocal_peak, finding.speech_mean) == (0.001, 0.01)
    assert finding.vocal_class == "Singing"
    assert finding.detected_at == clock.now()


@pytest.mark.spec("E-65")
def test_what_does_not_pass_is_negative_and_its_scores_are_kept(lane_of, server, track):
    server.scores = SUNG
    finding = lane_of().listen(track, NOT_RUN)
    assert (finding.verdict, finding.vocal_peak) == (False, 0.6)


@pytest.mark.spec("E-65")
def test_incomplete_maps_are_told_once_for_a_model_and_close_the_lane(
    lane_of, server, memory, track, clock, caplog
):
    maps = score_maps()
    del maps["max"]["Humming"]
    server.scores = maps
    lane = lane_of()
    with caplog.at_level(logging.ERROR, "lyrsvc.detector"):
        for _ in range(2):
            with pytest.raises(DetectorDown):
                lane.listen(track, NOT_RUN)
            assert memory.read().cause == "malformed"
            clock.advance(4000)
        assert len(caplog.messages) == 1
        server.health = {"status": "ok", "model_version": "b" * 64}
        with pytest.raises(DetectorDown):
            lane.listen(track, NOT_RUN)
    assert len(caplog.messages) == 2


@pytest.mark.spec("E-65")
def test_each_fault_doubles_the_rest_up_to_the_cap_and_a_clean_answer_ends_it(
    lane_of, server, memory, track, clock
):
    lane = lane_of()
    server.status = 500
    rests = []
    for _ in range(8):
        with pytest.raises(DetectorDown) as caught:
            lane.listen(track, NOT_RUN)
        rests.append((caught.value.until - clock.now()).total_seconds())
        asked = len(server.bodies)
        with pytest.raises(DetectorDown) as again:  # closed: nobody is asked
            lane.listen(track, NOT_RUN)
        assert (again.value.until, len(server.bodies)) == (caught.value.until, asked)
        clock.moment = caught.value.until
    assert rests == [60, 120, 240, 480, 960, 1800, 1800, 1800]
    assert memory.read().cause == "unreachable"
    server.status = 200
    assert lane.listen(track, NOT_RUN).verdict is True
    assert (memory.read().trips, memory.read().closed_until_at) == (0, None)


def test_after_a_rest_the_model_is_asked_for_before_anything_is_sampled(
    lane_of, server, track, clock
):
    lane = lane_of()
    server.status = server.health_status = 500
    with pytest.raises(DetectorDown):
        lane.listen(track, NOT_RUN)
    clock.advance(61)
    began = len(server.bodies)
    with pytest.raises(DetectorDown):
        lane.listen(track, NOT_RUN)
    assert len(server.bodies) == began


def test_a_clock_that_ran_ahead_closes_nothing_for_good(lane_of, memory, track, clock):
    ahead = clock.now() + timedelta(days=400)
    memory.change(
        lambda _: LaneState(cause="unreachable", trips=3, closed_until_at=ahead, next_slot_at=ahead)
    )
    lane = lane_of(cooldown_s=5)
    with pytest.raises(DetectorDown) as caught:
        lane.listen(track, NOT_RUN)
    assert caught.value.until <= clock.now() + timedelta(minutes=30)
    clock.moment = caught.value.until
    with pytest.raises(DetectorDown) as busy:
        lane.listen(track, NOT_RUN)
    assert busy.value.busy
    clock.moment = busy.value.until
    assert lane.listen(track, NOT_RUN).verdict is True


def test_of_all_who_come_after_a_rest_one_asks(lane_of, server, memory, track, clock):
    past = clock.now() - timedelta(seconds=1)
    memory.change(lambda _: LaneState(cause="unreachable", trips=1, closed_until_at=past))
    first, second = lane_of(), lane_of()
    caught = []

    def meanwhile() -> None:
        with pytest.raises(DetectorDown) as down:
            second.listen(track, NOT_RUN)
        caught.append(down.value)

    server.before = meanwhile
    assert first.listen(track, NOT_RUN).verdict is True
    assert len(server.bodies) == 1
    assert caught[0].until > clock.now()


@pytest.mark.parametrize("verdict", [True, False])
def test_stored_scores_decide_again_without_a_call(lane_of, server, track, verdict):
    server.scores = score_maps() if verdict else SUNG
    lane = lane_of()
    known = lane.listen(track, NOT_RUN)
    assert lane.listen(track, known) == known
    assert len(server.bodies) == 1


def test_stored_scores_are_judged_by_the_thresholds_of_today(lane_of, server, track):
    server.scores = score_maps(voice=0.1)
    known = lane_of().listen(track, NOT_RUN)
    assert known.verdict is False
    lenient = lane_of(gates=Gates(vocal_below=0.2)).listen(track, known)
    assert lenient == replace(known, verdict=True)
    assert len(server.bodies) == 1


def test_another_model_other_classes_or_a_touched_file_are_listened_to_anew(
    lane_of, server, track, clock
):
    known = lane_of().listen(track, NOT_RUN)
    lane_of(gates=Gates(vocal_classes=("Singing",))).listen(track, known)
    assert len(server.bodies) == 2
    server.health = {"status": "ok", "model_version": "b" * 64}
    assert lane_of().listen(track, known).version == "b" * 64
    assert len(server.bodies) == 3
    server.health = {"status": "ok", "model_version": VERSION}
    before = replace(known, detected_at=known.detected_at - timedelta(hours=1))
    os.utime(track, (1_000_000, 1_000_000))  # even when its date says otherwise
    lane_of().listen(track, before)
    assert len(server.bodies) == 4


def test_scores_of_a_classifier_that_names_no_model_are_not_used_again(lane_of, server, track):
    server.health_status = 404
    lane = lane_of()
    known = lane.listen(track, NOT_RUN)
    assert (known.verdict, known.version) == (True, "")
    lane.listen(track, known)
    assert len(server.bodies) == 2


@pytest.mark.spec("E-65")
def test_a_file_that_cannot_be_decoded_is_negative_without_scores_and_no_fault_of_the_lane(
    lane_of, server, memory, tmp_path, caplog
):
    track = tmp_path / "track.flac"
    track.write_bytes(b"no audio at all")
    with caplog.at_level(logging.WARNING, "lyrsvc.detector"):
        finding = lane_of(cooldown_s=5).listen(track, NOT_RUN)
    assert (finding.verdict, finding.music_sum, finding.version) == (False, None, "")
    state = memory.read()
    assert (state.trips, state.cause, state.closed_until_at) == (0, "", None)
    assert server.bodies == []
    assert "track.flac" in str(caplog.records[0].__dict__)


def test_a_bad_file_does_not_use_up_the_probe(lane_of, memory, tmp_path, track, clock):
    past = clock.now() - timedelta(seconds=1)
    memory.change(lambda _: LaneState(cause="unreachable", trips=2, closed_until_at=past))
    bad = tmp_path / "bad.flac"
    bad.write_bytes(b"no audio at all")
    lane = lane_of()
    assert lane.listen(bad, NOT_RUN).verdict is False
    assert memory.read().trips == 2
    assert lane.listen(track, NOT_RUN).verdict is True


class Changing(Sampler):
    """Samples for real, while somebody writes to the file so many times."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    def sample(self, audio, *, duration_s=None):
        wav = super().sample(audio, duration_s=duration_s)
        if self.times:
            self.times -= 1
            with audio.open("ab") as file:
                file.write(b"more")
        return wav


def test_a_file_that_changed_while_it_was_sampled_is_sampled_again(lane_of, server, track):
    assert lane_of(sampler=Changing(1)).listen(track, NOT_RUN).verdict is True
    assert len(server.bodies) == 1


def test_a_file_that_keeps_changing_is_left_for_later(lane_of, server, memory, track, clock):
    with pytest.raises(DetectorDown) as caught:
        lane_of(sampler=Changing(9)).listen(track, NOT_RUN)
    assert caught.value.until > clock.now()
    assert not caught.value.busy
    assert (server.bodies, memory.read().trips) == ([], 0)


@pytest.mark.parametrize("what", ["missing", "directory", "fifo"])
def test_only_a_file_that_can_be_read_is_listened_to(lane_of, server, tmp_path, what):
    path = tmp_path / "x.flac"
    if what == "directory":
        path.mkdir()
    if what == "fifo":
        os.mkfifo(path)
    assert lane_of().listen(path, NOT_RUN) == NOT_RUN
    assert server.bodies == []


def test_without_ffmpeg_nobody_listens_and_nothing_rests(lane_of, server, memory, tmp_path, track):
    lane = lane_of(sampler=Sampler(ffmpeg=str(tmp_path / "nowhere")))
    assert lane.listen(track, NOT_RUN) == NOT_RUN
    assert (server.asked_health, memory.read()) == (0, LaneState())


def test_the_cooldown_counts_from_the_end_of_a_classification(lane_of, server, track, clock):
    lane = lane_of(cooldown_s=5)
    server.before = lambda: clock.advance(30)
    lane.listen(track, NOT_RUN)
    clock.advance(2)
    lane.listen(track, NOT_RUN)
    assert [wait for wait in clock.waits if wait] == [3.0]


def test_a_long_cooldown_holds_up_no_slot(lane_of, track, clock):
    lane = lane_of(cooldown_s=3600)
    lane.listen(track, NOT_RUN)
    with pytest.raises(DetectorDown) as caught:
        lane.listen(track, NOT_RUN)
    assert caught.value.busy
    assert caught.value.until == clock.now() + timedelta(hours=1)
    clock.moment = caught.value.until
    assert lane.listen(track, NOT_RUN).verdict is True


def test_one_track_is_listened_to_at_a_time(lane_of, server, track):
    lane = lane_of(clock=SystemClock())
    server.before = lambda: time.sleep(0.1)
    threads = [threading.Thread(target=lane.listen, args=(track, NOT_RUN)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spans = sorted(server.spans)
    assert len(spans) == 4
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))


def test_who_would_wait_too_long_for_another_track_is_told_to_come_back(
    lane_of, server, track, monkeypatch
):
    monkeypatch.setattr(detector_lane, "LONGEST_TURN_S", 0.5)
    lane = lane_of(clock=SystemClock())
    entered, go = threading.Event(), threading.Event()
    server.before = lambda: (entered.set(), go.wait(20))
    first = threading.Thread(target=lane.listen, args=(track, NOT_RUN))
    first.start()
    assert entered.wait(20)
    with pytest.raises(DetectorDown) as caught:
        lane.listen(track, NOT_RUN)
    go.set()
    first.join()
    assert caught.value.busy


class Stopped(Sampler):
    def sample(self, audio, *, duration_s=None):
        raise ListeningStopped("stopped")


def test_the_end_of_the_program_charges_nothing_and_gives_the_probe_back(
    lane_of, memory, track, clock
):
    past = clock.now() - timedelta(seconds=1)
    memory.change(lambda _: LaneState(cause="unreachable", trips=1, closed_until_at=past))
    with pytest.raises(Cancelled):
        lane_of(sampler=Stopped()).listen(track, NOT_RUN)
    state = memory.read()
    assert (state.trips, state.probe_until_at, state.closed_until_at) == (1, None, past)


def test_a_stop_while_cooling_down_gives_the_turn_back(lane_of, memory, track, clock):
    lane = lane_of(cooldown_s=5, waiting=lambda _seconds, _lane: True)
    lane.listen(track, NOT_RUN)
    slot = memory.read().next_slot_at
    with pytest.raises(Cancelled):
        lane.listen(track, NOT_RUN)
    assert memory.read().next_slot_at == slot
