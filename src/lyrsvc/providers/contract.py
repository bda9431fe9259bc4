"""The contract every lane over HTTP must keep, as checks that a stranger can run over its own.

In a test suite::

    SUBJECT = Subject(make=lambda url: MyLane(url), recording=..., hit=..., line=...)

    @pytest.mark.parametrize("check", CONTRACT, ids=lambda check: check.__name__)
    def test_my_lane_keeps_the_contract(check):
        check(SUBJECT)
"""

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from lyrsvc import __version__
from lyrsvc.core.errors import LaneError, Malformed, Miss, Throttled, Transient
from lyrsvc.core.lyrics import Candidate
from lyrsvc.core.ports import LaneContext, Provider
from lyrsvc.core.recording import Recording
from lyrsvc.core.verdict import Decision, Verdict
from lyrsvc.providers.lane_registry import NAME
from lyrsvc.providers.upstream import Connections, Limits, Upstream

NEEDLE: Final = "wovenneedle"
"""A word served in broken bodies; it must never come back in an error's text."""
SHORT: Final = Limits(total_s=0.4, connect_s=0.4)


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """The lane to check: how to make it for a base URL, and one good answer.

    ``hit`` is a body that answers ``recording`` whatever path is asked, and
    ``line`` one line of words in it, best one with letters beyond ASCII.
    """

    make: Callable[[str], Provider]
    recording: Recording
    hit: bytes
    line: str
    hit_headers: Mapping[str, str] = field(
        default_factory=lambda: {"Content-Type": "application/json"}
    )


def has_a_valid_name(subject: Subject) -> None:
    """Check that the name is a label and the flags are plain yes or no."""
    lane = subject.make("http://127.0.0.1:9")
    _require(NAME.fullmatch(lane.name), f"the name {lane.name!r} is no lane name")
    _require(isinstance(lane.local, bool), "local is not True or False")
    _require(isinstance(lane.needs_token, bool), "needs_token is not True or False")


def answers_with_candidates(subject: Subject) -> None:
    """Check that a good answer gives 1 to 50 candidates and that its letters survive."""
    with _served(200, subject.hit, subject.hit_headers) as url:
        found = _look_up(subject, url)
    _require(1 <= len(found) <= 50, f"{len(found)} candidates instead of 1 to 50")
    texts = [cue.text for one in found for cue in one.cues] + [one.plain or "" for one in found]
    _require(any(subject.line in text for text in texts), "the line did not survive")


def calls_not_found_a_miss(subject: Subject) -> None:
    """Check that HTTP 404 is a miss: asked and answered."""
    _expect(subject, Miss, status=404)


def calls_429_throttled_and_keeps_the_wait(subject: Subject) -> None:
    """Check that HTTP 429 is throttling, with the seconds of Retry-After."""
    error = _expect(subject, Throttled, status=429, headers={"Retry-After": "120"})
    _require(error.retry_after_s == 120, f"waits {error.retry_after_s} s instead of 120")


def reads_a_retry_date(subject: Subject) -> None:
    """Check that Retry-After may also be a date."""
    headers = {
        "Date": "Sat, 31 Jan 2026 14:00:00 GMT",
        "Retry-After": "Sat, 31 Jan 2026 14:01:30 GMT",
    }
    error = _expect(subject, Throttled, status=429, headers=headers)
    _require(error.retry_after_s == 90, f"waits {error.retry_after_s} s instead of 90")


def calls_a_bare_401_throttled(subject: Subject) -> None:
    """Check that HTTP 401 is throttling, not the end of a credential."""
    _expect(subject, Throttled, status=401)


def calls_a_server_error_transient(subject: Subject) -> None:
    """Check that HTTP 500 is a fault that passes."""
    error = _expect(subject, Transient, status=500)
    _require(error.reason == "upstream_error", f"the reason is {error.reason}")


def calls_silence_transient(subject: Subject) -> None:
    """Check that a server which does not answer in time is a timeout."""
    with _served(200, subject.hit, subject.hit_headers, hold=True) as url:
        error = _fault_of(subject, url, SHORT)
    _require(isinstance(error, Transient), f"{type(error).__name__} instead of Transient")
    _require(error.reason == "timeout", f"the reason is {error.reason}")


def calls_a_closed_port_transient(subject: Subject) -> None:
    """Check that a server which is not there is a network fault."""
    with _served(200, b"") as url:
        pass
    error = _fault_of(subject, url)
    _require(isinstance(error, Transient), f"{type(error).__name__} instead of Transient")
    _require(error.reason == "network", f"the reason is {error.reason}")


def calls_bad_json_malformed(subject: Subject) -> None:
    """Check that a body which is not understood is malformed, a challenge page too."""
    for body in (f'{{"{NEEDLE}": '.encode(), f"<html>{NEEDLE}</html>".encode(), b"\xff\xfe\x00"):
        _expect(subject, Malformed, body=body)


def calls_an_endless_body_malformed(subject: Subject) -> None:
    """Check that a body above the cap is malformed."""
    _expect(subject, Malformed, body=b'"' + NEEDLE.encode() * 300_000 + b'"')


def may_be_closed_twice(subject: Subject) -> None:
    """Check that closing is idempotent."""
    lane = subject.make("http://127.0.0.1:9")
    lane.close()
    lane.close()


CONTRACT: Final[tuple[Callable[[Subject], None], ...]] = (
    has_a_valid_name,
    answers_with_candidates,
    calls_not_found_a_miss,
    calls_429_throttled_and_keeps_the_wait,
    reads_a_retry_date,
    calls_a_bare_401_throttled,
    calls_a_server_error_transient,
    calls_silence_transient,
    calls_a_closed_port_transient,
    calls_bad_json_malformed,
    calls_an_endless_body_malformed,
    may_be_closed_twice,
)


def _expect(
    subject: Subject,
    kind: type[LaneError],
    *,
    status: int = 200,
    body: bytes = NEEDLE.encode(),
    headers: Mapping[str, str] | None = None,
) -> LaneError:
    with _served(status, body, headers or {}) as url:
        error = _fault_of(subject, url)
    _require(isinstance(error, kind), f"{type(error).__name__} instead of {kind.__name__}")
    _require(NEEDLE not in str(error), "the error repeats the body")
    _require("://" not in str(error), "the error repeats the address")
    return error


def _fault_of(subject: Subject, url: str, limits: Limits | None = None) -> LaneError:
    try:
        _look_up(subject, url, limits)
    except LaneError as error:
        return error
    raise AssertionError("the lane answered instead of raising")


def _look_up(subject: Subject, url: str, limits: Limits | None = None) -> list[Candidate]:
    lane = subject.make(url)
    connections = Connections(
        version=__version__,
        now=lambda: datetime(2026, 1, 31, tzinfo=UTC),
        limits=limits or Limits(),
    )
    try:
        return list(lane.lookup(subject.recording, _context(Upstream(connections))))
    finally:
        lane.close()
        connections.close()


def _context(http: Upstream) -> LaneContext:
    return LaneContext(
        http=http,
        judge=lambda _candidate: Verdict(decision=Decision.ACCEPT, reason="contract"),
        deadline=float("inf"),
        cancelled=lambda: False,
        log=logging.getLogger(__name__),
        version=__version__,
    )


@contextmanager
def _served(
    status: int, body: bytes, headers: Mapping[str, str] | None = None, *, hold: bool = False
) -> Iterator[str]:
    """Serve one answer to every request on loopback, or hold every request back."""
    released = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if hold:
                released.wait(30)
            self.send_response_only(status)
            for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Stay silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            released.set()
            server.shutdown()
            thread.join()


def _require(truth: object, sentence: str) -> None:
    if not truth:
        raise AssertionError(sentence)
