"""The gates: who may pass, decided before a body is read.

Network trust stands in for a session on pages and never for a key. What a form must
prove beside that (same origin, CSRF) is checked once it has been read.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from lyrsvc.core.scope import Scope
from lyrsvc.web.carriers import carried_key
from lyrsvc.web.identity_kinds import ANONYMOUS, TRUSTED, Identity, IdentityKind
from lyrsvc.web.origins import check_csrf, check_same_origin, has_csrf_cookie
from lyrsvc.web.problems import Problem, unauthorized
from lyrsvc.web.replies import Turned, see_other

if TYPE_CHECKING:
    from lyrsvc.web.exchange import Exchange


@dataclass(frozen=True, kw_only=True)
class Gate:
    """The access rule of a route; ``confirm`` runs once the body has been read."""

    name: str
    admit: "Callable[[Exchange], Identity] | None" = None
    confirm: "Callable[[Exchange], None] | None" = None


def _require_key(exchange: "Exchange", scope: Scope, *, basic: bool) -> Identity:
    raw = carried_key(exchange, basic=basic)
    if raw is None:
        _note_key(exchange, "failed", reason="missing")
        raise unauthorized()
    return _judge_key(exchange, raw, scope)


def _judge_key(exchange: "Exchange", raw: str, scope: Scope) -> Identity:
    found = exchange.service.access.keyring.check(raw)
    if found.key is None:
        _note_key(exchange, "failed", reason=found.reason)
        raise unauthorized()
    if not scope.satisfied_by(found.key.scopes):
        _note_key(exchange, "forbidden", reason="scope", actor=found.key.actor)
        raise Problem(
            "forbidden", f"this key lacks the scope {scope}", extra={"required_scope": str(scope)}
        )
    return Identity(kind=IdentityKind.KEY, actor=found.key.actor, name=found.key.name)


def _note_key(exchange: "Exchange", what: str, *, reason: str, actor: str = "anonymous") -> None:
    exchange.service.audit.event(
        f"auth.key.{what}",
        outcome="denied",
        actor=actor,
        client=exchange.standing.client,
        reason=reason,
        path=exchange.path,
    )


def _note_host(exchange: "Exchange") -> None:
    """Say so when a trusted network is kept out only by the name it asked for."""
    if exchange.standing.foreign_host:
        exchange.service.audit.event(
            "auth.host.rejected",
            outcome="denied",
            client=exchange.standing.client,
            path=exchange.path,
            host=exchange.standing.host,
        )


def _pass_hook(exchange: "Exchange") -> Identity:
    return _require_key(exchange, Scope.WEBHOOK, basic=True)


def _pass_status(exchange: "Exchange") -> Identity:
    return _require_key(exchange, Scope.ADMIN, basic=True)


def _pass_metrics(exchange: "Exchange") -> Identity:
    if exchange.standing.may_scrape:
        return TRUSTED
    raw = carried_key(exchange, basic=True)
    if raw is None:
        _note_host(exchange)
        raise Problem("forbidden", "metrics are for trusted networks, or need an admin key")
    return _judge_key(exchange, raw, Scope.ADMIN)


def _pass_api(exchange: "Exchange") -> Identity:
    """Let a key pass, or somebody who looks at pages.

    Basic credentials come last: a browser also repeats those that a proxy in front asked for.
    """
    raw = carried_key(exchange, basic=False)
    identity = None if raw is not None else _visitor_with_cookie(exchange)
    if identity is None:
        raw = raw or carried_key(exchange, basic=not exchange.writes)
        if raw is not None:
            return _judge_key(exchange, raw, Scope.ADMIN)
        _note_key(exchange, "failed", reason="missing")
        raise unauthorized()
    exchange.identity = identity
    if exchange.writes:
        check_same_origin(exchange)
        check_csrf(exchange, exchange.header("x-csrf-token"))
    return identity


def _visitor_with_cookie(exchange: "Exchange") -> Identity | None:
    """Tell who looks at pages; a trusted network alone does not, without having loaded one."""
    if not exchange.service.settings.server.web_ui_enabled:
        return None
    identity = visitor_of(exchange)
    if identity is TRUSTED and not has_csrf_cookie(exchange):
        return None
    return identity


def _pass_page(exchange: "Exchange") -> Identity:
    identity = visitor_of(exchange)
    if identity is not None:
        return identity
    if exchange.service.settings.server.trusted_networks.ui_access != "off":
        _note_host(exchange)
    if exchange.wants_json:
        raise unauthorized("sign in first")
    if not exchange.service.access.has_admin():
        raise Turned(see_other(exchange.url("/setup")))
    only_looks = exchange.service.settings.server.trusted_networks.ui_access == "read"
    if exchange.writes and exchange.standing.trusted and only_looks:
        raise unauthorized("this network may only look; sign in to change anything")
    raise Turned(see_other(f"{exchange.url('/login')}?next={quote(page_of(exchange))}"))


def _pass_account(exchange: "Exchange") -> Identity:
    """Let only a signed-in admin through: an account belongs to somebody."""
    identity = _session(exchange)
    if identity is not None:
        return identity
    if exchange.wants_json:
        raise unauthorized("sign in first")
    page = "/login" if exchange.service.access.has_admin() else "/setup"
    raise Turned(see_other(f"{exchange.url(page)}?next={quote(page_of(exchange))}"))


def _pass_door(exchange: "Exchange") -> Identity:
    """Let everybody through, knowing who they are: forms are bound to the session."""
    return visitor_of(exchange) or ANONYMOUS


def _confirm_form(exchange: "Exchange") -> None:
    if exchange.writes:
        check_same_origin(exchange)
        check_csrf(exchange, exchange.form.get("csrf_token") or exchange.header("x-csrf-token"))


def visitor_of(exchange: "Exchange") -> Identity | None:
    """Tell who looks at pages: a session, or else a trusted network as far as it may."""
    identity = _session(exchange)
    if identity is not None:
        return identity
    access = exchange.service.settings.server.trusted_networks.ui_access
    allowed = access == "full" or (access == "read" and not exchange.writes)
    return TRUSTED if allowed and exchange.standing.trusted else None


def _session(exchange: "Exchange") -> Identity | None:
    session = exchange.service.access.session_of(
        exchange.session_token, client=exchange.standing.client
    )
    if session is None:
        return None
    return Identity(
        kind=IdentityKind.SESSION,
        actor=f"user:{session.username}",
        name=session.username,
        session=session.token_hash,
    )


def page_of(exchange: "Exchange") -> str:
    """Give the page to come back to: for a form the one it stands on."""
    if exchange.writes:
        return _FORM_PAGES.get(exchange.path, exchange.path)
    query = f"?{exchange.query_string}" if exchange.query_string else ""
    return exchange.path + query


_FORM_PAGES: Final = {
    "/settings/field": "/settings",
    "/settings/section": "/settings",
    "/settings/keys/revoke": "/settings/keys",
    "/logout": "/dashboard",
}

ANYONE: Final = Gate(name="open")
HOOK: Final = Gate(name="hook", admit=_pass_hook)
STATUS: Final = Gate(name="status", admit=_pass_status)
METRICS: Final = Gate(name="metrics", admit=_pass_metrics)
API: Final = Gate(name="api", admit=_pass_api)
PAGE: Final = Gate(name="page", admit=_pass_page, confirm=_confirm_form)
ACCOUNT: Final = Gate(name="account", admit=_pass_account, confirm=_confirm_form)
DOOR: Final = Gate(name="door", admit=_pass_door, confirm=_confirm_form)
"""Signing in and setting up: anybody, but forms only from our own pages."""
