"""The master key: given as text, or else kept in a file that is made when first needed.

There is no third way: a key that is malformed or cannot be read is fatal, and
nothing is ever stored without one.
"""

import binascii
import logging
from pathlib import Path

from lyrsvc.core.errors import ConfigError
from lyrsvc.security.key_file import KEY_BYTES, KeyFile, make_key, read_key

_LOG = logging.getLogger("lyrsvc.secrets")


class MasterKey:
    """The 32 bytes that open the vault.

    A key file is read anew each time, so that this process and the next one
    never seal with different keys. With a key given as text, no file is touched.
    """

    def __init__(self, *, text: str, file: Path) -> None:
        self._given = decode_key(text) if text.strip() else None
        self._file = file
        self._warned = False

    def find(self) -> bytes | None:
        """Give the key, or None when there is none yet; never make one."""
        if self._given is not None:
            return self._given
        found = read_key(self._file)
        return None if found is None else self._checked(found)

    def need(self) -> bytes:
        """Give the key; make one when there is none yet."""
        return self.find() or self._checked(make_key(self._file))

    def _checked(self, found: KeyFile) -> bytes:
        if found.open_to_others and not self._warned:
            self._warned = True
            _LOG.warning(
                "key file %s is open to others (mode %04o); run: chmod 600 %s",
                self._file,
                found.mode,
                self._file,
            )
        return found.key


def decode_key(text: str) -> bytes:
    """Read a key written in base64; blanks and line breaks around it do not count."""
    try:
        key = binascii.a2b_base64(text.strip().encode("ascii"), strict_mode=True)
    except (ValueError, binascii.Error):
        key = b""
    if len(key) != KEY_BYTES:
        raise ConfigError(
            [
                "LYRSVC_MASTER_KEY: must be standard base64 of exactly 32 bytes; "
                "make one with: openssl rand -base64 32"
            ]
        )
    return key
