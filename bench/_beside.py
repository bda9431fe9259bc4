"""What runs beside a load, each in a process of its own: a scan, or somebody who reads reports.

python bench/_beside.py scan LIBRARY [once] | reports ADDRESS KEY

Goes on until it is ended; its last line says how often it came round.
"""

import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

REPORTS = (
    "reports/recent-outcomes?q=love",
    "reports/failure-analysis?library=1",
    "queue?page=9",
)


class Beside:
    """The processes beside a load; ``counts`` is known after the block."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    @contextmanager
    def running(
        self, commands: dict[str, Sequence[str]], environ: dict[str, str]
    ) -> Iterator[None]:
        """Run them while the block runs."""
        started = {
            name: subprocess.Popen(
                [sys.executable, __file__, *words], env=environ, stdout=subprocess.PIPE, text=True
            )
            for name, words in commands.items()
        }
        try:
            yield
        finally:
            for name, process in started.items():
                process.terminate()
                told, _ = process.communicate()
                self.counts[name] = int(told.split()[-1]) if told.split() else 0


class Ended(Exception):
    """Somebody wants this process to end."""


def end(_signal: int, _frame: object) -> None:
    """Leave the loop."""
    raise Ended


def scan(library: str, often: str = "") -> Iterator[None]:
    """Scan again and again; after the first scan nothing has changed."""
    while True:
        words = [sys.executable, "-m", "lyrsvc", "scan", "--library", library]
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait()
        finally:
            process.kill()
            process.wait()
        yield
        if often == "once":
            signal.pause()


def reports(address: str, key: str) -> Iterator[None]:
    """Ask for heavy reports one after the other."""
    while True:
        for path in REPORTS:
            call = urllib.request.Request(
                f"http://{address}/api/v1/{path}", headers={"Authorization": f"Bearer {key}"}
            )
            with urllib.request.urlopen(call, timeout=30) as answer:
                answer.read()
            yield


KINDS: dict[str, Callable[..., Iterator[None]]] = {"scan": scan, "reports": reports}


def main(what: str, *words: str) -> None:
    """Go round until ended, then say how often."""
    signal.signal(signal.SIGTERM, end)
    rounds = 0
    try:
        for _ in KINDS[what](*words):
            rounds += 1
    except (Ended, OSError):
        pass
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it may come while the last words are said
        print(rounds, flush=True)
        os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
