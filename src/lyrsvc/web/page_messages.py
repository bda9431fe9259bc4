"""What an action came to, carried to the next page in a cookie that is shown once."""

import base64
import binascii
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lyrsvc import brand
from lyrsvc.web.replies import Reply, see_other

if TYPE_CHECKING:
    from lyrsvc.web.exchange import Exchange

LEVELS: Final = ("ok", "info", "warning", "error")
_LIFE_S: Final = 60
_LONGEST: Final = 600


@dataclass(frozen=True, slots=True)
class Message:
    """One sentence for the visitor."""

    level: str
    text: str


def go_back(exchange: "Exchange", path: str, text: str = "", *, level: str = "ok") -> Reply:
    """Send the browser to a page of ours, with a sentence when there is something to tell."""
    cookies = (write(exchange, Message(level, text)),) if text else ()
    return see_other(exchange.url(path), cookies=cookies)


def write(exchange: "Exchange", message: Message) -> str:
    """Give the cookie that carries a message."""
    raw = json.dumps([message.level, message.text[:_LONGEST]]).encode()
    value = base64.urlsafe_b64encode(raw).decode().rstrip("=")
    return exchange.cookie(brand.MESSAGE_COOKIE, value, max_age_s=_LIFE_S)


def read(exchange: "Exchange") -> Message | None:
    """Read the message the browser carries; nonsense counts as none."""
    value = exchange.cookies.get(brand.MESSAGE_COOKIE, "")
    if not value:
        return None
    try:
        level, text = json.loads(base64.urlsafe_b64decode(value + "=" * (-len(value) % 4)))
    except (ValueError, TypeError, binascii.Error):
        return None
    if level not in LEVELS or not isinstance(text, str):
        return None
    return Message(level, text[:_LONGEST])


def forget(exchange: "Exchange") -> str:
    """Give the cookie that takes the message away."""
    return exchange.cookie(brand.MESSAGE_COOKIE, "", max_age_s=0)
