"""The tasks that come round by themselves: when they ran, how it went, and run them now."""

import json
import logging
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeVar

from lyrsvc.core.errors import LyrsvcError, NotFound, Refused, StoreError
from lyrsvc.core.ports import Clock
from lyrsvc.store import meta
from lyrsvc.store.database import Database, from_db, to_db

OK: Final = "ok"

T = TypeVar("T")

Record = Callable[[str, Callable[[], object]], object]
"""Runs a task by its name, so that others see it."""

_LOG = logging.getLogger("lyrsvc.tasks")


class TaskRunning(Refused):
    """The task is being carried out already."""

    code = "already_running"


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """One task: ``schedule`` says in words when it comes round, ``next_at`` when it does next."""

    name: str
    schedule: str
    work: Callable[[], object]
    next_at: Callable[[], datetime | None] = lambda: None


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskView:
    """A task as it stands."""

    name: str
    schedule: str
    last_started_at: datetime | None
    last_duration_s: float | None
    last_result: str | None
    next_at: datetime | None
    running: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class _Run:
    started_at: datetime
    duration_s: float
    result: str


class TaskRecord:
    """Remembers the last run of each task, over restarts too; one runs once at a time.

    Whatever runs by a schedule is run through here, so that it is seen.
    """

    def __init__(self, db: Database, *, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._lock = threading.Lock()
        self._running: dict[str, datetime] = {}
        self._last: dict[str, _Run] = {}

    def run(self, name: str, work: Callable[[], T]) -> T | None:
        """Do some work and remember how it went; None without doing it while it is being done."""
        if not self.begin(name):
            _LOG.info("task skipped, it is running", extra={"task": name})
            return None
        return self.carry_out(name, work)

    def begin(self, name: str) -> bool:
        """Take the right to run a task; False when somebody has it."""
        with self._lock:
            if name in self._running:
                return False
            self._running[name] = self._clock.now()
            return True

    def carry_out(self, name: str, work: Callable[[], T]) -> T:
        """Do work that was begun."""
        return self._remember(name, work, started_at=self._running[name])

    def count(self, name: str, work: Callable[[], T]) -> T:
        """Do some work that counts as a run of a task, but keeps nobody from running it."""
        return self._remember(name, work, started_at=self._clock.now(), begun=False)

    def _remember(
        self, name: str, work: Callable[[], T], *, started_at: datetime, begun: bool = True
    ) -> T:
        began_s, result = time.monotonic(), "failed: it was broken off"
        try:
            done = work()
            result = OK
        except LyrsvcError as error:
            result = f"failed: {error}"
            raise
        except Exception as error:
            result = f"failed: {type(error).__name__}"
            raise
        finally:
            run = _Run(
                started_at=started_at,
                duration_s=round(time.monotonic() - began_s, 3),
                result=result,
            )
            self._end(name, run, begun=begun)
        return done

    def started_at(self, name: str) -> datetime | None:
        """Tell since when a task is running; None when it is not."""
        return self._running.get(name)

    def last(self, name: str) -> _Run | None:
        """Give the last run that has ended, of this or an earlier process."""
        if name not in self._last:
            with self._db.read() as tx:
                text = meta.read(tx, _fact(name))
            if text is None:
                return None
            self._last[name] = _read(text)
        return self._last[name]

    def _end(self, name: str, run: _Run, *, begun: bool) -> None:
        with self._lock:
            self._last[name] = run
            if begun:
                del self._running[name]
        now = self._clock.now()
        try:
            self._db.write(lambda tx: meta.write(tx, _fact(name), _write(run), now=now))
        except StoreError as error:
            _LOG.warning("the run of a task is not stored", extra={"task": name, "why": str(error)})


class TaskBoard:
    """Shows the tasks and starts them on demand."""

    def __init__(self, tasks: Iterable[Task], record: TaskRecord) -> None:
        self._tasks = {task.name: task for task in tasks}
        self._record = record

    def views(self) -> list[TaskView]:
        """Show every task."""
        return [self._view(task) for task in self._tasks.values()]

    def run(self, name: str) -> TaskView:
        """Start a task in the background; raise ``TaskRunning`` while it runs."""
        task = self._tasks.get(name)
        if task is None:
            raise NotFound("there is no such task")
        if not self._record.begin(name):
            raise TaskRunning("this task is running already")
        worker = threading.Thread(target=self._work, args=(task,), name=f"task-{name}", daemon=True)
        worker.start()
        return self._view(task)

    def _work(self, task: Task) -> None:
        try:
            self._record.carry_out(task.name, task.work)
        except Exception:  # noqa: BLE001 - it is told on the board; nobody waits for it
            _LOG.exception("task failed", extra={"task": task.name})

    def _view(self, task: Task) -> TaskView:
        last = self._record.last(task.name)
        started_at = self._record.started_at(task.name)
        return TaskView(
            name=task.name,
            schedule=task.schedule,
            last_started_at=started_at or (last.started_at if last else None),
            last_duration_s=last.duration_s if last else None,
            last_result=last.result if last else None,
            next_at=task.next_at(),
            running=started_at is not None,
        )


def _fact(name: str) -> str:
    return f"task.{name}"


def _write(run: _Run) -> str:
    return json.dumps([to_db(run.started_at), run.duration_s, run.result])


def _read(text: str) -> _Run:
    started_at, duration_s, result = json.loads(text)
    return _Run(started_at=from_db(started_at), duration_s=duration_s, result=result)
