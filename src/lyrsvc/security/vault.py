"""The vault: AES-256-GCM under the master key.

A sealed secret is ``0x01``, a nonce of 12 random bytes, the ciphertext and its
tag of 16 bytes. The secret's name is authenticated with it, so that rows cannot
be swapped. ``key_check`` tells a wrong key from a damaged row.
"""

import hashlib
import hmac
import os
from typing import TYPE_CHECKING, Final, NamedTuple

from lyrsvc import brand
from lyrsvc.core.errors import LyrsvcError
from lyrsvc.security.master_key import MasterKey

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

VERSION: Final = b"\x01"
NONCE_BYTES: Final = 12
TAG_BYTES: Final = 16

NO_KEY: Final = "its key is gone"
WRONG_KEY: Final = "it was sealed with another key"
DAMAGED: Final = "it is damaged"


class Sealed(NamedTuple):
    """A secret as it may be stored, and which key opens it."""

    ciphertext: bytes
    key_check: str


class SecretUnreadable(LyrsvcError):
    """A sealed secret cannot be opened; ``why`` is one of this module's three reasons."""

    code = "secret_unreadable"

    def __init__(self, name: str, why: str) -> None:
        super().__init__(
            f"the stored secret {name} cannot be read: {why}; "
            f"store it again with: {brand.PROGRAM} secrets set {name}, or secrets import"
        )
        self.why = why


class Vault:
    """Seals and opens secrets; only sealing may make a key."""

    def __init__(self, keys: MasterKey) -> None:
        self._keys = keys

    def has_key(self) -> bool:
        """Tell whether there is a key; raise ``ConfigError`` when it cannot be used."""
        return self._keys.find() is not None

    def ensure_key(self) -> None:
        """Make a key unless there is one; only right while nothing waits for a lost one."""
        self._keys.need()

    def seal(self, name: str, text: str) -> Sealed:
        """Encrypt a secret for the row of this name."""
        key = self._keys.need()
        nonce = os.urandom(NONCE_BYTES)
        body = _cipher(key).encrypt(nonce, text.encode("utf-8"), _bound_to(name))
        return Sealed(VERSION + nonce + body, key_check(key))

    def open(self, name: str, sealed: Sealed) -> str:
        """Decrypt the secret of this name, or raise ``SecretUnreadable``."""
        key = self._keys.find()
        if key is None:
            raise SecretUnreadable(name, NO_KEY)
        text = _opened(key, name, sealed.ciphertext)
        if text is not None:
            return text
        same = hmac.compare_digest(sealed.key_check.encode(), key_check(key).encode())
        raise SecretUnreadable(name, DAMAGED if same else WRONG_KEY)

    def opens(self, check: str) -> bool:
        """Tell whether the present key is the one of this ``key_check``."""
        key = self._keys.find()
        return key is not None and hmac.compare_digest(check.encode(), key_check(key).encode())

    def derive(self, purpose: str) -> bytes | None:
        """Give a key for one other purpose, the same as long as the master key is; or None."""
        key = self._keys.find()
        if key is None:
            return None
        return hmac.new(key, f"{brand.PROGRAM}:{purpose}".encode(), hashlib.sha256).digest()


def key_check(key: bytes) -> str:
    """Give 16 hex digits that name a key without telling anything about it."""
    return hmac.new(key, brand.PROGRAM.encode(), hashlib.sha256).hexdigest()[:16]


def _opened(key: bytes, name: str, blob: bytes) -> str | None:
    from cryptography.exceptions import InvalidTag

    if blob[:1] != VERSION or len(blob) < len(VERSION) + NONCE_BYTES + TAG_BYTES:
        return None
    nonce, body = blob[1 : 1 + NONCE_BYTES], blob[1 + NONCE_BYTES :]
    try:
        return _cipher(key).decrypt(nonce, body, _bound_to(name)).decode("utf-8")
    except (InvalidTag, UnicodeDecodeError):
        return None


def _cipher(key: bytes) -> "AESGCM":
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(key)


def _bound_to(name: str) -> bytes:
    return f"{brand.PROGRAM}:secret:{name}".encode()
