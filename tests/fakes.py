"""The few fakes: time, a wire and a provider by script; nothing that could be had for real."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from lyrsvc.core.errors import LaneError
from lyrsvc.core.lyrics import Candidate
from lyrsvc.core.ports import LaneContext, Reply
from lyrsvc.core.recording import Recording


class FakeClock:
    """A clock that moves only when told to, or when somebody waits on it."""

    def __init__(self, moment: datetime = datetime(2026, 1, 31, 14, 5, 6, tzinfo=UTC)) -> None:
        self.moment = moment
        self.seconds = 1000.0
        self.waits: list[float] = []
        self.stopped = False

    def now(self) -> datetime:
        return self.moment

    def monotonic(self) -> float:
        return self.seconds

    def wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        self.advance(seconds)
        return self.stopped

    def advance(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)
        self.seconds += seconds


class Wire:
    """The network of a lane: keeps the pace it is given and remembers when it was used."""

    def __init__(self, clock: FakeClock, *, takes_s: float = 0.0) -> None:
        self.times: list[datetime] = []
        self._clock = clock
        self._takes_s = takes_s

    def connect(self, pace: Callable[[], None], settled: Callable[[], None]) -> "Wire":
        self._pace, self._settled = pace, settled
        return self

    def get(self, url: str, query: object = None, **_options: object) -> Reply:
        self._pace()
        self.times.append(self._clock.now())
        self._clock.advance(self._takes_s)
        self._settled()
        return Reply(200, {}, b"")


class Scripted:
    """A provider that answers by a list: candidates, or a lane error to be raised.

    The last answer is given again and again; ``asked`` holds what was asked for.
    ``faults`` are told beside each answer, as a failed translation is.
    """

    def __init__(
        self,
        name: str,
        *answers: Sequence[Candidate] | Candidate | Exception,
        local: bool = False,
        faults: Sequence[LaneError] = (),
    ) -> None:
        self.name = name
        self.local = local
        self.needs_token = False
        self.asked: list[Recording] = []
        self.closed = 0
        self._answers = list(answers)
        self._faults = faults

    def lookup(self, recording: Recording, ctx: LaneContext) -> Sequence[Candidate]:
        self.asked.append(recording)
        ctx.http.get("http://scripted")
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        for fault in self._faults:
            ctx.note_fault(fault)
        return [answer] if isinstance(answer, Candidate) else answer

    def probe(self, ctx: LaneContext) -> None:
        self.lookup(Recording(title="probe"), ctx)

    def close(self) -> None:
        self.closed += 1
