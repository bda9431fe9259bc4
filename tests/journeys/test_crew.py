"""The threads beside the listener, in this process and in real time."""

import logging
import threading
import time

import pytest

from lyrsvc.clock import SystemClock
from lyrsvc.daemon import Crew, supervise
from lyrsvc.demo.stand_in import LYRICS_PATH
from service_runs import House


@pytest.fixture
def house(tmp_path, stand_in):
    stop = threading.Event()
    return House(tmp_path, SystemClock(stop), stand_in.url, stop)


def until(look, seconds: float = 60.0):
    ends = time.monotonic() + seconds
    while not look():
        assert time.monotonic() < ends
        time.sleep(0.005)


@pytest.mark.spec("E-24")
def test_an_idle_service_asks_within_a_second_of_the_wish(house, stand_in):
    paced = {"PROVIDER_TOKEN": "operators-own", "LYRSVC_API_COOLDOWN": "15"}
    with house.running(**paced) as run, Crew(run.service, house.stop):
        time.sleep(0.3)
        begun = time.monotonic()
        run.enqueue("Kitchen Radio", 34.0)
        until(lambda: stand_in.calls(LYRICS_PATH))
        assert stand_in.calls(LYRICS_PATH)[0].at - begun < 1
        until(lambda: run.item("Kitchen Radio")["status"] == "done")


def test_a_token_that_arrives_sets_the_worker_to_work(house, stand_in):
    with house.running() as run:
        run.enqueue("Kitchen Radio", 34.0)
        with Crew(run.service, house.stop):
            until(lambda: run.item("Kitchen Radio")["status"] == "done")


def test_several_slots_work_at_the_same_time(house, stand_in):
    stand_in.set_mode("slow", seconds=2.0)
    with house.running(PROVIDER_TOKEN="operators-own", LYRSVC_WORKER_SLOTS="4") as run:
        for number in range(4):
            run.enqueue(f"Song {number}")
        with Crew(run.service, house.stop):
            until(lambda: len(stand_in.calls(LYRICS_PATH)) == 4)
            calls = stand_in.calls(LYRICS_PATH)
            assert max(call.at for call in calls) - min(call.at for call in calls) < 1.8
            until(lambda: not run.rows("SELECT 1 FROM work_items WHERE status = 'processing'"))


def test_a_loop_that_stumbles_is_told_and_started_again(caplog):
    stop = threading.Event()
    runs = []

    def loop():
        runs.append(1)
        if len(runs) == 1:
            raise ZeroDivisionError("once")

    with caplog.at_level(logging.ERROR):
        supervise("worker-local", loop, stop)
    assert len(runs) == 2
    assert caplog.messages == ["worker-local stumbled and is started again"]


def test_a_loop_that_stumbles_over_the_end_is_not_started_again(caplog):
    stop = threading.Event()

    def loop():
        stop.set()
        raise ZeroDivisionError

    supervise("worker-local", loop, stop)
    assert caplog.messages == []
