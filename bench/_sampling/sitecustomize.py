"""Loaded by a Python whose path leads here: samples its own threads for the bench.

With ``BENCH_SAMPLES`` naming a file, what the threads are at is looked at every few
milliseconds, weighed by the processor time it used since, and written there twice a second.
"""

import json
import os
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from types import FrameType

EVERY_S = 0.004
WRITE_EVERY = 125
WAITS = (
    "_worker",
    "_wait_for_work",
    "result",
    "wait",
    "acquire",
    "select",
    "_wait",
    "get",
    "_next",
)
"""Functions a thread rests in; what it did before it came there cannot be told any more."""
PLUMBING = ("sqlite_link.py", "sqlite.py", "database.py", "transaction.py", "contextlib.py")
DEPTH = 40


def sample(into: Path) -> None:
    """Look at every other thread until the process ends; what ran since then counts."""
    spent: Counter[str] = Counter()
    before: dict[int, int] = {}
    own = threading.get_native_id()
    for turn in range(sys.maxsize):
        time.sleep(EVERY_S)
        frames = sys._current_frames()
        for thread in threading.enumerate():
            number = thread.native_id
            if number in (None, own) or thread.ident not in frames:
                continue
            now = worked_ns(number)
            is_at_work = frames[thread.ident].f_code.co_name not in WAITS
            if is_at_work and now > before.get(number, now):
                spent[named(frames[thread.ident])] += now - before[number]
            before[number] = now
        del frames
        if turn % WRITE_EVERY == WRITE_EVERY - 1:
            draft = into.with_suffix(".new")
            draft.write_text(json.dumps(spent.most_common(50)))
            draft.replace(into)


def worked_ns(thread: int) -> int:
    """Give the processor time of a thread."""
    try:
        return int(Path(f"/proc/self/task/{thread}/schedstat").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return 0


def named(frame: FrameType) -> str:
    """Name whom a thread works for: the nearest of our functions, or its own when none is ours."""
    above: FrameType | None = frame
    for _ in range(DEPTH):
        if above is None:
            break
        if above.f_code.co_name == "<module>":
            return "imports"
        path = Path(above.f_code.co_filename)
        if "lyrsvc" in path.parts and path.name not in PLUMBING:
            return told(above)
        above = above.f_back
    return told(frame)


def told(frame: FrameType) -> str:
    """Give file and function."""
    path = Path(frame.f_code.co_filename)
    return f"{path.parent.name}/{path.name} {frame.f_code.co_name}"


if wanted := os.environ.pop("BENCH_SAMPLES", ""):
    threading.Thread(target=sample, args=(Path(wanted),), daemon=True).start()
