"""Values that prove a write comes from one of our own pages.

A value is a nonce of 32 hex digits, a dot, and the HMAC-SHA256 of nonce and
session. It stands in a cookie and again in the form or header: a foreign page
can send the cookie, but can neither read it nor make one that fits.
"""

import hashlib
import hmac
import re
import secrets
from typing import Final

NONCE_BYTES: Final = 16
ANONYMOUS: Final = "anonymous"
"""Stands for the session of whoever has none."""

_VALUE: Final = re.compile(r"([0-9a-f]{32})\.([0-9a-f]{64})")


class Csrf:
    """Mints and checks values; the key survives restarts when it is derived from the master's."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def mint(self, session_id: str = ANONYMOUS) -> str:
        """Make a value that is good for one session."""
        nonce = secrets.token_hex(NONCE_BYTES)
        return f"{nonce}.{self._seal(nonce, session_id)}"

    def is_genuine(self, value: str, session_id: str = ANONYMOUS) -> bool:
        """Tell whether a value was made here for this session."""
        found = _VALUE.fullmatch(value)
        return found is not None and hmac.compare_digest(found[2], self._seal(found[1], session_id))

    def accepts(self, cookie: str, carried: str, session_id: str = ANONYMOUS) -> bool:
        """Tell whether a write may pass: form or header repeat the cookie, and it is genuine."""
        same = hmac.compare_digest(_raw(cookie), _raw(carried))
        return same and self.is_genuine(cookie, session_id)

    def renewed(self, cookie: str, session_id: str = ANONYMOUS) -> str:
        """Give the value a page sends: one still good is kept, so that other tabs go on."""
        return cookie if self.is_genuine(cookie, session_id) else self.mint(session_id)

    def _seal(self, nonce: str, session_id: str) -> str:
        return hmac.new(self._key, _raw(nonce + session_id), hashlib.sha256).hexdigest()


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
