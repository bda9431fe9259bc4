"""Lanes as pages and programs see them; trying one out, and letting a closed one try again."""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Literal

from lyrsvc.core.errors import LyrsvcError, NotFound, Refused
from lyrsvc.core.judging import GuardPolicy, judge
from lyrsvc.core.outcome import Answer, Attempt
from lyrsvc.core.pacing import LaneState, Standing, standing
from lyrsvc.core.ports import Clock
from lyrsvc.core.recording import Recording
from lyrsvc.services.lane_memory import open_early
from lyrsvc.services.lanes import Lane
from lyrsvc.services.listening import LANE
from lyrsvc.services.lookup import NOTHING_TO_ASK
from lyrsvc.store import lane_attempts, lane_state
from lyrsvc.store.database import Database, Tx, from_db
from lyrsvc.store.reporting import provider_effectiveness

Role = Literal["primary", "fallback", "detector"]
State = Literal["ready", "closed", "probing", "not_configured"]

DETECTOR: Final = LANE
NOT_CONFIGURED: Final = "not_configured"
_STATES: Final[Mapping[Standing, State]] = {
    Standing.READY: "ready",
    Standing.CLOSED: "closed",
    Standing.PROBING: "probing",
}
TEST_WITHIN_S: Final = 30.0
LONGEST_SLOT: Final = timedelta(seconds=25)
"""A slot further ahead leaves no time for the answer."""
SONG: Final = Recording(
    title="Amazing Grace", artist="Judy Collins", album="Whales & Nightingales", duration_ms=245_000
)
"""What a lane is tried out with."""

_LOG = logging.getLogger("lyrsvc.lanes")

_REMEDIES: Final = {
    "quota": "its allowance is spent; it opens again by itself",
    "refused": "it does not serve us now; it is asked again by itself",
}
_BAD_CREDENTIAL: Final = (
    "it does not accept our credential; check the token, or wait until it is renewed"
)
_FOUND_BY: Final = {
    "defaultprov": "providers.defaultprov.base_url",
    "lrclib": "providers.lrclib.base_url",
    DETECTOR: "instrumental_detector.classifier_url",
}
_PACED_BY: Final = {
    "defaultprov": "api.cooldown",
    "lrclib": "providers.lrclib.cooldown_seconds",
    DETECTOR: "instrumental_detector.cooldown_seconds",
}
_NOT_CONFIGURED: Final = {
    "defaultprov": NOTHING_TO_ASK,
    DETECTOR: "the classifier cannot be used; set instrumental_detector.classifier_url",
}
_ANSWERS: Final = {
    Answer.HIT: "it has lyrics for the test song",
    Answer.MISS: "it answers; it does not know the test song",
    Answer.MISMATCH: "it answers; it offers another song for the test song",
    Answer.THROTTLED: "it asks for fewer requests",
    Answer.QUOTA: "its allowance is spent",
    Answer.TOKEN_FINISHED: "its credential is over",
    Answer.IDENTITY_REFUSED: "it refuses our credential",
    Answer.MALFORMED: "its answer was not understood",
    Answer.TRANSIENT: "it could not be reached",
    Answer.SKIPPED: "it is closed",
}


class TestRunning(Refused):
    """The lane is being tried out already."""

    __test__ = False
    code = "already_running"


@dataclass(frozen=True, kw_only=True, slots=True)
class LaneView:
    """A lane as it stands; ``hits`` and ``misses`` are those of the provider report."""

    name: str
    role: Role
    position: int
    state: State
    closed_until_at: datetime | None = None
    reason: str = ""
    next_slot_at: datetime | None = None
    pace_s: float = 0.0
    hits: int = 0
    misses: int = 0
    last_hit_at: datetime | None = None
    remedy: str = ""

    @property
    def hit_rate(self) -> float | None:
        """Give the share of hits; None when the lane was never asked."""
        asked = self.hits + self.misses
        return self.hits / asked if asked else None


@dataclass(frozen=True, slots=True)
class Trial:
    """What trying a lane out came to."""

    ok: bool
    detail: str
    ms: int


class LaneDesk:
    """Shows the lanes in their order, tries one out, resets one.

    ``detector`` tells whether the classifier can be used; None when detection is off.
    """

    def __init__(
        self,
        db: Database,
        lanes: Sequence[Lane],
        *,
        clock: Clock,
        wake: Callable[[], None] = lambda: None,
        detector: Callable[[], bool] | None = None,
    ) -> None:
        self._db = db
        self._lanes = {lane.name: lane for lane in lanes}
        self._clock = clock
        self._wake = wake
        self._detector = detector
        self._trials: set[str] = set()
        self._lock = threading.Lock()

    @property
    def names(self) -> tuple[str, ...]:
        """Name the configured lanes in their order, the detector last when it is on."""
        return (*self._lanes, *(() if self._detector is None else (DETECTOR,)))

    def views(self) -> list[LaneView]:
        """Show every configured lane."""
        with self._db.read() as tx:
            return self._views(tx)

    def view(self, name: str) -> LaneView:
        """Show one lane, or raise ``NotFound``."""
        found = next((view for view in self.views() if view.name == name), None)
        if found is None:
            raise _unknown()
        return found

    def reset(self, name: str) -> LaneView:
        """Let a closed lane be asked one careful question now; an open one stays as it is."""
        if name not in self.names:
            raise _unknown()
        now = self._clock.now()
        if self._db.write(lambda tx: open_early(tx, name, now=now)):
            _LOG.info("lane reset", extra={"lane": name})
            self._wake()
        return self.view(name)

    def test(self, name: str, *, within_s: float = TEST_WITHIN_S) -> Trial:
        """Ask a lane for one song, at its own pace; nothing is counted and nothing written.

        A lane that is closed is left in peace. An answer that takes too long is not
        waited for.
        """
        lane = self._lanes.get(name)
        if lane is None:
            raise _unknown()
        with self._lock:
            if name in self._trials:
                raise TestRunning("this lane is being tried out already")
            self._trials.add(name)
        return try_out(
            lane,
            clock=self._clock,
            within_s=within_s,
            on_end=lambda: self._trials.discard(name),
        )

    def _views(self, tx: Tx) -> list[LaneView]:
        now = self._clock.now()
        states = lane_state.read_all(tx)
        counters = lane_attempts.counters(tx)
        records = {one.lane: one for one in provider_effectiveness(tx, lanes=self.names)}
        views = []
        for position, name in enumerate(self.names):
            state = states.get(name, LaneState())
            record = records[name]
            last_hit = counters[name]["last_hit_at"] if name in counters else None
            plain = LaneView(
                name=name,
                role=_role(name, position),
                position=position,
                state=_STATES[standing(state, now)],
                hits=record.hits,
                misses=record.misses,
                last_hit_at=from_db(last_hit),
            )
            views.append(self._with_standing(plain, state, now))
        return views

    def _with_standing(self, view: LaneView, state: LaneState, now: datetime) -> LaneView:
        name = view.name
        if not self._is_active(name):
            remedy = _NOT_CONFIGURED.get(name, "it has no credential; see its settings")
            return replace(view, state=NOT_CONFIGURED, reason=NOT_CONFIGURED, remedy=remedy)
        is_closed = state.closed_until_at is not None
        slot = state.next_slot_at
        return replace(
            view,
            closed_until_at=state.closed_until_at,
            reason=state.cause if is_closed else "",
            remedy=_remedy(name, state.cause) if is_closed else "",
            next_slot_at=slot if slot is not None and slot > now else None,
            pace_s=self._lanes[name].pace_at(state) if name in self._lanes else 0.0,
        )

    def _is_active(self, name: str) -> bool:
        if name in self._lanes:
            return self._lanes[name].active
        return self._detector is not None and self._detector()


def _remedy(name: str, cause: str) -> str:
    """Say what helps a lane that is closed; only one of them has a token of ours."""
    found_by = _FOUND_BY.get(name, "its address")
    match cause:
        case "malformed":
            return f"its answers were not understood; check {found_by}, or wait"
        case "unreachable":
            return f"it could not be reached; check the network and {found_by}"
        case "throttled":
            paced_by = _PACED_BY.get(name, "its cooldown")
            opens = "it asked for fewer requests and opens by itself"
            return f"{opens}; raise {paced_by} if it happens often"
        case "refused" if name == "defaultprov":
            return _BAD_CREDENTIAL
    return _REMEDIES.get(cause, "")


def try_out(
    lane: Lane,
    *,
    clock: Clock,
    within_s: float = TEST_WITHIN_S,
    on_end: Callable[[], None] = lambda: None,
) -> Trial:
    """Ask a lane for one song; ``on_end`` is told when it is free again, perhaps later."""
    if not lane.active:
        on_end()
        return Trial(ok=False, detail=_NOT_CONFIGURED.get(lane.name, "it has no credential"), ms=0)
    return _Asking(lane, clock, on_end).result(within_s)


class _Asking:
    """One trial in a thread of its own; whoever asked may leave before it ends."""

    def __init__(self, lane: Lane, clock: Clock, on_end: Callable[[], None]) -> None:
        self._lane = lane
        self._clock = clock
        self._on_end = on_end
        self._done = threading.Event()
        self._trial = Trial(ok=False, detail="it was broken off", ms=0)

    def result(self, within_s: float) -> Trial:
        """Give what came of it, or that it takes too long."""
        threading.Thread(target=self._run, name=f"test-{self._lane.name}", daemon=True).start()
        if self._done.wait(within_s):
            return self._trial
        detail = f"it has not answered within {round(within_s)} s"
        return Trial(ok=False, detail=detail, ms=round(within_s * 1000))

    def _run(self) -> None:
        began_s = time.monotonic()
        try:
            ok, detail = self._ask()
            ms = round((time.monotonic() - began_s) * 1000)
            self._trial = Trial(ok=ok, detail=detail, ms=ms)
        except LyrsvcError as error:
            self._trial = Trial(ok=False, detail=str(error), ms=0)
        finally:
            self._on_end()
            self._done.set()

    def _ask(self) -> tuple[bool, str]:
        lane, now = self._lane, self._clock.now()
        outlook = lane.outlook
        if not outlook.is_free:
            return False, _closed_text(outlook.cause, outlook.until)
        slot = lane.state.next_slot_at
        if not lane.provider.local and slot is not None and slot - now > LONGEST_SLOT:
            return False, f"its next request may be sent at {_moment(slot)}; try again then"
        policy = GuardPolicy()
        attempt = lane.ask(SONG, lambda candidate: judge(SONG, candidate, policy))
        return attempt.answer.definitive, _told(attempt)


def _told(attempt: Attempt) -> str:
    if attempt.answer is Answer.SKIPPED:
        return _closed_text(attempt.reason, attempt.until)
    text = _ANSWERS[attempt.answer]
    known = ("", str(attempt.answer))
    why = next((more for more in (attempt.text, attempt.reason) if more not in known), "")
    return f"{text} ({why})" if why and not attempt.answer.definitive else text


def _closed_text(cause: str, until: datetime | None) -> str:
    opens = f" until {_moment(until)}" if until else ""
    why = f" ({cause})" if cause else ""
    return f"it is closed{opens}{why}; reset it to try now"


def _moment(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _role(name: str, position: int) -> Role:
    if name == DETECTOR:
        return "detector"
    return "fallback" if position else "primary"


def _unknown() -> NotFound:
    return NotFound("there is no such lane")
