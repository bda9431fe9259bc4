"""Overhears what other processes put into the queue.

A webhook rings the bell; a scan, a retry or a recheck of another process cannot. So one
thread looks once a second at what waits in front, and rings when that is not what it saw last.
What stays in front waits for a lane, which the slots know themselves.
"""

from typing import TYPE_CHECKING, Final

from lyrsvc.core.errors import StoreError

if TYPE_CHECKING:
    from lyrsvc.core.ports import Clock
    from lyrsvc.services.bell import Bell
    from lyrsvc.services.slots import ClaimDesk, Head

EVERY_S: Final = 1.0


class Eavesdropper:
    """Rings when work has come that nobody told of; ``run`` is for a thread of its own."""

    def __init__(self, desk: "ClaimDesk", bell: "Bell", *, clock: "Clock") -> None:
        self._desk = desk
        self._bell = bell
        self._clock = clock
        self._known: set[Head] = set()

    def run(self) -> None:
        """Look until the program stops."""
        while not self._clock.wait(EVERY_S):
            self.look()

    def look(self) -> None:
        """Ring if something else waits in front than at the last look."""
        try:
            heads = self._desk.heads()
        except StoreError:  # the slots notice it, too, and tell
            return
        if heads - self._known:
            self._bell.ring()
        self._known = heads
