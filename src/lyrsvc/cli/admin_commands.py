"""Looking after the admin accounts."""

from typing import TYPE_CHECKING

from lyrsvc.cli.call import Call
from lyrsvc.core.errors import NotFound, Refused, UsageError
from lyrsvc.settings.environment_sections import Environment

if TYPE_CHECKING:
    from lyrsvc.store.accounts import Credentials
    from lyrsvc.store.database import Database, Tx


def set_password(call: Call) -> int:
    """Replace a password and sign everybody out; works without a login and without a restart."""
    from lyrsvc.cli.secret_input import read_password
    from lyrsvc.core.account import password_fault
    from lyrsvc.security.passwords import Passwords
    from lyrsvc.store.database import Database

    with Database.open(
        call.database_path, create=False, upgrade=True, clock=call.world.clock
    ) as db:
        found = _named(db, call.args.user)
        password = read_password(call.world)
        call.voice.keep_back([password])
        if fault := password_fault(password):
            raise Refused(f"{fault}; nothing was changed")
        password_hash = Passwords().hash(password)
        ended = _replace(call, db, found, password_hash)
    user = found.admin.username
    call.audit("auth.password.changed", user=user, sessions_ended=ended)
    call.print_result(
        {"user": user, "sessions_ended": ended},
        f"password changed for {_shown(user)}; {ended} sessions signed out",
    )
    return 0


def _named(db: "Database", username: str | None) -> "Credentials":
    """Find the account that is meant: the named one, or the only one there is."""
    from lyrsvc.store import accounts

    with db.read() as tx:
        names = [admin.username for admin in accounts.all_admins(tx)]
        if not names:
            variables = " and ".join((*Environment.admin_user.env, *Environment.admin_password.env))
            raise NotFound(
                "there is no admin yet; make the first one on the page /setup, "
                f"or start the service with {variables} set"
            )
        known = ", ".join(_shown(name) for name in names)
        if username is None and len(names) > 1:
            raise UsageError(f"there are several admins; name one with --user: {known}")
        found = accounts.find_admin(tx, names[0] if username is None else username)
    if found is None:
        raise NotFound(f'no admin "{_shown(username or "")}"; known: {known}')
    return found


def _replace(call: Call, db: "Database", found: "Credentials", password_hash: str) -> int:
    """Store the hash over whatever hash there is: the operator's word is the last."""
    from lyrsvc.services.account_changes import replace_password
    from lyrsvc.store import accounts

    now = call.world.clock.now()

    def store(tx: "Tx") -> int | None:
        present = accounts.get_admin(tx, found.admin.id)
        if present is None:
            return None
        return replace_password(tx, present, password_hash, now=now)

    ended = db.write(store)
    if ended is None:
        raise Refused(f'the admin "{_shown(found.admin.username)}" is gone; nothing was changed')
    return ended


def _shown(name: str) -> str:
    from lyrsvc.core.display import escape_controls

    return escape_controls(name)
