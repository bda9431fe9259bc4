"""The first admin: made on the set-up page, or from the environment before the service listens."""

import logging
import threading
from dataclasses import dataclass, field
from typing import Final

from lyrsvc.core.account import Admin, name_fault, password_fault, trimmed_name
from lyrsvc.core.errors import ConfigError
from lyrsvc.core.ports import Clock
from lyrsvc.logs.audit import Audit
from lyrsvc.security.key_minting import mint_id
from lyrsvc.services.account_changes import Invalid, new_password_faults
from lyrsvc.services.password_check import Busy, PasswordCheck
from lyrsvc.store import accounts
from lyrsvc.store.accounts import Credentials
from lyrsvc.store.database import Database

__all__ = ["Bootstrap", "Created", "FirstAdmin", "Invalid", "SetupForm", "TooLate"]

_PAGES_OFF: Final = (
    "LYRSVC_WEBAUTH_ADMIN_USER and LYRSVC_WEBAUTH_ADMIN_PASSWORD are ignored, because the pages "
    "are off; turn them on with server.web_ui_enabled = true (LYRSVC_WEB_UI_ENABLED=true)"
)
_NO_PASSWORD: Final = (
    "LYRSVC_WEBAUTH_ADMIN_USER is set without LYRSVC_WEBAUTH_ADMIN_PASSWORD; "  # noqa: S105 - names
    "the first admin needs both, none was made"
)
_NO_USER: Final = (
    "LYRSVC_WEBAUTH_ADMIN_PASSWORD is set without LYRSVC_WEBAUTH_ADMIN_USER; "
    "the first admin needs both, none was made"
)
_TOO_LATE: Final = (
    "LYRSVC_WEBAUTH_ADMIN_USER and LYRSVC_WEBAUTH_ADMIN_PASSWORD are ignored, because there is "
    "an admin already; change a password with: lyrsvc admin set-password"
)

_STRANGER: Final = (
    "somebody who is not trusted looks at the set-up page; "
    "whoever fills it in first becomes the admin"
)
_WARNED_EVERY_S: Final = 60.0

_LOG = logging.getLogger("lyrsvc.first_admin")


@dataclass(frozen=True, kw_only=True, slots=True)
class SetupForm:
    """What the set-up page asks for."""

    username: str
    password: str = field(repr=False)
    confirm: str = field(repr=False)

    def faults(self) -> dict[str, str]:
        """Say what is wrong, field by field."""
        faults = {"username": fault} if (fault := name_fault(self.username)) else {}
        return faults | new_password_faults(self.password, self.confirm, field="password")


@dataclass(frozen=True, kw_only=True, slots=True)
class Bootstrap:
    """What the environment says about the first admin."""

    user: str
    password: str = field(repr=False)
    ui_enabled: bool


@dataclass(frozen=True, slots=True)
class Created:
    """The first admin is made."""

    admin: Admin


@dataclass(frozen=True, slots=True)
class TooLate:
    """There is an admin already; somebody else was first."""


class FirstAdmin:
    """Makes the first admin, once."""

    def __init__(
        self, db: Database, passwords: PasswordCheck, *, clock: Clock, audit: Audit
    ) -> None:
        self._db = db
        self._passwords = passwords
        self._clock = clock
        self._audit = audit
        self._lock = threading.Lock()
        self._warned_s = clock.monotonic() - _WARNED_EVERY_S

    def exists(self) -> bool:
        """Tell whether there is an admin."""
        with self._db.read() as tx:
            return accounts.has_admin(tx)

    def note_stranger(self, *, client: str) -> None:
        """Warn that somebody who is not trusted looks at the set-up page, once a minute at most."""
        with self._lock:
            now_s = self._clock.monotonic()
            if now_s - self._warned_s < _WARNED_EVERY_S:
                return
            self._warned_s = now_s
        _LOG.warning("%s", _STRANGER, extra={"client": client})
        self._audit.event("setup.opened", actor="anonymous", client=client)

    def set_up(self, form: SetupForm, *, client: str) -> Created | Invalid | TooLate | Busy:
        """Make the admin that the set-up page asks for, unless there is one."""
        if self.exists():
            return TooLate()
        if faults := form.faults():
            return Invalid(faults)
        return self._create(form.username, form.password, client=client, by="setup")

    def bootstrap(self, given: Bootstrap) -> Created | None:
        """Make the admin that the environment asks for; a password too short is fatal."""
        user = trimmed_name(given.user)
        if not user and not given.password:
            return None
        if why := _pointless(given, user):
            _LOG.warning("%s", why)
            return None
        if fault := password_fault(given.password):
            raise ConfigError([f"LYRSVC_WEBAUTH_ADMIN_PASSWORD cannot be used: {fault}"])
        if fault := name_fault(user):
            _LOG.warning("LYRSVC_WEBAUTH_ADMIN_USER is ignored: %s; no admin was made", fault)
            return None
        made = TooLate() if self.exists() else self._create(user, given.password, by="environment")
        if isinstance(made, Created):
            return made
        _LOG.warning("%s", _TOO_LATE)
        return None

    def _create(
        self, username: str, password: str, *, client: str = "", by: str
    ) -> Created | TooLate | Busy:
        password_hash = self._passwords.hash(password)
        if isinstance(password_hash, Busy):
            return password_hash
        admin = Admin(id=mint_id(), username=trimmed_name(username))
        made = Credentials(admin, password_hash)
        now = self._clock.now()
        if not self._db.write(lambda tx: accounts.add_first(tx, made, now=now)):
            return TooLate()
        self._audit.event(
            "admin.created",
            actor=f"user:{admin.username}",
            client=client,
            user=admin.username,
            by=by,
            sessions_ended=0,
        )
        return Created(admin)


def _pointless(given: Bootstrap, user: str) -> str:
    """Say why variables come to nothing, whatever they hold."""
    if not given.ui_enabled:
        return _PAGES_OFF
    if not given.password:
        return _NO_PASSWORD
    return "" if user else _NO_USER
