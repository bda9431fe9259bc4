"""What makes the head of a request one that two programs could read in two ways."""

import re
from collections.abc import Sequence
from typing import Final

from lyrsvc.web.refusals import CODING, NO_HOST, TUNNEL, VERSION, Refusal

_HOST: Final = re.compile(rb"[A-Za-z0-9._~%!$&'()*+,;=:\[\]-]*")
_VERSIONS: Final = ("1.0", "1.1")


def fault_of_head(
    version: str, method: bytes, headers: Sequence[tuple[bytes, bytes]]
) -> Refusal | None:
    """Give the reason to refuse what the parser has let through, or None."""
    if version not in _VERSIONS:
        return VERSION
    if method == b"CONNECT":
        return TUNNEL
    codings = [value.lower() for name, value in headers if name == b"transfer-encoding"]
    if codings and (version == "1.0" or codings != [b"chunked"]):
        return CODING
    hosts = [value for name, value in headers if name == b"host"]
    if len(hosts) > 1 or (not hosts and version == "1.1"):
        return NO_HOST
    return None if all(map(_HOST.fullmatch, hosts)) else NO_HOST
