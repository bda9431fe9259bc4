"""Passwords are hashed with scrypt; the text that is stored says how.

``$scrypt$ln=14,r=8,p=5$<salt>$<hash>``, salt and hash in base64 without padding.
Whoever could change a stored text cannot make the check take more than 64 MiB.
"""

import hashlib
import hmac
import re
import secrets
from base64 import b64decode, b64encode
from dataclasses import dataclass
from typing import Final

from lyrsvc.core.account import password_bytes

SALT_BYTES: Final = 16
HASH_BYTES: Final = 32
MOST_MEMORY: Final = 64 * 1024 * 1024
MOST_PASSES: Final = 16
"""Largest ``p`` that is obeyed: it costs time as the others cost memory."""

_STORED: Final = re.compile(
    r"\$scrypt\$ln=([0-9]{1,2}),r=([0-9]{1,3}),p=([0-9]{1,3})"
    r"\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Cost:
    """What one hash costs: ``128 * n * r`` bytes, and time times ``p``."""

    ln: int = 14
    r: int = 8
    p: int = 5

    @property
    def memory(self) -> int:
        """Bytes that one run needs."""
        return 128 * self.r << self.ln

    @property
    def acceptable(self) -> bool:
        """Whether a stored text may ask for this much."""
        in_range = self.ln >= 1 and self.r >= 1 and 1 <= self.p <= MOST_PASSES
        return in_range and self.memory <= MOST_MEMORY


class Passwords:
    """Hashes and verifies passwords; one of either takes a fifth of a second."""

    def __init__(self, cost: Cost | None = None) -> None:
        self._cost = cost or Cost()
        salt, digest = secrets.token_bytes(SALT_BYTES), secrets.token_bytes(HASH_BYTES)
        self._nobodys = (self._cost, salt, digest)

    def hash(self, password: str) -> str:
        """Hash a password under a new salt."""
        raw = password_bytes(password)
        if raw is None:
            raise ValueError("the password is no text")
        salt = secrets.token_bytes(SALT_BYTES)
        return _written(self._cost, salt, _run(raw, salt, self._cost))

    def verify(self, password: str, stored: str | None) -> bool:
        """Tell whether a password is right; without a usable hash it costs the same and is not."""
        known = _read(stored or "")
        cost, salt, expected = known or self._nobodys
        raw = password_bytes(password)
        same = hmac.compare_digest(_run(raw or b"", salt, cost), expected)
        return same and known is not None and raw is not None

    def needs_rehash(self, stored: str) -> bool:
        """Tell whether a hash was made with other parameters than a new one would be."""
        parts = _read(stored)
        return parts is None or parts[0] != self._cost


def _run(raw: bytes, salt: bytes, cost: Cost) -> bytes:
    return hashlib.scrypt(
        raw,
        salt=salt,
        n=1 << cost.ln,
        r=cost.r,
        p=cost.p,
        dklen=HASH_BYTES,
        maxmem=cost.memory + 128 * cost.r * (cost.p + 2) + 1024 * 1024,
    )


def _written(cost: Cost, salt: bytes, digest: bytes) -> str:
    parts = (b64encode(part).decode().rstrip("=") for part in (salt, digest))
    return "$".join(("", "scrypt", f"ln={cost.ln},r={cost.r},p={cost.p}", *parts))


def _read(stored: str) -> tuple[Cost, bytes, bytes] | None:
    found = _STORED.fullmatch(stored)
    if found is None:
        return None
    cost = Cost(ln=int(found[1]), r=int(found[2]), p=int(found[3]))
    if not cost.acceptable:
        return None
    return cost, b64decode(found[4] + "=="), b64decode(found[5] + "=")
