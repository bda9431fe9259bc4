"""One way to check a password, whoever asks: throttled by client, within the hashing budget."""

from collections.abc import Callable
from typing import TypeVar

from lyrsvc.core.account import LONGEST_PASSWORD_BYTES, password_bytes
from lyrsvc.security.passwords import Passwords
from lyrsvc.services.hash_budget import Busy, HashBudget
from lyrsvc.services.login_throttle import Attempt, Denied, Locked, LoginThrottle
from lyrsvc.store.accounts import Credentials

__all__ = ["Busy", "Denied", "Locked", "PasswordCheck"]

T = TypeVar("T")


class PasswordCheck:
    """Checks passwords and hashes new ones; shared by sign-in, set-up and account."""

    def __init__(
        self, passwords: Passwords, *, throttle: LoginThrottle, budget: HashBudget
    ) -> None:
        self._passwords = passwords
        self._throttle = throttle
        self._budget = budget

    def hash(self, password: str) -> str | Busy:
        """Hash a new password."""
        return self._budget.run(lambda: self._passwords.hash(password))

    def check(
        self,
        password: str,
        *,
        client: str,
        find: Callable[[], Credentials | None],
        accept: Callable[[Credentials, str], T | None],
    ) -> T | Denied | Locked | Busy:
        """Find whose password it should be and compare; only a right one is accepted.

        ``accept`` is given the hash to keep from now on: the stored one, or a new one
        when parameters have changed. It gives None when the account has changed
        meanwhile, which counts as a wrong password.
        """
        attempt = self._throttle.admit(client)
        if isinstance(attempt, Locked):
            return attempt
        try:
            return self._judge(attempt, password, find(), accept)
        except BaseException:
            self._throttle.forget(attempt)
            raise

    def _judge(
        self,
        attempt: Attempt,
        password: str,
        found: Credentials | None,
        accept: Callable[[Credentials, str], T | None],
    ) -> T | Denied | Locked | Busy:
        kept = self._budget.run(lambda: self._compare(password, found))
        if isinstance(kept, Busy):
            self._throttle.forget(attempt)
            return kept
        accepted = accept(found, kept) if found is not None and kept else None
        if accepted is None:
            return self._throttle.fail(attempt)
        self._throttle.succeed(attempt)
        return accepted

    def _compare(self, password: str, found: Credentials | None) -> str:
        """Give the hash to keep, or nothing when the password is wrong."""
        stored = found.password_hash if found is not None else None
        raw = password_bytes(password)
        if raw is None or len(raw) > LONGEST_PASSWORD_BYTES:
            password, stored = "", None
        if not self._passwords.verify(password, stored) or stored is None:
            return ""
        return self._passwords.hash(password) if self._passwords.needs_rehash(stored) else stored
