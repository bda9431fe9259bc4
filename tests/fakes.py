"""The few fakes: time, and nothing that could be had for real."""

from datetime import UTC, datetime, timedelta


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
