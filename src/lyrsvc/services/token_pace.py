"""Requests for a token, kept apart over restarts."""

import logging
from collections.abc import Callable
from datetime import timedelta

from lyrsvc.core import token_asking
from lyrsvc.core.errors import LaneError, LyrsvcError, StoreError, Throttled, Transient
from lyrsvc.core.ports import Clock
from lyrsvc.core.token_asking import Asking
from lyrsvc.store import token_requests
from lyrsvc.store.database import Database

_LOG = logging.getLogger("lyrsvc.token")


class TokenPace:
    """Lets a request for a token through when it is time for one.

    ``chance`` gives numbers between 0 and 1. What is kept in memory counts; the
    database has a copy for the next start.
    """

    def __init__(
        self, db: Database, *, identity: str, clock: Clock, chance: Callable[[], float]
    ) -> None:
        self._db = db
        self._identity = identity
        self._clock = clock
        self._chance = chance
        with db.read() as tx:
            self._asking = token_requests.get(tx, identity=identity)

    @property
    def rest_s(self) -> float:
        """Give the seconds until the next request is allowed."""
        return token_asking.rest(self._asking, self._clock.now()).total_seconds()

    def wait(self) -> bool:
        """Wait until a request is allowed; answer True when the program stops."""
        rest_s = self.rest_s
        return rest_s > 0 and self._clock.wait(rest_s)

    def ask(self, mint: Callable[[], str]) -> str:
        """Ask for a token, or raise ``Throttled`` while it is too early for another request."""
        if (rest_s := self.rest_s) > 0:
            raise Throttled("it is too early to ask for another token", retry_after_s=rest_s)
        before = self._asking
        self._remember(token_asking.announced(before, self._clock.now()))
        try:
            token = mint()
        except LaneError as error:
            self._remember(self._after(before, error))
            raise
        except LyrsvcError:  # the program stops; nothing was asked
            self._remember(before)
            raise
        self._asking = Asking()  # the copy stays announced until the token is stored
        return token

    def settle(self) -> None:
        """Note that the token is stored: whoever starts next need not ask."""
        self._remember(Asking())

    def hold_back(self) -> None:
        """Note that something of our own went wrong, so that nobody asks in a tight loop."""
        self._remember(token_asking.after_fault(self._asking, self._clock.now()))

    def _after(self, before: Asking, error: LaneError) -> Asking:
        now = self._clock.now()
        if isinstance(error, Transient) and error.reason == "network":
            return token_asking.after_fault(before, now)
        asked = None if error.retry_after_s is None else timedelta(seconds=error.retry_after_s)
        return token_asking.after_refusal(before, now, chance=self._chance(), retry_after=asked)

    def _remember(self, asking: Asking) -> None:
        self._asking = asking
        now, identity = self._clock.now(), self._identity
        try:
            self._db.write(lambda tx: token_requests.put(tx, asking, identity=identity, now=now))
        except StoreError as error:
            _LOG.warning("when to ask for a token is not stored", extra={"cause": error.code})
