"""Everything about who may do what, wired: one object for the web face."""

from dataclasses import dataclass

from lyrsvc.core.account import Session
from lyrsvc.core.ports import Clock
from lyrsvc.logs.audit import Audit
from lyrsvc.security.csrf import Csrf
from lyrsvc.security.passwords import Cost, Passwords
from lyrsvc.services.account_changes import AccountChanges
from lyrsvc.services.first_admin import FirstAdmin
from lyrsvc.services.hash_budget import HashBudget
from lyrsvc.services.keyring import Keyring
from lyrsvc.services.login_throttle import LoginThrottle
from lyrsvc.services.password_check import PasswordCheck
from lyrsvc.services.sessions import Sessions
from lyrsvc.services.sign_in import SignIn
from lyrsvc.store.database import Database


@dataclass(frozen=True, kw_only=True)
class Access:
    """The parts that decide about access; throttle and hashing budget are shared by all."""

    keyring: Keyring
    csrf: Csrf
    sessions: Sessions
    sign_in: SignIn
    first_admin: FirstAdmin
    account: AccountChanges

    def has_admin(self) -> bool:
        """Tell whether there is an admin."""
        return self.first_admin.exists()

    def session_of(self, token: str, *, client: str = "") -> Session | None:
        """Give the session of a cookie's value."""
        return self.sessions.check(token, client=client) if token else None

    def flush(self) -> None:
        """Write down what was noted off the request path; call it every minute and at the end."""
        self.keyring.flush()
        self.sessions.flush()


def build(
    db: Database,
    keyring: Keyring,
    csrf: Csrf,
    *,
    clock: Clock,
    audit: Audit,
    cost: Cost | None = None,
) -> Access:
    """Wire the parts; ``cost`` is what one password hash costs."""
    sessions = Sessions(db, clock=clock)
    passwords = PasswordCheck(
        Passwords(cost), throttle=LoginThrottle(clock=clock), budget=HashBudget(clock=clock)
    )
    return Access(
        keyring=keyring,
        csrf=csrf,
        sessions=sessions,
        sign_in=SignIn(db, passwords, sessions, clock=clock, audit=audit),
        first_admin=FirstAdmin(db, passwords, clock=clock, audit=audit),
        account=AccountChanges(db, passwords, sessions, clock=clock, audit=audit),
    )
