"""What counts as a host: a name by RFC 1123, or an address."""

import re
from typing import Final

_LABEL: Final = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_NAME: Final = rf"{_LABEL}(?:\.{_LABEL})*\.?"
_OCTET: Final = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_IPV4: Final = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
_LONGEST: Final = 253


def is_host(text: str) -> bool:
    """Tell whether a text is a host name or an address; IPv6 may stand in brackets."""
    if ":" in text:
        bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
        return is_ipv6(bare)
    if re.fullmatch(r"[0-9.]+", text):
        return is_ipv4(text)
    return len(text) <= _LONGEST and re.fullmatch(_NAME, text) is not None


def is_ipv4(text: str) -> bool:
    """Tell whether a text is a dotted address of four parts."""
    return re.fullmatch(_IPV4, text) is not None


def is_ipv6(text: str) -> bool:
    """Tell whether a text is an IPv6 address without brackets and zone."""
    import ipaddress  # costs start-up time, and few hosts are written like this

    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return "%" not in text


def is_loopback(text: str) -> bool:
    """Tell whether a host never leaves this machine; only names that cannot be anything else."""
    host = text.removeprefix("[").removesuffix("]").lower()
    if host == "localhost":
        return True
    if ":" in host:
        return is_ipv6(host) and _is_one(host)
    return is_ipv4(host) and host.startswith("127.")


def _is_one(address: str) -> bool:
    import ipaddress

    return ipaddress.IPv6Address(address).is_loopback
