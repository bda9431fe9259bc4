"""Worker processes for tests that kill them: imports once, then forks a worker for each order.

Orders are JSON objects, one a line, on stdin; answers are pids and exit codes on stdout. A
worker is the wired service over a real database. Where an order names a point, the worker
kills itself there: the operations are wrapped here, the product knows nothing of it.
"""

import json
import logging
import os
import resource
import signal
import sys
import threading
from pathlib import Path

from lyrsvc import serving
from lyrsvc.clock import SystemClock
from lyrsvc.core.lyrics import Candidate, Cue, Matched
from lyrsvc.files import atomic
from lyrsvc.services import attempting, item_worker, lookup
from lyrsvc.settings.loading import Inputs, Lanes, load
from lyrsvc.store import claims

BUILTIN = ("defaultprov", "lrclib", "lrclib-dump")


def main() -> None:
    logging.getLogger("lyrsvc").addHandler(logging.NullHandler())
    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            try:
                work(order)
            finally:
                os._exit(3)
        say(pid=pid)
        if order.get("apart"):
            continue
        _, status = os.waitpid(pid, 0)
        say(code=os.waitstatus_to_exitcode(status))


def say(**answer: int) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def work(order: dict) -> None:
    """Run one worker until its queue is empty, or for ever when the order says so."""
    stop = threading.Event()
    loaded = load(
        Inputs(
            environ=order["environ"],
            working_directory=Path(order["environ"]["HOME"]),
            user="somebody",
            lanes=Lanes(BUILTIN, lambda _wanted: {}),
        )
    )
    around = serving.Surroundings(clock=SystemClock(stop), stop=stop)
    vault = serving.open_vault(loaded.settings)
    service = serving.build(loaded, vault, around)
    service.worker.start(alone=not order.get("shared"))
    if order.get("local"):
        know_everything(service, Path(order["local"]))
    if order.get("point"):
        die_at(order["point"], order.get("times", 1))
    if order.get("full_after_bytes"):
        fill_disk(service, order, Path(order["environ"]["HOME"]) / "paused")
    if order.get("threads"):
        for loop in service.worker.loops.values():
            threading.Thread(target=loop, daemon=True).start()
        while True:
            signal.pause()
    while any([slot.step() for slot in service.worker.slots]):
        pass
    service.db.close()
    os._exit(0)


def know_everything(service: serving.Service, log: Path) -> None:
    """Replace the first lane's provider by one in this process that writes down what it is asked."""
    lane = service.lookup.lanes[0]
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    class Known:
        name, local, needs_token = lane.name, True, False

        def lookup(self, recording, _ctx):
            os.write(out, f"{recording.title}\n".encode())
            found = Matched(
                artist=recording.artist,
                title=recording.title,
                duration_ms=recording.duration_ms,
                ids=(recording.title,),
            )
            lines = ("We hung the lanterns", "before the weather came", "and the river knew")
            cues = tuple(Cue(1000 * (7 * n + n % 3), line) for n, line in enumerate(lines, 1))
            return [Candidate(matched=found, cues=cues)]

        def close(self):
            pass

    lane.provider = Known()


def fill_disk(service: serving.Service, order: dict, told: Path) -> None:
    """Let no file grow beyond a size until SIGUSR1 comes; the file ``told`` says it was felt."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (order["full_after_bytes"], most))
    signal.signal(
        signal.SIGUSR1,
        lambda *_: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
    )
    steady = service.worker._steady
    steady._retry_s = order["retry_s"]
    note = steady.note

    def noted(fault):
        note(fault)
        told.write_text(str(fault))

    steady.note = noted


def die_at(point: str, times: int) -> None:
    """Wrap the operation at a named point, so that its n-th call is the last thing that happens."""
    left = [times]

    def die() -> None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def before(owner, name):
        inner = getattr(owner, name)

        def wrapped(*args, **options):
            die()
            return inner(*args, **options)

        setattr(owner, name, wrapped)

    def after(owner, name):
        inner = getattr(owner, name)

        def wrapped(*args, **options):
            result = inner(*args, **options)
            die()
            return result

        setattr(owner, name, wrapped)

    def inside_write(module, name):
        """Die in the writer's thread, after the rows are changed and before the commit."""
        after(module, name)

    worker = item_worker.ItemWorker
    points = {
        "inside claim": lambda: inside_write(claims, "claim_next"),
        "after claim": lambda: before(worker, "work"),
        "asking": lambda: before(lookup.Lookup, "look_up"),
        "answered": lambda: after(lookup.Lookup, "look_up"),
        "inside B": lambda: inside_write(attempting, "record_result"),
        "after B": lambda: before(worker, "_make_sure_of"),
        "temp written": lambda: before(atomic.os, "replace"),
        "renamed": lambda: after(atomic.os, "replace"),
        "sibling": lambda: before(atomic.os, "unlink"),
        "written": lambda: before(worker, "_settle"),
        "inside D": lambda: inside_write(attempting, "settle"),
        "after D": lambda: after(worker, "_settle"),
        "inside release": lambda: inside_write(attempting, "release"),
        "after release": lambda: after(worker, "_release"),
    }
    points[point]()


if __name__ == "__main__":
    main()
