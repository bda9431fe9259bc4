"""Long jobs are waited for a while; then they go on, and whoever asked knows what to expect."""

import logging
import threading

import pytest

from lyrsvc.core.errors import StoreBusy
from lyrsvc.services.chores import ChoreRunning, Chores


def test_a_job_that_ends_in_time_gives_what_it_came_to():
    assert Chores().run("counting", lambda: 3, expected=lambda: 9) == 3


def test_a_job_that_takes_long_goes_on_and_what_is_expected_is_given():
    going, ended = threading.Event(), threading.Event()

    def job():
        going.wait(10)
        ended.set()
        return 3

    assert Chores(patience_s=0.01).run("counting", job, expected=lambda: 9) == 9
    going.set()
    assert ended.wait(10)


def test_the_same_job_is_done_once_at_a_time():
    chores, going = Chores(patience_s=0.01), threading.Event()
    chores.run("counting", lambda: going.wait(10), expected=lambda: None)

    with pytest.raises(ChoreRunning, match="counting is still under way"):
        chores.run("counting", lambda: None, expected=lambda: None)
    assert chores.run("sorting", lambda: 1, expected=lambda: None) == 1
    going.set()
    for thread in threading.enumerate():
        if thread.name == "chore counting":
            thread.join(10)
    assert chores.run("counting", lambda: 2, expected=lambda: None) == 2


def test_an_error_is_told_to_whoever_waits_and_the_job_can_be_done_again():
    chores = Chores()

    def broken():
        raise StoreBusy("held by another process")

    with pytest.raises(StoreBusy):
        chores.run("counting", broken, expected=lambda: 0)
    with pytest.raises(StoreBusy):
        chores.run("counting", lambda: 1, expected=broken)
    assert chores.run("counting", lambda: 1, expected=lambda: 0) == 1


def test_an_error_that_nobody_waits_for_is_logged(caplog):
    chores, going = Chores(patience_s=0.01), threading.Event()

    def broken():
        going.wait(10)
        raise StoreBusy("held by another process")

    with caplog.at_level(logging.WARNING):
        chores.run("counting", broken, expected=lambda: 0)
        going.set()
        for thread in threading.enumerate():
            if thread.name == "chore counting":
                thread.join(10)
    assert [record.message for record in caplog.records] == ["job broke off"]
