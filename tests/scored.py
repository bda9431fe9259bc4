"""A classifier on loopback whose every answer a test decides; it remembers what it was sent."""

import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from lyrsvc.core.instrumental_gates import MUSIC, SPEECH, VOCAL

VERSION = "a" * 64


def score_maps(
    *, music: float = 0.48, voice: float = 0.001, speech: float = 0.01
) -> dict[str, Any]:
    """Scores of a track; those of an instrumental one unless told otherwise."""
    maps = dict.fromkeys(MUSIC, music) | dict.fromkeys(VOCAL, voice) | dict.fromkeys(SPEECH, speech)
    return {"mean": dict(maps), "max": dict(maps)}


SUNG = score_maps(voice=0.6)


class Classifying:
    """Use it as a context manager; set ``scores``, ``health``, ``status`` or ``before``."""

    def __init__(self) -> None:
        self.scores: Any = score_maps()
        self.health: Any = {"status": "ok", "classes": 13, "model_version": VERSION}
        self.status = 200
        self.health_status = 200
        self.before: Callable[[], None] = lambda: None
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.asked_health = 0
        self.spans: list[tuple[float, float]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "Classifying":
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self):
        here = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                here.asked_health += 1
                self._send(here.health_status, here.health)

            def do_POST(self) -> None:
                began = time.monotonic()
                here.headers.append({name.lower(): value for name, value in self.headers.items()})
                here.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                here.before()
                here.spans.append((began, time.monotonic()))  # before the client can go on
                self._send(here.status, here.scores)

            def _send(self, status: int, answer: Any) -> None:
                body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                if 300 <= status < 400:
                    self.send_header("Location", "/classify-elsewhere")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        return Handler
