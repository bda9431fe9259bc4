"""Libraries that are away: what lies in them waits, and is not taken for deleted."""

from datetime import timedelta
from pathlib import Path
from typing import Final

from lyrsvc.core.ports import Clock
from lyrsvc.services.root_probes import RootProbes

SHORTEST: Final = timedelta(minutes=1)
LONGEST: Final = timedelta(hours=1)


class AwayRoots:
    """Knows which roots are not there, and since when.

    A root that is empty counts as away: it may be a mount point without its disk.
    """

    def __init__(self, *, clock: Clock, probes: RootProbes | None = None) -> None:
        self._clock = clock
        self._probes = probes or RootProbes(fresh_s=0.0)
        self._since_s: dict[Path, float] = {}

    def wait_for(self, root: Path) -> timedelta | None:
        """Give how long to wait for a root, about as long as it is away; None when it is there."""
        state = self._probes.look([root])[root]
        if state.reachable and not state.empty:
            self.note_back(root)
            return None
        now_s = self._clock.monotonic()
        away = timedelta(seconds=now_s - self._since_s.setdefault(root, now_s))
        return min(max(away, SHORTEST), LONGEST)

    def note_back(self, root: Path) -> None:
        """Forget that a root was away: a file below it was seen."""
        self._since_s.pop(root, None)
