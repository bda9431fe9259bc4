"""The words of enqueueing: the terms wishes are placed on, and what became of one."""

from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import TYPE_CHECKING

from lyrsvc.core.merging import Effect
from lyrsvc.store import libraries

if TYPE_CHECKING:
    from lyrsvc.store.transaction import Tx


@dataclass(frozen=True, kw_only=True, slots=True)
class Terms:
    """What holds for every wish of a call: the time, the lanes, the defaults."""

    now: datetime
    chance: Random
    output_dir: str
    provider_set_version: int = 0
    detect_default: bool = False


@dataclass(kw_only=True, slots=True)
class Placed:
    """What a wish came to, and where.

    ``is_fresh`` says that the item was made for this wish and nothing else happened to it
    since.
    """

    effect: Effect
    item_id: int | None = None
    target_id: int | None = None
    is_fresh: bool = False
    is_local: bool = False
    """Whether a fresh item can be served from here."""


class Overrides:
    """What each library says about detection; read when first asked for."""

    def __init__(self, tx: "Tx") -> None:
        self._tx = tx
        self._known: dict[int, bool | None] | None = None

    def of(self, library_id: int | None) -> bool | None:
        """Give the decision of one library, None when it has none."""
        if library_id is None:
            return None
        if self._known is None:
            known = libraries.all_libraries(self._tx)
            self._known = {library.id: library.detect_instrumental for library in known}
        return self._known.get(library_id)
