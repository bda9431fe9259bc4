"""Tasks: seen while they run, remembered when they are over, once at a time."""

import threading

import pytest

from lyrsvc.core.errors import NotFound, Refused
from lyrsvc.services.task_board import Task, TaskBoard, TaskRecord, TaskRunning
from served import wait_until


@pytest.fixture
def record(db, clock):
    return TaskRecord(db, clock=clock)


def board(record, work, **more):
    return TaskBoard([Task(name="sweep", schedule="every 6 h", work=work, **more)], record)


def only(views):
    (view,) = views
    return view


def test_a_task_that_never_ran_says_so(record, clock):
    view = only(board(record, lambda: None, next_at=clock.now).views())

    assert (view.name, view.schedule, view.running) == ("sweep", "every 6 h", False)
    assert (view.last_started_at, view.last_duration_s, view.last_result) == (None, None, None)
    assert view.next_at == clock.now()


def test_a_task_runs_in_the_background_once_at_a_time(record, clock):
    go, runs = threading.Event(), []
    tasks = board(record, lambda: (runs.append(1), go.wait(5)))

    started = tasks.run("sweep")
    assert started.running
    assert started.last_started_at == clock.now()
    with pytest.raises(TaskRunning) as refusal:
        tasks.run("sweep")
    assert refusal.value.code == "already_running"
    assert record.run("sweep", lambda: runs.append(2)) is None
    go.set()
    wait_until(lambda: not only(tasks.views()).running, "it ends")

    assert runs == [1]
    assert only(tasks.views()).last_result == "ok"


def test_a_run_by_schedule_is_seen_on_the_board(record, clock):
    tasks = board(record, lambda: None)

    assert record.run("sweep", lambda: 7) == 7

    assert only(tasks.views()).last_started_at == clock.now()


def test_work_that_counts_as_a_run_keeps_nobody_from_running_the_task(record, clock):
    tasks = board(record, lambda: None)

    assert record.count("sweep", lambda: record.run("sweep", lambda: 7)) == 7

    view = only(tasks.views())
    assert (view.last_started_at, view.last_result, view.running) == (clock.now(), "ok", False)


def test_a_failure_is_told_and_the_next_run_may_begin(record):
    tasks = board(record, lambda: None)

    with pytest.raises(Refused):
        record.run("sweep", lambda: (_ for _ in ()).throw(Refused("the disk is away; mount it")))
    assert only(tasks.views()).last_result == "failed: the disk is away; mount it"
    with pytest.raises(ZeroDivisionError):
        record.run("sweep", lambda: 1 / 0)
    assert only(tasks.views()).last_result == "failed: ZeroDivisionError"
    record.run("sweep", lambda: None)

    assert only(tasks.views()).last_result == "ok"


def test_the_last_run_is_known_after_a_restart(db, clock, record):
    record.run("sweep", lambda: None)

    view = only(board(TaskRecord(db, clock=clock), lambda: None).views())

    assert (view.last_started_at, view.last_result) == (clock.now(), "ok")


def test_an_unknown_task_is_not_found(record):
    with pytest.raises(NotFound):
        board(record, lambda: None).run("nonsense")
