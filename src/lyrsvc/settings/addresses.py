"""What an address in a setting means: loopback or not, host and port."""

import re
from typing import NamedTuple

from lyrsvc.core.host_names import is_loopback

_HIDDEN = "[REDACTED]@"


class Address(NamedTuple):
    """A listen address, divided; an empty host means every address."""

    host: str
    port: int


def split_address(text: str) -> Address:
    """Divide ``host:port``, which the setting's kind has checked."""
    host, _, port = text.rpartition(":")
    return Address(host.removeprefix("[").removesuffix("]"), int(port))


def is_loopback_host(host: str) -> bool:
    """Tell whether a host name or address never leaves this machine."""
    return is_loopback(host)


def is_loopback_url(url: str) -> bool:
    """Tell whether the URL's host is loopback."""
    return is_loopback_host(url_host(url))


def url_host(url: str) -> str:
    """Give the host of a URL, without user info and port."""
    return re.sub(r":[0-9]*$", "", _authority(url).rpartition("@")[2])


def user_info(url: str) -> str:
    """Give name and password inside a URL, or nothing."""
    return _authority(url).rpartition("@")[0] if "://" in url else ""


def without_user_info(url: str) -> str:
    """Hide a name and password inside a URL."""
    return re.sub(r"(://)[^/\s]*@", rf"\1{_HIDDEN}", url)


def without_anything_before_at(text: str) -> str:
    """Hide whatever may be a name and password in a text that was meant to be a URL."""
    return _HIDDEN + text.rpartition("@")[2] if "@" in text else text


def _authority(url: str) -> str:
    return re.sub(r"^[a-zA-Z]+://", "", url).split("/", 1)[0]
