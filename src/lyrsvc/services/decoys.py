"""Remembering answers, to notice a provider that gives one song for every question."""

import threading
from collections import OrderedDict
from typing import Final

from lyrsvc.core.errors import IdentityRefused
from lyrsvc.core.title_relations import TitleRelation, relate_titles
from lyrsvc.core.titles import read_title

REMEMBERED: Final = 5000
_SAME: Final = frozenset({TitleRelation.EQUAL, TitleRelation.CLOSE})


class DecoyMemory:
    """Which title each answer was given to, in this process; the oldest are forgotten."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._titles: OrderedDict[str, str] = OrderedDict()

    def remember(self, ids: tuple[str, ...], title: str) -> None:
        """Keep the title an answer was given to."""
        with self._lock:
            for one in ids:
                self._titles.setdefault(one, title)
                self._titles.move_to_end(one)
            while len(self._titles) > REMEMBERED:
                self._titles.popitem(last=False)

    def suspect(self, ids: tuple[str, ...], title: str) -> None:
        """Raise when a rejected answer was given to another title before; remember it."""
        with self._lock:
            before = [self._titles[one] for one in ids if one in self._titles]
        self.remember(ids, title)
        asked = read_title(title)
        if any(relate_titles(read_title(other), asked) not in _SAME for other in before):
            raise IdentityRefused(
                "one answer for different songs; the provider does not serve this client",
                reason="decoy",
            )
