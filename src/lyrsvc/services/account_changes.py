"""Changing a password: the new hash and the end of all sessions stand or fall together."""

from dataclasses import dataclass, field
from datetime import datetime

from lyrsvc.core.account import Admin, Session, password_fault
from lyrsvc.core.ports import Clock
from lyrsvc.logs.audit import Audit
from lyrsvc.services.password_check import Busy, Denied, Locked, PasswordCheck
from lyrsvc.services.sessions import Sessions
from lyrsvc.services.sign_in import Visitor
from lyrsvc.store import accounts
from lyrsvc.store.accounts import Credentials
from lyrsvc.store.database import Database, Tx

__all__ = ["AccountChanges", "Changed", "Invalid", "replace_password"]


@dataclass(frozen=True, slots=True)
class Invalid:
    """What is wrong with a form: one sentence for each field."""

    faults: dict[str, str]


@dataclass(frozen=True, slots=True)
class Changed:
    """A new password; ``token`` signs the browser that changed it in again."""

    token: str = field(repr=False)
    session: Session
    sessions_ended: int


class AccountChanges:
    """Lets a signed-in admin change the password."""

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

    def change_password(
        self, admin: Admin, form: "PasswordForm", visitor: Visitor
    ) -> Changed | Invalid | Denied | Locked | Busy:
        """Replace the password, when the present one is right, and end every session."""
        if faults := form.faults():
            return Invalid(faults)
        fresh = self._passwords.hash(form.new)
        if isinstance(fresh, Busy):
            return fresh
        outcome = self._passwords.check(
            form.current,
            client=visitor.client,
            find=lambda: self._credentials(admin),
            accept=lambda found, _kept: self._store(found, fresh, visitor),
        )
        if isinstance(outcome, Changed):
            self._audit.event(
                "auth.password.changed",
                actor=f"user:{admin.username}",
                client=visitor.client,
                user=admin.username,
                sessions_ended=outcome.sessions_ended,
            )
        return outcome

    def _credentials(self, admin: Admin) -> Credentials | None:
        with self._db.read() as tx:
            return accounts.get_admin(tx, admin.id)

    def _store(self, found: Credentials, fresh: str, visitor: Visitor) -> Changed | None:
        now = self._clock.now()
        token, session = self._sessions.prepare(
            found.admin, client=visitor.client, user_agent=visitor.user_agent
        )

        def store(tx: Tx) -> int | None:
            ended = replace_password(tx, found, fresh, now=now)
            if ended is not None:
                accounts.add_session(tx, session)
            return ended

        ended = self._db.write(store)
        return None if ended is None else Changed(token, session, ended)


@dataclass(frozen=True, kw_only=True, slots=True)
class PasswordForm:
    """What the page asks for."""

    current: str = field(repr=False)
    new: str = field(repr=False)
    confirm: str = field(repr=False)

    def faults(self) -> dict[str, str]:
        """Say what is wrong, field by field."""
        return new_password_faults(self.new, self.confirm, field="new")


def new_password_faults(password: str, confirm: str, *, field: str) -> dict[str, str]:
    """Say what is wrong with a new password typed twice."""
    faults = {}
    if fault := password_fault(password):
        faults[field] = fault
    if confirm != password:
        faults["confirm"] = "the two passwords are not the same"
    return faults


def replace_password(
    tx: Tx, found: Credentials, password_hash: str, *, now: datetime
) -> int | None:
    """Store another hash and end every session; give how many, or None when it changed before."""
    if not accounts.replace_hash(
        tx, found.admin.id, old=found.password_hash, new=password_hash, now=now
    ):
        return None
    return accounts.delete_all_sessions(tx, now=now)
