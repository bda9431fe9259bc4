"""The classifier over HTTP: one small contract, every fault of which is translated here.

``GET /health`` names the model, ``POST /classify`` scores a WAV. No redirect is
followed, no proxy is used, and nothing takes longer or is larger than its limit.
"""

import json
import socket
import threading
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import urllib3
from urllib3 import exceptions as faults

from lyrsvc.core.errors import FileFault, Malformed, Transient
from lyrsvc.core.ports import Clock
from lyrsvc.deadlines import DeadlinePools

CLASSIFY_S: Final = 180.0
HEALTH_S: Final = 5.0
HEALTH_KEPT_S: Final = 15 * 60.0
MOST_BYTES: Final = 1024 * 1024
CHUNK_BYTES: Final = 64 * 1024
LONGEST_VERSION: Final = 128

ABOUT_THE_AUDIO: Final = frozenset({400, 413, 415, 422})
"""Refusals of these samples, from a classifier that is well otherwise."""
NO_SUCH_PLACE: Final = frozenset({404, 405, 501})


@dataclass(frozen=True, kw_only=True, slots=True)
class ClassifierLimits:
    """How long an answer may take."""

    classify_s: float = CLASSIFY_S
    health_s: float = HEALTH_S


class Classifier:
    """Asks a classifier; faults are ``Transient`` and ``Malformed``, without any address."""

    def __init__(
        self, url: str, *, user_agent: str, clock: Clock, limits: ClassifierLimits | None = None
    ) -> None:
        self._url = url.rstrip("/")
        self._headers = {"User-Agent": user_agent, "Accept": "application/json"}
        self._clock = clock
        self._limits = limits or ClassifierLimits()
        self._lock = threading.Lock()
        self._version = ""
        self._told_at: float | None = None

    def model_version(self, *, fresh: bool = False) -> str:
        """Name the model, as far as that was told within a quarter of an hour unless ``fresh``.

        A classifier without ``/health`` has no version; its scores are never used twice.
        """
        now = self._clock.monotonic()
        with self._lock:
            kept = self._told_at is not None and 0 <= now - self._told_at < HEALTH_KEPT_S
            if kept and not fresh:
                return self._version
        version = self._ask_health()
        with self._lock:
            self._version, self._told_at = version, now
        return version

    def classify(self, wav: bytes) -> object:
        """Give the scores of a WAV as they came; ``FileFault`` when these samples are refused."""
        body, kind = urllib3.encode_multipart_formdata({"file": ("sample.wav", wav, "audio/wav")})
        headers = {"Content-Type": kind}
        status, answer = self._exchange(
            "POST", "/classify", self._limits.classify_s, body=body, headers=headers
        )
        if status in ABOUT_THE_AUDIO and self._version:
            raise FileFault("bad_container", f"the classifier refused the samples, HTTP {status}")
        if status != 200:
            _raise_for(status)
        found = _parsed(answer)
        self._note_version(found)
        return found

    def _ask_health(self) -> str:
        status, body = self._exchange("GET", "/health", self._limits.health_s)
        if status in NO_SUCH_PLACE:
            return ""
        if status != 200:
            _raise_for(status)
        told = _parsed(body)
        if not isinstance(told, dict) or told.get("status") != "ok":
            raise Malformed("the classifier is not well")
        return _version_in(told)

    def _note_version(self, answer: object) -> None:
        """Follow a classifier that says with its scores which model gave them."""
        if isinstance(answer, dict) and (version := _version_in(answer)):
            with self._lock:
                self._version = version

    def _exchange(
        self,
        method: str,
        path: str,
        limit_s: float,
        *,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, bytes]:
        pools = DeadlinePools(num_pools=1, maxsize=1)
        try:
            answer = pools.request(
                method,
                self._url + path,
                body=body,
                headers={**self._headers, **(headers or {}), "Connection": "close"},
                timeout=urllib3.Timeout(connect=limit_s, total=limit_s),
                retries=False,
                redirect=False,
                preload_content=False,
            )
            try:
                return answer.status, _read(answer)
            finally:
                answer.close()
        except (faults.HTTPError, OSError, ValueError) as error:
            raise _fault(error) from None
        finally:
            pools.clear()


def _read(answer: urllib3.BaseHTTPResponse) -> bytes:
    body = bytearray()
    if answer.status != 200:
        return b""
    for chunk in answer.stream(CHUNK_BYTES, decode_content=True):
        body += chunk
        if len(body) > MOST_BYTES:
            raise Malformed(f"the classifier's answer is over {MOST_BYTES} bytes")
    return bytes(body)


def _raise_for(status: int) -> NoReturn:
    text = f"the classifier answered HTTP {status}"
    if status >= 500 or status == 429:
        raise Transient(text, reason="upstream_error")
    raise Malformed(text)


def _parsed(body: bytes) -> Any:  # noqa: ANN401 - whatever was sent
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise Malformed("the classifier's answer is no JSON") from None


def _version_in(told: dict[str, object]) -> str:
    version = told.get("model_version")
    if not isinstance(version, str):
        return ""
    return "".join(filter(str.isprintable, version))[:LONGEST_VERSION]


def _fault(error: Exception) -> Transient | Malformed:
    if isinstance(error, faults.DecodeError):
        return Malformed("the classifier's answer cannot be decompressed")
    if isinstance(error, faults.NewConnectionError):
        return Transient("the classifier cannot be reached", reason="network")
    if isinstance(error, faults.TimeoutError | TimeoutError | socket.timeout):
        return Transient("the classifier took too long", reason="timeout")
    return Transient("the connection to the classifier broke", reason="network")
