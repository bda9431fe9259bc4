"""Notices what has changed, whoever changed it, and announces it.

Other processes work on the same database, so what is announced is found by looking, once
a second, and only while somebody listens. What was seen last is kept in between: whoever
comes back is told of what changed meanwhile.
"""

import logging
import threading
from collections.abc import Callable, Hashable, Mapping
from typing import Final, NamedTuple

from lyrsvc.core.errors import LyrsvcError
from lyrsvc.services.announcing import Announcer

EVERY_S: Final = 1.0


class Sight(NamedTuple):
    """A thing as it is now; it counts as changed when its ``mark`` differs."""

    mark: object
    thing: object


Source = Callable[[], Mapping[Hashable, Sight]]
"""Gives things by a key; a changed one is announced whole."""

_LOG = logging.getLogger("lyrsvc.events")


class Noticer:
    """Looks at sources, each named after its event, and tells what differs."""

    def __init__(
        self,
        announcer: Announcer,
        sources: Mapping[str, Source],
        *,
        is_stopping: Callable[[], bool] = lambda: False,
        every_s: float = EVERY_S,
    ) -> None:
        self._announcer = announcer
        self._sources = dict(sources)
        self._is_stopping = is_stopping
        self._every_s = every_s
        self._marks: dict[str, dict[Hashable, object]] = {}
        self._lock = threading.Lock()
        self._ended = threading.Event()

    def start(self) -> None:
        """Look around in a thread of its own for as long as somebody listens.

        What changes after this returns is noticed, also the very first time.
        """
        if not self._marks:
            self.look()
        threading.Thread(target=self.run, name="noticer", daemon=True).start()

    def run(self) -> None:
        """Look around until nobody listens any more; a second caller leaves at once."""
        while self._lock.acquire(blocking=False):
            try:
                while self._announcer.listeners and not self._is_stopping():
                    self.look()
                    self._ended.wait(self._every_s)
            finally:
                self._lock.release()
            if not self._announcer.listeners:  # nobody came while the lock was being let go
                return
            if self._is_stopping():
                self._announcer.close()
                return

    def look(self) -> None:
        """Announce what differs from the last look; the first one only takes note."""
        for event, source in self._sources.items():
            try:
                present = source()
            except (LyrsvcError, OSError) as error:
                _LOG.debug("cannot look for changes", extra={"event": event, "why": str(error)})
                continue
            before = self._marks.get(event)
            self._marks[event] = {key: sight.mark for key, sight in present.items()}
            for key, sight in present.items():
                if before is not None and (key not in before or before[key] != sight.mark):
                    self._announcer.tell(event, sight.thing)

    def present(self, event: str) -> list[object]:
        """Give the things of an event as they are now."""
        return [sight.thing for sight in self._sources[event]().values()]

    def close(self) -> None:
        """Look no more, and end every stream."""
        self._ended.set()
        self._announcer.close()
