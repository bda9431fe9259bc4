"""The reference classifier, run from its sources as a process of its own."""

import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
import uuid
from pathlib import Path

from served import wait_until

SOURCES = Path(__file__).parents[1] / "classifier" / "src"


class Running:
    """The classifier as a process."""

    def __init__(self, *words: str, log: Path) -> None:
        self._log = log
        with log.open("wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "lyrsvc_classifier", *words, "--listen", "127.0.0.1:0"],
                env={**os.environ, "PYTHONPATH": str(SOURCES)},
                stderr=err,
            )
        wait_until(lambda: self.url or self.process.poll() is not None, "it listens", limit_s=60)

    @property
    def log(self) -> str:
        return self._log.read_text()

    @property
    def url(self) -> str:
        found = re.search(r"listening address=(\S+)", self.log)
        return f"http://{found[1]}" if found else ""

    def get(self, path: str) -> tuple[int, bytes]:
        return self._ask(urllib.request.Request(self.url + path))

    def post(self, body: bytes, *, kind: str = "", path: str = "/classify") -> tuple[int, bytes]:
        mark = uuid.uuid4().hex
        form = (
            f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n'
            "Content-Type: audio/wav\r\n\r\n"
        ).encode()
        whole = body if kind else form + body + f"\r\n--{mark}--\r\n".encode()
        headers = {"Content-Type": kind or f"multipart/form-data; boundary={mark}"}
        return self._ask(urllib.request.Request(self.url + path, whole, headers))

    @staticmethod
    def _ask(request: urllib.request.Request) -> tuple[int, bytes]:
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as refusal:
            with refusal:
                return refusal.code, refusal.read()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
