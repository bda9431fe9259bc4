"""The page of API keys: a masked list, making a key that is shown once, revoking one."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

import msgspec

from lyrsvc.core.api_key import ApiKey, checked_name
from lyrsvc.core.errors import NotFound
from lyrsvc.core.scope import DEFAULT_SCOPES, SCOPES, read_scopes
from lyrsvc.web.exchange import Exchange, Form
from lyrsvc.web.gates import PAGE
from lyrsvc.web.key_api import CreatedKey, KeyWish, create_key, revoke_key
from lyrsvc.web.own_address import webhook_address
from lyrsvc.web.page_actions import may_act, sentence
from lyrsvc.web.page_messages import go_back
from lyrsvc.web.rendering import show
from lyrsvc.web.replies import Reply
from lyrsvc.web.route import form, page

KEYS: Final = "/settings/keys"


def show_keys(exchange: Exchange) -> Reply:
    """Show every key; never its value or its hash."""
    return _show(exchange)


def make_key(exchange: Exchange, form: Form) -> Reply:
    """Make a key and show its value, this once."""
    name, scopes = form.get("name").strip(), form.all("scope")
    faults: dict[str, str] = {}
    checks: dict[str, Callable[[], object]] = {
        "name": lambda: checked_name(name),
        "scope": lambda: read_scopes(scopes),
    }
    for field, check in checks.items():
        try:
            check()
        except ValueError as error:
            faults[field] = sentence(str(error))
    if faults:
        return _show(exchange, status=400, name=name, chosen=scopes, faults=faults)
    wish = msgspec.convert({"name": name, "scopes": scopes}, KeyWish)
    return _show(exchange, made=create_key(exchange, wish))


def end_key(exchange: Exchange, form: Form) -> Reply:
    """Revoke a key; a form that asks first is answered with the question."""
    public_id = form.get("id")
    if form.get("ask") and not form.get("confirm"):
        return _ask(exchange, _find(exchange, public_id))
    key = revoke_key(exchange, public_id)
    return go_back(exchange, KEYS, f"Revoked: {key.name or key.public_id[:8] + '…'}.")


def _show(
    exchange: Exchange,
    *,
    status: int = 200,
    made: CreatedKey | None = None,
    name: str = "",
    chosen: Iterable[str] = DEFAULT_SCOPES,
    faults: dict[str, str] | None = None,
) -> Reply:
    keyring = exchange.service.access.keyring
    keys = sorted(keyring.listing(), key=_active_first)
    return show(
        exchange,
        "keys.html",
        title="API keys",
        status=status,
        keys=keys,
        static=keyring.static_sources,
        made=made,
        address=webhook_address(exchange),
        frozen=not may_act(exchange),
        name=name,
        scopes=[(scope, scope in [str(one) for one in chosen]) for scope in reversed(SCOPES)],
        faults=faults or {},
    )


def _ask(exchange: Exchange, key: ApiKey) -> Reply:
    used = "It has never been used." if key.last_used_at is None else ""
    return show(
        replace(exchange, path=KEYS),
        "end_confirm.html",
        title="Revoke this key?",
        text=(
            f"The key “{key.name or '(unnamed)'}” ({key.short_id}…) stops working at once and for "
            f"good. Whatever uses it, Lidarr for example, is refused from then on. {used}"
        ),
        action="/settings/keys/revoke",
        button="Revoke",
        back=KEYS,
        fields=[("id", key.public_id), ("confirm", "yes")],
    )


def _find(exchange: Exchange, public_id: str) -> ApiKey:
    for key in exchange.service.access.keyring.listing():
        if key.public_id == public_id:
            return key
    raise NotFound("no key has this id")


def _active_first(key: ApiKey) -> tuple[bool, float]:
    return key.revoked_at is not None, -key.created_at.timestamp()


ROUTES: Final = (
    page(KEYS, PAGE, show_keys),
    form(KEYS, PAGE, make_key),
    form("/settings/keys/revoke", PAGE, end_key),
)
