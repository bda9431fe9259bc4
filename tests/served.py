"""A real ``lyrsvc serve`` in a process of its own."""

import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path


class Served:
    """A running service; use it as a context manager."""

    def __init__(
        self,
        home: Path,
        environ: dict[str, str],
        words: tuple[str, ...] = ("serve",),
        *,
        below: tuple[str, ...] = (),
    ) -> None:
        self.environ = {"HOME": str(home), "PATH": os.environ["PATH"], **environ}
        self._log = home / f"serve-{time.monotonic_ns()}.log"
        self._words = words
        self._below = below  # a command that becomes the program, such as unshare
        self._process: subprocess.Popen[bytes]

    def __enter__(self) -> "Served":
        program = [*self._below, sys.executable, "-m", "lyrsvc"]
        command = [*program, *self._words, "--listen", "127.0.0.1:0"]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, stderr=log, env=self.environ)
        try:
            wait_until(
                lambda: self.address or self._process.poll() is not None, "it listens", limit_s=60
            )
            assert self.address, self.log
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()

    @property
    def log(self) -> str:
        return self._log.read_text()

    @property
    def address(self) -> str:
        found = re.search(r"listening address=(\S+)", self.log)
        return found[1] if found else ""

    def get(self, path: str) -> tuple[int, bytes]:
        try:
            with urllib.request.urlopen(f"http://{self.address}{path}", timeout=30) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as refusal:
            with refusal:
                return refusal.code, refusal.read()

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "lyrsvc", *words],
            env=self.environ,
            capture_output=True,
            text=True,
            check=False,
        )

    def stop(self, number: int = signal.SIGTERM) -> int:
        self._process.send_signal(number)
        return self._process.wait(timeout=10)


def wait_until(holds: Callable[[], object], what: str, *, limit_s: float = 120) -> None:
    end = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < end, f"never: {what}"
        time.sleep(0.02)
