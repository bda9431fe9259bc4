"""Tasks that come round by themselves: when, how the last one went, and run one now."""

from typing import Final

import msgspec

from lyrsvc.services.task_board import TaskView
from lyrsvc.web.exchange import Exchange
from lyrsvc.web.gates import API
from lyrsvc.web.route import get, post
from lyrsvc.web.shapes import Moment, Page, shown_moment
from lyrsvc.web.short_lists import ShortListQuery, short_page


class Task(msgspec.Struct):
    """One task; ``schedule`` says in words when it comes round."""

    name: str
    schedule: str
    last_started_at: Moment | None
    last_duration_s: float | None
    last_result: str | None
    next_at: Moment | None
    running: bool


def list_tasks(exchange: Exchange, query: ShortListQuery) -> Page[Task]:
    """List the tasks."""
    tasks = [task_of(view) for view in exchange.service.tasks.views()]
    return short_page(tasks, query, text=lambda task: task.name)


def run_task(exchange: Exchange, name: str) -> Task:
    """Start a task now, in the background."""
    return task_of(exchange.service.tasks.run(name))


def task_of(view: TaskView) -> Task:
    """Give the shape of a task."""
    return Task(
        name=view.name,
        schedule=view.schedule,
        last_started_at=shown_moment(view.last_started_at),
        last_duration_s=view.last_duration_s,
        last_result=view.last_result,
        next_at=shown_moment(view.next_at),
        running=view.running,
    )


ROUTES: Final = (
    get("/api/v1/tasks", API, list_tasks),
    post("/api/v1/tasks/{name}/run", API, run_task, status=202, refusals=("already_running",)),
)
