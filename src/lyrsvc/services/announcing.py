"""The hub of events: any thread tells what happens, streams carry it to whoever listens.

The last thousand events are remembered, so that a listener whose connection broke can go
on where it was. A listener that does not keep up is let go rather than waited for.

Those remembered are folded up, each in one piece: as they are they consist of dozens of
small things that live for minutes, among others that live for a moment, and would keep the
memory between them from ever being given back.
"""

import pickle
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from lyrsvc.core.errors import Refused
from lyrsvc.core.ports import Clock

REMEMBERED: Final = 1_000
MOST_STREAMS: Final = 20
MOST_UNSENT: Final = 100
OUTCOMES_A_SECOND: Final = 20


@dataclass(frozen=True, slots=True)
class Announcement:
    """One event; ``data`` is the thing itself, whoever sends it writes it down.

    It must be one that can be folded up, as data are; a lock or a function is none.
    """

    id: str
    event: str
    data: object


class TooManyStreams(Refused):
    """As many listen already as may."""

    code = "busy"


class Stream:
    """What one listener has still to be sent; ``wake`` may be called by any thread.

    ``resumes`` says that nothing is missing since the event the listener saw last.
    """

    def __init__(
        self, *, wake: Callable[[], None], leave: "Callable[[Stream], None]", last_id: str
    ) -> None:
        self.last_id = last_id
        self.resumes = True
        self._wake = wake
        self._leave = leave
        self._lock = threading.Lock()
        self._unsent: deque[Announcement] = deque()
        self._ended = False

    @property
    def ended(self) -> bool:
        """Tell whether nothing more will come."""
        return self._ended

    @property
    def has_unsent(self) -> bool:
        """Tell whether something is to be sent now."""
        return bool(self._unsent)

    def take(self) -> list[Announcement]:
        """Give what is to be sent now; it then counts as sent."""
        with self._lock:
            taken = list(self._unsent)
            self._unsent.clear()
        return taken

    def put(self, announcement: Announcement, *, most: int = MOST_UNSENT) -> None:
        """Add an event; a listener that has not taken too many before is let go."""
        with self._lock:
            if self._ended:
                return
            if len(self._unsent) < most:
                self._unsent.append(announcement)
                is_late = False
            else:
                is_late = True
        if is_late:
            self.close()
        else:
            self._wake()

    def close(self) -> None:
        """End the stream and free its place; may be called twice."""
        with self._lock:
            is_first, self._ended = not self._ended, True
        if is_first:
            self._leave(self)
            self._wake()


class Announcer:
    """Takes events in and hands them to every stream.

    ``on_first`` is called when somebody begins to listen while nobody did.
    """

    def __init__(self, *, clock: Clock, on_first: Callable[[], None] = lambda: None) -> None:
        self._clock = clock
        self._on_first = on_first
        self._start = str(int(clock.now().timestamp() * 1000))
        self._lock = threading.RLock()  # a late stream leaves while an event is handed out
        self._number = 0
        self._ring: deque[bytes] = deque(maxlen=REMEMBERED)
        self._streams: list[Stream] = []
        self._outcomes_s: deque[float] = deque(maxlen=OUTCOMES_A_SECOND)
        self._closed = False

    @property
    def listeners(self) -> int:
        """Count who listens."""
        return len(self._streams)

    def tell(self, event: str, data: object) -> None:
        """Announce something; ids rise on every stream, or whoever comes back would miss one."""
        with self._lock:
            self._number += 1
            announcement = Announcement(self._id(self._number), event, data)
            self._ring.append(pickle.dumps(announcement, pickle.HIGHEST_PROTOCOL))
            for stream in tuple(self._streams):
                stream.put(announcement)

    def tell_outcome(self, item: object) -> None:
        """Announce an item that was settled; of very many in a second the counts tell enough."""
        now_s = self._clock.monotonic()
        with self._lock:
            times = self._outcomes_s
            if len(times) == OUTCOMES_A_SECOND and now_s - times[0] < 1.0:
                return
            times.append(now_s)
        self.tell("outcome", item)

    def open(self, *, wake: Callable[[], None], last_id: str = "") -> Stream:
        """Begin to listen, from the event that was seen last; raise when too many do."""
        with self._lock:
            if self._closed or len(self._streams) >= MOST_STREAMS:
                raise TooManyStreams("too many listen to the events already; try again later")
            stream = Stream(wake=wake, leave=self._forget, last_id=self._id(self._number))
            if last_id:
                missed = self._since(last_id)
                stream.resumes = missed is not None
                for announcement in missed or ():
                    stream.put(announcement, most=REMEMBERED)
            self._streams.append(stream)
            is_first = len(self._streams) == 1
        if is_first:
            self._on_first()
        return stream

    def close(self) -> None:
        """End every stream, and take no more."""
        with self._lock:
            self._closed = True
            streams = list(self._streams)
        for stream in streams:
            stream.close()

    def _id(self, number: int) -> str:
        return f"{self._start}-{number}"

    def _since(self, last_id: str) -> list[Announcement] | None:
        """Give what came after an event; None when that is not known any more."""
        start, _, text = last_id.partition("-")
        if start != self._start or not (text.isascii() and text.isdigit() and len(text) <= 18):
            return None
        behind = self._number - int(text)
        if behind < 0 or behind > len(self._ring):
            return None
        missed = list(self._ring)[len(self._ring) - behind :]
        return [pickle.loads(folded) for folded in missed]  # noqa: S301 - folded by ourselves

    def _forget(self, stream: Stream) -> None:
        with self._lock:
            if stream in self._streams:
                self._streams.remove(stream)
