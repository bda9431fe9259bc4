"""The sockets: what the rules and journeys need from the outside, as small as can be."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from logging import Logger, LoggerAdapter
from typing import TYPE_CHECKING, Protocol

from lyrsvc.core.errors import LaneError
from lyrsvc.core.lyrics import Candidate
from lyrsvc.core.recording import Recording
from lyrsvc.core.verdict import Verdict

if TYPE_CHECKING:
    from pathlib import Path


class Clock(Protocol):
    """The only time there is."""

    def now(self) -> datetime:
        """Give the present moment, in UTC."""
        ...

    def monotonic(self) -> float:
        """Give seconds that never run backwards."""
        ...

    def wait(self, seconds: float) -> bool:
        """Wait; answer True when the wait was ended early because the program stops."""
        ...


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP answer, read whole; header names are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Http(Protocol):
    """The one way a lane asks; every call passes the lane's pacer."""

    def get(
        self,
        url: str,
        query: Mapping[str, str] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        cap_bytes: int = 2 * 1024 * 1024,
    ) -> Reply:
        """Send a GET; raise ``Transient`` for network faults and ``Malformed`` above the cap."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class LaneContext:
    """What a lookup may use: no database, no store, no files.

    ``note_fault`` takes a fault that costs only an extra (translation, word
    timing, a further question): the answer stands, but the lane's breaker learns of it.
    """

    http: Http
    judge: Callable[[Candidate], Verdict]
    deadline: float
    cancelled: Callable[[], bool]
    log: Logger | LoggerAdapter[Logger]
    version: str
    note_fault: Callable[[LaneError], None] = lambda _fault: None


class Provider(Protocol):
    """Code that can find lyrics; a lane is a provider in its place in the order."""

    @property
    def name(self) -> str:
        """The label everywhere: metrics, attempts, file headers."""
        ...

    @property
    def local(self) -> bool:
        """Local providers skip pacing."""
        ...

    @property
    def needs_token(self) -> bool:
        """A provider that needs a token and has none is inactive."""
        ...

    def lookup(self, recording: Recording, ctx: LaneContext) -> Sequence[Candidate]:
        """Give 1 to 50 candidates, or raise exactly one ``LaneError``."""
        ...

    def probe(self, ctx: LaneContext) -> None:
        """Make one cheap call; raise a ``LaneError`` when the lane cannot serve."""
        ...

    def close(self) -> None:
        """Let go of resources; may be called twice."""
        ...


class Tokens(Protocol):
    """Where the default provider's credential comes from."""

    def current(self) -> str | None:
        """Give the token in use, or None when there is none."""
        ...

    def renew(self, finished: str, mint: Callable[[], str]) -> str:
        """Replace a finished token, or raise ``IdentityRefused`` when it is the operator's own.

        Single flight: threads that come with the same finished token share one ``mint``.
        """
        ...


class Detector(Protocol):
    """Samples audio and asks a classifier about it; whether to and what follows is not its thing.

    The classifier's faults are raised as ``Transient`` and ``Malformed``, those of the
    file as ``FileFault``.
    """

    @property
    def is_ready(self) -> bool:
        """Tell whether audio can be sampled here; the first time it cannot is an error told."""
        ...

    def model_version(self, *, fresh: bool = False) -> str:
        """Name the classifier's model; empty when it does not tell. ``fresh`` asks anew."""
        ...

    def sample(self, audio: "Path", *, duration_s: float | None) -> bytes:
        """Give a WAV of parts of a track; raise ``FileFault`` when it cannot be decoded."""
        ...

    def classify(self, wav: bytes) -> object:
        """Give the classifier's answer as it is; ``FileFault`` when it refuses these samples."""
        ...
