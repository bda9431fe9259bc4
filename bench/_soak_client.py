"""Clients of the soak: each keeps a connection, and every answer is counted."""

import http.client
import json
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import urlencode

KEEP_S = 20.0
PATIENCE_S = 30.0
CSRF = "lyrsvc-csrf-token"


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Tally:
    """Counts what was answered, how long it took, and what should not have been."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.statuses: Counter[int] = Counter()
        self.times: dict[str, list[float]] = defaultdict(list)
        self.faults: Counter[str] = Counter()
        self.lost: Counter[str] = Counter()
        self.done: Counter[str] = Counter()

    def answered(self, what: str, status: int, seconds: float) -> None:
        """Count an answer."""
        with self._lock:
            self.statuses[status] += 1
            self.times[what].append(seconds)

    def fault(self, what: str) -> None:
        """Count something that should not have been answered so."""
        with self._lock:
            self.faults[what] += 1

    def lose(self, what: str) -> None:
        """Count a request without an answer."""
        with self._lock:
            self.lost[what] += 1

    def do(self, what: str) -> None:
        """Count something else that was done."""
        with self._lock:
            self.done[what] += 1

    @property
    def total(self) -> int:
        """Count all answers."""
        with self._lock:
            return sum(self.statuses.values())

    @property
    def failed(self) -> int:
        """Count the answers 5xx."""
        with self._lock:
            return sum(number for status, number in self.statuses.items() if status >= 500)


class Client:
    """One caller with a key or with cookies; not for two threads at once."""

    def __init__(self, address: str, tally: Tally, *, key: str = "", source: str = "") -> None:
        self._address = address
        self._tally = tally
        self._source = (source, 0) if source else None
        self.key = key
        self.cookies: dict[str, str] = {}
        self._wire: http.client.HTTPConnection | None = None
        self._used_s = 0.0

    def get(self, path: str, what: str = "", **more: Any) -> Answer | None:
        """Ask for something."""
        return self.ask("GET", path, what=what, **more)

    def post(self, path: str, body: Any, what: str = "", **more: Any) -> Answer | None:
        """Send JSON."""
        return self.ask("POST", path, json.dumps(body).encode(), what=what, **more)

    def submit(self, path: str, fields: dict[str, str], what: str, **more: Any) -> Answer | None:
        """Send a form, with the value that proves it ours."""
        body = urlencode({"csrf_token": self.cookies.get(CSRF, ""), **fields}).encode()
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        return self.ask("POST", path, body, what=what, headers=kind, **more)

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        what: str = "",
        headers: dict[str, str] | None = None,
        expect: tuple[int, ...] = (200,),
    ) -> Answer | None:
        """Send one request; None when no answer came."""
        what = what or path.partition("?")[0]
        begun = time.perf_counter()
        try:
            answer = self._send(method, path, body, {**self._headers(body), **(headers or {})})
        except (OSError, http.client.HTTPException) as error:
            self.close()
            self._tally.lose(f"{what}: {type(error).__name__} {error}")
            return None
        self._tally.answered(what, answer.status, time.perf_counter() - begun)
        if answer.status not in expect:
            self._tally.fault(f"{method} {what}: {answer.status} {answer.body[:160]!r}")
        return answer

    def close(self) -> None:
        """Hang up."""
        if self._wire is not None:
            with suppress(OSError):
                self._wire.close()
        self._wire = None

    def _headers(self, body: bytes | None) -> dict[str, str]:
        found = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        if self.cookies:
            found["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        return found | ({"Content-Type": "application/json"} if body is not None else {})

    def _send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        if self._wire is None or time.monotonic() - self._used_s > KEEP_S:
            self.close()
            self._wire = http.client.HTTPConnection(
                self._address, timeout=PATIENCE_S, source_address=self._source
            )
        self._wire.request(method, path, body, headers)
        response = self._wire.getresponse()
        answer = Answer(response.status, response.headers, response.read())
        self._used_s = time.monotonic()
        for line in response.headers.get_all("set-cookie", ()):
            for name, morsel in SimpleCookie(line).items():
                self.cookies[name] = morsel.value
        return answer


@dataclass(frozen=True)
class Actor:
    """Something that is done again and again, in a thread of its own."""

    name: str
    every_s: float
    act: Callable[[], object]


def play(actor: Actor, stop: threading.Event, tally: Tally, chance: Callable[[], float]) -> None:
    """Act at uneven moments until told to stop; what breaks is counted and goes on."""
    while not stop.wait(actor.every_s * (0.5 + chance())):
        try:
            actor.act()
        except Exception as error:  # noqa: BLE001 - one fault of the play must not end it
            tally.fault(f"{actor.name}: {type(error).__name__} {error}")
