"""Looking at disks: threads are used again, and one that hangs holds up nobody else."""

import threading
import time

import pytest

from lyrsvc.services import probing
from lyrsvc.services.probing import Probes


def in_a_while():
    return time.monotonic() + 20


def ask_for_threads(probes, number):
    asked = {each: threading.current_thread for each in range(number)}
    return set(probes.ask(asked, until=in_a_while()).values())


def test_a_disk_that_answers_at_once_is_looked_at_by_one_thread_again_and_again(monkeypatch):
    monkeypatch.setattr(probing, "PATIENCE_S", 20)
    probes = Probes()
    used = set()
    for _ in range(10):
        used |= ask_for_threads(probes, 20)
        # The thread says that it is free only after its last answer.
        deadline = in_a_while()
        while not probes._crew._idle and time.monotonic() < deadline:
            threading.Event().wait(0.001)
    assert len(used) == 1
    assert threading.current_thread() not in used


def test_others_go_on_with_the_rest_when_one_question_takes_its_time():
    hanging = threading.Event()
    probes = Probes(threads=4)
    questions = {"slow": lambda: hanging.wait(20), **{n: threading.get_ident for n in range(30)}}

    answers = probes.ask(questions, until=time.monotonic() + 0.2)

    assert answers.keys() == set(range(30))
    hanging.set()


def test_a_thread_that_hangs_is_replaced_and_taken_back_when_it_returns():
    hanging = threading.Event()
    probes = Probes(threads=1, most=2)
    assert probes.ask({1: lambda: hanging.wait(20)}, until=time.monotonic() + 0.05) == {}
    assert probes.ask({1: lambda: "other"}, until=in_a_while()) == {1: "other"}
    assert probes.ask({1: lambda: hanging.wait(20)}, until=time.monotonic() + 0.05) == {}
    assert probes.ask({1: lambda: "nobody"}, until=time.monotonic() + 0.05) == {}
    hanging.set()
    assert probes.ask({1: lambda: "again"}, until=in_a_while()) == {1: "again"}


def test_a_question_that_breaks_costs_its_own_answer_and_no_place(monkeypatch):
    broken = []
    monkeypatch.setattr(threading, "excepthook", lambda fault: broken.append(fault.exc_type))
    probes, threads = Probes(threads=1, most=1), []

    def fail():
        threads.append(threading.current_thread())
        raise ZeroDivisionError

    for _ in range(3):
        assert probes.ask({1: fail}, until=in_a_while()) == {}
        threads[-1].join(20)
    assert probes.ask({1: lambda: "one"}, until=in_a_while()) == {1: "one"}
    assert broken == [ZeroDivisionError] * 3


def test_threads_without_work_end(monkeypatch):
    monkeypatch.setattr(probing, "IDLE_S", 0.0)
    (thread,) = ask_for_threads(Probes(), 1)
    thread.join(20)
    assert not thread.is_alive()


def test_those_that_only_a_crowd_needed_end_though_there_is_always_something_to_do(monkeypatch):
    monkeypatch.setattr(probing, "IDLE_S", 0.5)
    probes, together = Probes(threads=4), threading.Barrier(4)

    def come():
        together.wait(20)
        return threading.current_thread()

    crowd = set(probes.ask({each: come for each in range(4)}, until=in_a_while()).values())
    assert len(crowd) == 4
    deadline = in_a_while()
    while sum(thread.is_alive() for thread in crowd) > 1 and time.monotonic() < deadline:
        (busy,) = ask_for_threads(probes, 1)
        time.sleep(0.01)
    assert [thread for thread in crowd if thread.is_alive()] == [busy]


def test_work_that_comes_when_a_thread_is_about_to_end_is_done(monkeypatch):
    monkeypatch.setattr(probing, "IDLE_S", 0.0005)
    probes = Probes(threads=1, most=1)
    for number in range(500):
        assert probes.ask({1: lambda number=number: number}, until=in_a_while()) == {1: number}
        time.sleep(0.0004 + number % 3 * 0.0001)


def test_a_thread_that_cannot_be_started_costs_no_place(monkeypatch):
    probes = Probes(threads=1, most=1)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse_to_start)
        with pytest.raises(RuntimeError):
            probes.ask({1: lambda: "one"}, until=in_a_while())
    assert probes.ask({1: lambda: "one"}, until=in_a_while()) == {1: "one"}


def refuse_to_start(_):
    raise RuntimeError("can't start new thread")


def test_no_question_takes_no_thread():
    before = threading.active_count()
    assert Probes().ask({}, until=in_a_while()) == {}
    assert threading.active_count() == before
