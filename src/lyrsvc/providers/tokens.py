"""The default provider's credential: the operator's own, or one asked for automatically."""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future

from lyrsvc.core.errors import IdentityRefused, LyrsvcError

_LOG = logging.getLogger("lyrsvc.token")


def is_placeholder(token: str) -> bool:
    """Tell a token that stands for a refusal: one repeated character, or an upgrade notice."""
    return len(set(token)) == 1 or token.startswith("UpgradeOnly")


class OperatorToken:
    """A token the operator gave; it is used as it is and never replaced."""

    def __init__(self, value: str, source: str) -> None:
        self._value = value
        self.source = source

    def current(self) -> str | None:
        """Give the operator's token."""
        return self._value

    def renew(self, finished: str, mint: Callable[[], str]) -> str:  # noqa: ARG002 - the port's form
        """Refuse: only the operator replaces this token."""
        raise IdentityRefused(
            f"the token of {self.source} is not accepted any more; replace it there "
            "(a portal API key is not a user token)",
            reason="token_finished",
        )


class AutomaticToken:
    """A token this program asked for; it is replaced when finished and stored at once."""

    def __init__(self, value: str | None, store: Callable[[str], None]) -> None:
        self._value = value
        self._store = store
        self._lock = threading.Lock()
        self._flight: Future[str] | None = None

    def current(self) -> str | None:
        """Give the token in use, or None before the first one was obtained."""
        return self._value

    def put(self, value: str) -> None:
        """Use a token from now on and store it; when that fails it serves this run only."""
        self._value = value
        try:
            self._store(value)
        except (LyrsvcError, OSError) as error:
            _LOG.error(  # without a traceback: it could show the token
                "the new token could not be stored and serves this run only; check the secret "
                "store: %s",
                type(error).__name__,
            )

    def renew(self, finished: str, mint: Callable[[], str]) -> str:
        """Replace a finished token; threads that come with the same one share one ``mint``."""
        with self._lock:
            if self._value is not None and self._value != finished:
                return self._value
            flight, pilot = self._flight, False
            if flight is None:
                flight, pilot = Future[str](), True
                self._flight = flight
        return self._fly(flight, mint) if pilot else flight.result()

    def _fly(self, flight: "Future[str]", mint: Callable[[], str]) -> str:
        try:
            value = mint()
            self.put(value)
        except BaseException as error:
            self._land()
            flight.set_exception(error)
            raise
        self._land()
        flight.set_result(value)
        return value

    def _land(self) -> None:
        with self._lock:
            self._flight = None
