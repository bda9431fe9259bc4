"""API keys: managed ones in the store, static ones of the configuration in memory."""

import hmac
import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from lyrsvc.core.api_key import ApiKey, checked_name, id_part
from lyrsvc.core.errors import NotFound, Refused, StoreError
from lyrsvc.core.ports import Clock
from lyrsvc.core.scope import DEFAULT_SCOPES, Scope
from lyrsvc.security.key_minting import digest_of, is_managed_form, mint_key
from lyrsvc.store import api_keys
from lyrsvc.store.database import Database

NOTED_EVERY_S: Final = 60.0
"""The use of a key is written down at most this often."""
_STORE: Final = "the secret store"
_OUT_OF_THE_STORE: Final = "store another one with: lyrsvc secrets set webhook_api_key,"

_LOG = logging.getLogger("lyrsvc.keys")


@dataclass(frozen=True, slots=True)
class KeyIdentity:
    """Whoever shows a good key."""

    public_id: str
    name: str
    scopes: frozenset[Scope]

    @property
    def actor(self) -> str:
        """How the audit names it."""
        return f"key:{self.public_id}"


STATIC: Final = KeyIdentity("static", "static", DEFAULT_SCOPES)


@dataclass(frozen=True, slots=True)
class KeyCheck:
    """What a raw value came to: the key, or why not; the reason is for the audit alone."""

    key: KeyIdentity | None
    reason: str = ""


UNKNOWN: Final = KeyCheck(None, "unknown")
REVOKED: Final = KeyCheck(None, "revoked")


@dataclass(frozen=True, slots=True)
class CreatedKey:
    """A new key; the only time its raw value is at hand."""

    raw: str = field(repr=False)
    key: ApiKey


class Keyring:
    """Checks, makes and revokes keys; every check asks the store, so revoking works at once."""

    def __init__(
        self,
        db: Database,
        *,
        clock: Clock,
        static_keys: Sequence[str] = (),
        static_source: str = "",
    ) -> None:
        self._db = db
        self._clock = clock
        self._static = tuple(digest_of(key) for key in static_keys)
        self._static_source = static_source
        self._lock = threading.Lock()
        self._noted_s: dict[str, float] = {}
        self._used: dict[str, datetime] = {}

    @property
    def static_sources(self) -> tuple[str, ...]:
        """Where each static key comes from, one entry for every key."""
        return (self._static_source,) * len(self._static)

    def check(self, raw: str) -> KeyCheck:
        """Say whose key this is; ``StoreError`` when the store cannot be asked.

        A text that cannot be a managed key costs a digest and no read. Revoking is the
        last word: it also ends a key that the configuration names as a static one.
        """
        digest = digest_of(raw)
        is_static = self._is_static(digest)
        key = self._find(raw, digest)
        if key is None:
            return KeyCheck(STATIC) if is_static else UNKNOWN
        if key.revoked_at is not None:
            return REVOKED
        self._note_use(key.public_id)
        return KeyCheck(KeyIdentity(key.public_id, key.name, key.scopes))

    def create(self, name: str, scopes: Iterable[Scope] = ()) -> CreatedKey:
        """Make a key, for webhooks unless scopes are named; ``ValueError`` for a name too long."""
        minted = mint_key()
        key = ApiKey(
            public_id=minted.public_id,
            name=checked_name(name),
            scopes=frozenset(scopes) or DEFAULT_SCOPES,
            created_at=self._clock.now(),
        )
        self._db.write(lambda tx: api_keys.add(tx, key, digest=minted.digest))
        return CreatedKey(minted.raw, key)

    def listing(self) -> list[ApiKey]:
        """Give every managed key, the oldest first."""
        with self._db.read() as tx:
            return api_keys.all_keys(tx)

    def revoke(self, public_id: str) -> ApiKey:
        """Revoke the key with this whole public id; one revoked before keeps its time."""
        now = self._clock.now()
        key = self._db.write(lambda tx: api_keys.revoke(tx, public_id, now=now))
        if key is None:
            raise NotFound("no key has this id; see: lyrsvc keys list")
        return key

    def revoke_part(self, text: str) -> ApiKey:
        """Revoke the one key whose public id begins so, with at least eight digits."""
        part = id_part(text)
        if part is None:
            found: list[ApiKey] = []
        else:
            with self._db.read() as tx:
                found = api_keys.find_by_part(tx, part)
        if len(found) > 1:
            raise Refused(
                f"{len(found)} keys begin with these digits: "
                f"{', '.join(key.public_id for key in found)}; name one of them whole"
            )
        return self.revoke(found[0].public_id if found else "")

    def revoke_raw(self, raw: str) -> ApiKey:
        """Revoke the managed key with this raw value."""
        digest = digest_of(raw)
        key = self._find(raw, digest)
        if key is not None:
            return self.revoke(key.public_id)
        if self._is_static(digest):
            place = self._static_source
            away = _OUT_OF_THE_STORE if place == _STORE else "remove it there"
            raise Refused(f"this key is static, from {place}; {away} and restart")
        raise NotFound(
            "no managed key has this value; to revoke by id: lyrsvc keys revoke --id PUBLIC-ID"
        )

    def flush(self) -> None:
        """Write down when keys were last used; what cannot be written now is tried again."""
        with self._lock:
            used, self._used = self._used, {}
        if not used:
            return
        try:
            self._db.write(lambda tx: api_keys.note_used(tx, used), bulk=True)
        except StoreError as error:
            _LOG.warning("the use of keys was not written down", extra={"why": error})
            with self._lock:
                self._used = used | self._used

    def _find(self, raw: str, digest: str) -> ApiKey | None:
        if not is_managed_form(raw):
            return None
        with self._db.glance() as tx:
            return api_keys.find(tx, digest=digest)

    def _is_static(self, digest: str) -> bool:
        matches = [hmac.compare_digest(digest, known) for known in self._static]
        return any(matches)

    def _note_use(self, public_id: str) -> None:
        now_s = self._clock.monotonic()
        with self._lock:
            noted_s = self._noted_s.get(public_id)
            if noted_s is None or now_s - noted_s >= NOTED_EVERY_S:
                self._noted_s[public_id] = now_s
                self._used[public_id] = self._clock.now()


def choose_static(
    given: Sequence[str], source: str, stored: Callable[[], str | None]
) -> tuple[tuple[str, ...], str]:
    """Give the static keys and where they are from: the settings', or else the stored one."""
    if given and source not in ("default", "store"):
        named = {"flag": "--webhook-api-key", "file": "server.webhook_api_keys"}
        return tuple(given), named.get(source, source.removeprefix("env:"))
    one = stored()
    return ((one,), _STORE) if one else ((), "")
