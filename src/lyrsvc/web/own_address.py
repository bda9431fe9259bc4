"""The address others reach this service by, as far as the request tells."""

import re
from typing import Final

from lyrsvc.web.exchange import Exchange

WEBHOOK: Final = "/api/v1/webhooks/lidarr"
_AUTHORITY: Final = re.compile(r"[A-Za-z0-9._-]+(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]+\](:[0-9]{1,5})?")


def webhook_address(exchange: Exchange) -> str:
    """Give the address to enter in Lidarr; there is no key in it."""
    return own_address(exchange) + WEBHOOK


def own_address(exchange: Exchange) -> str:
    """Give scheme, host and base path as the visitor's browser sees them."""
    host = exchange.standing.host
    if exchange.standing.via_proxy:
        forwarded = exchange.header("x-forwarded-host").partition(",")[0].strip()
        host = forwarded or host
    if not _AUTHORITY.fullmatch(host):
        host = "localhost"
    scheme = "https" if exchange.standing.secure else "http"
    return f"{scheme}://{host}{exchange.base_path}"
