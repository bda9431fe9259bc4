"""API keys over HTTP: list, make, revoke; a raw key is shown once, when it is made."""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from lyrsvc.core.api_key import LONGEST_NAME, ApiKey
from lyrsvc.core.scope import read_scopes
from lyrsvc.web.audit_notes import audited
from lyrsvc.web.exchange import Exchange
from lyrsvc.web.gates import API
from lyrsvc.web.route import delete, get, post
from lyrsvc.web.shapes import ListQuery, Moment, Page, page_of, shown_moment

ScopeName = Literal["admin", "webhook"]


class KeyQuery(ListQuery):
    """Which keys; ``q`` looks at names."""

    sort: Literal["created_at", "name"] = "created_at"


class Key(msgspec.Struct):
    """A managed key; never its raw value or its hash."""

    public_id: str
    name: str
    scopes: list[ScopeName]
    created_at: Moment
    revoked_at: Moment | None
    last_used_at: Moment | None


class CreatedKey(Key):
    """A new key with its raw value, which is not shown again."""

    key: str


class KeyWish(msgspec.Struct, forbid_unknown_fields=True):
    """A key to make; without scopes it is one for webhooks."""

    name: Annotated[str, Meta(max_length=LONGEST_NAME)] = ""
    scopes: tuple[ScopeName, ...] = ()


def list_keys(exchange: Exchange, query: KeyQuery) -> Page[Key]:
    """List the managed keys."""
    wanted = query.q.casefold()
    keys = [
        key for key in exchange.service.access.keyring.listing() if wanted in key.name.casefold()
    ]
    if query.sort == "name":
        keys.sort(key=lambda key: (key.name.casefold(), key.public_id))
    if query.dir == "desc":
        keys.reverse()
    start = (query.page - 1) * query.page_size
    shown = keys[start : start + query.page_size]
    return page_of(map(key_of, shown), query, len(keys))


def create_key(exchange: Exchange, body: KeyWish) -> CreatedKey:
    """Make a key; the answer is the only one that holds its raw value."""
    made = exchange.service.access.keyring.create(body.name, read_scopes(body.scopes))
    _audit(exchange, "key.created", made.key)
    return CreatedKey(**msgspec.structs.asdict(key_of(made.key)), key=made.raw)


def revoke_key(exchange: Exchange, public_id: str) -> Key:
    """Revoke the key with this whole public id; one revoked before keeps its time."""
    key = exchange.service.access.keyring.revoke(public_id)
    _audit(exchange, "key.revoked", key)
    return key_of(key)


def key_of(key: ApiKey) -> Key:
    """Give the shape of a key."""
    return Key(
        public_id=key.public_id,
        name=key.name,
        scopes=sorted(scope.value for scope in key.scopes),
        created_at=shown_moment(key.created_at),
        revoked_at=shown_moment(key.revoked_at),
        last_used_at=shown_moment(key.last_used_at),
    )


def _audit(exchange: Exchange, event: str, key: ApiKey) -> None:
    audited(exchange, event, public_id=key.public_id, name=key.name, scopes=sorted(key.scopes))


ROUTES: Final = (
    get("/api/v1/keys", API, list_keys),
    post("/api/v1/keys", API, create_key, status=201),
    delete("/api/v1/keys/{public_id}", API, revoke_key),
)
