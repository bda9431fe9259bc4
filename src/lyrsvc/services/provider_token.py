"""The default provider's token in a running service, from where it is found to its renewal."""

import hashlib
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

from lyrsvc.core import token_asking
from lyrsvc.core.errors import ConfigError, LaneError, Refused, StoreError
from lyrsvc.providers.tokens import AutomaticToken, OperatorToken, is_placeholder
from lyrsvc.security.vault import SecretUnreadable
from lyrsvc.services.lane_memory import open_early
from lyrsvc.services.lanes import Cancelled
from lyrsvc.services.lookup import NOTHING_TO_ASK
from lyrsvc.services.secret_store import PROVIDER_TOKEN, Secret, SecretStore
from lyrsvc.services.token_pace import TokenPace
from lyrsvc.store import lane_state, meta, token_requests
from lyrsvc.store.database import Database

if TYPE_CHECKING:
    from lyrsvc.store.transaction import Tx

IDENTITY_DIGITS: Final = 16
STORE: Final = "the secret store (secrets set provider_token)"

_MARK: Final = "token_mark"

_LOG = logging.getLogger("lyrsvc.token")

Mint = Callable[[], str]
"""Asks the provider for a token, through the lane's pacer; raises a ``LaneError``."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Given:
    """The token of flag, variable or file, and how messages name its place; blank = none."""

    value: str = field(default="", repr=False)
    source: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """The token to begin with; without a ``source`` it is an automatic one, perhaps none yet."""

    value: str | None = field(default=None, repr=False)
    source: str = ""
    discarded: str = ""
    """Why the stored token is not used."""


def given_by(value: str, source: str) -> Given:
    """Name the place a setting's ``source`` means; the store and defaults give nothing."""
    if source in ("default", "store"):
        return Given()
    named = {"flag": "--token", "file": "api.token in the settings file"}
    return Given(value=value.strip(), source=named.get(source, source.removeprefix("env:")))


def identity_of(base_url: str, app_id: str) -> str:
    """Give the mark of a client identity: a token belongs to the one it was made for."""
    return _digest(f"{base_url.rstrip('/')}\n{app_id}")


def choose(given: Given, stored: Secret | None, identity: str) -> Choice:
    """Choose by precedence: given, then the operator's stored token, then an automatic one."""
    if given.value:
        return Choice(value=given.value, source=given.source)
    if stored is None:
        return Choice()
    if not stored.automatic:
        return Choice(value=stored.value, source=STORE)
    if is_placeholder(stored.value):
        return Choice(discarded="it is a placeholder")
    if stored.identity != identity:
        return Choice(discarded="it was made for another client identity")
    return Choice(value=stored.value)


def greet(db: Database, lane: str, token: "ProviderToken", *, now: datetime) -> None:
    """Let a lane that refused another token be asked one careful question with this one.

    A lane that got no new automatic token when the old one was over refused it, too. One that
    rests for another reason goes on resting.
    """

    def compare(tx: "Tx") -> bool:
        before = meta.read(tx, _MARK)
        if before == token.mark:
            return False
        meta.write(tx, _MARK, token.mark, now=now)
        cause = lane_state.read(tx, lane).cause
        refused = cause == "refused" or (
            cause == "throttled" and before == token.identity and _is_awaited(tx, before, now)
        )
        return before is not None and refused and open_early(tx, lane, now=now)

    if db.write(compare):
        _LOG.info("lane reset; it refused another token", extra={"lane": lane})


def _is_awaited(tx: "Tx", identity: str, now: datetime) -> bool:
    """Tell whether the provider gave no automatic token when it was last asked for one."""
    return token_asking.rest(token_requests.get(tx, identity=identity), now) > timedelta()


class ProviderToken:
    """The token port of ``serve``: finds a token, asks for one, stores it, renews it.

    ``on_token`` is called when the first token arrives in a running service, so
    that the lane becomes active without a restart.
    """

    def __init__(
        self,
        secrets: SecretStore,
        pace: TokenPace,
        *,
        given: Given,
        identity: str,
        on_token: Callable[[], None] = lambda: None,
    ) -> None:
        self._secrets = secrets
        self._pace = pace
        self.identity = identity
        self._on_token = on_token
        choice = choose(given, None if given.value else secrets.read(PROVIDER_TOKEN), identity)
        if choice.discarded:
            _LOG.warning("the stored token is discarded: %s", choice.discarded)
            secrets.discard_automatic()
        self._tokens: OperatorToken | AutomaticToken = (
            _operators(choice.value or "", choice.source)
            if choice.source
            else AutomaticToken(choice.value, self._keep)
        )

    @property
    def source(self) -> str:
        """Name the place of the operator's token; empty for an automatic one."""
        return self._tokens.source if isinstance(self._tokens, OperatorToken) else ""

    @property
    def mark(self) -> str:
        """Tell the operator's tokens apart; the automatic ones have one mark in common."""
        return _digest(f"{self.identity}\n{self.current()}") if self.source else self.identity

    def current(self) -> str | None:
        """Give the token in use, or None while there is none."""
        return self._tokens.current()

    def renew(self, finished: str, mint: Mint) -> str:
        """Replace a finished token; the operator's is never replaced."""
        return self._tokens.renew(finished, partial(self._pace.ask, mint))

    def obtain(self, mint: Mint) -> None:
        """Ask for a token until there is one or the program stops; run it in its own thread."""
        if not self.current() and self._pace.rest_s > 0:
            self._tell("asked before")
        while not self.current():
            if self._pace.wait():
                return
            try:
                self._try_once(mint)
            except Cancelled:
                return

    def _try_once(self, mint: Mint) -> None:
        try:
            if (own := self._operators_stored()) is not None:
                self._tokens = _operators(own, STORE)
            else:
                self._tokens.renew("", partial(self._pace.ask, mint))
        except LaneError as refusal:
            self._tell(refusal.code)
        except StoreError as fault:
            self._pace.hold_back()
            self._tell(fault.code)
        else:
            _LOG.info("token obtained", extra={"lane": "defaultprov"})
            self._on_token()

    def _operators_stored(self) -> str | None:
        """Give a token the operator has stored since the start."""
        try:
            stored = self._secrets.look(PROVIDER_TOKEN)
        except (SecretUnreadable, ConfigError):  # storing a new token will complain
            return None
        return stored.value if stored is not None and not stored.automatic else None

    def _keep(self, value: str) -> None:
        try:
            self._secrets.keep_automatic(value, identity=self.identity)
        except Refused as error:
            _LOG.warning("%s", error)
        else:
            self._pace.settle()

    def _tell(self, cause: str) -> None:
        retry_s = round(self._pace.rest_s)
        _LOG.warning(
            "no token for lane defaultprov yet; asking again later; %s",
            NOTHING_TO_ASK.partition("; ")[2],
            extra={"cause": cause, "retry_s": retry_s},
        )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:IDENTITY_DIGITS]


def _operators(value: str, source: str) -> OperatorToken:
    if is_placeholder(value):
        _LOG.warning("the token of %s is a placeholder that no provider accepts", source)
    return OperatorToken(value, source)
