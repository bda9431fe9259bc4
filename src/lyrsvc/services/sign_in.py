"""Signing in: name and password in, a session out."""

from dataclasses import dataclass, field

from lyrsvc.core.account import Session, trimmed_name
from lyrsvc.core.ports import Clock
from lyrsvc.logs.audit import Audit
from lyrsvc.security.key_minting import digest_of
from lyrsvc.services.password_check import Busy, Denied, Locked, PasswordCheck
from lyrsvc.services.sessions import Sessions
from lyrsvc.store import accounts
from lyrsvc.store.accounts import Credentials
from lyrsvc.store.database import Database, Tx

__all__ = ["Busy", "Denied", "Locked", "SignIn", "SignedIn", "Visitor"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Visitor:
    """Who asks: the client's address, the browser, and the session cookie it sent, if any."""

    client: str
    user_agent: str = ""
    old_token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A right password; ``token`` goes into the cookie and is nowhere else."""

    token: str = field(repr=False)
    session: Session


class SignIn:
    """Signs admins in; each failure, lock and success is told to the audit."""

    def __init__(
        self,
        db: Database,
        passwords: PasswordCheck,
        sessions: Sessions,
        *,
        clock: Clock,
        audit: Audit,
    ) -> None:
        self._db = db
        self._passwords = passwords
        self._sessions = sessions
        self._clock = clock
        self._audit = audit

    def sign_in(
        self, username: str, password: str, visitor: Visitor
    ) -> SignedIn | Denied | Locked | Busy:
        """Check name and password; a right one opens a session and ends the browser's old one.

        The answer to ``Denied`` is to wait its ``delay_s``, without a thread.
        """
        looked_at = False

        def find() -> Credentials | None:
            nonlocal looked_at
            looked_at = True
            with self._db.read() as tx:
                return accounts.find_admin(tx, username)

        outcome = self._passwords.check(
            password,
            client=visitor.client,
            find=find,
            accept=lambda found, kept: self._open(found, kept, visitor),
        )
        if looked_at:
            self._tell(outcome, trimmed_name(username), visitor.client)
        return outcome

    def _open(self, found: Credentials, kept: str, visitor: Visitor) -> SignedIn | None:
        token, session = self._sessions.prepare(
            found.admin, client=visitor.client, user_agent=visitor.user_agent
        )

        def store(tx: Tx) -> bool:
            # The password may have been changed while the old one was being hashed.
            if accounts.get_admin(tx, found.admin.id) != found:
                return False
            if kept != found.password_hash:
                accounts.replace_hash(
                    tx, found.admin.id, old=found.password_hash, new=kept, now=self._clock.now()
                )
            accounts.delete_session(tx, digest_of(visitor.old_token))
            accounts.add_session(tx, session)
            return True

        return SignedIn(token, session) if self._db.write(store) else None

    def _tell(self, outcome: object, user: str, client: str) -> None:
        if isinstance(outcome, SignedIn):
            name = outcome.session.username
            self._audit.event("auth.login.ok", actor=f"user:{name}", client=client, user=name)
        elif isinstance(outcome, Denied | Locked):
            self._audit.event(
                "auth.login.failed",
                outcome="failed",
                client=client,
                user=user,
                reason="credentials",
            )
        if isinstance(outcome, Denied) and outcome.locks:
            self._audit.event(
                "auth.login.locked", outcome="locked", client=client, user=user, reason="failures"
            )
