"""The two recoverable secrets: sealed before they are stored, clear only in memory.

What is sealed is a small JSON object. ``value`` is the secret; ``identity`` stands
beside it only when this program asked for the token by itself, and names the
client identity the token was made for. A token without it is the operator's own
and is never replaced.
"""

import base64
import json
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from lyrsvc.core.errors import NotFound, Refused
from lyrsvc.core.ports import Clock
from lyrsvc.security.vault import DAMAGED, Sealed, SecretUnreadable, Vault
from lyrsvc.store import secret_blobs
from lyrsvc.store.database import Database, Tx
from lyrsvc.store.secret_blobs import SecretBlob

PROVIDER_TOKEN: Final = "provider_token"  # noqa: S105 - the name of a secret
WEBHOOK_API_KEY: Final = "webhook_api_key"
NAMES: Final = (PROVIDER_TOKEN, WEBHOOK_API_KEY)

_LOG = logging.getLogger("lyrsvc.secrets")


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret in clear; ``identity`` is empty unless the token was asked for automatically."""

    value: str = field(repr=False)
    identity: str = ""

    @property
    def automatic(self) -> bool:
        """Tell a token this program asked for from the operator's own."""
        return bool(self.identity)


class SecretStore:
    """Keeps secrets in the database, sealed.

    ``keep_back`` is told every clear value, so that no log line shows it.
    Storing never opens what was stored before, so it also repairs a lost key.
    """

    def __init__(
        self,
        db: Database,
        vault: Vault,
        *,
        clock: Clock,
        keep_back: Callable[[str], None] = lambda _value: None,
    ) -> None:
        self._db = db
        self._vault = vault
        self._clock = clock
        self._keep_back = keep_back
        self._complained: set[str] = set()

    def set(self, name: str, value: str) -> None:
        """Store the operator's value, over whatever was there."""
        self.set_all({name: value})

    def set_all(self, values: Mapping[str, str]) -> None:
        """Store several of the operator's values, all or none."""
        blobs = [self._seal(_known(name), Secret(value)) for name, value in values.items()]
        now = self._clock.now()

        def store(tx: Tx) -> None:
            for blob in blobs:
                secret_blobs.put(tx, blob, now=now)

        self._db.write(store)

    def forget(self, names: Iterable[str]) -> None:
        """Remove values, whoever stored them."""
        wanted = [_known(name) for name in names]

        def remove(tx: Tx) -> None:
            for name in wanted:
                if (blob := secret_blobs.get(tx, name)) is not None:
                    secret_blobs.delete(tx, blob)

        self._db.write(remove)

    def get(self, name: str) -> str | None:
        """Give a value; one that cannot be read counts as unset, and is complained about once."""
        secret = self.read(name)
        return None if secret is None else secret.value

    def read(self, name: str) -> Secret | None:
        """Give a secret with what is known about it; an unreadable one as ``get`` does."""
        try:
            return self.look(name)
        except SecretUnreadable as error:
            if name not in self._complained:
                self._complained.add(name)
                _LOG.error("%s", error)
            return None

    def look(self, name: str) -> Secret | None:
        """Give a secret, None when there is none, or raise ``SecretUnreadable``."""
        blob = self._blob(_known(name))
        return None if blob is None else self._open(blob)

    def keep_automatic(self, value: str, *, identity: str) -> None:
        """Store a token that was asked for; ``Refused`` where the operator's would be lost."""
        self._keep_back(value)
        before = self._blob(PROVIDER_TOKEN)
        if before is None:
            self._refuse_a_second_key()
        elif not self._is_automatic(before):
            raise Refused(_NOT_OURS)
        blob = self._seal(PROVIDER_TOKEN, Secret(value, identity))
        now = self._clock.now()
        if not self._db.write(lambda tx: secret_blobs.put_instead(tx, blob, of=before, now=now)):
            raise Refused(_NOT_OURS)

    def discard_automatic(self) -> None:
        """Forget a token that was asked for; the operator's own stays."""
        blob = self._blob(PROVIDER_TOKEN)
        if blob is not None and self._is_automatic(blob):
            self._db.write(lambda tx: secret_blobs.delete(tx, blob))

    def wrap(self, value: str, *, purpose: str) -> str:
        """Seal a value that a browser carries from one form to the next; it cannot read it."""
        self._keep_back(value)
        sealed = self._vault.seal(purpose, value)
        return base64.urlsafe_b64encode(sealed.ciphertext).decode()

    def unwrap(self, text: str, *, purpose: str) -> str | None:
        """Open what was wrapped for this purpose; None when it was not."""
        try:
            raw = base64.urlsafe_b64decode(text.encode("ascii"))
            return self._vault.open(purpose, Sealed(raw, ""))
        except (ValueError, SecretUnreadable):
            return None

    def listing(self) -> list[dict[str, str]]:
        """List names and times of change; nothing is opened."""
        with self._db.read() as tx:
            return secret_blobs.names(tx)

    def sealed_otherwise(self) -> list[str]:
        """Name the secrets that the present key does not open; nothing is opened."""
        with self._db.read() as tx:
            checks = secret_blobs.key_checks(tx)
        return [name for name, check in checks.items() if not self._vault.opens(check)]

    def _blob(self, name: str) -> SecretBlob | None:
        with self._db.read() as tx:
            return secret_blobs.get(tx, name)

    def _seal(self, name: str, secret: Secret) -> SecretBlob:
        self._keep_back(secret.value)
        content = {"value": secret.value}
        if secret.identity:
            content["identity"] = secret.identity
        sealed = self._vault.seal(name, json.dumps(content))
        return SecretBlob(name=name, ciphertext=sealed.ciphertext, key_check=sealed.key_check)

    def _open(self, blob: SecretBlob) -> Secret:
        text = self._vault.open(blob.name, Sealed(blob.ciphertext, blob.key_check))
        secret = _understood(text)
        if secret is None:
            raise SecretUnreadable(blob.name, DAMAGED)
        self._keep_back(secret.value)
        return secret

    def _is_automatic(self, blob: SecretBlob) -> bool:
        try:
            return self._open(blob).automatic
        except SecretUnreadable:
            return False  # nobody can tell whose it is

    def _refuse_a_second_key(self) -> None:
        """Leave a lost key's place free while rows wait for it: it may come back from a backup."""
        if not self._vault.has_key() and self.listing():
            raise Refused("the key of the stored secrets is gone; no new one is made by itself")


_NOT_OURS: Final = (
    f"the stored {PROVIDER_TOKEN} is not replaced, because it may be the operator's; "
    "the new token serves this run only; bring back the key of the old one, store one of "
    "your own, or clear api.token on the settings page"
)


def _known(name: str) -> str:
    if name not in NAMES:
        raise NotFound(f'no secret "{name}"; known: {", ".join(NAMES)}')
    return name


def _understood(text: str) -> Secret | None:
    try:
        content = json.loads(text)
        value, identity = content["value"], content.get("identity", "")
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    if not isinstance(value, str) or not isinstance(identity, str):
        return None
    return Secret(value, identity)
