"""Proof that a write comes from one of our own pages."""

from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from lyrsvc import brand
from lyrsvc.security.csrf import ANONYMOUS
from lyrsvc.web.problems import Problem

if TYPE_CHECKING:
    from lyrsvc.web.exchange import Exchange

CSRF_LIFE_S: Final = 43200
_FOREIGN: Final = "this request does not come from one of our pages"
_OR_PROXY: Final = ", or a proxy in between does not pass on the Host header"
_USUAL_PORTS: Final = {"http": 80, "https": 443}


def check_same_origin(exchange: "Exchange") -> None:
    """Refuse a write that another site sent the browser to make."""
    site = exchange.header("sec-fetch-site").strip().lower()
    origin = exchange.header("origin").strip() or exchange.header("referer").strip()
    if site and site not in ("same-origin", "none"):
        _refuse(exchange, "cross_origin", _FOREIGN)
    if not site and origin and _own_authorities(exchange).isdisjoint(_authorities(origin)):
        _refuse(exchange, "cross_origin", _FOREIGN + _OR_PROXY)


def check_csrf(exchange: "Exchange", sent: str) -> None:
    """Refuse a write whose form was not ours, or was another visitor's."""
    cookie = exchange.cookies.get(brand.CSRF_COOKIE, "")
    session = exchange.identity.session or ANONYMOUS
    if not exchange.service.access.csrf.accepts(cookie, sent, session):
        _refuse(exchange, "csrf", "the form is out of date; load the page again")


def has_csrf_cookie(exchange: "Exchange") -> bool:
    """Tell whether a browser that has loaded one of our pages asks."""
    cookie = exchange.cookies.get(brand.CSRF_COOKIE, "")
    return exchange.service.access.csrf.is_genuine(cookie)


def csrf_of(exchange: "Exchange", session: str) -> str:
    """Give the value for a page's forms: the one the browser has, while it fits, else a new one."""
    cookie = exchange.cookies.get(brand.CSRF_COOKIE, "")
    return exchange.service.access.csrf.renewed(cookie, session or ANONYMOUS)


def csrf_cookie(exchange: "Exchange", value: str) -> str:
    """Give the cookie that goes with every page."""
    return exchange.cookie(brand.CSRF_COOKIE, value, max_age_s=CSRF_LIFE_S)


def _refuse(exchange: "Exchange", code: str, detail: str) -> None:
    exchange.service.audit.event(
        "auth.csrf.rejected",
        outcome="denied",
        actor=exchange.identity.actor,
        client=exchange.standing.client,
        path=exchange.path,
    )
    raise Problem(code, detail)


def _own_authorities(exchange: "Exchange") -> set[str]:
    own = {exchange.standing.host.strip().lower()}
    if exchange.standing.via_proxy:
        forwarded = exchange.header("x-forwarded-host").partition(",")[0].strip().lower()
        own |= {forwarded}
    return own - {""}


def _authorities(address: str) -> set[str]:
    """Give host and port of an address, also with the port that a browser leaves out.

    Proxies may write that one. For ``null`` there is nothing.
    """
    try:
        parts = urlsplit(address)
    except ValueError:
        return set()
    authority = parts.netloc.rpartition("@")[2].lower()
    return {authority, f"{authority}:{_USUAL_PORTS.get(parts.scheme, '')}"}
