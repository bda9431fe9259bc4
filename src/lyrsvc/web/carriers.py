"""Where a request may carry an API key; the first place that holds one decides."""

import base64
import binascii
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lyrsvc.web.exchange import Exchange


def carried_key(exchange: "Exchange", *, basic: bool) -> str | None:
    """Give the key a request carries.

    Browsers repeat Basic credentials by themselves, so the caller says whether they count.
    """
    return next(filter(None, _candidates(exchange, basic=basic)), None)


def _candidates(exchange: "Exchange", *, basic: bool) -> "Iterator[str]":
    yield from (value.strip() for name, value in exchange.query_pairs if name == "apikey")
    authorizations = [value for name, value in exchange.headers if name == "authorization"]
    yield from map(_bearer_key, authorizations)
    yield exchange.header("x-api-key").strip()
    if basic:
        yield from map(_basic_key, authorizations)


def _bearer_key(value: str) -> str:
    scheme, _, rest = value.strip().partition(" ")
    return rest.strip() if scheme.lower() == "bearer" else ""


def _basic_key(value: str) -> str:
    scheme, _, rest = value.strip().partition(" ")
    if scheme.lower() != "basic":
        return ""
    try:
        raw = base64.b64decode(rest.strip(), validate=True)
    except (binascii.Error, ValueError):
        return ""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("iso-8859-1")
    user, _, password = text.partition(":")
    return password.strip() or user.strip()
