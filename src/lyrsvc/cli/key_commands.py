"""Looking after the API keys."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from lyrsvc.cli.call import Call
from lyrsvc.core.errors import LyrsvcError, UsageError

if TYPE_CHECKING:
    from lyrsvc.core.api_key import ApiKey
    from lyrsvc.services.keyring import CreatedKey, Keyring
    from lyrsvc.store.database import Database

COLUMNS = ("public_id", "name", "scopes", "revoked_at")


def create(call: Call) -> int:
    """Make a key and print its raw value, and nothing else."""
    from lyrsvc.core.scope import read_scopes

    name = _checked(call.args.name)
    scopes = read_scopes(call.args.scope or ())
    with call.open_or_make() as db:
        made = _keyring(call, db).create(name, scopes)
    key = made.key
    call.voice.keep_back([made.raw])
    fields = {"public_id": key.public_id, "name": key.name, "scopes": sorted(key.scopes)}
    call.audit("key.created", **fields)
    _hand_over(call, made)
    if call.world.stderr.isatty():
        call.note("this key is shown once; nobody can read it again, so keep it now")
    return 0


def list_keys(call: Call) -> int:
    """List the keys, tab-separated on a terminal too; never a raw value or a hash."""
    from lyrsvc.cli.listing import Form, print_rows
    from lyrsvc.store import api_keys

    as_json = call.args.json

    def rows() -> Iterator[dict[str, Any]]:
        db = call.open_to_read()
        if db is None:
            return
        with db, db.read() as tx:
            for key in api_keys.all_keys(tx):
                yield _object(key) if as_json else _row(key)

    form = Form(json=as_json, header=call.args.header, terminal=False)
    print_rows(call.world.stdout, COLUMNS, rows(), form)
    return 0


def revoke(call: Call) -> int:
    """Make a key useless at once; repeating it changes nothing."""
    from lyrsvc.store.database import Database

    part, raw = _named(call)
    with Database.open(
        call.database_path, create=False, upgrade=True, clock=call.world.clock
    ) as db:
        if part:
            key = _keyring(call, db).revoke_part(part)
        else:
            key = _keyring(call, db, stored=lambda: _stored_key(call)).revoke_raw(raw)
    call.audit("key.revoked", public_id=key.public_id, name=key.name, scopes=sorted(key.scopes))
    call.print_result(_object(key), f"revoked {key.public_id}")
    return 0


def _hand_over(call: Call, made: "CreatedKey") -> None:
    """Print a new key; one that cannot be shown is of no use to anybody."""
    key = made.key
    fields = {"public_id": key.public_id, "name": key.name, "scopes": sorted(key.scopes)}
    try:
        call.print_result({**fields, "key": made.raw}, made.raw)
        call.world.stdout.flush()
    except OSError:
        call.voice.complain(
            f"the key was made, but could not be shown; "
            f"revoke it with: lyrsvc keys revoke --id {key.short_id}"
        )
        raise


def _keyring(
    call: Call, db: "Database", *, stored: Callable[[], str | None] = lambda: None
) -> "Keyring":
    from lyrsvc.services.keyring import Keyring, choose_static

    keys, source = choose_static(
        call.settings.server.webhook_api_keys,
        call.loaded.source("server.webhook_api_keys"),
        stored,
    )
    return Keyring(db, clock=call.world.clock, static_keys=keys, static_source=source)


def _stored_key(call: Call) -> str | None:
    """Give the key of the secret store; a managed one is revoked without the master key, too."""
    from lyrsvc.cli.secret_commands import opened
    from lyrsvc.services.secret_store import WEBHOOK_API_KEY

    try:
        return opened(call, WEBHOOK_API_KEY)
    except LyrsvcError:
        return None


def _checked(name: str) -> str:
    from lyrsvc.core.api_key import LONGEST_NAME, checked_name

    try:
        checked = checked_name(name)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if not checked:
        raise UsageError(f"--name must have 1 to {LONGEST_NAME} characters")
    return checked


def _named(call: Call) -> tuple[str, str]:
    """Give the part of an id, or else the raw key; exactly one of them is to be named."""
    from lyrsvc.cli.secret_input import read_value
    from lyrsvc.core.api_key import SHOWN_DIGITS

    part, raw = call.args.id, call.args.key
    if (part is None) == (raw is None):
        raise UsageError(call.command.discreet)
    if part is not None:
        if len(part.strip().removesuffix("…")) < SHOWN_DIGITS:
            raise UsageError(f"--id needs at least {SHOWN_DIGITS} characters of the public id")
        return part, ""
    raw = (read_value(call.world, "key") if raw == "-" else raw).strip()
    if not raw:
        raise UsageError("the key is empty; type it when asked, or pipe it in")
    call.voice.keep_back([raw])
    return "", raw


def _row(key: "ApiKey") -> dict[str, Any]:
    return {**_object(key), "public_id": key.short_id, "scopes": key.scope_text}


def _object(key: "ApiKey") -> dict[str, Any]:
    from lyrsvc.store.moments import to_db

    return {
        "public_id": key.public_id,
        "name": key.name,
        "scopes": sorted(key.scopes),
        "created_at": to_db(key.created_at),
        "revoked_at": to_db(key.revoked_at),
        "last_used_at": to_db(key.last_used_at),
    }
