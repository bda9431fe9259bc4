"""Making API keys and session tokens: random, shown once, kept only as digests."""

import hashlib
import re
import secrets
from dataclasses import dataclass, field
from typing import Final

from lyrsvc import brand

KEY_BYTES: Final = 32
ID_BYTES: Final = 8
TOKEN_BYTES: Final = 32

_MANAGED: Final = re.compile(rf"{brand.API_KEY_PREFIX}[0-9a-f]{{{2 * KEY_BYTES}}}")
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class MintedKey:
    """A new key: the raw value for its owner, the digest for the store, an unrelated id."""

    raw: str = field(repr=False)
    public_id: str

    @property
    def digest(self) -> str:
        """What is stored instead of the key."""
        return digest_of(self.raw)


def mint_key() -> MintedKey:
    """Make a managed key."""
    raw = brand.API_KEY_PREFIX + secrets.token_hex(KEY_BYTES)
    return MintedKey(raw, secrets.token_hex(ID_BYTES))


def mint_token() -> str:
    """Make the value of a session cookie."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def mint_id() -> str:
    """Make the id of an account."""
    return secrets.token_hex(ID_BYTES)


def is_managed_form(raw: str) -> bool:
    """Tell whether a text can be a managed key at all."""
    return _MANAGED.fullmatch(raw) is not None


def is_token_form(text: str) -> bool:
    """Tell whether a text can be the value of a session cookie at all."""
    return _TOKEN.fullmatch(text) is not None


def digest_of(raw: str) -> str:
    """Give the SHA-256 of a key or token, as hex digits; any text has one."""
    return hashlib.sha256(raw.encode("utf-8", "surrogatepass")).hexdigest()
