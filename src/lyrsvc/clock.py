"""The real time."""

import threading
import time
from datetime import UTC, datetime


class SystemClock:
    """The machine's clock; waits end early once the program is told to stop."""

    def __init__(self, stop: threading.Event | None = None) -> None:
        self._stop = stop or threading.Event()

    def now(self) -> datetime:
        """Give the present moment, in UTC."""
        return datetime.now(UTC)  # noqa: TID251 - the one place that asks the machine

    def monotonic(self) -> float:
        """Give seconds that never run backwards."""
        return time.monotonic()

    def wait(self, seconds: float) -> bool:
        """Wait; answer True when the program stops."""
        return self._stop.wait(max(0.0, seconds))
