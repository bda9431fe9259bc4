"""Looking after the encrypted secrets."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lyrsvc.cli.call import Call
from lyrsvc.core.errors import UsageError
from lyrsvc.settings.secret_values import SECRET_SETTINGS, checked_secret

if TYPE_CHECKING:
    from lyrsvc.security.vault import Vault
    from lyrsvc.services.secret_store import SecretStore

COLUMNS = ("name", "updated_at")


def set_secret(call: Call) -> int:
    """Store one value, over whatever was there; nothing stored before is opened."""
    from lyrsvc.cli.secret_input import read_value

    name = call.args.name
    vault = _vault(call)
    text = read_value(call.world, name)
    call.voice.keep_back([text])
    _store(call, vault, {name: _checked(call, name, text)})
    call.print_result({"set": name}, f"set {name}")
    if higher := _higher_source(call, name):
        call.note(f"{name} is stored, but {higher} wins over it")
    else:
        call.note("a running service uses it from its next start")
    return 0


def import_secrets(call: Call) -> int:
    """Store what environment and file hold; the secret store itself is no source."""
    named = [
        name
        for name, is_named in zip(
            SECRET_SETTINGS, (call.args.token, call.args.webhook), strict=True
        )
        if is_named
    ]
    wanted = named or list(SECRET_SETTINGS)
    found = {name: values[0] for name in wanted if (values := _values(call, name))}
    if found:
        _warn_of_further_keys(call, wanted)
        _store(call, _vault(call), found)
    skipped = [name for name in wanted if name not in found]
    lines = [f"imported {name}" for name in found]
    lines += [f"skipped {name}: no value in flags, environment or file" for name in skipped]
    call.print_result({"imported": list(found), "skipped": skipped}, "\n".join(lines))
    for name in found:
        _remind(call, name)
    return 1 if named and skipped else 0


def list_secrets(call: Call) -> int:
    """List names and times; neither the key nor a value is looked at."""
    from lyrsvc.store import secret_blobs

    def rows() -> Iterator[dict[str, str]]:
        db = call.open_to_read()
        if db is None:
            return
        with db, db.read() as tx:
            yield from secret_blobs.names(tx)

    call.print_rows(COLUMNS, rows())
    return 0


def opened(call: Call, name: str) -> str:
    """Give a stored value, for whoever asked to see it; empty when there is none."""
    from lyrsvc.services.secret_store import SecretStore

    vault = _vault(call)
    db = call.open_to_read()
    if db is None:
        return ""
    with db:
        store = SecretStore(db, vault, clock=call.world.clock, keep_back=lambda _: None)
        secret = store.look(name)
    return "" if secret is None else secret.value


def _checked(call: Call, name: str, text: str) -> str:
    """Give the value as its setting will read it; a bad one is never repeated."""
    if not text.strip():
        raise UsageError(f"the value of {name} is empty; type it when asked, or pipe it in")
    try:
        return checked_secret(call.loaded.registry, name, text)
    except ValueError as error:
        raise UsageError(str(error)) from error


def _values(call: Call, name: str) -> tuple[str, ...]:
    value = call.loaded.resolution.values[SECRET_SETTINGS[name]]
    return (value,) if isinstance(value, str) and value else tuple(value)


def _warn_of_further_keys(call: Call, wanted: Iterable[str]) -> None:
    for name in wanted:
        if (count := len(_values(call, name))) > 1:
            call.voice.warn(
                f"{SECRET_SETTINGS[name]} holds {count} keys and the store one: the first is "
                "stored, the others stop working when the plaintext is deleted; make keys with: "
                "lyrsvc keys create"
            )


def _remind(call: Call, name: str) -> None:
    from lyrsvc.settings.plaintext import plaintext_copies

    places = ", ".join(plaintext_copies(call.loaded, SECRET_SETTINGS[name]))
    call.note(f"{name} is stored encrypted; now delete the plaintext copies: {places}")


def _higher_source(call: Call, name: str) -> str:
    from lyrsvc.settings.plaintext import plaintext_copies

    return next(iter(plaintext_copies(call.loaded, SECRET_SETTINGS[name])), "")


def _store(call: Call, vault: "Vault", values: Mapping[str, str]) -> None:
    with _open_store(call, vault) as secrets:
        secrets.set_all(values)
        for name in values:
            call.audit("secret.stored", name=name)
        for name in secrets.sealed_otherwise():
            call.voice.warn(
                f"the stored secret {name} was sealed with another key and cannot be read; "
                f"store it again with: lyrsvc secrets set {name}"
            )


@contextmanager
def _open_store(call: Call, vault: "Vault") -> Iterator["SecretStore"]:
    from lyrsvc.services.secret_store import SecretStore

    with call.open_or_make() as db:
        yield SecretStore(db, vault, clock=call.world.clock, keep_back=call.voice.redactor.register)


def _vault(call: Call) -> "Vault":
    """Open the vault; a key that cannot be used ends the command before anything is made."""
    from lyrsvc.security.master_key import MasterKey
    from lyrsvc.security.vault import Vault

    settings = call.settings
    if settings.secrets.key_file is None:
        raise RuntimeError("settings were loaded without a key file")
    vault = Vault(MasterKey(text=settings.environment.master_key, file=settings.secrets.key_file))
    vault.has_key()
    return vault
