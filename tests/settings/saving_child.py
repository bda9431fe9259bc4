"""Saves settings in a process of its own: as another user, with little room, until it is killed.

Run as ``python saving_child.py JOB`` where the job is a JSON object; answers a JSON object.
"""

import fcntl  # noqa: F401 - what is imported late must be there after the user is changed
import hashlib
import json
import os
import random
import resource
import secrets  # noqa: F401
import signal
import sys
import tomllib
from pathlib import Path

import lyrsvc.settings.replacing as replacing
from lyrsvc.clock import SystemClock
from lyrsvc.core.errors import LyrsvcError
from lyrsvc.settings.loading import Inputs, Lanes, examine
from lyrsvc.settings.saving import save, undo_interrupted_save

hashlib.sha256()
TRACED = tuple(
    str(Path(replacing.__file__).with_name(name)) for name in ("replacing.py", "save_lock.py")
)


def inputs_of(job) -> Inputs:
    return Inputs(
        environ={"LYRSVC_DB_PATH": job["db"], **job.get("env", {})},
        working_directory=Path("/"),
        user="child",
        lanes=Lanes(("defaultprov", "lrclib", "lrclib-dump"), lambda _: {}),
        config_flag=job["config"],
        env_file_flag="none",
    )


def save_once(job) -> dict:
    """Save and tell what came of it."""
    try:
        saved = save(inputs_of(job), job["changes"], clock=SystemClock())
    except LyrsvcError as error:
        return {"error": type(error).__name__, "text": str(error)}
    return {"saved": [change.path for change in saved.changes]}


def save_many(job) -> dict:
    """Save one key again and again, beginning when the line on stdin comes."""
    sys.stdin.readline()
    for number in range(job["times"]):
        result = save_once({**job, "changes": {job["key"]: number}})
        if "error" in result:
            return result
    return {}


def die_at_every_step(job) -> dict:
    """Kill a save at its first line, at its second, ... and look at what is left each time."""
    problems, steps, states = [], 0, set()
    while True:
        steps += 1
        _reset(job)
        child = os.fork()
        if child == 0:
            sys.settrace(_killer(steps))
            save_once(job)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        problems += [f"step {steps}: {text}" for text in _look(job, states)]
        if not os.WIFSIGNALED(status):
            return {"steps": steps, "problems": problems, "states": sorted(states)}


def die_at_random(job) -> dict:
    """Kill saves after random times."""
    problems, killed, states = [], 0, set()
    dice = random.Random(job["seed"])
    for number in range(job["times"]):
        _reset(job)
        child = os.fork()
        if child == 0:
            # the default action of the alarm ends the process as hard as a kill does
            signal.setitimer(signal.ITIMER_REAL, dice.uniform(0.0001, job["longest_s"]))
            save_once(job)
            os._exit(0)
        dice.random()
        _, status = os.waitpid(child, 0)
        killed += os.WIFSIGNALED(status)
        problems += [f"kill {number}: {text}" for text in _look(job, states)]
    return {"killed": killed, "problems": problems, "states": sorted(states)}


def _killer(at):
    count = 0

    def on_line(frame, event, argument):
        nonlocal count
        if event == "line":
            count += 1
            if count == at:
                os.kill(os.getpid(), signal.SIGKILL)
        return on_line

    def on_call(frame, event, argument):
        callers = (frame, frame.f_back)  # a step inside what they call counts, too
        seen = any(f is not None and f.f_code.co_filename in TRACED for f in callers)
        return on_line if seen else None

    return on_call


def _reset(job) -> None:
    Path(job["config"]).write_text(job["old"])
    for name in _left_overs(job):
        Path(name).unlink()


def _look(job, states):
    """Yield what is wrong after a kill: before the next start, after it, after the next save."""
    path = Path(job["config"])
    whole = {job["old"]: "old", job["new"]: "new"}
    states.add(whole.get(path.read_text(), "torn"))
    if not job["in_place"] and path.read_text() not in whole:
        yield f"torn: {path.read_text()!r}"
    told = undo_interrupted_save(inputs_of(job), clock=SystemClock())
    text = path.read_text()
    if text not in whole:
        yield f"neither old nor new after the start: {text!r} ({told})"
    if _left_overs(job):
        yield f"left over after the start: {_left_overs(job)}"
    result = save_once({**job, "changes": {"scan.depth": 55}})
    if result.get("saved") != ["scan.depth"]:
        yield f"the next save failed: {result}"
    if _left_overs(job):
        yield f"left over after the next save: {_left_overs(job)}"
    if tomllib.loads(path.read_text())["scan"]["depth"] != 55:
        yield "the next save was lost"


def _left_overs(job) -> list[str]:
    directories = {Path(job["config"]).parent, Path(job["db"]).parent}
    return sorted(
        str(path) for place in directories for path in place.iterdir() if "lyrsvc-" in path.name
    )


def _prepare(job) -> None:
    if "limit" in job:
        resource.setrlimit(resource.RLIMIT_FSIZE, (job["limit"], job["limit"]))
    if "fill" in job:
        with Path(job["fill"]).open("wb", buffering=0) as file:
            try:
                while file.write(b"x" * 512):
                    pass
            except OSError:
                pass
    if "user" in job:
        examine(inputs_of(job))  # import what only the first run imports
        os.setgroups([])
        os.setgid(job["user"])
        os.setuid(job["user"])


if __name__ == "__main__":
    order = json.loads(sys.argv[1])
    _prepare(order)
    sys.stdout.write(json.dumps(globals()[order.get("do", "save_once")](order)))
