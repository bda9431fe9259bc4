"""The HTTP face: two places, a limit to everything."""

import json
import logging
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import AF_INET, AF_INET6
from typing import Any, Final, NamedTuple

from lyrsvc_classifier import __version__
from lyrsvc_classifier.audio import read_wav
from lyrsvc_classifier.faults import BadAudio, InferenceFailed
from lyrsvc_classifier.models import Model

MOST_BYTES: Final = 32 * 1024 * 1024
DRAIN_BYTES: Final = 2 * MOST_BYTES
"""What is too large is still read up to here, so that the sender sees the answer."""
CHUNK_BYTES: Final = 64 * 1024
IDLE_S: Final = 30.0
MOST_AT_ONCE: Final = 8

_BOUNDARY: Final = re.compile(r'boundary="?([^";,\s]{1,200})"?', re.IGNORECASE)
_FILE_PART: Final = re.compile(rb'form-data;[^\r\n]*\bname="?file"?[;\s\r\n]', re.IGNORECASE)
_LOG = logging.getLogger("lyrsvc.classifier")


class Answer(NamedTuple):
    """A status and what is said with it."""

    status: int
    body: dict[str, Any]


class ClassifierServer(ThreadingHTTPServer):
    """Serves one model: many may ask, one is scored at a time."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, host: str, port: int, model: Model) -> None:
        self.address_family = AF_INET6 if ":" in host else AF_INET
        self.model = model
        self.scoring = threading.Lock()
        self.places = threading.BoundedSemaphore(MOST_AT_ONCE)
        super().__init__((host, port), Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401, ARG002 - the signature of socketserver
        """Note a connection that broke; it concerns nobody else."""
        _LOG.debug("connection broke", exc_info=True)


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    server: ClassifierServer
    protocol_version = "HTTP/1.1"
    server_version = f"lyrsvc-classifier/{__version__}"
    sys_version = ""
    timeout = IDLE_S

    def do_GET(self) -> None:
        """Say which model answers."""
        model = self.server.model
        if self._place != "/health":
            self._send(Answer(404, {"error": "there is no such place"}))
            return
        health = {"status": "ok", "classes": model.classes, "model_version": model.version}
        self._send(Answer(200, health))

    def do_POST(self) -> None:
        """Score a WAV."""
        if not self.server.places.acquire(blocking=False):
            self._send(Answer(503, {"error": "too many are waiting"}))
            return
        try:
            self._send(self._classified())
        finally:
            self.server.places.release()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: ANN401 - the signature of http.server
        """Write requests to the log."""
        _LOG.debug(format, *args)

    @property
    def _place(self) -> str:
        return self.path.partition("?")[0].rstrip("/")

    def _classified(self) -> Answer:
        if self._place != "/classify":
            return Answer(404, {"error": "there is no such place"})
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            return Answer(411, {"error": "the length is missing"})
        if int(length) > MOST_BYTES:
            self._drain(int(length))
            return Answer(413, {"error": f"over {MOST_BYTES} bytes"})
        body = self.rfile.read(int(length))
        try:
            wave = read_wav(file_part(self.headers.get("Content-Type", ""), body))
            with self.server.scoring:
                maps = self.server.model.classify(wave)
        except BadAudio as fault:
            return Answer(400, {"error": str(fault)})
        except InferenceFailed as fault:
            _LOG.error("the model failed: %s", fault)
            return Answer(500, {"error": "the model failed"})
        return Answer(200, {**maps, "model_version": self.server.model.version})

    def _drain(self, length: int) -> None:
        left = min(length, DRAIN_BYTES)
        while left > 0 and (chunk := self.rfile.read(min(left, CHUNK_BYTES))):
            left -= len(chunk)

    def _send(self, answer: Answer) -> None:
        body = json.dumps(answer.body).encode()
        self.close_connection = True
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)


def file_part(content_type: str, body: bytes) -> bytes:
    """Give the part named ``file`` of a form, or the body when it is audio itself."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind.startswith("audio/"):
        return body
    boundary = _BOUNDARY.search(content_type)
    if kind != "multipart/form-data" or boundary is None:
        raise BadAudio("a form with a part named file is needed")
    mark = b"--" + boundary[1].encode("latin-1", "replace")
    for part in (b"\r\n" + body).split(b"\r\n" + mark)[1:]:
        head, found, data = part.partition(b"\r\n\r\n")
        if found and _FILE_PART.search(head + b"\r\n"):
            return data
    raise BadAudio("the form has no part named file")
