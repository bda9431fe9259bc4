"""Whether the database can be reached, answered in time whatever the disk does."""

import threading
from collections.abc import Callable
from typing import Final

from lyrsvc.core.errors import StoreBusy, StoreError

_SHARE: Final = 0.8
"""The part of the time a look may take; the rest is for telling what came of it."""


class Reachability:
    """Looks at the database in a thread of its own.

    A disk that hangs holds that one thread, not its callers: whoever asks meanwhile
    waits for the same look, and no longer than told.
    """

    def __init__(self, look: Callable[[float], None]) -> None:
        self._look = look
        self._lock = threading.Lock()
        self._under_way: _Look | None = None

    def check(self, *, wait_s: float) -> None:
        """Raise ``StoreError`` unless the look succeeds within the time."""
        with self._lock:
            look = self._under_way
            if look is None or look.ended.is_set():
                look = self._under_way = _Look()
                threading.Thread(
                    target=self._run,
                    args=(look, wait_s * _SHARE),
                    name="reachability",
                    daemon=True,
                ).start()
        if not look.ended.wait(wait_s):
            raise StoreBusy("the database does not answer; try again")
        if look.error is not None:
            raise type(look.error)(str(look.error)) from look.error

    def _run(self, look: "_Look", wait_s: float) -> None:
        try:
            self._look(wait_s)
        except StoreError as error:
            look.error = error
        except Exception as error:  # noqa: BLE001 - the caller must hear of it, not the thread
            look.error = StoreError(f"the database cannot be read: {error!r}")
        finally:
            look.ended.set()


class _Look:
    """One look, and what came of it."""

    def __init__(self) -> None:
        self.ended = threading.Event()
        self.error: StoreError | None = None
